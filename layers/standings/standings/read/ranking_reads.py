"""Reads of one ranking."""

from collections.abc import Mapping, Sequence

from standings.domain.boards.ranking import Ranking
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.rankings import Entry, Node, RankingsReader, Span
from standings.runtime.ttl_cache import TtlCache


class RankingReads:
    """Reads entries, tier nodes and parts of the sorted index of one ranking, within one request.

    The index may have more shards than `boards.toml` says, because the number was larger before. The root node stores
    the largest number; it is remembered when the root is read.
    """

    def __init__(self, store: RankingsReader, ranking: Ranking, known_shards: TtlCache[str, int]) -> None:
        self._store = store
        self.ranking = ranking
        self._known_shards = known_shards
        self._shards = max(known_shards.get(ranking.key) or 1, ranking.metric.shards)

    def entry(self, member: str) -> Entry | None:
        """A member's entry; None if the member is not ranked."""
        return self._store.entries([(self.ranking, member)]).get((self.ranking, member))

    def nodes(self, paths: Sequence[Path]) -> dict[Path, Node]:
        """Nodes of the tier tree. Empty nodes are left out."""
        by_ranking = self._store.nodes([(self.ranking, path) for path in paths])
        nodes = {path: node for (_, path), node in by_ranking.items()}
        self.shards(nodes)
        return nodes

    def spans(self, spans: Sequence[Span], paths: Sequence[Path]) -> tuple[list[list[Entry]], dict[Path, Node]]:
        """Parts of the sorted index and nodes of the tier tree, read in parallel."""
        return self._store.spans(self.ranking, spans, paths)

    def counts(self, ranges: Sequence[tuple[str, str]], most: int) -> list[int]:
        """The number of entries in each range of keys, ends included. Counting stops at `most` in each shard."""
        return self._store.counts(self.ranking, self._shards, ranges, most)

    def shards(self, nodes: Mapping[Path, Node]) -> int:
        """The number of shards to read: the largest that `boards.toml` or a root node has named so far."""
        named = nodes[ROOT].shards if ROOT in nodes else 1
        if named > self._shards:
            self._shards = named
            self._known_shards.put(self.ranking.key, named)
        return self._shards
