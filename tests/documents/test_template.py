"""README names every parameter with its default, docs/operations.md every alarm and every metric of ours."""

import re
from pathlib import Path
from typing import Any, Final

from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]

from tests.template.expansion import expanded, source
from tests.template.watching import emitted

PROJECT: Final = Path(__file__).parents[2]
TEMPLATE: Final[dict[str, Any]] = yaml_parse((PROJECT / "template.yaml").read_text(encoding="utf-8"))
README: Final = (PROJECT / "README.md").read_text(encoding="utf-8")
OPERATIONS: Final = (PROJECT / "docs" / "operations.md").read_text(encoding="utf-8")


def test_the_readme_names_every_parameter_with_its_default() -> None:
    rows = re.findall(r"^\| ((?:`[A-Z]\w+`(?:, )?)+) \| (.*?) \|", README, re.MULTILINE)
    told: dict[str, str] = {}
    for names, defaults in rows:
        one_by_one = re.findall(r"`([^`]*)`", defaults) or [""]
        every = re.findall(r"`(\w+)`", names)
        told.update(zip(every, one_by_one * len(every) if len(one_by_one) == 1 else one_by_one, strict=True))

    assert told == {name: str(parameter["Default"]) for name, parameter in TEMPLATE["Parameters"].items()}


def test_operations_name_every_alarm() -> None:
    alarms = [name for name, one in TEMPLATE["Resources"].items() if one["Type"] == "AWS::CloudWatch::Alarm"]

    assert alarms
    assert [name for name in alarms if f"`{name}`" not in OPERATIONS] == []


def test_operations_name_every_metric_of_ours_and_no_other() -> None:
    table = OPERATIONS.partition("\n## Metrics\n")[2].partition("\n## ")[0]
    told = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", table, re.MULTILINE)

    assert sorted(told) == sorted((service, metric) for service, metrics in emitted().items() for metric in metrics)


def test_tables_are_restored_as_the_template_has_them() -> None:
    restored = yaml_parse((PROJECT / "docs" / "restore.yaml").read_text(encoding="utf-8"))["Resources"]
    there = expanded(source())

    assert sorted(restored) == ["ReceiptsTable", "ScoresTable"]
    for name, table in restored.items():
        assert table["Properties"] == there.properties(name)


def test_the_readme_invokes_functions_and_events_that_are_there() -> None:
    lines = re.findall(r"sam local invoke (\S+) -e (\S+)", README)
    assert lines
    for function, event in lines:
        assert TEMPLATE["Resources"][function]["Type"] == "AWS::Serverless::Function"
        assert (PROJECT / event).is_file()
