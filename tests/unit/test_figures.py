"""Every figure of the pages is one of a committed result: the tables are those that the commands make of them."""

import json
from collections.abc import Iterable
from pathlib import Path

import pytest

from benchmarks import peers, reads, units

READS = json.loads(reads.RESULT.read_text(encoding="utf-8"))
UNITS = json.loads(units.RESULT.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("page", "lines"),
    [
        (units.README, units.table(UNITS)),
        (units.README, peers.table(READS)),
        (reads.PAGE, reads.by_population(READS)),
        (reads.PAGE, reads.at_depths(READS)),
        (reads.PAGE, reads.on_others(READS)),
    ],
    ids=["units", "peers", "reads", "depths", "others"],
)
def test_a_table_is_that_of_its_result(page: Path, lines: Iterable[str]) -> None:
    assert "` -->\n" + "\n".join(lines) + "\n<!-- /" in page.read_text(encoding="utf-8")


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
