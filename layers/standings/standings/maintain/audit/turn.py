"""Audits all boards in turn, a part at each run, for a schedule.

A run begins where the last one ended, spends its read units or its time, and ends with the turn at the latest. Its
smallest step is a page of members, or a leaf of a tier tree: all entries with one of up to 128 neighbouring scores.

The position is stored before each board and at the end, on condition of the version that was read. A lease keeps other
runs out. A lease that has expired belongs to a run that died. Such a run, and one that raised an error, has failed at
the board where it was: the next run tries that board once more, and the one after it goes on with the next board.
"""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from standings.domain.windows.calendar import MINUTE, SECOND
from standings.maintain.audit.audit import GRACE, Audits
from standings.maintain.audit.report import AuditCall
from standings.runtime.retry import with_retry

if TYPE_CHECKING:
    from standings.aws.dynamodb.audit_turns import DynamoTurns

MAX_TRIES: Final = 2  # Runs that fail at a board in a row before it is left out until the next turn
MAX_FAILED: Final = 20  # Boards that a tally names
LEASE_MARGIN: Final = MINUTE  # Milliseconds between a run's deadline and the end of its lease: clocks differ


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
class TurnRecord:
    """Where the turn is.

    The next run begins at `board`, with the cursor `at` of its audit; None: with the first board of a new turn. `tries`
    runs in a row have failed there. A run is at work until `leased_until` (milliseconds) at the latest; None: no run.
    `ran_at` is when the last run began, `turn` is the turn under way, and `last` the one before it.
    """

    version: int = 0
    board: str | None = None
    at: Mapping[str, Any] | None = None
    tries: int = 0
    leased_until: int | None = None
    ran_at: int | None = None
    turn: Tally | None = None
    last: Tally | None = None


@dataclass(frozen=True)
class AuditTurns:
    """Runs of the turn. `failed` is told of a board where a run failed, and how often in a row."""

    audits: Audits
    records: "DynamoTurns"
    failed: Callable[[str, int], None]

    def show(self) -> dict[str, Any]:
        """The record, as JSON."""
        return {"done": True, **asdict(self.records.read() or TurnRecord())}

    def go_on(self, deadline: float, read_units: int, found: Callable[[dict[str, Any]], None]) -> dict[str, Any]:
        """Do one run. `found` gets the report of each board, or of a part of it.

        The run ends with the step that reaches `read_units`. `done` in the answer says that the turn has ended,
        `running` that another run is at work: then this one has done nothing.
        """
        if read_units < 1:
            raise ValueError(f"next: read_units: expected at least 1, got {read_units}")
        record = self._lease(deadline)
        if record is None:
            return {"done": False, "running": True, "board": None, "read_units": 0}
        run = _Run(self, deadline, record, record.turn or Tally(record.ran_at or 0))
        done = run.audit(read_units, found)
        return {"done": done, "running": False, "board": run.record.board, "read_units": round(run.used)}

    def _lease(self, deadline: float) -> TurnRecord | None:
        """The record, leased to this run; None if another run has it."""
        clock = self.audits.clock
        stored = with_retry(self.records.read, clock.backoff(deadline)) or TurnRecord()
        now = clock.now()
        if stored.leased_until is not None and now < stored.leased_until:
            return None
        tries = stored.tries + (stored.leased_until is not None)
        if tries > stored.tries and stored.board is not None:
            self.failed(stored.board, tries)
        until = now + round(max(0.0, deadline - clock.monotonic()) * SECOND) + LEASE_MARGIN
        record = replace(stored, tries=tries, leased_until=until, ran_at=now, turn=stored.turn or Tally(now))
        return self.put(record, deadline)

    def put(self, record: TurnRecord, deadline: float) -> TurnRecord | None:
        """Store a record in the place of the version before; None if there is another version."""
        record = replace(record, version=record.version + 1)
        backoff = self.audits.clock.backoff(deadline)
        return record if with_retry(lambda: self.records.put(record), backoff) else None


class _Run:
    """One run. `record` is as it is stored, with the turn as it was then."""

    def __init__(self, turns: AuditTurns, deadline: float, record: TurnRecord, turn: Tally) -> None:
        self._turns = turns
        self._audits = turns.audits
        self._deadline = deadline
        self._start = turns.audits.store.units
        self._turn = turn
        self._used_before = turn.read_units
        self.record = record

    @property
    def used(self) -> float:
        """The read units used."""
        return self._audits.store.units - self._start

    def audit(self, read_units: int, found: Callable[[dict[str, Any]], None]) -> bool:
        """Audit boards until the run or the turn is over. Returns whether the turn is."""
        board, at = self._begin()
        while board is not None:
            # The next run must know where this one was, however it ends.
            if board != self.record.board and not self._store(board, None, is_over=False):
                return False
            call = AuditCall(board, self._audits.store, self._audits.clock, self._deadline, GRACE)
            call.most_units = self._start + read_units
            report = self._audited(call, at)
            at = None
            if report is not None:
                found(report)
                at = report["cursor"]
                drift, boards = self._turn.drift + report["drift"], self._turn.boards + report["done"]
                self._turn = replace(self._turn, drift=drift, boards=boards)
            board = self._next(board) if at is None else board
            if board is not None and (at is not None or call.is_over()):
                self._store(board, at, is_over=True)
                return False
        self._turn = replace(self._turn, until=self._audits.clock.now())
        self._store(None, None, is_over=True)
        return True

    def _begin(self) -> tuple[str | None, Mapping[str, Any] | None]:
        """Where to begin. A board where too many runs have failed is left out."""
        board = self.record.board
        if board is not None and self.record.tries < MAX_TRIES:
            return board, self.record.at
        if board is not None and len(self._turn.failed) < MAX_FAILED:
            self._turn = replace(self._turn, failed=[*self._turn.failed, board])
        return self._next(board), None

    def _next(self, board: str | None) -> str | None:
        return with_retry(lambda: self._audits.next_board(board), self._audits.clock.backoff(self._deadline))

    def _audited(self, call: AuditCall, at: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """The report of a board; None if there is no such board any more. An error is stored and raised."""
        try:
            if self._audits.catalog.boards.family(call.board) is None:
                return None
            return self._audits.audit_board(call, at)
        except Exception:
            tries = self.record.tries + 1
            self._turns.failed(call.board, tries)
            self._store(call.board, at, is_over=True, tries=tries)
            raise

    def _store(self, board: str | None, at: Mapping[str, Any] | None, *, is_over: bool, tries: int = 0) -> bool:
        """Store the position, and end the lease if the run is over. False if another run has taken over."""
        turn = replace(self._turn, read_units=self._used_before + round(self.used))
        place = replace(self.record, board=board, at=at, tries=tries, turn=turn)
        if is_over:
            place = replace(place, leased_until=None)
        if board is None:
            place = replace(place, turn=None, last=turn)
        stored = self._turns.put(place, self._deadline)
        self.record = stored or self.record
        return stored is not None
