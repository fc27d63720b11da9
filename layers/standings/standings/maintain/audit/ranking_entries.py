"""The entries of a ranking as the sorted index has them, in all lists and shards."""

from collections.abc import Iterator
from heapq import merge
from typing import Final

from standings.domain.boards.definitions import Ranking
from standings.domain.rolling.blocks import lists_of
from standings.domain.scoring.sort_order import encode_sortable
from standings.domain.tiers.tier_path import Path, path
from standings.domain.tiers.tier_tree import span
from standings.maintain.audit.report import AuditCall, Listed
from standings.ports.rankings import Partition

PAGE: Final = 500


class RankingEntries:
    """Reads the entries of one ranking."""

    def __init__(self, call: AuditCall, ranking: Ranking) -> None:
        self._call = call
        self._ranking = ranking

    def following(self, beyond: str, shards: int) -> Iterator[Listed]:
        """The entries after a sort key, in order."""
        return merge(
            *(self._partition(partition, beyond) for partition in self._partitions(shards)),
            key=lambda entry: entry.key,
        )

    def within(self, leaf: Path, shards: int) -> Iterator[tuple[str, int]]:
        """The members of the entries of a leaf, each with its digit."""
        first, last = span(leaf)
        beyond, before = encode_sortable(first), encode_sortable(last + 1)
        for partition in self._partitions(shards):
            for entry in self._partition(partition, beyond, before):
                if entry.place is not None:
                    yield entry.member, path(entry.place.sort_value)[-1]

    def _partitions(self, shards: int) -> list[Partition]:
        return [Partition(key, shard) for key in lists_of(self._ranking) for shard in range(shards)]

    def _partition(self, partition: Partition, beyond: str, before: str | None = None) -> Iterator[Listed]:
        while True:
            page = self._call.reads.entries(self._ranking, partition, beyond, before, PAGE)
            yield from page
            if len(page) < PAGE:
                return
            beyond = page[-1].key
