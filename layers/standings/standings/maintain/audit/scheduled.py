"""Audits all boards in turn, for a schedule.

A run spends its read units or its time, and ends with the turn at the latest. Its smallest step is a page of members,
or a leaf of a tier tree: all entries with one of up to 128 neighbouring scores.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Final

from standings.maintain.audit.audit import GRACE, Audits
from standings.maintain.audit.report import AuditCall
from standings.maintain.turns.lease import Lease, Position
from standings.maintain.turns.turn import Run

MAX_FAILED: Final = 20  # Boards that a tally names


@dataclass(frozen=True, slots=True)
class Tally:
    """What a turn found: how many boards it audited, their differences, and boards that it left out.

    It began at `since` and ended at `until` (milliseconds; None: it has not ended). `read_units` are those used.
    """

    since: int
    until: int | None = None
    boards: int = 0
    drift: int = 0
    read_units: int = 0
    failed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class AuditPosition(Position):
    """Where the audits are. `turn` is the turn under way, and `last` the one before it."""

    turn: Tally | None = None
    last: Tally | None = None


@dataclass(frozen=True)
class ScheduledAudits:
    """Runs of the schedule."""

    audits: Audits
    lease: Lease[AuditPosition]

    def show(self) -> dict[str, Any]:
        """The record, as JSON."""
        return {"done": True, **asdict(self.lease.positions.read())}

    def go_on(self, deadline: float, read_units: int, found: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Do one run. `found` gets the report of each board, or of a part of it.

        The run ends with the step that reaches `read_units`. `done` in the answer says that the turn has ended,
        `running` that another run is at work: then this one has done nothing.
        """
        if read_units < 1:
            raise ValueError(f"next: read_units: expected at least 1, got {read_units}")
        position = self.lease.take(deadline, scheduled=True)
        if position is None:
            return {"done": False, "running": True, "board": None, "read_units": 0}
        visits = _Visits(self.audits, deadline, read_units, found, position.turn or Tally(position.ran_at or 0))
        run = Run(self.lease, position, deadline, visits, self.audits.catalog.next_board)
        done = run.go()
        return {"done": done, "running": False, "board": run.position.board, "read_units": round(visits.used)}


class _Visits:
    """The audits of one run, and the turn's tally."""

    def __init__(
        self,
        audits: Audits,
        deadline: float,
        read_units: int,
        found: Callable[[dict[str, Any]], None],
        tally: Tally,
    ) -> None:
        self._audits = audits
        self._deadline = deadline
        self._found = found
        self._start = audits.store.units
        self._most_units = self._start + read_units
        self._used_before = tally.read_units
        self._tally = tally

    @property
    def used(self) -> float:
        """The read units used."""
        return self._audits.store.units - self._start

    def visit(self, board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if self._audits.catalog.boards.family(board) is None:
            return None
        audits = self._audits
        call = AuditCall(board, audits.store, audits.clock, self._deadline, GRACE, self._most_units)
        report = audits.audit_board(call, at)
        if report is None:
            return None
        self._found(report)
        drift, boards = self._tally.drift + report["drift"], self._tally.boards + report["done"]
        self._tally = replace(self._tally, drift=drift, boards=boards)
        cursor: Mapping[str, Any] | None = report["cursor"]
        return cursor

    def is_over(self) -> bool:
        is_spent = self._audits.store.units >= self._most_units
        return is_spent or self._audits.clock.monotonic() >= self._deadline

    def leave_out(self, board: str) -> None:
        if len(self._tally.failed) < MAX_FAILED:
            self._tally = replace(self._tally, failed=[*self._tally.failed, board])

    def noted(self, position: AuditPosition) -> AuditPosition:
        tally = replace(self._tally, read_units=self._used_before + round(self.used))
        if position.board is not None:
            return replace(position, turn=tally)
        return replace(position, turn=None, last=replace(tally, until=self._audits.clock.now()))
