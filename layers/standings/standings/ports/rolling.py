"""Rolling windows, as the projector writes them."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from standings.domain.rolling.blocks import Block
from standings.domain.rolling.count_log import LogEntry
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.rolling.steps import Steps
from standings.domain.scoring.sort_order import Place
from standings.ports.errors import CancelReason


class RollingRow(NamedTuple):
    """A member's row in a rolling window: its steps, and the image's version they came from."""

    version: int
    steps: Steps


class ListItem(NamedTuple):
    """A list item to write: a member's place in a block of periods, or that it has none there any more."""

    member: str
    block: Block
    place: Place | None
    version: int
    written_at_ms: int


class RowChange(NamedTuple):
    """A row to write. `seen` is the version of the row that was read; None if there was none."""

    member: str
    row: RollingRow
    written_at_ms: int
    seen: int | None


class RowConflict(NamedTuple):
    """Why a commit was cancelled: the position of the row that had changed, or None for the log."""

    position: int | None
    reason: CancelReason
    message: str


class RollingWindows(Protocol):
    """Rolling windows, for the projector. Every call may raise StoreUnavailableError and StoreRefusedError."""

    def rows(self, rankings: RollingRankings, members: Sequence[str]) -> dict[str, RollingRow | str]:
        """Read rows, strongly consistently. A row that cannot be decoded is the reason why."""

    def list(self, rankings: RollingRankings, items: Sequence[ListItem]) -> None:
        """Write list items, each unless the stored one is newer. Those with a place are written before the others."""

    def commit(self, rankings: RollingRankings, rows: Sequence[RowChange], entry: LogEntry) -> Sequence[RowConflict]:
        """Write rows and append their changes to a log, in one transaction. No conflict means that it succeeded."""

    def fold(self, rankings: RollingRankings, room: int) -> None:
        """Take this process's log into the tiers, if it is longer than `room` bytes."""
