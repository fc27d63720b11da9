"""Reads the top N, or any other part, of a ranking whose sorted index is split into shards: a lazy merge.

Each shard is first read a little beyond its fair share. A shard is read again only while its last entry is ahead of the
N-th entry of all. The result is exact: the top 1,000 of 10 shards take about 1,200 entries instead of 10,000.
"""

from collections.abc import Sequence
from itertools import chain
from math import isqrt

from standings.domain.tiers.tier_path import Path
from standings.ports.rankings import Entry, Node, Span
from standings.read.reader import RankingReads


def read_stretch(
    reads: RankingReads, beyond: str | None, limit: int, paths: Sequence[Path], *, forward: bool
) -> tuple[list[Entry], dict[Path, Node]]:
    """The `limit` entries behind a key or, with `forward` false, ahead of it, nearest first; and nodes.

    Include the root in `paths` unless it was just read: it may name more shards than `boards.toml`.
    """
    merge = _Merge(beyond, limit, forward=forward)
    nodes = _read(reads, [merge], paths)
    return merge.entries[:limit], nodes


def read_around(
    reads: RankingReads, middle: Entry, limit: int, paths: Sequence[Path]
) -> tuple[list[Entry], list[Entry], dict[Path, Node]]:
    """The `limit` entries ahead of an entry and behind it, nearest first; and nodes."""
    ahead, behind = _Merge(middle.key, limit, forward=False), _Merge(middle.key, limit, forward=True)
    nodes = _read(reads, [ahead, behind], paths)
    # A member that moves meanwhile may be found twice: keep the first.
    shown = {middle.member, *(entry.member for entry in ahead.entries[:limit])}
    return (
        [entry for entry in ahead.entries[:limit] if entry.member != middle.member],
        [entry for entry in behind.entries[:limit] if entry.member not in shown],
        nodes,
    )


def _read(reads: RankingReads, merges: Sequence["_Merge"], paths: Sequence[Path]) -> dict[Path, Node]:
    """Read until every merge is complete. Each round reads all its spans in parallel, the first also the nodes."""
    nodes: dict[Path, Node] = {}
    while True:
        # After the number of shards was raised, the root may name more than were read.
        shards = reads.shards(nodes)
        spans = [merge.next_spans(shards) for merge in merges]
        if not any(spans):
            return nodes
        parts, read_nodes = reads.spans(list(chain.from_iterable(spans)), paths)
        nodes.update(read_nodes)
        paths = ()
        for merge, mine in zip(merges, spans, strict=True):
            merge.add(mine, parts[: len(mine)])
            parts = parts[len(mine) :]


def fair_share(entries: int, shards: int) -> int:
    """How many entries to read of a shard: the mean share and a little more than the usual deviation."""
    return entries if shards == 1 else -(-entries // shards) + 5 * isqrt(-(-entries // shards)) // 4 + 1


class _Merge:
    """Merges the shards' entries beyond a key, up to a limit."""

    def __init__(self, beyond: str | None, limit: int, *, forward: bool) -> None:
        self._beyond = beyond
        self._limit = limit
        self._forward = forward
        self._shards = 0
        # The last key read of each shard that may have more entries; None before its first read.
        self._last_keys: dict[int, str | None] = {}
        self.entries: list[Entry] = []

    def next_spans(self, shards: int) -> list[Span]:
        """What to read next of the shards; nothing once no shard can have more of the entries wanted."""
        self._last_keys.update(dict.fromkeys(range(self._shards, shards)))
        self._shards = max(shards, self._shards)
        limit_key = self.entries[self._limit - 1].key if len(self.entries) >= self._limit else None
        open_shards = {
            shard: key
            for shard, key in self._last_keys.items()
            if key is None or limit_key is None or self._is_ahead(key, limit_key)
        }
        # Entries up to the nearest last key are final. The shards have their shares of the rest.
        final = 0
        keys = [key for key in open_shards.values() if key is not None]
        if keys and len(keys) == len(open_shards):
            nearest = min(keys) if self._forward else max(keys)
            final = sum(not self._is_ahead(nearest, entry.key) for entry in self.entries)
        share = fair_share(max(1, self._limit - final), self._shards)
        return [Span(shard, key or self._beyond, share, self._forward) for shard, key in open_shards.items()]

    def add(self, spans: Sequence[Span], parts: Sequence[Sequence[Entry]]) -> None:
        """Add the entries that were read of each span."""
        for span, entries in zip(spans, parts, strict=True):
            if len(entries) < span.limit:
                del self._last_keys[span.shard]
            else:
                self._last_keys[span.shard] = entries[-1].key
        entries = sorted(chain(self.entries, *parts), key=lambda entry: entry.key, reverse=not self._forward)
        # A member that moves between two reads may be found twice: keep the first.
        first_by_member: dict[str, Entry] = {}
        for entry in entries:
            first_by_member.setdefault(entry.member, entry)
        self.entries = list(first_by_member.values())

    def _is_ahead(self, key: str, other: str) -> bool:
        return key < other if self._forward else key > other
