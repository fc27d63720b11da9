"""Tier trees in DynamoDB: a node is an item in each of its lanes, and the root of the first names the lanes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from standings.aws.dynamodb.calls import Item, batch_get, transact
from standings.aws.dynamodb.keys import counter_digit, counter_name, node_key
from standings.domain.boards.ranking import Ranking
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.errors import CancelReason
from standings.ports.rankings import Lane, Lanes, Removal
from standings.runtime.retry import Clock
from standings.runtime.ttl_cache import RANKING_TTL_S, TtlCache

if TYPE_CHECKING:
    from mypy_boto3_dynamodb.client import DynamoDBClient

Node = tuple[Ranking, Path]
T = TypeVar("T")
Read = Callable[[dict[str, tuple[Node, int]]], dict[tuple[Node, int], Item]]
"""Reads items of Rankings by key; each is given back by what its key stands for."""


def lane_of(item: Item) -> Lane:
    """What an item says of one lane of a node. One that only names lanes knows of no stamp."""
    counters = {digit: int(value["N"]) for name, value in item.items() if (digit := counter_digit(name)) is not None}
    written_at_ms = int(item["t"]["N"]) if "t" in item else None
    return Lane(counters, int(item["v"]["N"]) if "v" in item else 0, written_at_ms)


class KnownLanes:
    """Reads nodes in all their lanes, and remembers how many lanes each ranking has: their number only grows.

    The root says how many. Where the number is not known, the root is read along with the other nodes.
    """

    def __init__(self, pacing: Clock) -> None:
        self._lanes: TtlCache[str, int] = TtlCache(pacing, RANKING_TTL_S)

    def read(self, wanted: Iterable[Node], read: Read) -> dict[Node, dict[int, Item]]:
        """The items of nodes by lane; a node without any is left out."""
        nodes = dict.fromkeys(wanted)
        rankings = {ranking.key: ranking for ranking, _ in nodes}
        known = {key: self._lanes.get(key) for key in rankings}
        asked = nodes | {(rankings[key], ROOT): None for key, lanes in known.items() if lanes is None}
        read_to = dict.fromkeys(rankings, 0)
        to = {key: lanes or 1 for key, lanes in known.items()}
        found: dict[Node, dict[int, Item]] = {}
        while keys := {
            node_key(*node, lane): (node, lane)
            for node in asked
            for lane in range(read_to[node[0].key], to[node[0].key])
        }:
            read_to = dict(to)
            for (node, lane), item in read(keys).items():
                found.setdefault(node, {})[lane] = item
                if "l" in item and lane == 0:
                    to[node[0].key] = max(to[node[0].key], int(item["l"]["N"]))
        for ranking, path in asked:
            if path == ROOT:
                self._lanes.put(ranking.key, max(to[ranking.key], self._lanes.get(ranking.key) or 1))
        return {node: lanes for node, lanes in found.items() if node in nodes}


class DynamoTrees:
    """Tier trees (`ports.rankings.Trees`), strongly consistent."""

    def __init__(self, client: "DynamoDBClient", rankings: str, pacing: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._pacing = pacing
        self._lanes = KnownLanes(pacing)

    def lanes(self, ranking: Ranking, paths: Sequence[Path]) -> dict[Path, Lanes]:
        found = self._lanes.read([(ranking, path) for path in paths], self._read)
        return {path: {lane: lane_of(item) for lane, item in lanes.items()} for (_, path), lanes in found.items()}

    def _read(self, keys: dict[str, T]) -> dict[T, Item]:
        wanted: list[Item] = [{"pk": {"S": key}} for key in keys]
        items = batch_get(self._client, self._rankings, wanted, self._pacing, consistent=True)
        return {keys[item["pk"]["S"]]: item for item in items}

    def remove(self, ranking: Ranking, nodes: Mapping[Path, Lanes], counters: Sequence[Removal]) -> list[CancelReason]:
        actions = [action for path, lanes in nodes.items() for action in self._node_out(ranking, path, lanes)]
        actions += [action for removal in counters for action in self._counters_out(ranking, removal)]
        return [reason for _, reason, _, _ in transact(self._client, actions)] if actions else []

    def _node_out(self, ranking: Ranking, path: Path, lanes: Lanes) -> Iterator[dict[str, Any]]:
        for number, lane in lanes.items():
            yield {
                "Delete": {
                    "TableName": self._rankings,
                    "Key": {"pk": {"S": node_key(ranking, path, number)}},
                    "ConditionExpression": "v = :v",
                    "ExpressionAttributeValues": {":v": {"N": str(lane.version)}},
                }
            }

    def _counters_out(self, ranking: Ranking, removal: Removal) -> Iterator[dict[str, Any]]:
        for number, lane in removal.lanes.items():
            counted = {counter_name(digit): lane.counters[digit] for digit in removal.digits if digit in lane.counters}
            if counted:
                yield {
                    "Update": {
                        "TableName": self._rankings,
                        "Key": {"pk": {"S": node_key(ranking, removal.path, number)}},
                        "UpdateExpression": f"SET v = v + :one REMOVE {', '.join(counted)}",
                        "ConditionExpression": " AND ".join(f"{name} = :{name}" for name in counted),
                        "ExpressionAttributeValues": {
                            ":one": {"N": "1"},
                            **{f":{name}": {"N": str(count)} for name, count in counted.items()},
                        },
                    }
                }
