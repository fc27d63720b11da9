"""Blocks: ranges of a rolling window's periods. Each has a list of its own, with the members of all its periods.

A member's step is made up of blocks. So each member of a period is in one list of the blocks that contain the period,
and nobody else is in any of them: a page merges these lists, and reads past nobody. In a slab of 8 periods with blocks
of up to 4, the step of periods 1 to 4 is made up of the blocks 1, 2 to 3, and 4; period 2 is in the blocks 2, 2 to 3,
0 to 2, 1 to 3 and 0 to 3.
"""

from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from standings.domain.boards.definitions import Ranking, generation_code
from standings.domain.rolling.rolling_rankings import RollingRankings, rolling_of
from standings.domain.windows.window import Window


class Block(NamedTuple):
    """The periods from `first` on, `length` of them.

    A block of 1, 2, 4, 8 or 16 periods begins at a multiple of its length. One of 3 or 6 periods is three quarters of a
    block of 4 or 8: all but its last quarter, or all but its first.
    """

    first: int
    length: int

    @property
    def code(self) -> str:
        """The block in a list's key: its first period, and its length if that is not 1, as in `20776x4`."""
        return str(self.first) if self.length == 1 else f"{self.first}x{self.length}"

    @property
    def until(self) -> int:
        """The period behind the last one."""
        return self.first + self.length


def blocks_of(window: Window, first: int, until: int) -> Iterator[Block]:
    """The fewest blocks that make up the periods from `first` to before `until`. None reaches into another slab."""
    size = len(window.slab_of(first))
    for slab in range(window.slab_of(first).start, until, size):
        for start, length in _cover(max(0, first - slab), min(size, until - slab), size, window.longest_block):
            yield Block(slab + start, length)


def blocks_within(window: Window, first: int, until: int) -> Iterator[Block]:
    """Every block that reaches into the periods from `first` to before `until`."""
    size = len(window.slab_of(first))
    for slab in range(window.slab_of(first).start, until, size):
        for block in _blocks_of_slab(size, window.longest_block):
            moved = Block(slab + block.first, block.length)
            if moved.first < until and moved.until > first:
                yield moved


@lru_cache(maxsize=1024)
def lists_of(ranking: Ranking) -> tuple[str, ...]:
    """The keys of the lists that hold a ranking's entries, each member in one of them."""
    if not ranking.window.rolling:
        return (ranking.key,)
    rankings = rolling_of(ranking)
    return tuple(
        list_key(rankings, block) for block in blocks_within(ranking.window, ranking.period, ranking.period + 1)
    )


def list_key(rankings: RollingRankings, block: Block) -> str:
    """The key of a block's list. That of a block of one period is the key of the period's ranking."""
    code = rankings.metric.ranking_code(rankings.window)
    return f"{rankings.board}#{code}{block.code}{generation_code(rankings.generation)}"


@cache
def _cover(first: int, until: int, slab: int, longest: int) -> tuple[Block, ...]:
    if first == until:
        return ()
    blocks = [block for block in _blocks_of_slab(slab, longest) if block.first == first and block.until <= until]
    return min(((block, *_cover(block.until, until, slab, longest)) for block in blocks), key=len)


@cache
def _blocks_of_slab(slab: int, longest: int) -> tuple[Block, ...]:
    powers = [Block(first, length) for length in (1, 2, 4, 8, 16) for first in range(0, slab, length)]
    quarters = [
        Block(whole.first + skipped, 3 * whole.length // 4)
        for whole in powers
        if whole.length in {4, 8}
        for skipped in (0, whole.length // 4)
    ]
    return tuple(block for block in powers + quarters if block.length <= longest)
