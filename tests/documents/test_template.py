"""The pages name each template parameter with its default, each alarm and each custom metric."""

import json
import os
import re
import subprocess
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any, Final

from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]

from tests.template.expansion import expanded, source
from tests.template.rules import emitted

PROJECT: Final = Path(__file__).parents[2]
TEMPLATE: Final[dict[str, Any]] = yaml_parse((PROJECT / "template.yaml").read_text(encoding="utf-8"))
DOCS: Final = PROJECT / "docs"
PARAMETERS: Final = (DOCS / "reference" / "parameters.md").read_text(encoding="utf-8")
METRICS: Final = (DOCS / "reference" / "metrics.md").read_text(encoding="utf-8")
ALARMS: Final = (DOCS / "how-to" / "alarms.md").read_text(encoding="utf-8")
AUDIT: Final = (DOCS / "how-to" / "audit-and-rebuild.md").read_text(encoding="utf-8")
RESTORE: Final = (DOCS / "how-to" / "restore.md").read_text(encoding="utf-8")
LOCALLY: Final = (DOCS / "how-to" / "run-locally.md").read_text(encoding="utf-8")


def test_the_pages_name_every_parameter_with_its_default() -> None:
    rows = re.findall(r"^\| ((?:`[A-Z]\w+`(?:, )?)+) \| (.*?) \|", PARAMETERS, re.MULTILINE)
    documented: dict[str, str] = {}
    for names_cell, defaults_cell in rows:
        defaults = re.findall(r"`([^`]*)`", defaults_cell) or [""]
        names = re.findall(r"`(\w+)`", names_cell)
        documented.update(zip(names, defaults * len(names) if len(defaults) == 1 else defaults, strict=True))

    assert documented == {name: str(parameter["Default"]) for name, parameter in TEMPLATE["Parameters"].items()}


def test_build_and_deploy_read_the_same_runtime_and_processor() -> None:
    """A layer fits one of each, and `sam deploy --guided` asks for them after the build."""
    commands = tomllib.loads((PROJECT / "samconfig.toml").read_text(encoding="utf-8"))["default"]
    overrides = {name: one["parameters"].get("parameter_overrides") for name, one in commands.items()}
    defaults = [f"{name}={TEMPLATE['Parameters'][name]['Default']}" for name in ("PythonRuntime", "Architecture")]

    assert overrides.pop("global") == " ".join(defaults)
    assert set(overrides.values()) == {None}


def test_the_pages_name_every_alarm() -> None:
    resources = TEMPLATE["Resources"]
    alarms = [name for name, resource in resources.items() if resource["Type"] == "AWS::CloudWatch::Alarm"]

    assert alarms
    assert [name for name in alarms if f"`{name}`" not in ALARMS] == []


def test_the_pages_name_exactly_the_custom_metrics() -> None:
    documented = re.findall(r"^\| `(\w+)` \| `(\w+)` \|", METRICS, re.MULTILINE)

    assert sorted(documented) == sorted(
        (service, metric) for service, metrics in emitted().items() for metric in metrics
    )


def test_the_restore_template_has_the_same_tables_as_the_template() -> None:
    restored = yaml_parse((PROJECT / "docs" / "restore.yaml").read_text(encoding="utf-8"))["Resources"]
    template = expanded(source(), {"DeletionProtection": "true"})

    assert sorted(restored) == ["ProfilesTable", "ReceiptsTable", "ScoresTable"]
    for name, table in restored.items():
        assert table["Properties"] == template.properties(name)


AWS: Final = """#!/bin/sh
echo "$2 $4" >>"$ASKED"
[ "$2" = update-continuous-backups ] || exit 0
echo "ContinuousBackupsUnavailableException: Backups are being enabled for the table" >&2
[ "$(grep -c "^$2 $4$" "$ASKED")" = 3 ]
"""
"""Refuses to enable point-in-time recovery of a table twice, as DynamoDB may after a restore."""


def test_a_restored_table_that_is_not_ready_for_recovery_is_asked_again(tmp_path: Path) -> None:
    (block,) = re.findall(r"```sh\n# needs an AWS account\n(set -e\n.*?)```", RESTORE, re.DOTALL)
    step = block[block.index("# 3. ") : block.index("# 4. ")]
    for name, text in {"aws": AWS, "sleep": "#!/bin/sh\n"}.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    asked = tmp_path / "asked"
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    subprocess.run(["bash", "-c", f"set -e\n{step}"], env={"PATH": path, "ASKED": str(asked)}, check=True, timeout=60)

    counted = Counter(asked.read_text(encoding="utf-8").splitlines())
    for table in ("scores", "receipts"):
        assert counted[f"update-time-to-live standings-{table}-2"] == 1
    for table in ("scores", "receipts", "profiles"):
        assert counted[f"update-continuous-backups standings-{table}-2"] == 3


def test_the_pages_make_the_rankings_table_as_the_template_does() -> None:
    (text,) = re.findall(r"create-table --table-name \"\$RANKINGS\" --cli-input-json '(.*?)'", AUDIT, re.DOTALL)
    (expiry,) = re.findall(r"--table-name \"\$RANKINGS\" --time-to-live-specification (\S+)", AUDIT)
    made = json.loads(text)
    table = expanded(source()).properties("RankingsTable")

    assert made.pop("SSESpecification") == {"Enabled": table.pop("SSESpecification")["SSEEnabled"]}
    ttl = table.pop("TimeToLiveSpecification")
    assert expiry == f"Enabled={str(ttl['Enabled']).lower()},AttributeName={ttl['AttributeName']}"
    assert table.pop("DeletionProtectionEnabled") is False
    assert made == table


def test_the_pages_invoke_existing_functions_with_existing_events() -> None:
    lines = re.findall(r"sam local invoke (\S+) -e (\S+)", LOCALLY)
    assert lines
    for function, event in lines:
        assert TEMPLATE["Resources"][function]["Type"] == "AWS::Serverless::Function"
        assert (PROJECT / event).is_file()
