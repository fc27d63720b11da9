"""The counters of a board's tier trees, read and written row by row: independent of the audit."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from standings.aws.dynamodb.keys import COUNTERS, DIGITS, index_key, log_key, node_key
from standings.aws.dynamodb.rankings.rolling_items import list_key, list_range
from standings.domain.boards.definitions import Ranking
from standings.domain.rolling.count_log import decode_entry, node_deltas
from standings.domain.rolling.rolling_rankings import rolling_of
from standings.domain.scoring.sort_order import decode_sort_key
from standings.domain.tiers.tier_path import ROOT, Path, path
from tests.support.builders.checks import rows

NOW = 1_795_256_100_000
UNREADABLE = ("?", "~~", "P", "\u00e9", "zzz")
"""Sort keys that no entry has."""

Finding = tuple[str, str, str]
"""A kind, a ranking, and a member or `node:digit:off`."""


def add_to_counter(engine: Any, ranking: Ranking, node: Path, digit: int, count: int, lane: int = 0) -> None:
    """Add to a counter, whatever it counts."""
    engine.update_item(
        TableName="Rankings",
        Key={"pk": {"S": node_key(ranking.key, node, lane)}},
        UpdateExpression=f"SET t = if_not_exists(t, :t) ADD {COUNTERS[digit]} :n",
        ExpressionAttributeValues={":n": {"N": str(count)}, ":t": {"N": str(NOW)}},
    )


def nodes_of(engine: Any, ranking: Ranking) -> dict[Path, dict[int, int]]:
    """The counters of a ranking's nodes, also those of 0, summed over the lanes that the root names.

    In a rolling window, they are those at the end of its log.
    """
    there = {row["pk"]["S"]: row for row in rows(engine, "Rankings") if row["pk"]["S"].startswith(f"{ranking.key}/")}
    lanes = int(there.get(node_key(ranking.key, ROOT), {}).get("l", {"N": "1"})["N"])
    found: dict[Path, dict[int, int]] = {}
    for key, row in there.items():
        way, _, lane = key.removeprefix(f"{ranking.key}/").partition("+")
        if int(lane or 0) < lanes:
            node = found.setdefault(tuple(bytes.fromhex(way)), {})
            for name, value in row.items():
                digit = DIGITS.get(name)
                if digit is not None:
                    node[digit] = node.get(digit, 0) + int(value["N"])
    for way, position, counters in _logged(engine, ranking):
        stored = there.get(node_key(ranking.key, way), {})
        if position >= int(stored.get("p0", {"N": "0"})["N"]):
            node = found.setdefault(way, {})
            for digit, count in counters.items():
                node[digit] = node.get(digit, 0) + count
    return found


def _logged(engine: Any, ranking: Ranking) -> Iterator[tuple[Path, int, dict[int, int]]]:
    """The changes of nodes that the only log of a rolling window holds: path, position, counters."""
    key = log_key(rolling_of(ranking).key, 0)
    for row in rows(engine, "Rankings") if ranking.window.rolling else ():
        if row["pk"]["S"] == key:
            assert "c" not in row
            for position, text in enumerate(row["l"]["L"], start=int(row["b"]["N"])):
                period = range(ranking.period, ranking.period + 1)
                for (_, way), counters in node_deltas([decode_entry(text["S"])], period).items():
                    yield way, position, counters


def counters_off(engine: Any, rankings: list[Ranking]) -> set[Finding]:
    """The counters that differ from what they count, from all rows of the table.

    A leaf's counter counts entries; another node's counter is the sum of its child's counters.
    """
    wrong: set[Finding] = set()
    for ranking in rankings:
        below = _entries_of_leaves(engine, ranking)
        nodes = nodes_of(engine, ranking)
        for node, counters in nodes.items():
            if node != ROOT:
                below[node[:-1], node[-1]] += sum(counters.values())
        counted = {(node, digit): count for node, counters in nodes.items() for digit, count in counters.items()}
        for node, digit in counted.keys() | below.keys():
            off = counted.get((node, digit), 0) - below[node, digit]
            if off:
                wrong.add(("counter", ranking.key, f"{bytes(node).hex()}:{digit}:{off}"))
    return wrong


def _entries_of_leaves(engine: Any, ranking: Ranking) -> Counter[tuple[Path, int]]:
    """The number of entries for each score: by leaf and digit."""
    entries: Counter[tuple[Path, int]] = Counter()
    key = list_key(rolling_of(ranking), ranking.period) if ranking.window.rolling else ranking.key
    shards = {index_key(key, shard) for shard in range(ranking.metric.shards)}
    for row in rows(engine, "Rankings"):
        if "s" in row and row["r"]["S"] in shards and row["s"]["S"] not in UNREADABLE and _is_valid(row, ranking):
            place, _ = decode_sort_key(row["s"]["S"], ties_by_instant=ranking.metric.ties_by_instant)
            *leaf, digit = path(place.sort_value)
            entries[tuple(leaf), digit] += 1
    return entries


def _is_valid(row: dict[str, Any], ranking: Ranking) -> bool:
    """Whether an item of the index counts in the ranking's period."""
    if not ranking.window.rolling:
        return True
    try:
        first, until = list_range(rolling_of(ranking), row)
    except (LookupError, ValueError):
        return False
    return first <= ranking.period < until
