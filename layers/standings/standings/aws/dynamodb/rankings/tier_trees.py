"""Reads and prunes tier trees. A node has an item for each lane; the root's item in lane 0 has the number of lanes."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from standings.aws.dynamodb.calls import DynamoDBClient, Item, batch_get, transact
from standings.aws.dynamodb.keys import COUNTERS, lane_count, lane_of, node_key
from standings.domain.boards.definitions import Ranking
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.errors import CancelReason
from standings.ports.rankings import Lanes, Removal
from standings.runtime.retry import Clock
from standings.runtime.ttl_cache import RANKING_TTL_S, TtlCache

NodeId = tuple[Ranking, Path]
T = TypeVar("T")
ReadLanes = Callable[
    [dict[str, tuple[NodeId, int]]], dict[tuple[NodeId, int], Item]
]  # Reads items by key, gives them by label


class KnownLanes:
    """Reads nodes in all their lanes. It remembers each ranking's number of lanes, which never decreases.

    If the number is not known, it reads the root together with the other nodes.
    """

    def __init__(self, clock: Clock) -> None:
        self._counts: TtlCache[str, int] = TtlCache(clock, RANKING_TTL_S)

    def read(self, wanted: Iterable[NodeId], read: ReadLanes) -> dict[NodeId, dict[int, Item]]:
        """The items of nodes, by lane. A node without items is left out."""
        nodes = dict.fromkeys(wanted)
        rankings = {ranking.key: ranking for ranking, _ in nodes}
        known = {key: self._counts.get(key) for key in rankings}
        to_read = nodes | {(rankings[key], ROOT): None for key, count in known.items() if count is None}
        done = dict.fromkeys(rankings, 0)
        counts = {key: count or 1 for key, count in known.items()}
        items: dict[NodeId, dict[int, Item]] = {}
        while labels := {
            node_key(ranking.key, path, lane): ((ranking, path), lane)
            for ranking, path in to_read
            for lane in range(done[ranking.key], counts[ranking.key])
        }:
            done = dict(counts)
            for (node, lane), item in read(labels).items():
                items.setdefault(node, {})[lane] = item
                if lane == 0:
                    counts[node[0].key] = max(counts[node[0].key], lane_count(item))
        for ranking, path in to_read:
            if path == ROOT:
                self._counts.put(ranking.key, max(counts[ranking.key], self._counts.get(ranking.key) or 1))
        return {node: lanes for node, lanes in items.items() if node in nodes}


class DynamoTrees:
    """Tier trees lane by lane (`ports.rankings.Trees`). Reads are strongly consistent."""

    def __init__(self, client: DynamoDBClient, rankings: str, clock: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._clock = clock
        self._lanes = KnownLanes(clock)

    def lanes(self, ranking: Ranking, paths: Sequence[Path]) -> dict[Path, Lanes]:
        nodes = self._lanes.read([(ranking, path) for path in paths], self._read)
        return {path: {lane: lane_of(item) for lane, item in items.items()} for (_, path), items in nodes.items()}

    def _read(self, labels: dict[str, T]) -> dict[T, Item]:
        keys: list[Item] = [{"pk": {"S": key}} for key in labels]
        items = batch_get(self._client, self._rankings, keys, self._clock, consistent=True)
        return {labels[item["pk"]["S"]]: item for item in items}

    def remove(self, ranking: Ranking, nodes: Mapping[Path, Lanes], counters: Sequence[Removal]) -> list[CancelReason]:
        actions = [action for path, lanes in nodes.items() for action in self._node_out(ranking, path, lanes)]
        actions += [action for removal in counters for action in self._counters_out(ranking, removal)]
        return [reason for _, reason, _, _ in transact(self._client, actions)] if actions else []

    def _node_out(self, ranking: Ranking, path: Path, lanes: Lanes) -> Iterator[dict[str, Any]]:
        for number, lane in lanes.items():
            condition = {"ConditionExpression": "v = :v", "ExpressionAttributeValues": {":v": {"N": str(lane.version)}}}
            yield {"Delete": {**self._target(ranking, path, number), **condition}}

    def _counters_out(self, ranking: Ranking, removal: Removal) -> Iterator[dict[str, Any]]:
        for number, lane in removal.lanes.items():
            counters = {COUNTERS[digit]: lane.counters[digit] for digit in removal.digits if digit in lane.counters}
            if counters:
                values = {f":{name}": {"N": str(count)} for name, count in counters.items()}
                update = {
                    "UpdateExpression": f"SET v = v + :one REMOVE {', '.join(counters)}",
                    "ConditionExpression": " AND ".join(f"{name} = :{name}" for name in counters),
                    "ExpressionAttributeValues": {":one": {"N": "1"}, **values},
                }
                yield {"Update": {**self._target(ranking, removal.path, number), **update}}

    def _target(self, ranking: Ranking, path: Path, lane: int) -> dict[str, Any]:
        return {"TableName": self._rankings, "Key": {"pk": {"S": node_key(ranking.key, path, lane)}}}
