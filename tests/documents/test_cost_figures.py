"""What the pages say of costs agrees with the committed result, and the model is near to what was counted."""

import pytest

from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.measure import units
from benchmarks.members.events import AMOUNTS
from benchmarks.members.histories import ONE_DAY
from benchmarks.models import grid
from benchmarks.models.cost import cost, provisioned, usage
from benchmarks.models.cost.prices import MILLION
from benchmarks.models.hosted import hosted_tables
from benchmarks.models.hosted.services import SERVICES
from tests.template.expansion import source

COST = Output().result("cost")
UNITS = Output().result("units")


def test_the_cost_model_is_close_to_the_measured_costs() -> None:
    model = COST["model"]

    assert len(model["rows"]) == len(grid.GRID)
    assert model["most_off"] <= 0.05
    assert model["mean_off"] <= 0.015
    # The model must also be close to another benchmark with other members.
    measured = {
        row["windows"]: row["write_units_per_event"]
        for row in UNITS["writes"]
        if (row["kind"], row["life"], tuple(row["amounts"])) == ("together", ONE_DAY, AMOUNTS)
    }
    for windows, settings in ((units.ALL, grid.ALL), (units.SHIPPED, grid.SHIPPED)):
        modelled = usage.usage(settings, grid.POINTS).write_units
        assert modelled == pytest.approx(measured[windows.text], rel=0.02)


def test_the_first_paragraph_says_where_we_are_dearer() -> None:
    shipped = {row["events_per_second"]: row["dollars"] for row in COST["services"] if row["board"] != "`all`"}

    for rate, dollars in shipped.items():
        cheaper = {name for name in SERVICES if (dollars[name] or MILLION) < dollars[hosted_tables.OURS]}
        if rate >= 1:
            assert cheaper | {"Upstash", "a Durable Object"} == set(SERVICES)
            assert dollars[hosted_tables.OURS] > 2 * dollars["Valkey Serverless"]
    quiet = shipped[0.1]
    assert quiet["Valkey Serverless"] < quiet[hosted_tables.OURS] < quiet["a cache node and a replica"]


def test_provisioned_tables_pay_where_the_pages_say_so() -> None:
    found = COST["provisioned"]
    page = (REPOSITORY / cost.PAGE).read_text(encoding="utf-8")
    operations = (REPOSITORY / cost.OPERATIONS).read_text(encoding="utf-8")

    assert found["pays_above"]["write"] == found["pays_above"]["read"]
    for text in (page, operations):
        assert f"{100 * found['pays_above']['write']:.0f} % of the provisioned units" in text
        assert f"${found['idle']:.2f} a month" in text
    assert f"${100 * COST['keys'][0]['dollars']:.0f} a month" in page
    for row in found["months"]:
        assert row["steady"] < row["daily wave"] < row["on demand"] < row["daily rush"]
    # The model is told for the template's own defaults.
    defaults = {name: one["Default"] for name, one in source()["Parameters"].items()}
    assert (found["target"], found["minimum"]) == (provisioned.TARGET, provisioned.MINIMUM)
    assert defaults["TargetUtilization"] == round(100 * provisioned.TARGET)
    assert defaults["ProvisionedMinimumUnits"] == provisioned.MINIMUM
