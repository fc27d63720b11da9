"""Reads the top N, or any other part, of a ranking whose entries are in several partitions of the sorted index.

A ranking has a partition for each list and shard. All are read in parallel, each a little beyond its share, and merged.
A partition that may have more of the N entries is read once more, for as many as it can still have. So a stretch of N
entries takes two rounds at most, and reads at most N entries of each partition.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from standings.domain.tiers.tier_path import Path
from standings.ports.rankings import Entry, Node, Partition, Span
from standings.read.reader import BEYOND, RankingReads


class Stretch:
    """The `limit` entries behind a key or, with `forward` false, ahead of it; without a key, those at that end."""

    def __init__(self, beyond: str | None, limit: int, *, forward: bool) -> None:
        self._beyond = beyond
        self._limit = limit
        self._forward = forward
        self._read: defaultdict[Partition, list[Entry]] = defaultdict(list)
        self._ended: set[Partition] = set()
        self._found: list[Entry] = []

    @property
    def entries(self) -> list[Entry]:
        """The entries that were found, those nearest to the key first."""
        return self._found[: self._limit]

    def next_spans(self, partitions: Sequence[Partition]) -> list[Span]:
        """What to read next; nothing once no partition can have more of the entries wanted."""
        share = min(self._limit, -(-self._limit // len(partitions)) + BEYOND)
        spans: list[Span] = []
        for partition in partitions:
            if not self._read[partition]:
                wanted, key = share, self._beyond
            else:
                # Behind its last key it can have as many as are missing there.
                key = self._read[partition][-1].key
                before = (entry.key <= key if self._forward else entry.key >= key for entry in self._found)
                wanted = self._limit - sum(before)
            if partition not in self._ended and wanted > 0:
                spans.append(Span(partition, key, wanted, self._forward))
        return spans

    def add(self, parts: Mapping[Span, Sequence[Entry]]) -> None:
        """Add the entries that were read of each span."""
        for span, entries in parts.items():
            self._read[span.partition] += entries
            if len(entries) < span.limit:
                self._ended.add(span.partition)
        entries = sorted(chain(*self._read.values()), key=lambda entry: entry.key, reverse=not self._forward)
        # A member that moves between two reads may be found twice: keep the first.
        first_by_member: dict[str, Entry] = {}
        for entry in entries:
            first_by_member.setdefault(entry.member, entry)
        self._found = list(first_by_member.values())


def read_stretches(
    reads: RankingReads, stretches: Sequence[Stretch], paths: Callable[[], Iterable[Path]], nodes: dict[Path, Node]
) -> None:
    """Read stretches until each is complete, and add nodes to `nodes`.

    Each round reads all its spans in parallel, and the nodes that `paths` names by then and that were not read yet.
    Name the root, unless it was just read: it may name more shards than `boards.toml`.
    """
    asked = set(nodes)
    while True:
        # After the number of shards was raised, the root may name more than were read.
        partitions = reads.partitions(nodes)
        by_stretch = [stretch.next_spans(partitions) for stretch in stretches]
        spans = list(dict.fromkeys(chain.from_iterable(by_stretch)))
        wanted = [path for path in dict.fromkeys(paths()) if path not in asked]
        if not spans and not wanted:
            return
        parts, read_nodes = reads.spans(spans, wanted)
        nodes.update(read_nodes)
        asked.update(wanted)
        found = dict(zip(spans, parts, strict=True))
        for stretch, mine in zip(stretches, by_stretch, strict=True):
            stretch.add({span: found[span] for span in mine})
