"""Compares a board's Rankings with Scores while events flow, and names each kind of difference.

Everything is looked at twice, if need be. The first look is cheap: half a read unit for an item, of moments that differ
by as long as the walk takes. What it finds at odds is looked at again in a read transaction: an item beside its row, a
counter beside the child that it counts. Such a picture is of one moment, in which every legal change is either whole or
not there, so what it shows at odds is a difference and no coincidence. Two things are not of one moment even so:

- A row waits for the stream. It may be older than its item for as long as `grace`; then it is `behind`.
- The sorted index lags behind its table. So the entries below a leaf are counted between two pictures of the leaf that
  are the same and lie `settling` seconds apart; a leaf that is never left alone for so long is `unsettled`.

So nothing is named that is no difference. One may be missed while events flow: moves of a leaf's members between the
two cheap looks at it can make up for what its counter is off, and then the next audit has to name it.

Both directions are walked. Members are listed from Scores, and their rows in all rankings that they are part of are
compared (`missing`, `wrong`, `misplaced`, `version`, and `phantom` for those who are hidden). Then, ranking by ranking,
the index and the tier tree are walked side by side (`tiering`): entries of members that Scores do not rank there
(`phantom`), and counters that are not the number of entries below them (`counter`).

Rankings that can no longer be read are left out, and those for which the board is not whole (`domain.boards.coverage`).
"""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final

from standings.catalog.board_catalog import DELETE, BoardCatalog
from standings.domain.boards.coverage import Coverage
from standings.domain.boards.definitions import Boards, Family
from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.members.open_rankings import open_rankings, readable_rankings
from standings.domain.windows.calendar import MINUTE, SECOND
from standings.maintain.audit.audit_reads import AuditReads
from standings.maintain.audit.differences import expected_key
from standings.maintain.audit.report import AuditRun, Report
from standings.maintain.audit.tier_audit import ROUNDS, SETTLING, TierAudit
from standings.ports.scores import SLOTS
from standings.runtime.retry import Clock, with_retry

GRACE: Final = 15 * MINUTE
"""How long after an item's last change the stream may take to bring it: what takes longer is a difference."""

AT_ONCE: Final = 100
"""Members that are listed and compared together."""


class Auditor:
    """Audits boards, a part at each call: no call keeps more than a stretch of members or of one ranking's tiers."""

    def __init__(
        self, boards: Boards, evidence: AuditReads, pacing: Clock, grace: int = GRACE, settling: float = SETTLING
    ) -> None:
        self._boards = boards
        self._evidence = evidence
        self._pacing = pacing
        self._grace = grace
        self._settling = settling

    def audit(
        self,
        board: str,
        cursor: Mapping[str, Any] | None,
        deadline: float,
        generation: int = 0,
        coverage: Coverage | None = None,
    ) -> Report:
        """Audit a board from a cursor on (None: from the beginning) until it is done or the deadline comes.

        `generation` is the one that is read, `coverage` says for what it is whole (None: for all that is ranked).
        ValueError where no family of `boards.toml` matches the board. A cursor is of one generation: a rebuild that
        switches reads in between starts the audit anew.
        """
        family = self._boards.family(board)
        if family is None:
            raise ValueError(f"no family in boards.toml matches {board!r}")
        before = self._evidence.units
        report = Report(board)
        look = AuditRun(self._evidence, self._pacing, deadline, self._grace, report)
        audit = _BoardAudit(look, family, board, generation, coverage, self._settling)
        at: Mapping[str, Any] | None = cursor
        if at is not None and at["generation"] != generation:
            at = None
        report.cursor = audit.run(at)
        report.units = self._evidence.units - before
        return report


class _BoardAudit:
    def __init__(
        self, look: AuditRun, family: Family, board: str, generation: int, coverage: Coverage | None, settling: float
    ) -> None:
        self._look = look
        self._family = family
        self._board = board
        self._generation = generation
        self._coverage = coverage
        self._settling = settling

    def run(self, cursor: Mapping[str, Any] | None) -> dict[str, Any] | None:
        at: Mapping[str, Any] = cursor if cursor is not None else {"stage": "members", "slot": 0, "after": None}
        # Whatever time there is, a call gets on.
        worked = at["stage"] == "members"
        if at["stage"] == "members":
            for slot in range(at["slot"], SLOTS):
                after = self._members(slot, at["after"] if slot == at["slot"] else None)
                if after is not None or (self._look.expired and slot + 1 < SLOTS):
                    where = (slot, after) if after is not None else (slot + 1, None)
                    return self._cursor(stage="members", slot=where[0], after=where[1])
            at = {"stage": "tiers", "ranking": "", "within": None}
        for ranking in sorted(set(self._open()), key=lambda ranking: ranking.ranking_code):
            code = ranking.ranking_code
            if code < at["ranking"]:
                continue
            within = at["within"] if code == at["ranking"] else None
            # What tiers leave in doubt takes time to settle: it is not begun with less.
            if worked and self._look.pacing.monotonic() >= self._look.deadline - ROUNDS * self._settling:
                return self._cursor(stage="tiers", ranking=code, within=within)
            self._look.report.rankings += within is None
            tiers = TierAudit(self._look, ranking, partial(self._strangers, ranking), self._settling)
            rest = tiers.run(within)
            worked = True
            if rest is not None:
                return self._cursor(stage="tiers", ranking=code, within=rest)
        return None

    def _cursor(self, **where: Any) -> dict[str, Any]:
        return {"generation": self._generation, **where}

    def _members(self, slot: int, after: str | None) -> str | None:
        """Compare the members of a slot: the last that was compared where the time was over, None for all of them."""
        look = self._look
        while True:
            images = look.read(partial(look.evidence.members, self._board, slot, after, AT_ONCE))
            wanted = [(image, ranking) for image in images for ranking in self._ranked(image)]
            asked = [(ranking, image.member) for image, ranking in wanted]
            rows = look.read(partial(look.evidence.rows, asked))
            look.report.members += len(images)
            look.report.rows += len(wanted)
            for image, ranking in wanted:
                row = rows.get((ranking, image.member))
                expected = expected_key(image, ranking, image.member)
                if row is None:
                    agrees = expected is None
                else:
                    agrees = row.key == expected and row.version <= image.version and (row.at_home or expected is None)
                if not agrees:
                    look.judge(ranking, image.member)
            if len(images) < AT_ONCE:
                return None
            after = images[-1].member
            if look.expired:
                return after

    def _strangers(self, ranking: Ranking, members: Sequence[str]) -> None:
        """Look at members of whom the index has entries: those whose items have no part in the ranking.

        All others are compared member by member.
        """
        look = self._look
        images = look.read(lambda: look.evidence.images(self._board, members))
        for member in members:
            image = images.get(member)
            if image is None or ranking not in set(self._ranked(image)):
                look.judge(ranking, member)

    def _ranked(self, image: Image) -> Iterator[Ranking]:
        """The rankings that an item is part of, hidden or not."""
        return self._audited(readable_rankings(self._family, image, self._look.pacing.now()))

    def _open(self) -> Iterator[Ranking]:
        return self._audited(open_rankings(self._family, self._board, self._look.pacing.now()))

    def _audited(self, rankings: Iterator[Ranking]) -> Iterator[Ranking]:
        """Each once, of the generation that is read; whose reading has ended may lack what came after."""
        now = self._look.pacing.now()
        for ranking in dict.fromkeys(rankings):
            until = ranking.readable_until
            if self._coverage is not None:
                until = self._coverage.readable_until(ranking)
                if not self._coverage.ranks(ranking):
                    continue
            if until is None or now < until:
                yield ranking._replace(generation=self._generation)


class Audits:
    """Audits one board or all of them, as `boards.toml` and the boards' records have them."""

    def __init__(self, registry: BoardCatalog, evidence: AuditReads, pacing: Clock) -> None:
        self._registry = registry
        self._evidence = evidence
        self._pacing = pacing

    def do(self, given: Mapping[str, Any], deadline: float) -> dict[str, Any]:
        """Audit the `board` that is given, or all, from a `cursor` on; for `grace_seconds` the stream may be late."""
        grace = given.get("grace_seconds", GRACE // SECOND) * SECOND
        auditor = Auditor(self._registry.boards, self._evidence, self._pacing, grace)
        cursor = given.get("cursor") or {}
        only, at = given.get("board"), cursor.get("at")
        board = only or cursor.get("board") or self._following(None)
        answer: dict[str, Any] = {"done": True, "cursor": None, "drift": 0, "boards": []}
        while board is not None:
            if self._pacing.monotonic() >= deadline:
                return {**answer, "done": False, "cursor": {"board": board, "at": at}}
            report = self._audited(auditor, board, at, deadline)
            if report is not None:
                answer["boards"].append(report.answer())
                answer["drift"] += report.drift
                if report.cursor is not None:
                    return {**answer, "done": False, "cursor": {"board": board, "at": report.cursor}}
            board, at = None if only else self._following(board), None
        return answer

    def _audited(self, auditor: Auditor, board: str, at: Any, deadline: float) -> Report | None:
        """What the audit of a board says; None for one that has no events, or that is being deleted."""
        record = with_retry(lambda: self._registry.current(board), self._pacing.backoff(deadline))
        if record is None or record.deleted or (record.job is not None and record.job.task == DELETE):
            return None
        return auditor.audit(board, at, deadline, record.generation, record.coverage)

    def _following(self, board: str | None) -> str | None:
        """The next board of the list that `boards.toml` still has a family for."""
        while names := self._registry.records.names(board, 1):
            (board,) = names
            if self._registry.boards.family(board) is not None:
                return board
        return None
