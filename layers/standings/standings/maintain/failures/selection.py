"""Chooses the dead letters or parked objects that a task lists or replays."""

from collections.abc import Collection
from typing import Final, NamedTuple

from standings.domain.windows.calendar import DAY
from standings.ports.scores import REPLAYABLE_DAYS

MAX_SHOWN: Final = 1_000  # Messages, objects or problems in one answer
MAX_NAMES_SHOWN: Final = 10  # Boards, members or problems that are shown of one message or object
REPLAYABLE_MS: Final = REPLAYABLE_DAYS * DAY
"""What is older is not replayed: it might count twice, or be placed over something newer."""


class Selection(NamedTuple):
    """All that has one of these names (ids or keys), this text in its reason, and this board; None accepts all."""

    names: Collection[str] | None = None
    reason: str | None = None
    board: str | None = None

    def accepts(self, name: str, reason: str, boards: Collection[str]) -> bool:
        """Whether a message or object is chosen."""
        return (
            (self.names is None or name in self.names)
            and (self.reason is None or self.reason in reason)
            and (self.board is None or self.board in boards)
        )


ALL: Final = Selection()
