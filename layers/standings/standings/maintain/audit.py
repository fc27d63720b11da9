"""Audits boards: on request within a budget of requests, and in turns on a schedule."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final

from standings.catalog import BoardCatalog
from standings.domain.boards import DELETE, BoardRecord, Coverage, Family, Ranking
from standings.domain.members import Image, open_rankings, readable_rankings
from standings.domain.rolling import rolling_of, rolling_windows
from standings.domain.windows import MINUTE, SECOND
from standings.maintain.audited_rankings import (
    ROUNDS,
    SETTLING,
    AuditCall,
    Kind,
    RollingTierAudit,
    StepAudit,
    TierAudit,
)
from standings.maintain.turns import AuditPosition, Lease, Run, Tally
from standings.runtime.clock import Clock
from standings.stores import SLOTS, DamagedLog, Listed

if TYPE_CHECKING:
    from standings.aws.dynamodb.audit_reads import AuditReads


# Compares boards' Rankings with Scores while events flow, and names each kind of difference.
#
# The audit walks in both directions. It lists members from Scores and compares their rows in all their rankings, and
# in rolling windows their list items too (`StepAudit`). Then it walks each ranking's index and tier tree side by
# side (`TierAudit`).
#
# It first reads cheaply, at different moments, and reads what disagrees again at one moment, in a read transaction.
# At one moment every legal change is either complete or absent, so what still disagrees is a difference. Three cases
# need time:
#
# - A row waits for the stream. For up to `grace` after its item's last change it is `behind`.
# - An item of a rolling window's list is written before the row. For as long it may be newer.
# - The sorted index lags behind its table. A leaf's entries are counted between two equal snapshots that are `settling`
#   seconds apart. A leaf that never rests for so long is `unsettled`.
#
# A rebuild may purge the generation that a call reads. So before a call reports a difference, it reads the board's
# record again: the record must still name that generation (`is_read`).
#
# So there are no false alarms. An audit may miss a difference while events flow, if moves between two cheap reads of
# a leaf make up for its wrong counter. The next audit finds it. An audit does not find the row of a member in a rolling
# window if the member has neither an item nor a place in the list: nothing leads to that row.
#
# Rankings that can no longer be read are skipped, and those that are not complete (coverage, `domain.boards`).

GRACE: Final = 15 * MINUTE  # Milliseconds after an item's last change in which the stream may bring it
PAGE_SIZE: Final = 100  # Members that are listed and compared together
_FIRST: Final[Mapping[str, Any]] = MappingProxyType({"stage": "members", "slot": 0, "after": None})


def is_read(catalog: BoardCatalog, clock: Clock, record: BoardRecord) -> bool:
    """Whether readers still use the generation that this record of a board names."""
    now = clock.retry(catalog.current, record.board)
    return now is not None and not now.deleted and now.generation == record.generation


@dataclass(frozen=True)
class BoardAudit:
    """Audits one board, a part at each call. Holds a page of members or a part of one ranking's tiers at a time.

    `generation` is the one that is read, and complete for `coverage`. With `only` one ranking of a calendar window is
    audited, in generation 0. `seen` is called with each member's image and each ranking that it is part of.
    """

    call: AuditCall
    family: Family
    generation: int
    coverage: Coverage
    only: Ranking | None = None
    seen: Callable[[Image, Ranking], None] | None = None

    def run(self, cursor: Mapping[str, Any] | None) -> dict[str, Any]:
        """Audit from a cursor on (None: from the beginning) until the board is done or the deadline comes.

        A cursor of another generation starts the audit again: a rebuild has switched reads in between.
        """
        units = self.call.store.units
        if cursor is None or cursor["generation"] != self.generation:
            cursor = _FIRST
        position = self._audit(cursor)
        after = None if position is None else {"generation": self.generation, **position}
        return self.call.answer(after, self.call.store.units - units)

    def _audit(self, cursor: Mapping[str, Any]) -> dict[str, Any] | None:
        """The position of the next call; None when the board is done. Each call makes progress, however short."""
        is_first = cursor["stage"] == "tiers"
        if cursor["stage"] == "members":
            for slot in range(cursor["slot"], SLOTS):
                after = self._members(slot, cursor["after"] if slot == cursor["slot"] else None)
                if after is not None:
                    return {"stage": "members", "slot": slot, "after": after}
                if slot + 1 < SLOTS and self.call.is_over():
                    return {"stage": "members", "slot": slot + 1, "after": None}
            cursor = {"ranking": "", "within": None}
        damaged: set[tuple[str, str]] = set()  # Windows of metrics, by name
        rankings = self._audited(open_rankings(self.family, self.call.board, self.call.clock.now()))
        for ranking in sorted(rankings, key=lambda ranking: ranking.ranking_code):
            code = ranking.ranking_code
            window = (ranking.metric.name, ranking.window.name)
            if code < cursor["ranking"] or window in damaged:
                continue
            within = cursor["within"] if code == cursor["ranking"] else None
            # Leaves in doubt take time to settle: do not begin with less.
            if not is_first and self.call.is_over(ROUNDS * SETTLING):
                return {"stage": "tiers", "ranking": code, "within": within}
            is_first = False
            self.call.looked_at["rankings"] += within is None
            try:
                within = self._tiers(ranking, within)
            except DamagedLog as damage:
                damaged.add(window)
                self.call.add(Kind.LOG, ranking=rolling_of(ranking).key, log=damage.key, found=damage.reason)
                continue
            if within is not None:
                return {"stage": "tiers", "ranking": code, "within": within}
        return None

    def _tiers(self, ranking: Ranking, within: str | None) -> str | None:
        """Audit a ranking's tiers from a leaf on: the last one audited if the call was over, None when all are."""
        return ranking.window.of_kind(self._calendar_tiers, self._rolling_tiers)(ranking, within).run()

    def _calendar_tiers(self, ranking: Ranking, within: str | None) -> TierAudit:
        return TierAudit(self.call, ranking, partial(self._compare, ranking), within)

    def _rolling_tiers(self, ranking: Ranking, within: str | None) -> TierAudit:
        return RollingTierAudit(self.call, ranking, StepAudit(self.call, rolling_of(ranking), self.coverage), within)

    def _members(self, slot: int, after: str | None) -> str | None:
        """Compare the members of a slot: the last one compared if the call was over, None when all are done."""
        while True:
            page = self.call.clock.retry(self.call.store.members, self.call.board, slot, after, PAGE_SIZE)
            images = [image for image in page if isinstance(image, Image)]
            for item in page:
                if not isinstance(item, Image):
                    self.call.add(Kind.DAMAGED, member=item.member, found=item.why)
            ranked = [(image, ranking) for image in images for ranking in self._ranked(image)]
            rows = self.call.clock.retry(self.call.store.rows, [(ranking, image.member) for image, ranking in ranked])
            self.call.looked_at["members"] += len(page)
            self.call.looked_at["rows"] += len(ranked)
            for image, ranking in ranked:
                if self.seen is not None:
                    self.seen(image, ranking)
                row = rows.get((ranking, image.member))
                if self.call.difference(image, row, ranking, image.member) is not None:
                    self.call.compare(ranking, image.member)
            for steps in self._windows():
                steps.members(images)
            if len(page) < PAGE_SIZE:
                return None
            after = page[-1].member
            if self.call.is_over():
                return after

    def _windows(self) -> Iterator[StepAudit]:
        """The rolling windows that are audited."""
        if self.only is not None:
            return
        for rankings in rolling_windows(self.family, self.call.board):
            if self.coverage.ranks(rankings.at(0)):
                yield StepAudit(self.call, rankings._replace(generation=self.generation), self.coverage)

    def _compare(self, ranking: Ranking, entries: Sequence[Listed]) -> None:
        """Compare members that have entries, but whose items are not part of the ranking.

        The others are compared member by member (`_members`).
        """
        members = [entry.member for entry in entries]
        images = self.call.clock.retry(self.call.store.images, self.call.board, members)
        for member in members:
            image = images.get(member)
            if image is None or ranking not in set(self._ranked(image)):
                self.call.compare(ranking, member)

    def _ranked(self, image: Image) -> Iterator[Ranking]:
        """The rankings that an item is part of, hidden or not, but for those of rolling windows."""
        return self._audited(readable_rankings(self.family, image, self.call.clock.now()))

    def _audited(self, rankings: Iterator[Ranking]) -> Iterator[Ranking]:
        """The rankings that are audited, each once: those that can be read now and are complete."""
        now = self.call.clock.now()
        for ranking in dict.fromkeys(rankings):
            until = self.coverage.readable_until(ranking)
            is_asked = self.only is None or ranking == self.only
            if is_asked and self.coverage.ranks(ranking) and (until is None or now < until):
                yield ranking._replace(generation=self.generation)


@dataclass(frozen=True)
class Audits:
    """Audits one board or all boards, as `boards.toml` and the boards' records define them."""

    catalog: BoardCatalog
    store: "AuditReads"
    clock: Clock

    def audit(
        self,
        deadline: float,
        *,
        board: str | None = None,
        cursor: Mapping[str, Any] | None = None,
        grace_seconds: int = GRACE // SECOND,
    ) -> dict[str, Any]:
        """Audit one board, or all, from a cursor on. `grace_seconds` says how late the stream may be."""
        only, at = board, (cursor or {}).get("at")
        board = only or (cursor or {}).get("board") or self.catalog.next_board(None)
        answer: dict[str, Any] = {"done": True, "cursor": None, "drift": 0, "boards": []}
        while board is not None:
            if self.clock.monotonic() >= deadline:
                return {**answer, "done": False, "cursor": {"board": board, "at": at}}
            report = self.audit_board(AuditCall(board, self.store, self.clock, deadline, grace_seconds * SECOND), at)
            if report is not None:
                answer["boards"].append(report)
                answer["drift"] += report["drift"]
                if not report["done"]:
                    return {**answer, "done": False, "cursor": {"board": board, "at": report["cursor"]}}
            board, at = None if only else self.catalog.next_board(board), None
        return answer

    def audit_board(self, call: AuditCall, cursor: Mapping[str, Any] | None) -> dict[str, Any] | None:
        """One call of an audit of one board; None if there is no such board any more."""
        record = self.clock.backoff(call.deadline).retry(self.catalog.current, call.board)
        if record is None or record.deleted or (record.job is not None and record.job.task == DELETE):
            return None
        family = self.catalog.boards.family(call.board)
        if family is None:
            raise ValueError(f"no family in boards.toml matches {call.board!r}")
        report = BoardAudit(call, family, record.generation, record.coverage).run(cursor)
        if report["drift"] and not is_read(self.catalog, self.clock, record):
            # The next call begins again, in the generation that is read then.
            call.drop_findings()
            return call.answer({"generation": record.generation, **_FIRST}, report["read_units"])
        return report


# Audits all boards in turn, for a schedule.
#
# A run spends its read units or its time, and ends with the turn at the latest. Its smallest step is a page of
# members, or a leaf of a tier tree: all entries with one of up to 128 neighbouring scores.

MAX_FAILED: Final = 20  # Boards that a tally names


@dataclass(frozen=True)
class ScheduledAudits:
    """Runs of the schedule."""

    audits: Audits
    lease: Lease[AuditPosition]

    def show(self) -> dict[str, Any]:
        """The record, as JSON."""
        return {"done": True, **asdict(self.lease.read())}

    def continue_turn(
        self, deadline: float, read_units: int, found: Callable[[dict[str, Any]], None]
    ) -> dict[str, Any]:
        """Do one run. `found` gets the report of each board, or of a part of it.

        The run ends with the step that reaches `read_units`. `done` in the answer says that the turn has ended,
        `running` that another run is at work: then this one has done nothing.
        """
        if read_units < 1:
            raise ValueError(f"next: read_units: expected at least 1, got {read_units}")
        position = self.lease.take(deadline, scheduled=True)
        if position is None:
            return {"done": False, "running": True, "board": None, "read_units": 0}
        run = _Run(self, position, deadline, read_units, found)
        done = run.run()
        return {"done": done, "running": False, "board": run.position.board, "read_units": round(run.used)}


class _Run(Run[AuditPosition]):
    """The audits of one run, and the turn's tally."""

    def __init__(
        self,
        scheduled: ScheduledAudits,
        position: AuditPosition,
        deadline: float,
        read_units: int,
        found: Callable[[dict[str, Any]], None],
    ) -> None:
        super().__init__(scheduled.lease, position, deadline, scheduled.audits.catalog)
        self._audits = scheduled.audits
        self._found = found
        self._start = self._audits.store.units
        self._most_units = self._start + read_units
        self._tally = position.turn or Tally(position.ran_at or 0)
        self._used_before = self._tally.read_units

    @property
    def used(self) -> float:
        """The read units used."""
        return self._audits.store.units - self._start

    def visit(self, board: str, at: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if self._catalog.boards.family(board) is None:
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

    def with_progress(self, position: AuditPosition) -> AuditPosition:
        failed = [*self._tally.failed, *self.left_out][:MAX_FAILED]
        tally = replace(self._tally, failed=failed, read_units=self._used_before + round(self.used))
        if position.board is not None:
            return replace(position, turn=tally)
        return replace(position, turn=None, last=replace(tally, until=self._audits.clock.now()))
