"""Looks into the Rankings table: entries as they stand, and whether the tiers count exactly them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from standings.aws.dynamodb.keys import DIGITS
from standings.domain.scoring.sort_order import decode_sort_key
from standings.domain.tiers.tier_path import Path, path


def rows(client: Any, table: str) -> list[dict[str, Any]]:
    """All items of a table."""
    found: list[dict[str, Any]] = []
    request: dict[str, Any] = {"TableName": table}
    while True:
        answer = client.scan(**request)
        found += answer["Items"]
        if "LastEvaluatedKey" not in answer:
            return found
        request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]


def entries(client: Any) -> dict[str, dict[str, int]]:
    """Ordinals by member, for each ranking by its key."""
    found: dict[str, dict[str, int]] = {}
    for row in rows(client, "Rankings"):
        if "s" in row:
            ranking = row["r"]["S"].partition("/")[0]
            member = row["pk"]["S"].removeprefix(f"{ranking}#")
            place, also = next(
                (place, name)
                for place, name in (
                    decode_sort_key(row["s"]["S"], ties_by_instant=ties_by_instant) for ties_by_instant in (False, True)
                )
                if name == member
            )
            assert also == member
            found.setdefault(ranking, {})[member] = place.sort_value
    return found


def tiers(client: Any) -> dict[str, dict[tuple[Path, int], int]]:
    """Counters that are not 0, summed over their lanes, for each ranking by its key."""
    found: dict[str, Counter[tuple[Path, int]]] = {}
    known = lanes(client)
    for ranking, way, lane, row in nodes(client):
        assert lane < known.get(ranking, 1), "a lane that readers do not know of"
        for name, value in row.items():
            digit = DIGITS.get(name)
            if digit is not None:
                found.setdefault(ranking, Counter())[way, digit] += int(value["N"])
    return {
        ranking: there
        for ranking, counters in found.items()
        if (there := {counter: count for counter, count in counters.items() if count})
    }


def nodes(client: Any) -> Iterator[tuple[str, Path, int, dict[str, Any]]]:
    """The items of tier trees: ranking, path, lane, and the item."""
    for row in rows(client, "Rankings"):
        ranking, slash, rest = row["pk"]["S"].partition("/")
        if slash and "#" not in rest and ranking.count("#") == 1:
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
            way = path(sort_value)
            counts.update((way[:length], way[length]) for length in range(len(way)))

    assert {ranking: dict(counts) for ranking, counts in counted.items()} == tiers(client)
