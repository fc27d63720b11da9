"""The merge of partitions of the index where a member is in two of them. `test_every_read.py` has all other merges."""

from collections.abc import Sequence
from typing import Any

from standings.domain.tiers import Path
from standings.read.pages import Stretch, read_stretches
from standings.stores import Entry, Node, Partition, Span


class Shards:
    """Shards in memory."""

    def __init__(self, keys: Sequence[Sequence[str]]) -> None:
        self.keys = [sorted(some) for some in keys]

    def partitions(self, _: Any) -> list[Partition]:
        return [Partition("list", shard) for shard in range(len(self.keys))]

    def spans(self, spans: Sequence[Span], _: Any) -> tuple[list[list[Entry]], dict[Path, Node]]:
        parts = []
        for span in spans:
            beyond = [key for key in self.keys[span.partition.shard] if span.beyond is None or key > span.beyond]
            parts.append([Entry(key, None, key.split(" ")[-1], 0) for key in beyond[: span.limit]])  # type: ignore[arg-type]
        return parts, {(): Node({}, None)}


def merged(shards: Shards, beyond: str | None, limit: int) -> list[str]:
    stretch = Stretch(beyond, limit, forward=True)
    read_stretches(shards, [stretch], lambda: [()], {})  # type: ignore[arg-type]
    return [entry.key for entry in stretch.entries]


def test_a_member_found_in_two_shards_is_returned_once() -> None:
    shards = Shards([["a", "b", "c"], ["b", "d"]])

    assert merged(shards, None, 10) == ["a", "b", "c", "d"]


class Moving(Shards):
    """Shards whose keys change after the first round of reads."""

    def __init__(self, before: Sequence[Sequence[str]], after: Sequence[Sequence[str]]) -> None:
        super().__init__(before)
        self._after = [sorted(some) for some in after]

    def spans(self, spans: Sequence[Span], paths: Any) -> tuple[list[list[Entry]], dict[Path, Node]]:
        answer = super().spans(spans, paths)
        self.keys = self._after
        return answer


def test_a_member_that_moves_between_two_rounds_of_one_read_leaves_the_others_in_order() -> None:
    """The member is returned at its first place, and the next page starts after the last entry."""
    others = [f"{number:02} a{number}" for number in range(2, 40)]
    far = [f"{number:02} b{number}" for number in range(60, 80)]
    shards = Moving([["01 x", *others], far], [[*others, "06 x"], far])
    page = merged(shards, None, 6)
    following = merged(shards, page[-1], 6)

    assert set(page) & set(following) == set()
    assert page == sorted(page)
