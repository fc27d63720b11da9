"""Reads the sorted index of a ranking, whose entries may be spread over several shards: a merge that asks for little.

Each shard is asked for a little more than its fair share, and again only if its last entry still stands ahead of the
last one that is wanted: exact, and for the first 1,000 of 10 shards some 1,200 entries are read, not 10,000.
"""

from collections.abc import Sequence
from itertools import chain
from math import isqrt
from typing import NamedTuple

from standings.domain.tiers.tier_path import Path
from standings.ports.ranking_reads import Entry, Node, Span
from standings.read.reader import RankingReads


class Stretch(NamedTuple):
    """Entries that follow one another in a list (or, read backward, precede), and nodes read beside them."""

    entries: list[Entry]
    nodes: dict[Path, Node]


def read_stretch(
    reads: RankingReads, beyond: str | None, limit: int, paths: Sequence[Path], *, forward: bool
) -> Stretch:
    """The `limit` entries that follow a key (`forward` false: precede it, nearest first), and nodes beside them.

    The root should be among the nodes, or have been read just now: it may name more shards than `boards.toml`.
    """
    merge = _Merge(beyond, limit, forward=forward)
    nodes = _read(reads, [merge], paths)
    return Stretch(merge.entries[:limit], nodes)


def read_around(
    reads: RankingReads, middle: Entry, limit: int, paths: Sequence[Path]
) -> tuple[list[Entry], list[Entry], dict[Path, Node]]:
    """The `limit` entries that precede one and those that follow it, nearest first, and nodes beside them."""
    ahead, behind = _Merge(middle.key, limit, forward=False), _Merge(middle.key, limit, forward=True)
    nodes = _read(reads, [ahead, behind], paths)
    shown = {middle.member}
    sides = []
    for merge in (ahead, behind):
        # Whoever moves meanwhile may be met at both of its places: it is shown at the first.
        sides.append([entry for entry in merge.entries[:limit] if entry.member not in shown])
        shown.update(entry.member for entry in sides[-1])
    return sides[0], sides[1], nodes


def _read(reads: RankingReads, merges: Sequence["_Merge"], paths: Sequence[Path]) -> dict[Path, Node]:
    """Read until every merge has what it wants; all that is asked for at the same time goes side by side."""
    nodes: dict[Path, Node] = {}
    shards = reads.shards(nodes)
    while True:
        for merge in merges:
            merge.add_shards(shards)
        asked = [merge.spans() for merge in merges]
        spans = list(chain.from_iterable(asked))
        if not spans:
            return nodes
        found, beside = reads.spans(spans, paths)
        nodes.update(beside)
        for merge, mine in zip(merges, asked, strict=True):
            merge.take(mine, found[: len(mine)])
            found = found[len(mine) :]
        # While the number of shards changes, the root may name more than were asked.
        shards = reads.shards(nodes)
        paths = ()


def fair_share(entries: int, shards: int) -> int:
    """How many of a shard's entries to ask for: its mean share, and a little more than its usual deviation."""
    return entries if shards == 1 else -(-entries // shards) + 5 * isqrt(-(-entries // shards)) // 4 + 1


class _Merge:
    def __init__(self, beyond: str | None, limit: int, *, forward: bool) -> None:
        self._beyond = beyond
        self._limit = limit
        self._forward = forward
        self._shards = 0
        # How far each shard that may have more was read: None is not at all.
        self._read: dict[int, str | None] = {}
        self.entries: list[Entry] = []

    def add_shards(self, shards: int) -> None:
        self._read.update(dict.fromkeys(range(self._shards, shards)))
        self._shards = max(shards, self._shards)

    def spans(self) -> list[Span]:
        """What to read next: nothing once no shard can have more of what is wanted."""
        last = self.entries[self._limit - 1].key if len(self.entries) >= self._limit else None
        behind = {
            shard: key for shard, key in self._read.items() if key is None or last is None or self._ahead(key, last)
        }
        # What stands ahead of all that is still to come is settled; the shards have their shares of the rest.
        settled = 0
        read = [key for key in behind.values() if key is not None]
        if read and len(read) == len(behind):
            nearest = min(read) if self._forward else max(read)
            settled = sum(not self._ahead(nearest, entry.key) for entry in self.entries)
        share = fair_share(max(1, self._limit - settled), self._shards)
        return [Span(shard, key or self._beyond, share, self._forward) for shard, key in behind.items()]

    def take(self, spans: Sequence[Span], found: Sequence[Sequence[Entry]]) -> None:
        for span, entries in zip(spans, found, strict=True):
            if len(entries) < span.limit:
                del self._read[span.shard]
            else:
                self._read[span.shard] = entries[-1].key
        everything = [*self.entries, *chain.from_iterable(found)]
        everything.sort(key=lambda entry: entry.key, reverse=not self._forward)
        # A member that moves between two reads may be met in both places: it is shown at the first.
        found_once: dict[str, Entry] = {}
        for entry in everything:
            found_once.setdefault(entry.member, entry)
        self.entries = list(found_once.values())

    def _ahead(self, key: str, other: str) -> bool:
        return key < other if self._forward else key > other
