"""What a process remembers of boards, for a minute at most."""

from typing import Final, Generic, NamedTuple, TypeVar

from standings.services.pacing import Pacing

LIFETIME: Final = 60
"""Seconds for which what is known of a board is not asked again."""
MOST_BOARDS: Final = 10_000

T = TypeVar("T")


class Moment(NamedTuple):
    """An instant by both clocks: seconds of the monotonic one, milliseconds of the other."""

    monotonic: float
    now: int


class Memory(Generic[T]):
    """Things by board, each forgotten a minute after it was asked for.

    By whichever clock says so first: while a sandbox is frozen the monotonic one may stand still, and the other may be
    set back at any time.
    """

    def __init__(self, pacing: Pacing) -> None:
        self._pacing = pacing
        self._known: dict[str, tuple[Moment, T]] = {}

    def moment(self) -> Moment:
        """Now: to be taken before something is asked for."""
        return Moment(self._pacing.monotonic(), self._pacing.now())

    def remember(self, board: str, thing: T, asked: Moment) -> None:
        """Keep what was asked for at a moment."""
        if len(self._known) >= MOST_BOARDS:
            self._known.clear()
        self._known[board] = asked, thing

    def forget(self, board: str) -> None:
        """Ask again next time."""
        self._known.pop(board, None)

    def __contains__(self, board: str) -> bool:
        if board not in self._known:
            return False
        asked, _ = self._known[board]
        now = self.moment()
        return now.monotonic - asked.monotonic < LIFETIME and 0 <= now.now - asked.now < LIFETIME * 1000

    def __getitem__(self, board: str) -> T:
        return self._known[board][1]
