"""Audits boards: compares their rankings with Scores, on request and in turns on a schedule."""

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Final

from standings.catalog import BoardCatalog
from standings.domain.coverage import BoardRecord
from standings.domain.members import Image
from standings.domain.windows import MINUTE, SECOND
from standings.maintain.turns import Lease, Position, Run
from standings.rankings.checking import RECHECK_S, RankingChecks
from standings.rankings.findings import AuditReads, Findings, Kind
from standings.runtime.clock import Clock
from standings.stores import SLOTS

GRACE: Final = 15 * MINUTE  # Milliseconds after an item's last change in which the stream may bring it
PAGE_SIZE: Final = 100  # Members that are listed and compared together
MAX_FAILED: Final = 20  # Boards that a tally names
_FIRST: Final[Mapping[str, Any]] = MappingProxyType({"stage": "members", "slot": 0, "after": None})


@dataclass(frozen=True)
class Audits:
    """Audits one board or all boards, as `boards.toml` and the boards' records define them; and all in turn."""

    catalog: BoardCatalog
    reads: AuditReads
    lease: "Lease[AuditPosition]"
    clock: Clock

    def audit(
        self,
        deadline: float,
        *,
        board: str | None = None,
        cursor: Mapping[str, Any] | None = None,
        grace_seconds: int = GRACE // SECOND,
    ) -> dict[str, Any]:
        """Audit one board, or all, from a cursor on, until a deadline in seconds of the monotonic clock.

        Returns `{"done": False, "cursor": {"board": "b", "at": {…}}, "drift": 0, "boards": [{…}]}`, where `boards` has
        the reports and `drift` the sum of theirs. `grace_seconds` says how late the stream may be. Raises ValueError if
        no family matches the board.
        """
        only, at = board, (cursor or {}).get("at")
        board = only or (cursor or {}).get("board") or self.catalog.next_board(None)
        answer: dict[str, Any] = {"done": True, "cursor": None, "drift": 0, "boards": []}
        while board is not None:
            if self.clock.monotonic() >= deadline:
                return {**answer, "done": False, "cursor": {"board": board, "at": at}}
            report = self.audit_board(Findings(board, self.reads, self.clock, deadline, grace_seconds * SECOND), at)
            if report is not None:
                answer["boards"].append(report)
                answer["drift"] += report["drift"]
                if not report["done"]:
                    return {**answer, "done": False, "cursor": {"board": board, "at": report["cursor"]}}
            board, at = None if only else self.catalog.next_board(board), None
        return answer

    def audit_board(self, findings: Findings, cursor: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """Audit one board from a cursor on, and report it as `Findings.report` does; None if there is no such board.

        A rebuild may purge the generation that a call reads. So before differences are reported, the board's record
        must still name that generation. Raises ValueError if no family matches the board.
        """
        record = self.clock.backoff(findings.deadline).retry(self.catalog.current, findings.board)
        if record is None or record.deleted or record.is_being_deleted or record.has_ended(self.clock.now()):
            return None
        family = self.catalog.boards.family(findings.board)
        if family is None:
            raise ValueError(f"no family in boards.toml matches {findings.board!r}")
        report = BoardAudit(RankingChecks(findings, family, record.generation, record.coverage)).run(cursor)
        if report["drift"] and not is_read(self.catalog, self.clock, record):
            # The next call begins again, in the generation that is read then.
            findings.drop()
            return findings.report({"generation": record.generation, **_FIRST}, report["read_units"])
        return report

    def show(self) -> dict[str, Any]:
        """Where the turn is, as JSON: `{"done": True, "version": 7, "board": "b", "at": {…}, "tries": 0, …}`."""
        return {"done": True, **asdict(self.lease.read())}

    def continue_turn(
        self, deadline: float, read_units: int, found: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        """Do one run of the turn over all boards: `{"done": False, "running": False, "board": "b", "read_units": 412}`.

        `found` gets the report of each board, or of a part of it. The run ends with the step that reaches `read_units`,
        or at the deadline (in seconds of the monotonic clock). Its smallest step is a page of members, or a leaf of a
        tier tree: all entries with one of up to 128 neighbouring scores. `done` says that the turn has ended, `running`
        that another run is at work: then this one has done nothing. Raises ValueError for `read_units` below 1.
        """
        if read_units < 1:
            raise ValueError(f"next: read_units: expected at least 1, got {read_units}")
        position = self.lease.take(deadline, scheduled=True)
        if position is None:
            return {"done": False, "running": True, "board": None, "read_units": 0}
        run = _Run(self, position, deadline, read_units, found)
        done = run.run()
        return {"done": done, "running": False, "board": run.position.board, "read_units": round(run.used)}


def is_read(catalog: BoardCatalog, clock: Clock, record: BoardRecord) -> bool:
    """Whether readers still use the generation that this record of a board names."""
    now = clock.retry(catalog.current, record.board)
    is_there = now is not None and not now.deleted and not now.has_ended(clock.now())
    return is_there and now is not None and now.generation == record.generation


@dataclass(frozen=True)
class BoardAudit:
    """Audits one board, a part at each call. Holds a page of members or a part of one ranking's tiers at a time.

    It lists the members in Scores and compares their rows, then it walks each ranking's tree.
    """

    checks: RankingChecks

    def run(self, cursor: Mapping[str, Any] | None) -> dict[str, Any]:
        """Audit from a cursor on (None: from the beginning) until the board is done or the deadline comes.

        A cursor of another generation starts the audit again: a rebuild has switched reads in between.
        """
        findings, generation = self.checks.findings, self.checks.generation
        units = findings.reads.units
        if cursor is None or cursor["generation"] != generation:
            cursor = _FIRST
        position = self._audit(cursor, findings.is_over)
        after = None if position is None else {"generation": generation, **position}
        return findings.report(after, findings.reads.units - units)

    def _audit(self, cursor: Mapping[str, Any], is_over: Callable[[float], bool]) -> dict[str, Any] | None:
        """The position of the next call; None when the board is done. Each call makes progress, however short."""
        is_first = cursor["stage"] == "tiers"
        if cursor["stage"] == "members":
            for slot in range(cursor["slot"], SLOTS):
                after = self._members(slot, cursor["after"] if slot == cursor["slot"] else None)
                if after is not None:
                    return {"stage": "members", "slot": slot, "after": after}
                if slot + 1 < SLOTS and is_over(0.0):
                    return {"stage": "members", "slot": slot + 1, "after": None}
            cursor = {"ranking": "", "within": None}
        for ranking in self.checks.rankings(cursor["ranking"]):
            code = ranking.ranking_code
            within = cursor["within"] if code == cursor["ranking"] else None
            # Leaves in doubt take time to settle: do not begin with less.
            if is_first or not is_over(RECHECK_S):
                is_first, within = False, self.checks.tree(ranking, within)
                if within is None:
                    continue
            return {"stage": "tiers", "ranking": code, "within": within}
        return None

    def _members(self, slot: int, after: str | None) -> str | None:
        """Compare the members of a slot: the last one compared if the call was over, None when all are done."""
        findings = self.checks.findings
        while True:
            page = findings.reads.members(findings.board, slot, after, PAGE_SIZE)
            for item in page:
                if not isinstance(item, Image):
                    findings.add(Kind.DAMAGED, member=item.member, found=item.why)
            self.checks.members([image for image in page if isinstance(image, Image)])
            findings.looked_at["members"] += len(page)
            if len(page) < PAGE_SIZE:
                return None
            after = page[-1].member
            if findings.is_over():
                return after


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

    @staticmethod
    def decode(**content: Any) -> "AuditPosition":
        """The position that a record holds, with its tallies."""
        tallies = {name: Tally(**content[name]) for name in ("turn", "last") if content.get(name) is not None}
        return AuditPosition(**{**content, **tallies})


class _Run(Run[AuditPosition]):
    """The audits of one run, and the turn's tally."""

    def __init__(
        self,
        audits: Audits,
        position: AuditPosition,
        deadline: float,
        read_units: int,
        found: Callable[[dict[str, Any]], None],
    ) -> None:
        super().__init__(audits.lease, position, deadline, audits.catalog)
        self._audits = audits
        self._found = found
        self._start = self._audits.reads.units
        self._most_units = self._start + read_units
        self._tally = position.turn or Tally(position.ran_at or 0)
        self._used_before = self._tally.read_units

    @property
    def used(self) -> float:
        """The read units used."""
        return self._audits.reads.units - self._start

    def visit(self, board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if self._catalog.boards.family(board) is None:
            return None
        audits = self._audits
        findings = Findings(board, audits.reads, audits.clock, self._deadline, GRACE, self._most_units)
        report = audits.audit_board(findings, at)
        if report is None:
            return None
        self._found(report)
        drift, boards = self._tally.drift + report["drift"], self._tally.boards + report["done"]
        self._tally = replace(self._tally, drift=drift, boards=boards)
        cursor: Mapping[str, Any] | None = report["cursor"]
        return cursor

    def is_over(self) -> bool:
        is_spent = self._audits.reads.units >= self._most_units
        return is_spent or self._audits.clock.monotonic() >= self._deadline

    def with_progress(self, position: AuditPosition) -> AuditPosition:
        failed = [*self._tally.failed, *self.left_out][:MAX_FAILED]
        tally = replace(self._tally, failed=failed, read_units=self._used_before + round(self.used))
        if position.board is not None:
            return replace(position, turn=tally)
        return replace(position, turn=None, last=replace(tally, until=self._audits.clock.now()))
