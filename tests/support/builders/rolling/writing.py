"""Writes to rolling windows as the projector writes them, member by member."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from standings.aws.dynamodb.keys import log_key
from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.aws.dynamodb.rankings.rolling_windows import DynamoRollingWindows
from standings.domain.rolling.count_log import Entry
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.rolling.steps import CountChange, Step, Steps, count_changes
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import ROOT, Path
from standings.domain.tiers.tier_tree import nodes_for
from standings.ports.rolling import ListItem, RollingRow, RowChange, RowConflict
from tests.support.builders.points import NOW
from tests.support.builders.rolling.random_items import rolling_window

WINDOW: Final = rolling_window("last-7-days")
TODAY: Final = WINDOW.metric.timetable.index("d", NOW)
SHORT: Final = Entry(NOW, [CountChange(TODAY, TODAY + 7, None, -5)])
TWO: Final = [(None, -5), (None, -300)]
"""The moves of `two_members`."""


def steps(*places: tuple[int, int, int]) -> Steps:
    """Steps from first periods, ends and sort values; periods are counted from today. They are divided at slabs."""
    divided = []
    for first, until, value in places:
        start = TODAY + first
        while start < TODAY + until:
            end = min(TODAY + until, WINDOW.window.slab_of(start).stop)
            divided.append(Step(start, end, Place(value)))
            start = end
    return Steps(TODAY - 5, tuple(divided))


def commit(
    windows: DynamoRollingWindows, members: Mapping[str, Steps], version: int = 1, rankings: RollingRankings = WINDOW
) -> Sequence[RowConflict]:
    """Read the rows of members, and commit their new steps."""
    rows = windows.rows(rankings, list(members))
    changes = []
    entry = Entry(NOW, [])
    for member, after in members.items():
        row = rows.get(member)
        assert not isinstance(row, str), row
        before, seen = (row.steps, row.version) if row is not None else (None, None)
        changes.append(RowChange(member, RollingRow(version, after), NOW, seen))
        entry = Entry(NOW, [*entry.changes, *count_changes(before, after)])
    return windows.commit(rankings, changes, entry)


def list_items(
    windows: DynamoRollingWindows, members: Mapping[str, Steps], version: int = 1, rankings: RollingRankings = WINDOW
) -> None:
    """Write an item for each step."""
    items = [ListItem(member, step.first, step, version, NOW) for member, of in members.items() for step in of.steps]
    windows.list(rankings, items)


def counts(reader: DynamoRankingsReader, *sort_values: int, period: int = TODAY) -> dict[Path, dict[int, int]]:
    """The counters of the nodes of some sort values that are not 0."""
    paths = dict.fromkeys([ROOT, *(path for value in sort_values for path in nodes_for(value))])
    nodes = reader.for_request().nodes([(WINDOW.at(period), path) for path in paths])
    found = {path: {digit: n for digit, n in node.counters.items() if n} for (_, path), node in nodes.items()}
    return {path: counters for path, counters in found.items() if counters}


def log(client: Any, table: str, number: int = 0) -> dict[str, Any] | None:
    """A log as it is stored."""
    key = {"pk": {"S": log_key(WINDOW.key, number)}}
    item: dict[str, Any] | None = client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
    return item


def stored_log(client: Any, table: str, number: int = 0) -> dict[str, Any]:
    """A log that there is."""
    item = log(client, table, number)
    assert item is not None
    return item


def two_members(windows: DynamoRollingWindows) -> None:
    """Commit the members of `TWO`, each with an entry."""
    assert commit(windows, {"m": steps((0, 7, -5))}) == []
    assert commit(windows, {"n": steps((0, 7, -300))}) == []
