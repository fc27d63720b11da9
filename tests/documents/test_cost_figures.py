"""Sentences of the pages have the figures of the committed results, and the cost model is near to what was counted."""

import pytest

from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.measure import units
from benchmarks.members.events import AMOUNTS
from benchmarks.members.histories import ONE_DAY
from benchmarks.models import grid
from benchmarks.models.cost import cost, provisioned, usage
from benchmarks.models.cost.prices import MILLION, Bill, read_prices
from benchmarks.models.hosted import hosted_tables
from benchmarks.models.hosted.services import SERVICES
from tests.template.expansion import source

COMMITTED = Output()
HOW_TO = REPOSITORY / "docs" / "how-to"
READS = COMMITTED.result("reads")
ROLLING_READS = COMMITTED.result("rolling_reads")
PROFILES = COMMITTED.result("profiles")
COST = COMMITTED.result("cost")
UNITS = COMMITTED.result("units")
SERVE = COMMITTED.result("serve")
TABS = COMMITTED.result("tabs")


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
    first = " ".join((REPOSITORY / cost.PAGE).read_text(encoding="utf-8").split("\n\n")[2].split())
    assert first.startswith("**Standings is not the cheapest way to rank.** From one event a second on, ")
    assert "more than everything else here but Upstash: more than twice as much as sorted sets in Valkey" in first
    assert "At one event in ten seconds it costs less than a cache node with a replica, and still more than" in first
    readme = (REPOSITORY / cost.README).read_text(encoding="utf-8")
    assert "on a busy board sorted sets in Valkey cost less than half" in readme
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


def test_sentences_have_the_figures_of_the_results() -> None:
    rank = max(row["read_units_most"] for row in READS["reads"] if row["read"] == "rank of a member")
    rolling_rank = max(
        row["read_units_most"] for row in ROLLING_READS["reads"] if row["read"].startswith("rank of a member, ")
    )
    people = {row["read"]: row["read_units_most"] for row in PROFILES["rows"] if "read" in row}
    look = next(row for row in COMMITTED.result("announcements")["looks"] if row["top"] == 3)
    (settled,) = (row["dollars"] for row in COST["settlements"] if row["members"] == MILLION)
    before, now = ({row["situation"]: row["requests"] for row in TABS[when]} for when in ("before", "now"))
    quiet, busy = (f"{situation}, a member is selected" for situation in ("nothing happens", "each second a score"))
    top, names = "top 100, with profiles", "search on a board, none found among 200"
    of_top = tuple(f"{people[read]:g}" for read in (top, "top 100, without profiles", f"{top}, again within a minute"))
    said = (
        ("README.md", f"costs at most {rank:g} read units, {rolling_rank:g} in a rolling window"),
        ("docs/how-to/let-anyone-read.md", f"costs up to [{people[names]:g}]"),
        (cost.PAGE, "reads {} units instead of {}, and again within a minute only {}:".format(*of_top)),
        (cost.PAGE, f"reads {look['read_units']:g} units and writes {look['write_units']:g} when it announces"),
        (cost.PAGE, f"a ranking of a million members, once: ${settled:.2f}:"),
        ("CHANGELOG.md", f"{now[busy]} requests a minute on a busy board ({before[busy]} before)"),
        ("CHANGELOG.md", f"and {now[quiet]} on a quiet one ({before[quiet]} before)."),
    )
    texts = {page: " ".join((REPOSITORY / page).read_text(encoding="utf-8").split()) for page, _ in said}
    assert [words for page, words in said if words not in texts[page]] == []


def test_the_pages_say_what_scheduled_audits_cost() -> None:
    units = 365 / 12 * 24 * int(source()["Parameters"]["AuditReadUnits"]["Default"])
    dollars = read_prices().total(Bill(read_units=units))
    said = f"{units / MILLION:.1f} million a month, which [cost](../cost.md#prices) ${dollars:.2f};"

    assert said in (HOW_TO / "audit-and-rebuild.md").read_text(encoding="utf-8")


def test_the_tutorial_says_how_soon_standings_are_served() -> None:
    seconds = round(SERVE["median"]["first_standings_s"])
    page = (REPOSITORY / "docs" / "tutorials" / "first-board.md").read_text(encoding="utf-8")

    assert f"the first standings are on it after {seconds} s on two cores" in page
    assert SERVE["processors"] == 2
