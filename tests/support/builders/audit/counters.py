"""The counters of a board's tier trees that are wrong, from all items of the table: independent of the audit."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from standings.aws.dynamodb.keys import COUNTERS, index_key, log_key, node_key
from standings.aws.dynamodb.rankings.rolling_items import list_key, list_range
from standings.domain.boards.definitions import Ranking
from standings.domain.rolling.rolling_rankings import rolling_of
from standings.domain.scoring.sort_order import decode_sort_key
from standings.domain.tiers.tier_path import ROOT, Path, path
from tests.support.builders.checks import rows
from tests.support.builders.stored import Counters, Stored
from tests.support.dynamodb.items import decode_item

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
    """The counters of a ranking's nodes that are not 0. In a rolling window, they are those at the end of its log."""
    found: dict[Path, dict[int, int]] = {}
    for (node, digit), count in _counted(rows(engine, "Rankings"), ranking).items():
        found.setdefault(node, {})[digit] = count
    return found


def counters_off(engine: Any, rankings: list[Ranking]) -> set[Finding]:
    """The counters that differ from what they count.

    A leaf's counter counts entries; another node's counter is the sum of its child's counters.
    """
    wrong: set[Finding] = set()
    items = rows(engine, "Rankings")
    for ranking in rankings:
        counted, below = _counted(items, ranking), Counter(_entries(items, ranking))
        for (node, _), count in counted.items():
            if node != ROOT:
                below[node[:-1], node[-1]] += count
        for node, digit in counted.keys() | below.keys():
            if off := counted[node, digit] - below[node, digit]:
                wrong.add(("counter", ranking.key, f"{bytes(node).hex()}:{digit}:{off}"))
    return wrong


def _counted(items: list[dict[str, Any]], ranking: Ranking) -> Counters:
    """The counters of a ranking, from its nodes in the lanes that are in use, and from the log of a rolling window."""
    nodes = {item["pk"]["S"]: decode_item(item) for item in items if item["pk"]["S"].startswith(f"{ranking.key}/")}
    lanes = nodes.get(node_key(ranking.key, ROOT), {}).get("l", 1)
    used = [item for key, item in nodes.items() if int(key.partition("+")[2] or 0) < lanes]
    if ranking.window.rolling:
        log = log_key(rolling_of(ranking).key, 0)
        used += [decode_item(item) for item in items if item["pk"]["S"] == log]
    return Stored(used).counted.get(ranking.key, Counter())


def _entries(items: list[dict[str, Any]], ranking: Ranking) -> Iterator[tuple[Path, int]]:
    """The leaf and digit of each readable entry, in the shards that are in use."""
    rolling = ranking.window.rolling
    key = list_key(rolling_of(ranking), ranking.period) if rolling else ranking.key
    shards = {index_key(key, shard) for shard in range(ranking.metric.shards)}
    for item in items:
        is_there = "s" in item and item["r"]["S"] in shards and item["s"]["S"] not in UNREADABLE
        if is_there and (not rolling or _is_valid(item, ranking)):
            place, _ = decode_sort_key(item["s"]["S"], ties_by_instant=ranking.metric.ties_by_instant)
            *leaf, digit = path(place.sort_value)
            yield tuple(leaf), digit


def _is_valid(item: dict[str, Any], ranking: Ranking) -> bool:
    """Whether a list item counts in the ranking's period."""
    if "N" not in item["t"]:
        return False
    first, until = list_range(rolling_of(ranking), item)
    return first <= ranking.period < until
