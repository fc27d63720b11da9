"""Looks into the Rankings table: entries as they stand, and whether the tiers count exactly them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from standings.domain.scoring import decode_sort_key
from standings.domain.tiers import Path, path
from tests.support.builders.points import points
from tests.support.builders.stored import Stored
from tests.support.dynamodb.items import decode_item


def rows(client: Any, table: str) -> list[dict[str, Any]]:
    """All items of a table of an engine."""
    items: list[dict[str, Any]] = client.scan(TableName=table)["Items"]
    return items


def stored(client: Any) -> Stored:
    """What Rankings says, where every item may be."""
    found = Stored(decode_item(row) for row in rows(client, "Rankings"))
    assert (found.wrong, found.twice) == ([], {})
    return found


def entries(client: Any) -> dict[str, dict[str, int]]:
    """Sort values by member, for each ranking by its key."""
    return {
        ranking: {member: _sort_value(key, member) for member, key in placed.items()}
        for ranking, placed in stored(client).placed.items()
    }


def _sort_value(key: str, member: str) -> int:
    for ties in ("member", "first"):
        place, also = decode_sort_key(key, points(ties))
        if also == member:
            return place.values[0]
    raise AssertionError(f"{key!r} is no sort key of {member!r}")


def tiers(client: Any) -> dict[str, Counter[tuple[Path, int]]]:
    """Counters that are not 0, summed over their lanes, for each ranking by its key."""
    found = stored(client)
    for nodes_ in found.nodes.values():
        known = nodes_.get((), {}).get(0, {}).get("l", 1)
        assert all(lane < known for lanes_ in nodes_.values() for lane in lanes_), "a lane that readers do not know of"
    return found.counted


def nodes(client: Any) -> Iterator[tuple[str, Path, int, dict[str, Any]]]:
    """The items of tier trees: ranking, path, lane, and the item."""
    for row in rows(client, "Rankings"):
        ranking, slash, rest = row["pk"]["S"].partition("/")
        if slash and "#" not in rest and ranking.count("#") == 1 and not rest.startswith("log"):
            way, _, lane = rest.partition("+")
            yield ranking, tuple(bytes.fromhex(way)), int(lane or 0), row


def lanes(client: Any) -> dict[str, int]:
    """How many lanes rankings have, of those whose roots name them."""
    return {
        ranking: int(row["l"]["N"]) for ranking, way, lane, row in nodes(client) if not way and not lane and "l" in row
    }


def assert_tiers_count_the_entries(client: Any) -> None:
    """Every counter of every ranking is the number of entries below it."""
    counted: dict[str, Counter[tuple[Path, int]]] = {}
    for ranking, placed in entries(client).items():
        counts = counted.setdefault(ranking, Counter())
        for sort_value in placed.values():
            way = path((sort_value,))
            counts.update((way[:length], way[length]) for length in range(len(way)))

    assert counted == tiers(client)
