"""The path of a score in the tier tree."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from standings.domain.scoring.sort_order import digits_of

FANOUT: Final = 128
"""Children of a node of the tier tree, and so scores of a leaf: such a node stays near 1 KB, one write unit."""

_MIDDLE: Final = FANOUT // 2

Path = tuple[int, ...]
"""The digits from a tree's root to one of its nodes."""

ROOT: Final[Path] = ()
"""The node whose children are heads."""


# Asked several times for one move; members share scores.
@lru_cache(maxsize=16384)
def path(number: int) -> Path:
    """The way from the root of the tier tree to an ordinal: a head, then base-128 digits."""
    digits = digits_of(number, FANOUT)
    return (_MIDDLE + len(digits) if number >= 0 else _MIDDLE - len(digits), *digits)


def sort_value_at(way: Path) -> int:
    """The ordinal at the end of a whole path: the inverse of `path`."""
    head, *digits = way
    negative = head < _MIDDLE
    number = 0
    for digit in digits:
        number = number * FANOUT + (FANOUT - 1 - digit if negative else digit)
    return -number if negative else number


def depth(head: int) -> int:
    """How many digits follow a head."""
    return abs(head - _MIDDLE)


def prefixes(way: Path) -> Iterator[Path]:
    """The nodes that count a path: the root first, its leaf last."""
    for length in range(len(way)):
        yield way[:length]
