"""The path of a sort value in the tier tree."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Final

from standings.domain.scoring.sort_order import digits_of, number_of

FANOUT: Final = 128
"""Children of a node of the tier tree, and so scores of a leaf. A node stays near 1 KB, which is one write unit."""

_MIDDLE: Final = FANOUT // 2

Path = tuple[int, ...]
"""The digits from the root of a tree to a node, or to a sort value. The first digit is a *head*: it gives the sign and
the number of digits that follow."""

ROOT: Final[Path] = ()


# One move needs a path several times, and members share scores.
@lru_cache(maxsize=16384)
def path(number: int) -> Path:
    """The path to a sort value: a head, then base-128 digits."""
    digits = digits_of(number, FANOUT)
    return (_MIDDLE + len(digits) if number >= 0 else _MIDDLE - len(digits), *digits)


def sort_value_at(full_path: Path) -> int:
    """The sort value at the end of a path: the inverse of `path`."""
    head, *digits = full_path
    return number_of(digits, FANOUT, negative=head < _MIDDLE)


def depth(head: int) -> int:
    """How many digits follow a head."""
    return abs(head - _MIDDLE)


def prefixes(full_path: Path) -> Iterator[Path]:
    """The nodes that count a sort value: the root first, its leaf last."""
    for length in range(len(full_path)):
        yield full_path[:length]
