"""Reads the top of a ranking, for announcements: the sorted index, and what is strongly consistent."""

from collections.abc import Collection, Mapping, Sequence

from standings.aws.dynamodb.calls import DynamoDBClient, Item, batch_get, get_item
from standings.aws.dynamodb.keys import entry_key, index_key, node_key
from standings.aws.dynamodb.rankings.audit_tables import AuditTables, spreads
from standings.aws.dynamodb.rankings.tier_trees import DynamoTrees
from standings.domain.boards.definitions import Ranking
from standings.domain.tiers.tier_path import ROOT, Path
from standings.domain.tiers.tier_tree import Counters, summed
from standings.runtime.retry import Clock


class DynamoTopReads:
    """Reads of one ranking (`ports.announcements.TopReads`)."""

    def __init__(self, client: DynamoDBClient, rankings: str, clock: Clock) -> None:
        self._client = client
        self._rankings = rankings
        self._clock = clock
        self._trees = DynamoTrees(client, rankings, clock)
        # It reads no member's item: no scores table is needed.
        self._tables = AuditTables(client, "", rankings, clock)

    def shards(self, ranking: Ranking) -> int:
        key: Item = {"pk": {"S": node_key(ranking.key, ROOT)}}
        return max(spreads(get_item(self._client, self._rankings, key, consistent=True) or {}, ranking.metric))

    def indexed(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[str]:
        items = self._tables.placed(index_key(ranking.key, shard), beyond, before, limit)
        return [item["s"]["S"] for item in items]

    def keys(self, ranking: Ranking, members: Collection[str]) -> dict[str, str | None]:
        by_key = {entry_key(ranking.key, member): member for member in members}
        wanted: list[Item] = [{"pk": {"S": key}} for key in by_key]
        items = batch_get(self._client, self._rankings, wanted, self._clock, consistent=True)
        placed = {by_key[item["pk"]["S"]]: item["s"]["S"] for item in items if "s" in item}
        return {member: placed.get(member) for member in members}

    def counters(self, ranking: Ranking, paths: Sequence[Path]) -> Mapping[Path, Counters]:
        nodes = self._trees.lanes(ranking, paths)
        return {path: summed(lane.counters for lane in lanes.values()) for path, lanes in nodes.items()}
