"""The merge of partitions of the index is exact, reads few entries, and survives changes of their number."""

from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest

from standings.domain.tiers import Path
from standings.read.pages import Stretch, read_stretches
from standings.stores import Entry, Node, Partition, Span
from tests.support.thoroughness import seeds


class Shards:
    """Shards in memory. Counts the rounds, and the entries read of each."""

    def __init__(self, keys: Sequence[Sequence[str]], named: int | None = None) -> None:
        self.keys = [sorted(some) for some in keys]
        self.named = named if named is not None else len(keys)
        self.read: Counter[Partition] = Counter()
        self.rounds = 0

    def partitions(self, nodes: dict[Path, Node]) -> list[Partition]:
        return [Partition("list", shard) for shard in range(len(self.keys) if nodes else self.named)]

    def spans(self, spans: Sequence[Span], _: Any) -> tuple[list[list[Entry]], dict[Path, Node]]:
        self.rounds += 1
        parts = []
        for span in spans:
            keys = self.keys[span.partition.shard][:: 1 if span.forward else -1]
            beyond = [
                key for key in keys if span.beyond is None or (key > span.beyond if span.forward else key < span.beyond)
            ]
            parts.append([Entry(key, None, key.split(" ")[-1], 0) for key in beyond[: span.limit]])  # type: ignore[arg-type]
        self.read.update({span.partition: len(part) for span, part in zip(spans, parts, strict=True)})
        return parts, {(): Node({}, None)}


def merged(shards: Shards, beyond: str | None, limit: int, *, forward: bool) -> list[str]:
    stretch = Stretch(beyond, limit, forward=forward)
    read_stretches(shards, [stretch], lambda: [()], {})  # type: ignore[arg-type]
    return [entry.key for entry in stretch.entries]


@pytest.mark.parametrize("seed", seeds(50, 200))
def test_a_merge_is_the_sorted_list(seed: int) -> None:
    print(f"seed {seed}")
    rng = Random(seed)
    count = rng.randrange(1, 12)
    # Shards of any size: even, empty, or one with everything.
    weights = [rng.choice([0, 1, 1, 20]) for _ in range(count)]
    keys = [f"{number:05}" for number in rng.sample(range(100_000), rng.randrange(300))]
    homes = rng.choices(range(count), weights if any(weights) else None, k=len(keys))
    shards = Shards(
        [[key for key, home in zip(keys, homes, strict=True) if home == shard] for shard in range(count)],
        named=rng.randrange(1, count + 1),
    )
    for _ in range(5):
        beyond = rng.choice([None, f"{rng.randrange(100_000):05}"])
        limit = rng.randrange(1, 100)
        ahead = sorted(key for key in keys if beyond is None or key > beyond)
        behind = sorted((key for key in keys if beyond is None or key < beyond), reverse=True)

        for forward, expected in ((True, ahead), (False, behind)):
            shards.rounds = 0
            shards.read.clear()
            assert merged(shards, beyond, limit, forward=forward) == expected[:limit]
            assert max(shards.read.values(), default=0) <= limit
            # One more where the root names more shards than were known.
            assert shards.rounds <= 2 + (shards.named < count)


def test_a_member_found_in_two_shards_is_returned_once() -> None:
    shards = Shards([["a", "b", "c"], ["b", "d"]])

    assert merged(shards, None, 10, forward=True) == ["a", "b", "c", "d"]


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
    page = merged(shards, None, 6, forward=True)
    following = merged(shards, page[-1], 6, forward=True)

    assert set(page) & set(following) == set()
    assert page == sorted(page)
