"""What comes of the moves and shifts in one ranking or window."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from operator import call
from typing import Final

from standings.domain.members.moves import Move
from standings.domain.rolling.shifts import Shift

AT_ONCE: Final = 3  # How often moves are corrected and retried without waiting


@dataclass(slots=True)
class Outcome:
    """The result of the moves of one ranking, or the shifts of one window.

    `failure` is the reason why some are not done; None if all are. `problem` needs somebody to look.
    """

    done: list[Move | Shift] = field(default_factory=list)
    moves: int = 0
    stale_moves: int = 0
    gaps: int = 0
    conflicts: int = 0
    refused: list[tuple[Move | Shift, str]] = field(default_factory=list)
    failure: str | None = None
    problem: str | None = None


RunParallel = Callable[[Sequence[Callable[[], Outcome]]], Iterable[Outcome]]
one_by_one: Final[RunParallel] = partial(map, call)
