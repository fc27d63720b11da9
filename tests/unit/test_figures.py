"""Every figure of the pages is one of a committed result: the tables are those that the commands make of them."""

from collections.abc import Iterable

import pytest

from benchmarks import lanes, peers, reads, rolling, units
from benchmarks.output import REPOSITORY, Output

COMMITTED = Output()
READS = COMMITTED.result("reads")
LANES = COMMITTED.result("lanes")
UNITS = COMMITTED.result("units")
ROLLING = COMMITTED.result("rolling")


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        (units.PAGE, units.table(UNITS)),
        (reads.README, peers.table(READS)),
        (reads.PAGE, reads.by_population(READS)),
        (reads.PAGE, reads.at_depths(READS)),
        (reads.PAGE, reads.on_others(READS)),
        (lanes.PAGE, lanes.on_a_busy_board(LANES)),
        (lanes.PAGE, lanes.on_quiet_boards(LANES)),
        (lanes.PAGE, lanes.of_a_rank(LANES)),
        (lanes.PAGE, lanes.of_cleaning(LANES)),
        (rolling.PAGE, rolling.of_writes(ROLLING)),
        (rolling.PAGE, rolling.of_reads(ROLLING)),
    ],
    ids=["units", "peers", "reads", "depths", "others", "busy", "quiet", "rank", "cleaning", "rolling", "one entry"],
)
def test_a_table_is_that_of_its_result(page: str, lines: Iterable[str]) -> None:
    assert "` -->\n" + "\n".join(lines) + "\n<!-- /" in (REPOSITORY / page).read_text(encoding="utf-8")


def test_the_bars_hold_for_the_committed_result() -> None:
    cost = {(row["board"], row["read"], row["members"]): row for row in READS["reads"]}
    deep = {(row["board"], row["members"]): row for row in READS["deep"]}

    pages = deep[reads.FEW, 1_000_000]
    assert pages["at_middle_read_units"] <= 1.2 * pages["at_1000_read_units"]
    assert pages["at_middle_read_units"] <= pages["first_read_units"] + 2.5
    assert cost["10 shards", "top 1,000", 1_000_000]["entries_most"] <= 1_300
    for members in reads.SIZES:
        assert cost[reads.FEW, "rank of a member", members]["read_units_most"] <= 3
        assert cost[reads.FEW, "top 100", members]["read_units_most"] <= 2.5
    assert READS["answers_wrong"] == 0


def test_lanes_are_paid_for_where_they_are_needed() -> None:
    busy = {(row["projectors"], row["most_lanes"]): row for row in LANES["busy"]}

    for count in lanes.PROJECTORS[2:]:
        with_lanes, without = busy[count, 4], busy[count, 1]
        assert with_lanes["moves_per_second"] > 2 * without["moves_per_second"]
        assert with_lanes["cancelled_share"] < without["cancelled_share"]
    assert busy[1, 4]["lanes"] == 1
    assert all(row["lanes"] == 1 for row in LANES["quiet"])
    for row in LANES["reads"]:
        assert row["read_units_most"] <= 0.5 + 2.5 * row["lanes"]
        assert row["round_trips_most"] == 2
        assert row["round_trips_first"] <= 3
