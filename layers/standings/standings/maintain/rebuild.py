"""Rebuilds and deletes boards in phases, while they are in use (blue-green: readers change generation at the end)."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final

from standings.aws.dynamodb.scores import Conflict, Fence, FencedError, Rewrite, Scores
from standings.aws.sqs import LookQueue
from standings.catalog import BoardCatalog
from standings.domain.board_record import (
    CLOCK_SKEW_S,
    DELETE,
    MAX_ATTEMPT_S,
    PROPAGATION_WAIT,
    REBUILD,
    BoardRecord,
    Job,
)
from standings.domain.boards import Family, Ranking
from standings.domain.coverage import coverage_of, written_codes
from standings.domain.members import (
    Image,
    calendar_rankings,
    open_rankings,
    readable_rankings,
    registered,
    removed,
    rewritten,
)
from standings.domain.windows import HOUR, SECOND
from standings.rankings.storing import MAX_PLACEMENTS, Placement, Rankings, placements_now
from standings.runtime.clock import Clock
from standings.stores import (
    MAX_ACTIONS,
    MAX_TRANSACTION_BYTES,
    SLOTS,
    CancelReason,
    RankingName,
    StoreRefusedError,
    StoreUnavailableError,
)

# The phases of a rebuild or deletion, as states of the board's record. `rebuild` describes them.

LEAVING: Final = "leaving"
REMOVING: Final = "removing"
ANNOUNCED: Final = "announced"
PLACING: Final = "placing"
SWITCHED: Final = "switched"
RETIRED: Final = "retired"

WAITING: Final = frozenset({LEAVING, ANNOUNCED, SWITCHED, RETIRED})
AFTER_WAITING: Final = {LEAVING: REMOVING, ANNOUNCED: PLACING, SWITCHED: RETIRED}


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is: `members` are done in this phase, in `slot` of `SLOTS` slots. The next step is in `wait` s."""

    board: str
    task: str
    phase: str
    generation: int
    members: int
    slot: int
    wait: float
    done: bool


def start_phase(record: BoardRecord, phase: str, family: Family, now: int) -> BoardRecord:
    """The record with its job, or a new one, at the beginning of a phase."""
    planned = coverage_of(family, now)
    job = (record.job or Job(REBUILD, phase, now, planned))._replace(
        phase=phase, since=now, slot=0, after=None, members=0
    )
    changes: dict[str, Any] = {}
    if phase in {LEAVING, ANNOUNCED, RETIRED}:
        changes["stale"] = tuple(sorted({*record.stale, *record.written} - {record.generation}))
        changes["written"] = (record.generation,)
    if phase == LEAVING:
        job = Job(DELETE, phase, now, planned)
    elif phase == ANNOUNCED:
        number = record.latest + 1
        job = job._replace(coverage=planned)
        changes |= {"latest": number, "renewed": now, "written": (record.generation, number)}
    elif phase == PLACING:
        # Functions with another definition have reduced the job's coverage to what they keep.
        # A deleted board has nothing that could lack anything.
        complete = planned if job.task == DELETE else record.coverage.after_rebuild(family, now)
        job = job._replace(coverage=complete.intersect(job.coverage))
    elif phase == SWITCHED:
        lost = record.coverage.lost
        if job.task == DELETE:
            changes["deleted"] = True
            lost = frozenset()  # All that was counted before is removed
        changes |= {"generation": record.latest, "coverage": job.coverage.without(lost)}
        job = job._replace(task=REBUILD)
    return replace(record, job=job, **changes)


def is_outdated(job: Job, family: Family) -> bool:
    """Whether a job that has not switched yet makes other rankings than the family has by now."""
    planned = job.coverage
    current = coverage_of(family, job.since).without(planned.lost)
    is_same = (planned.rankings, planned.late, planned.keep) == (current.rankings, current.late, current.keep)
    return job.phase in {ANNOUNCED, PLACING} and not is_same


def job_of(record: BoardRecord) -> Job:
    """The job of a record that has one."""
    if record.job is None:
        raise LookupError(f"expected board {record.board!r} to have a job")
    return record.job


# Rewrites members of a board while others write them: registers them for a rebuild, or removes them.

MAX_TRIES: Final = 8  # Tries of a busy member, with some seconds of waiting in all, before the others go on
Chunk = list[Image]  # Members that are written in one transaction


class RewriteMembers:
    """Writes `change(image)` for members (None: leaves the member as it is), a chunk in each transaction.

    `done` are the members as they are then. `busy` are those that others kept writing through `MAX_TRIES`.
    StoreUnavailableError when the deadline comes before the end. FencedError once the board has another task.
    """

    def __init__(
        self,
        scores: Scores,
        clock: Clock,
        deadline: float,
        change: Callable[[Image], Image | None],
        fence: Fence | None = None,
    ) -> None:
        self._scores = scores
        self._fence = fence
        self._clock = clock
        self._backoff = clock.backoff(deadline)
        self._change = change
        self.done: list[Image] = []
        self.busy: list[Image] = []

    def run(self, chunks: Sequence[Chunk]) -> "RewriteMembers":
        """Rewrite all chunks. A member that met a conflict is tried again apart from the others, after a wait."""
        for tries in range(MAX_TRIES):
            if tries and chunks and not self._backoff.wait():
                raise too_busy()
            chunks = [again for chunk in chunks for again in self._try(chunk)]
        self.busy = [image for chunk in chunks for image in chunk]
        return self

    def _try(self, chunk: Chunk) -> list[Chunk]:
        """Write members in one transaction. Returns those to try again, in the chunks to try them in."""
        if len(chunk) == 1:  # others may have written the member while its try waited
            image = self._backoff.retry(self._scores.image, (chunk[0].board, chunk[0].member))
            chunk = chunk if image is None else [image]
        before: list[Image] = []
        changes: list[Rewrite] = []
        for image in chunk:
            after = None if image.removed else self._change(image)
            if after is None:
                self.done.append(image)
            else:
                before.append(image)
                changes.append(Rewrite(after, image))
        if not changes:
            return []
        if self._scores.bytes_of([], changes) > MAX_TRANSACTION_BYTES:
            middle = len(before) // 2
            return [*self._try(before[:middle]), *self._try(before[middle:])]
        if self._backoff.expired:
            raise too_busy()
        conflicts = self._backoff.retry(lambda: self._scores.apply([], changes, self._clock.now(), self._fence))
        if not conflicts:
            self.done += [rewrite.image for rewrite in changes]
            return []
        return self._split(before, conflicts)

    def _split(self, chunk: Chunk, conflicts: Sequence[Conflict]) -> list[Chunk]:
        """The members that met a conflict, each alone, and the others together.

        If all of them did, as they do when the table is throttled, the chunk is halved.
        """
        others = dict(enumerate(chunk))
        met: list[Image] = []
        for conflict in conflicts:
            if conflict.reason is CancelReason.INVALID:
                raise StoreRefusedError(conflict.message)
            image = others.pop(conflict.position)
            if conflict.reason is CancelReason.BUSY:
                met.append(image)
            elif conflict.image is not None:
                met.append(conflict.image)
            else:
                self.done.append(image)  # its item is gone
        if others:
            return [list(others.values()), *([image] for image in met)]
        middle = (len(met) + 1) // 2
        return [half for half in (met[:middle], met[middle:]) if half]


def too_busy() -> StoreUnavailableError:
    """The error of a job whose members others keep writing."""
    return StoreUnavailableError("others keep writing members of this board: try again later")


# What a rebuild and a deletion mean for the tops that a board announces.


@dataclass(frozen=True, slots=True)
class RebuiltTops:
    """The announced tops of a board. `looks` is None on a stack without announcements.

    `delete` deletes what was announced: (board, ranking codes).
    """

    looks: LookQueue | None
    delete: Callable[[str, Iterable[str]], None]

    def request_looks(self, family: Family, board: str, now: int) -> None:
        """Request a look at each announced ranking that can be read. Raises StoreUnavailableError."""
        if self.looks is not None:
            self.looks.send_now(
                RankingName(board, ranking.metric.name, ranking.window.name, ranking.period)
                for ranking in open_rankings(family, board, now)
                if ranking.window.name in family.announce
            )

    def delete_announced(self, family: Family, board: str, codes: frozenset[str], *, deleted: bool) -> None:
        """Delete what was announced of rankings that the board no longer has. May raise StoreUnavailableError.

        A deleted board only has those that are announced: the announcer empties their tops, and their numbers go on if
        the board comes back.
        """
        self.delete(board, codes - (self._announced(family) if deleted else written_codes(family)))

    def _announced(self, family: Family) -> frozenset[str]:
        """The codes of the rankings that are announced."""
        if self.looks is None:
            return frozenset()
        windows = tuple(
            metric.ranking_code(window)
            for metric in family.metrics.values()
            for window in metric.windows
            if window.name in family.announce
        )
        return frozenset(code for code in written_codes(family) if code.startswith(windows))


# Rebuilds the rankings of a board from Scores while they are read and written; deletes boards.
#
# A rebuild writes a new *generation*, in phases. The board's record names each phase before it begins.
#
# 1. `announced`: projectors write both generations once they read the new record. After `PROPAGATION_WAIT` no attempt
#    is left that writes only the old one.
# 2. `placing`: every member is placed as its item is. Projectors bring newer changes meanwhile. A row only takes a
#    newer version, so the order of the two does not matter.
# 3. `switched`: the new generation is read. The old one is still written, until every reader has read the new record.
# 4. `retired`: nothing writes the old generation. It is purged once every attempt that wrote it has ended.
#
# A deletion has two phases before these, and from its first moment on the writer refuses the board's events. In
# `leaving` it waits for attempts that began before. In `removing` it removes the members one by one, which empties
# the rankings by ordinary moves. The rebuild that follows places nobody: it makes a new generation, so that the old
# one can be purged.
#
# Every step may be repeated from where the record says. An interrupted job, or two at once, end the same.

_PART: Final = MAX_ACTIONS - 1  # Members in one transaction, in addition to the check of the fence
_STREAM_AGE: Final = 25 * HOUR  # A record of the stream is younger, by any clock
_LAST_ATTEMPTS: Final = (MAX_ATTEMPT_S + CLOCK_SKEW_S) * SECOND
"""Milliseconds after which every attempt has ended that wrote with an older record: writers read it each time."""

_Change = Callable[[BoardRecord], BoardRecord]
Purge = Callable[[str, Iterable[str], int, Callable[[], bool]], bool]
"""Purges a generation: (board, ranking codes, generation, whether time is over) -> whether all of it is gone."""


Entries = Callable[[Sequence[tuple[Ranking, str]]], Iterable[tuple[Ranking, str]]]
"""Which of some members, each in a calendar ranking, have an entry there."""


@dataclass(frozen=True)
class Rebuild:
    """Rebuilds boards, and deletes them."""

    catalog: BoardCatalog
    scores: Scores
    rankings: Rankings
    entries: Entries
    purge: Purge
    clock: Clock
    tops: RebuiltTops

    def continue_job(self, board: str, task: str, deadline: float, *, begin: bool = True) -> Progress:
        """Continue the job of a board until a deadline of the monotonic clock. With `begin`, start one if needed.

        ValueError: no such board. StoreUnavailableError: try again later. StoreRefusedError: a member cannot be placed.
        """
        return _Run(self, board, deadline).run(task, begin=begin)


class _Run:
    def __init__(self, service: Rebuild, board: str, deadline: float) -> None:
        family = service.catalog.boards.family(board)
        if family is None:
            raise ValueError(f"no family in boards.toml matches {board!r}")
        self._service = service
        self._board = board
        self._family = family
        self._deadline = deadline
        self._backoff = service.clock.backoff(deadline)

    def run(self, task: str, *, begin: bool) -> Progress:
        record = self._record()
        job = record.job
        if begin and (job is None or (task == DELETE and job.task != DELETE)):
            record = self._save(record, self._start_phase(LEAVING if task == DELETE else ANNOUNCED))
        elif job is not None and is_outdated(job, self._family):
            record = self._save(record, self._start_phase(ANNOUNCED))  # boards.toml has changed since the job began
        while (job := record.job) is not None:
            wait = self._wait(job)
            if wait > 0 or self._backoff.expired:
                return Progress(
                    self._board, job.task, job.phase, record.latest, job.members, job.slot, wait, done=False
                )
            record = self._step(record, job)
        return Progress(self._board, task, "", record.generation, 0, SLOTS, 0.0, done=True)

    def _wait(self, job: Job) -> float:
        """Seconds until the phase may go on."""
        if job.phase not in WAITING:
            return 0.0
        wait = _LAST_ATTEMPTS if job.phase == LEAVING else PROPAGATION_WAIT
        return max(0, job.since + wait - self._now()) / SECOND

    def _step(self, record: BoardRecord, job: Job) -> BoardRecord:
        """Do the work of a phase until it is done or the time is over; returns the record as it is then."""
        tops = self._service.tops
        if job.phase == SWITCHED:
            # No move made the new generation's top, so no projector has requested a look at it.
            self._backoff.retry(tops.request_looks, self._family, self._board, self._now())
        if job.phase in AFTER_WAITING:
            return self._save(record, self._start_phase(AFTER_WAITING[job.phase]))
        if job.phase == REMOVING:
            return self._through_members(record, self._remove, self._start_phase(ANNOUNCED))
        if job.phase == PLACING:
            return self._through_members(record, self._place, self._start_phase(SWITCHED))
        for generation in record.stale:
            if not self._service.purge(self._board, record.codes, generation, lambda: self._backoff.expired):
                return record
        tops.delete_announced(self._family, self._board, record.codes, deleted=record.deleted)
        return self._save(record, lambda record: replace(record, stale=(), codes=written_codes(self._family), job=None))

    def _through_members(
        self, record: BoardRecord, do: Callable[[BoardRecord, Sequence[Chunk]], list[Image]], after_all: _Change
    ) -> BoardRecord:
        """Call `do` with all members of the board, a part at a time; the record says how far it is.

        `do` returns the members that were too busy. They are tried again, one by one, when all the others are done, or
        once they are as many as a part. Until then the record stays before them: an interrupted job meets them again.
        """
        reached, busy = job_of(record), list[Image]()
        while reached.slot < SLOTS or busy:
            before = record
            try:
                if reached.slot == SLOTS or len(busy) >= MAX_ACTIONS:
                    if not self._backoff.wait():
                        raise too_busy()
                    busy = do(record, [[image] for image in busy])
                elif self._backoff.expired:
                    return record
                else:
                    images, reached = self._part(reached)
                    busy += do(record, [images])
            except FencedError:
                # Another call has moved the job on; or version 0.2 wrote the record, which has no token then.
                record = self._save(record, lambda record: record)
                if record.job is None or record.job.token != reached.token or self._backoff.expired:
                    return record
                reached = job_of(record)
                continue
            record = self._save(record, partial(_with_progress, job=job_of(record) if busy else reached))
            if record.latest != before.latest or record.job is None or record.job.token != reached.token:
                return record
        return self._save(record, after_all)

    def _part(self, job: Job) -> tuple[list[Image], Job]:
        """The next members, and the job once they are done."""
        images: list[Image] = []
        slot, after = job.slot, job.after
        while slot < SLOTS and len(images) < _PART:
            limit = _PART - len(images)
            page = self._backoff.retry(self._service.scores.members, self._board, slot, after, limit)
            # The audit reports damaged items. Nothing that they hold can be placed.
            images += (image for image in page if isinstance(image, Image))
            slot, after = (slot + 1, None) if len(page) < limit else (slot, page[-1].member)
        return images, job._replace(slot=slot, after=after, members=job.members + len(images))

    def _place(self, record: BoardRecord, chunks: Sequence[Chunk]) -> list[Image]:
        """Place members in the new generation as their items are; returns those that were too busy."""
        now = self._now()
        members = self._rewrite(record, chunks, self._registered)
        entries = self._entries_of_removed(members.done, now, record.latest)
        recent = record.renewed - _STREAM_AGE
        moves: list[Placement] = []
        for image in members.done:
            rankings = dict.fromkeys([*readable_rankings(self._family, image, now), *entries.get(image.member, ())])
            # A projector that has known both generations may have failed after it wrote list items in the new one, and
            # one that knew the old one alone may have finished its records.
            rewrite_every_item = image.written_at_ms >= recent
            moves += placements_now(
                self._family, image, rankings, record.latest, now, rewrite_every_item=rewrite_every_item
            )
            if len(moves) >= MAX_PLACEMENTS:
                self._service.rankings.place(moves, self._deadline)
                moves = []
        self._service.rankings.place(moves, self._deadline)
        return members.busy

    def _entries_of_removed(self, images: Sequence[Image], now: int, generation: int) -> dict[str, list[Ranking]]:
        """The rankings of a generation in which members have entries, of members that were ever removed.

        A projector that did not know the new generation yet may have projected the removal in the old one alone. The
        item no longer says in which rankings the member was, so its rows are read.
        """
        removed_members = [image.member for image in images if image.removed_at is not None]
        rankings = list(calendar_rankings(self._family, self._board, now)) if removed_members else []
        rows = [(ranking._replace(generation=generation), name) for ranking in rankings for name in removed_members]
        entries: dict[str, list[Ranking]] = {}
        for ranking, name in self._backoff.retry(self._service.entries, rows):
            entries.setdefault(name, []).append(ranking._replace(generation=0))
        return entries

    def _registered(self, image: Image) -> Image | None:
        """The next image of a registered member that lacks a 0 in a sum that is ranked by now; None for the others."""
        complete = registered(self._family, image)
        return None if complete.values == image.values else rewritten(complete, max(self._now(), image.written_at_ms))

    def _remove(self, record: BoardRecord, chunks: Sequence[Chunk]) -> list[Image]:
        return self._rewrite(record, chunks, lambda image: removed(image, self._now())).busy

    def _rewrite(
        self, record: BoardRecord, chunks: Sequence[Chunk], change: Callable[[Image], Image | None]
    ) -> RewriteMembers:
        fence = Fence(self._board, job_of(record).token)
        return RewriteMembers(self._service.scores, self._service.clock, self._deadline, change, fence).run(chunks)

    def _record(self) -> BoardRecord:
        return self._backoff.retry(self._service.catalog.known, self._board)

    def _save(self, record: BoardRecord, change: _Change) -> BoardRecord:
        """Write a change of the record, unless another call has moved the job on; returns the record as it is then."""
        job, before = record.job, record
        while True:
            if record.latest != before.latest or (record.job and record.job.token) != (job and job.token):
                return record
            changed = replace(change(record), version=record.version + 1)
            if self._backoff.retry(self._service.catalog.records.put, changed, record):
                return changed
            if not self._backoff.wait():
                raise StoreUnavailableError(f"others keep writing the record of board {self._board!r}: try again later")
            record = self._record()

    def _start_phase(self, phase: str) -> _Change:
        return lambda record: start_phase(record, phase, self._family, self._now())

    def _now(self) -> int:
        return self._service.clock.now()


def _with_progress(record: BoardRecord, job: Job) -> BoardRecord:
    """The record with the progress of its job. Other functions may have reduced the job's coverage meanwhile."""
    return replace(record, job=job._replace(coverage=job_of(record).coverage))


# Rebuilds all boards whose names match a glob, in parallel: most of a rebuild is waiting.


def rebuild_all(rebuild: Rebuild, pattern: str, cursor: int | None, deadline: float) -> dict[str, Any]:
    """Continue the rebuilds of all boards that match, until a deadline of the monotonic clock.

    `cursor` is that of the previous answer: boards whose rebuild began later are not rebuilt again. A board whose items
    cannot be read or written now is undone, and is named in `problems`.
    """
    since = rebuild.clock.now() if cursor is None else cursor
    backoff = rebuild.clock.backoff(deadline)
    boards, waits, problems = 0, list[float](), list[dict[str, str]]()
    after: str | None = None
    while names := backoff.retry(rebuild.catalog.records.names, after, MAX_ACTIONS):
        after = names[-1]
        for name in names:
            if not fnmatchcase(name, pattern) or rebuild.catalog.boards.family(name) is None:
                continue
            boards += 1
            if backoff.expired:
                waits.append(0.0)
                continue
            try:
                progress = _continue_rebuild(rebuild, name, since, deadline)
            except StoreUnavailableError as error:
                waits.append(0.0)
                problems.append({"board": name, "why": str(error)})
            else:
                waits += [progress.wait] if progress is not None and not progress.done else []
    answer = {"boards": boards, "boards_done": boards - len(waits), "problems": problems[:MAX_ACTIONS]}
    return {"done": not waits, "cursor": since, **answer, "wait": min(waits, default=0.0)}


def _continue_rebuild(rebuild: Rebuild, board: str, since: int, deadline: float) -> Progress | None:
    """Continue the rebuild of a board for at most half of the time that is left; None if it is done."""
    now = rebuild.clock.monotonic()
    deadline = now + (deadline - now) / 2
    record = rebuild.clock.backoff(deadline).retry(rebuild.catalog.current, board)
    if record is None or (record.job is None and record.renewed >= since):
        return None
    return rebuild.continue_job(board, REBUILD, deadline, begin=record.job is None)
