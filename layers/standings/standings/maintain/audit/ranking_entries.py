"""The entries of a ranking as the sorted index has them: in a rolling window, the list items valid in its period."""

from collections.abc import Iterator
from heapq import merge
from typing import Final

from standings.domain.boards.definitions import Ranking
from standings.domain.scoring.sort_order import encode_sortable
from standings.domain.tiers.tier_path import Path, path
from standings.domain.tiers.tier_tree import span
from standings.maintain.audit.report import AuditCall, Listed

PAGE: Final = 500


class RankingEntries:
    """Reads the entries of one ranking."""

    def __init__(self, call: AuditCall, ranking: Ranking) -> None:
        self._call = call
        self._ranking = ranking

    def following(self, beyond: str, shards: int) -> Iterator[Listed]:
        """The entries after a sort key, in order, and list items of which nothing says in which periods they count."""
        items = merge(*(self._shard(shard, beyond) for shard in range(shards)), key=lambda entry: entry.key)
        return (entry for entry in items if self._is_valid(entry) or entry.span is None)

    def within(self, leaf: Path, shards: int) -> Iterator[tuple[str, int]]:
        """The members of the entries of a leaf, each with its digit."""
        first, last = span(leaf)
        beyond, before = encode_sortable(first), encode_sortable(last + 1)
        for shard in range(shards):
            for entry in self._shard(shard, beyond, before):
                if entry.place is not None and self._is_valid(entry):
                    yield entry.member, path(entry.place.sort_value)[-1]

    def path(self, entry: Listed) -> Path | None:
        """The path of an entry in the tree; None if it does not count there."""
        return path(entry.place.sort_value) if entry.place is not None and self._is_valid(entry) else None

    def _is_valid(self, entry: Listed) -> bool:
        if not self._ranking.window.rolling:
            return True
        return entry.span is not None and entry.span[0] <= self._ranking.period < entry.span[1]

    def _shard(self, shard: int, beyond: str, before: str | None = None) -> Iterator[Listed]:
        while True:
            page = self._call.reads.entries(self._ranking, shard, beyond, before, PAGE)
            if len(page) < PAGE:
                yield from page
                return
            # Steps of a member may share a sort key: those of the last one may go on behind the page.
            whole = [entry for entry in page if entry.key != page[-1].key] or page
            yield from whole
            beyond = whole[-1].key
