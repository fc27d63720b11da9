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
        report = audit_part(RankingChecks(findings, family, record.generation, record.coverage), cursor)
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
        start = self.reads.units
        run = self._run(position, deadline, start, start + read_units, found)
        done, used = run.run(), round(self.reads.units - start)
        return {"done": done, "running": False, "board": run.position.board, "read_units": used}

    def _run(
        self,
        begun: "AuditPosition",
        deadline: float,
        start: float,
        most: float,
        found: Callable[[dict[str, Any]], None],
    ) -> "Run[AuditPosition]":
        """A run that ends at a deadline, or once the audits have used `most` read units; they begin at `start`."""
        tally = begun.turn or Tally(begun.ran_at or 0)
        tally = replace(tally, failed=[*tally.failed, *begun.left_out][:MAX_FAILED])
        before = tally.read_units

        def visit(board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
            nonlocal tally
            if self.catalog.boards.family(board) is None:
                return None
            report = self.audit_board(Findings(board, self.reads, self.clock, deadline, GRACE, most), at)
            if report is None:
                return None
            found(report)
            tally = replace(tally, drift=tally.drift + report["drift"], boards=tally.boards + report["done"])
            cursor: Mapping[str, Any] | None = report["cursor"]
            return cursor

        def with_tally(position: "AuditPosition") -> "AuditPosition":
            now = replace(tally, read_units=before + round(self.reads.units - start))
            if position.board is not None:
                return replace(position, turn=now)
            return replace(position, turn=None, last=replace(now, until=self.clock.now()))

        def is_over() -> bool:
            return self.reads.units >= most or self.clock.monotonic() >= deadline

        return Run(self.lease, begun, deadline, self.catalog, visit, is_over, with_tally)


def is_read(catalog: BoardCatalog, clock: Clock, record: BoardRecord) -> bool:
    """Whether readers still use the generation that this record of a board names."""
    now = clock.retry(catalog.current, record.board)
    if now is None or now.deleted or now.has_ended(clock.now()):
        return False
    return now.generation == record.generation


def audit_part(checks: RankingChecks, cursor: Mapping[str, Any] | None) -> dict[str, Any]:
    """Audit a board from a cursor on (None: from the beginning) until it is done or the deadline comes: its report.

    It lists the members in Scores and compares their rows, then it walks each ranking's tree. It holds a page of
    members or a part of one ranking's tiers at a time. A cursor of another generation starts the audit again: a rebuild
    has switched reads in between. The report is that of `Findings.report`, such as `{"done": True, "cursor": None, …}`.
    """
    findings, generation = checks.findings, checks.generation
    units = findings.reads.units
    if cursor is None or cursor["generation"] != generation:
        cursor = _FIRST
    position = _next_position(checks, cursor)
    after = None if position is None else {"generation": generation, **position}
    return findings.report(after, findings.reads.units - units)


def _next_position(checks: RankingChecks, cursor: Mapping[str, Any]) -> dict[str, Any] | None:
    """The position of the next call; None when the board is done. Each call makes progress, however short."""
    is_first, is_over = cursor["stage"] == "tiers", checks.findings.is_over
    if cursor["stage"] == "members":
        for slot in range(cursor["slot"], SLOTS):
            after = _compare_members(checks, slot, cursor["after"] if slot == cursor["slot"] else None)
            if after is not None:
                return {"stage": "members", "slot": slot, "after": after}
            if slot + 1 < SLOTS and is_over():
                return {"stage": "members", "slot": slot + 1, "after": None}
        cursor = {"ranking": "", "within": None}
    for ranking in checks.rankings(cursor["ranking"]):
        code = ranking.ranking_code
        within = cursor["within"] if code == cursor["ranking"] else None
        # Leaves in doubt take time to settle: do not begin with less.
        if is_first or not is_over(RECHECK_S):
            is_first, within = False, checks.tree(ranking, within)
            if within is None:
                continue
        return {"stage": "tiers", "ranking": code, "within": within}
    return None


def _compare_members(checks: RankingChecks, slot: int, after: str | None) -> str | None:
    """Compare the members of a slot: the last one compared if the call was over, None when all are done."""
    findings = checks.findings
    while True:
        page = findings.reads.members(findings.board, slot, after, PAGE_SIZE)
        for item in page:
            if not isinstance(item, Image):
                findings.add(Kind.DAMAGED, member=item.member, found=item.why)
        checks.members([image for image in page if isinstance(image, Image)])
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
