"""Which boards of the state machine have ended, and whose names are free again."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from tests.support.aws.stack import Stack
from tests.support.machine.boards import Board

TAKEN: Final = timedelta(days=90)
"""So long after its end a board's name cannot be used."""


class Ends:
    """The end of each board that has begun and will end, or has ended.

    A board begins with the first try to change it that is not refused because of its content. So the stack is asked
    whether one has begun, and the end that it names must be one that a try gives.
    """

    def __init__(self, boards: Mapping[str, Board]) -> None:
        self._expires = {name: board.expires for name, board in boards.items() if board.expires is not None}
        self._tried: dict[str, set[datetime]] = {name: set() for name in self._expires}
        self._freed: set[str] = set()
        self.ends: dict[str, datetime] = {}
        """By board, when it ends or has ended. It stays until the next board of the name begins."""

    def tries(self, board: str, now: datetime) -> None:
        """Somebody changes a board at an instant, by the clock of a function. It may begin then."""
        if board in self._expires and (board not in self.ends or now >= self.ends[board] + TAKEN):
            self._tried[board].add(now)

    def learn(self, stack: Stack) -> None:
        """Ask the stack for the ends of boards that may have begun."""
        for board, expires in self._expires.items():
            if self._tried[board]:
                told = stack.get(f"/boards/{board}")[1]["expires_at"]
                possible = {at + expires for at in self._tried[board]}
                if told is not None:
                    self.ends[board] = datetime.fromisoformat(told)
                    assert self.ends[board] in possible, f"{board} ends at {told}, expected one of {possible}"
                    self._tried[board] = set()
                    self._freed.discard(board)

    def is_over(self, board: str, now: datetime) -> bool:
        """Whether a board has ended, and its name is taken."""
        return board in self.ends and self.ends[board] <= now < self.ends[board] + TAKEN

    def freed(self, now: datetime) -> list[str]:
        """Return the boards whose names have become free since the last call."""
        found = [board for board, end in self.ends.items() if board not in self._freed and now >= end + TAKEN]
        self._freed.update(found)
        return found
