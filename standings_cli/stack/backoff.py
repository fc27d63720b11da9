"""How long to wait before another attempt."""

from collections.abc import Callable
from typing import Final

_MAX_DOUBLINGS: Final = 30


def backoff(attempt: int, first: float, longest: float, chance: Callable[[], float]) -> float:
    """Return the seconds to wait after a failed attempt; attempts count from 1.

    The wait doubles from `first` up to `longest`. Half of it is random, so that many clients do not retry at once.
    """
    return min(first * 2.0 ** min(attempt - 1, _MAX_DOUBLINGS), longest) * (0.5 + chance() / 2)
