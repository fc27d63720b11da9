"""Rebuilds and deletes boards in phases, while they are in use (blue-green: readers change generation at the end).

A rebuild writes a new *generation* of a board's rankings from Scores. The board's record names each phase before it
begins. `PHASES` is this picture as a value, by which the code runs. `old` is the generation that is read, `new` the
next one:

    task      phase      waits   works                     projectors write  readers read  stale
    delete ─► leaving    120 s   –                         old               nothing       an unfinished new
              removing   –       removes every member      old               nothing
    rebuild ► announced  180 s   –                         old, new          old           an unfinished new
              placing    –       places every member       old, new          old
              switched   180 s   requests announcements    old, new          new
              retired    180 s   purges what is stale      new               new           old

A deletion goes on through the phases of a rebuild. Until `switched`, readers read nothing of the board; from then on it
is marked as deleted, events may begin it again, and its job is a rebuild by name: call it with `begin=False` to finish.

- `leaving`: the writer refuses the board's events from the first moment on. Attempts that began before come to an end.
- `removing` empties the rankings by ordinary moves. The rebuild that follows places nobody: it makes a new generation,
  so that the old one can be purged.
- `announced`: projectors write both generations once they read the new record. After the wait no attempt is left that
  writes only the old one.
- `placing`: every member is placed as its item is. Projectors bring newer changes meanwhile. A row only takes a newer
  version, so the order of the two does not matter.
- `switched`: the old generation is still written, until every reader has read the new record.
- `retired`: nothing writes the old generation. It is purged once every attempt that wrote it has ended.

Every step may be repeated from where the record says. An interrupted job, or two at once, end the same.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Final, NamedTuple

from standings.aws.dynamodb.scores import Conflict, Fence, FencedError, Rewrite, Scores
from standings.aws.sqs import LookQueue
from standings.catalog import BoardCatalog
from standings.domain import coverage, members
from standings.domain.boards import Family, Ranking
from standings.domain.coverage import DELETE, PROPAGATION_WAIT, REBUILD, BoardRecord, Job, coverage_of, written_codes
from standings.domain.members import Image
from standings.domain.windows import HOUR, SECOND
from standings.maintain.turns import drive
from standings.rankings.reading import CalendarReads
from standings.rankings.storing import MAX_PLACEMENTS, Placement, Purging, Rankings, placements_now
from standings.runtime.clock import Backoff, Clock
from standings.stores import (
    MAX_ACTIONS,
    MAX_TRANSACTION_BYTES,
    SLOTS,
    CancelReason,
    RankingName,
    StoreRefusedError,
    StoreUnavailableError,
)


@dataclass(frozen=True)
class Rebuild:
    """Rebuilds boards, and deletes them. `looks` is None on a stack without announcements."""

    catalog: BoardCatalog
    scores: Scores
    rankings: Rankings
    reads: CalendarReads
    purging: Purging
    clock: Clock
    looks: LookQueue | None

    def continue_job(self, board: str, task: str, deadline: float, *, begin: bool = True) -> dict[str, Any]:
        """Continue the job of a board until a deadline, in seconds of the monotonic clock.

        `task` is `REBUILD` or `DELETE`. With `begin`, such a job begins if the board has none; a deletion also
        begins in the place of a rebuild, even of one that finishes an earlier deletion. The answer says how
        many `members` of the phase are done, in `slot` of `SLOTS` slots, and in how many seconds the next step
        is: `{"board": "b", "task": "rebuild", "phase": "placing", "generation": 3, "members": 9900, "slot": 12,
        "wait": 0.0, "done": False}`.
        ValueError: no such board, or it has ended. StoreUnavailableError: try again later. StoreRefusedError: a member
        cannot be placed.
        """
        return _Run(self, board, deadline).run(task, begin=begin)

    def continue_all(self, pattern: str, cursor: int | None, deadline: float) -> dict[str, Any]:
        """Continue the rebuilds of all boards that match a glob, in turns: most of a rebuild is waiting.

        `deadline` is in seconds of the monotonic clock. Pass the previous answer's `cursor`, the time of the first call
        in milliseconds: boards whose rebuild began later are not rebuilt again. A board whose items cannot be read or
        written now is undone, and is named in `problems`. The answer: `{"done": False, "cursor": 1795256100000,
        "boards": 9, "boards_done": 7, "problems": [], "wait": 170.2}`, with the seconds until the next step of any
        board.
        StoreUnavailableError: the boards cannot be listed now.
        """
        since = self.clock.now() if cursor is None else cursor
        backoff = self.clock.backoff(deadline)
        boards, waits, problems = 0, list[float](), list[dict[str, str]]()
        after: str | None = None
        while names := backoff.retry(self.catalog.records.names, after, MAX_ACTIONS):
            after = names[-1]
            for name in names:
                if not fnmatchcase(name, pattern) or self.catalog.boards.family(name) is None:
                    continue
                boards += 1
                try:
                    wait = 0.0 if backoff.expired else self._continue_one(name, since, deadline)
                except StoreUnavailableError as error:
                    wait = 0.0
                    problems.append({"board": name, "why": str(error)})
                waits += [] if wait is None else [wait]
        answer = {"boards": boards, "boards_done": boards - len(waits), "problems": problems[:MAX_ACTIONS]}
        return {"done": not waits, "cursor": since, **answer, "wait": min(waits, default=0.0)}

    def _continue_one(self, board: str, since: int, deadline: float) -> float | None:
        """Continue a rebuild for at most half of the time that is left. The seconds that it waits; None if done."""
        now = self.clock.monotonic()
        deadline = now + (deadline - now) / 2
        record = self.clock.backoff(deadline).retry(self.catalog.current, board)
        if record is None or record.has_ended(self.clock.now()) or (record.job is None and record.renewed >= since):
            return None
        progress = self.continue_job(board, REBUILD, deadline, begin=record.job is None)
        return None if progress["done"] else progress["wait"]


LEAVING: Final = "leaving"
REMOVING: Final = "removing"
ANNOUNCED: Final = "announced"
PLACING: Final = "placing"
SWITCHED: Final = "switched"
RETIRED: Final = "retired"
_LAST_ATTEMPTS: Final = (coverage.MAX_ATTEMPT_S + coverage.CLOCK_SKEW_S) * SECOND
"""Milliseconds after which every attempt has ended that wrote with an older record: writers read it each time."""


class Phase(NamedTuple):
    """A phase of a job. It waits for `wait` milliseconds, then works; then the phase `next` begins (None: all is done).

    `work` does as much as the time allows, and returns whether all of it is done. A phase without `work` only waits. As
    the phase begins, `written` names the fields of the record with the generations that projectors write from now on
    (none: as before). With `stale`, all that were written before and are not read await their purge.
    """

    wait: int
    work: Callable[["_Run"], bool] | None
    next: str | None
    written: tuple[str, ...] = ()
    stale: bool = False


PHASES: Final = {
    LEAVING: Phase(_LAST_ATTEMPTS, None, REMOVING, written=("generation",), stale=True),
    REMOVING: Phase(0, lambda run: run.through_members(run.remove), ANNOUNCED),
    ANNOUNCED: Phase(PROPAGATION_WAIT, None, PLACING, written=("generation", "latest"), stale=True),
    PLACING: Phase(0, lambda run: run.through_members(run.place), SWITCHED),
    SWITCHED: Phase(PROPAGATION_WAIT, lambda run: run.request_looks(), RETIRED),
    RETIRED: Phase(PROPAGATION_WAIT, lambda run: run.purge(), None, written=("generation",), stale=True),
}
_Chunk = list[Image]  # Members that are written in one transaction
_PART: Final = MAX_ACTIONS - 1  # Members in one transaction, in addition to the check of the fence
_STREAM_AGE: Final = 25 * HOUR  # A record of the stream is younger, by any clock
_TOO_BUSY: Final = "others keep writing members of this board: try again later"


class _Run:
    """One call's part of the job of a board. `record` is the board's, as this call last read or wrote it."""

    def __init__(self, service: Rebuild, board: str, deadline: float) -> None:
        family = service.catalog.boards.family(board)
        if family is None:
            raise ValueError(f"no family in boards.toml matches {board!r}")
        self._service = service
        self._board = board
        self._family = family
        self._deadline = deadline
        self._backoff = service.clock.backoff(deadline)
        self._record = self._read()

    def run(self, task: str, *, begin: bool) -> dict[str, Any]:
        job = self._record.job
        if begin and (job is None or (task == DELETE and job.task != DELETE)):
            self._begin(LEAVING if task == DELETE else ANNOUNCED)
        elif job is not None and _is_outdated(job, self._family):
            self._begin(ANNOUNCED)  # A function with another boards.toml has come since the job began
        drive(self._step, self._record)
        left = self._record.job
        job = left or Job(task, "", 0, self._record.coverage, SLOTS)
        return {
            "board": self._board,
            "task": job.task,
            "phase": job.phase,
            "generation": self._record.latest,
            "members": job.members,
            "slot": job.slot,
            "wait": 0.0 if left is None else self._wait(left),
            "done": left is None,
        }

    def _step(self, record: BoardRecord) -> BoardRecord | None:
        """Wait or work in a phase, and begin the next one: the record as it is then, None once there is no job."""
        if record.job is None:
            return None
        phase = PHASES[record.job.phase]
        is_due = self._wait(record.job) == 0 and not self._backoff.expired
        if is_due and (phase.work is None or phase.work(self)):
            if phase.next is not None:
                self._begin(phase.next)
            else:
                codes = written_codes(self._family)
                self._save(lambda record: replace(record, stale=(), codes=codes, job=None))
        return self._record

    def _wait(self, job: Job) -> float:
        return max(0, job.since + PHASES[job.phase].wait - self._now()) / SECOND

    def _begin(self, phase: str) -> None:
        self._save(lambda record: _begun(record, phase, self._family, self._now()))

    def through_members(self, do: Callable[[Sequence[_Chunk]], list[Image]]) -> bool:
        """Call `do` with all members of the board, a part at a time; the record says how far it is.

        `do` returns the members that were too busy. They are tried again, one by one, when all the others are done, or
        once they are as many as a part. Until then the record names a member before them, so that an interrupted job
        tries them again.
        """
        begun, busy = self._job, list[Image]()
        reached = begun
        while reached.slot < SLOTS or busy:
            try:
                if reached.slot == SLOTS or len(busy) >= MAX_ACTIONS:
                    if not self._backoff.wait():
                        raise StoreUnavailableError(_TOO_BUSY)
                    busy = do([[image] for image in busy])
                elif self._backoff.expired:
                    return False
                else:
                    images, reached = self._part(reached)
                    busy += do([images])
            except FencedError:
                # Another call has moved the job on; or version 0.2 wrote the record, which has no token then.
                if not self._save(lambda record: record) or self._backoff.expired:
                    return False
                reached = self._job
                continue
            except StoreUnavailableError:
                if self._job == begun:
                    raise
                return False  # The time is over in the middle of a part. The next call goes on with it.
            if not self._save_progress(self._job if busy else reached):
                return False
        return True

    def _save_progress(self, job: Job) -> bool:
        # Other functions may have reduced the job's coverage meanwhile.
        return self._save(lambda record: replace(record, job=job._replace(coverage=self._job.coverage)))

    def _part(self, job: Job) -> tuple[list[Image], Job]:
        """The next members, and the job once they are done."""
        images: list[Image] = []
        slot, after = job.slot, job.after
        while slot < SLOTS and len(images) < _PART and not self._backoff.expired:
            limit = _PART - len(images)
            page = self._backoff.retry(self._service.scores.members, self._board, slot, after, limit)
            # The audit reports damaged items. Nothing that they hold can be placed.
            images += (image for image in page if isinstance(image, Image))
            slot, after = (slot + 1, None) if len(page) < limit else (slot, page[-1].member)
        return images, job._replace(slot=slot, after=after, members=job.members + len(images))

    def remove(self, chunks: Sequence[_Chunk]) -> list[Image]:
        """Remove members; returns those that were too busy."""
        return self._rewrite(chunks, lambda image: members.removed(image, self._now())).busy

    def place(self, chunks: Sequence[_Chunk]) -> list[Image]:
        """Place members in the new generation as their items are; returns those that were too busy."""
        now, generation = self._now(), self._record.latest
        placed = self._rewrite(chunks, self._registered)
        entries = self._entries_of_removed(placed.done, now)
        recent = self._record.renewed - _STREAM_AGE
        moves: list[Placement] = []
        for image in placed.done:
            readable = members.readable_rankings(self._family, image, now)
            rankings = dict.fromkeys([*readable, *entries.get(image.member, ())])
            # A projector that has known both generations may have failed after it wrote list items in the new one. A
            # projector that did not know the new generation may have acknowledged records.
            is_recent, ends = image.written_at_ms >= recent, self._record.ends
            moves += placements_now(
                self._family, image, rankings, generation, now, rewrite_every_item=is_recent, board_ends=ends
            )
            if len(moves) >= MAX_PLACEMENTS:
                self._service.rankings.place(moves, self._deadline)
                moves = []
        self._service.rankings.place(moves, self._deadline)
        return placed.busy

    def _registered(self, image: Image) -> Image | None:
        """The next image of a registered member that lacks a 0 in a sum that is ranked by now; None for the others."""
        complete, now = members.registered(self._family, image), max(self._now(), image.written_at_ms)
        return None if complete.values == image.values else members.rewritten(complete, now)

    def _entries_of_removed(self, images: Sequence[Image], now: int) -> dict[str, list[Ranking]]:
        """The rankings of the new generation in which members have entries, of members that were ever removed.

        A projector that did not know the new generation yet may have projected the removal in the old one alone. The
        item no longer says in which rankings the member was, so its rows are read.
        """
        names = [image.member for image in images if image.removed_at is not None]
        rankings = list(members.calendar_rankings(self._family, self._board, now)) if names else []
        rows = [(ranking._replace(generation=self._record.latest), name) for ranking in rankings for name in names]
        entries: dict[str, list[Ranking]] = {}
        for ranking, name in self._backoff.retry(self._service.reads.entries, rows):
            entries.setdefault(name, []).append(ranking._replace(generation=0))
        return entries

    def _rewrite(self, chunks: Sequence[_Chunk], change: Callable[[Image], Image | None]) -> "RewriteMembers":
        fence, backoff = Fence(self._board, self._job.token), self._service.clock.backoff(self._deadline)
        return RewriteMembers(self._service.scores, self._service.clock, backoff, change, fence).run(chunks)

    def request_looks(self) -> bool:
        """Request a look at each announced ranking that can be read.

        No move made the new generation's top, so no projector has requested one.
        """
        names = [
            RankingName(self._board, ranking.metric.name, ranking.window.name, ranking.period)
            for ranking in members.open_rankings(self._family, self._board, self._now())
            if ranking.window.name in self._family.announce
        ]
        if self._service.looks is not None:
            self._backoff.retry(self._service.looks.send_now, names)
        return True

    def purge(self) -> bool:
        """Purge stale generations. Then delete what was announced of rankings that the board no longer has.

        A deleted board only has those that are announced: the announcer empties their tops, and their numbers go on if
        the board comes back.
        """
        record, purging = self._record, self._service.purging.until(self._deadline)
        for generation in record.stale:
            try:
                if not purging.purge(self._board, record.codes, generation, lambda: self._backoff.expired):
                    return False
            except StoreUnavailableError:
                if not self._backoff.expired:
                    raise
                return False
        kept = written_codes(self._family)
        if record.deleted:
            announces = self._family.announce if self._service.looks is not None else ()
            windows = tuple(
                metric.ranking_code(window)
                for metric in self._family.metrics.values()
                for window in metric.windows
                if window.name in announces
            )
            kept = frozenset(code for code in kept if code.startswith(windows))
        purging.delete_tops(self._board, record.codes - kept)
        return True

    def _save(self, change: Callable[[BoardRecord], BoardRecord]) -> bool:
        """Write a change of the record. False if another call has moved the job on: then the record is as read."""
        before = _identity(self._record)
        while True:
            changed = replace(change(self._record), version=self._record.version + 1)
            if self._backoff.retry(self._service.catalog.records.put, changed, self._record):
                self._record = changed
                return True
            if not self._backoff.wait():
                raise StoreUnavailableError(f"others keep writing the record of board {self._board!r}: try again later")
            self._record = self._read()
            if _identity(self._record) != before:
                return False

    def _read(self) -> BoardRecord:
        return self._backoff.retry(self._service.catalog.known, self._board)

    @property
    def _job(self) -> Job:
        if self._record.job is None:
            raise LookupError(f"expected board {self._board!r} to have a job")
        return self._record.job

    def _now(self) -> int:
        return self._service.clock.now()


def being_left(record: BoardRecord, family: Family, now: int) -> BoardRecord:
    """The next record of a board whose deletion begins now."""
    return replace(_begun(record, LEAVING, family, now), version=record.version + 1)


def _begun(record: BoardRecord, name: str, family: Family, now: int) -> BoardRecord:
    """The record with its job, or a new one, at the beginning of a phase."""
    phase, planned = PHASES[name], coverage_of(family, now)
    job = record.job or Job(REBUILD, name, now, planned)
    job = job._replace(phase=name, since=now, slot=0, after=None, members=0)
    if phase.stale:
        record = replace(record, stale=tuple(sorted({*record.stale, *record.written} - {record.generation})))
    if name == LEAVING:
        job = job._replace(task=DELETE, coverage=planned)
    elif name == ANNOUNCED:
        job = job._replace(coverage=planned)
        record = replace(record, latest=record.latest + 1, renewed=now)
    elif name == PLACING:
        # Functions with another definition have reduced the job's coverage to what they keep.
        # A deleted board has no events that a ranking could lack.
        complete = planned if job.task == DELETE else record.coverage.after_rebuild(family, now)
        job = job._replace(coverage=complete.intersect(job.coverage))
    elif name == SWITCHED:
        lost = record.coverage.lost
        if job.task == DELETE:
            record = replace(record, deleted=True)
            lost = frozenset()  # All that was counted before is removed
        record = replace(record, generation=record.latest, coverage=job.coverage.without(lost))
        job = job._replace(task=REBUILD)
    written = tuple(getattr(record, generation) for generation in phase.written) or record.written
    return replace(record, job=job, written=written)


def _is_outdated(job: Job, family: Family) -> bool:
    """Whether a job that has not switched yet makes other rankings than the family has by now."""
    planned = job.coverage
    current = coverage_of(family, job.since).without(planned.lost)
    is_same = (planned.rankings, planned.late, planned.keep) == (current.rankings, current.late, current.keep)
    return job.phase in {ANNOUNCED, PLACING} and not is_same


def _identity(record: BoardRecord) -> tuple[int, str | None]:
    """Equal as long as no call has begun another phase."""
    return record.latest, None if record.job is None else record.job.token


MAX_TRIES: Final = 8  # Tries of a busy member, with some seconds of waiting in all, before the others go on


@dataclass(slots=True)
class RewriteMembers:
    """Writes `change(image)` for members (None: leaves the member as it is), a chunk in each transaction.

    `done` are the members as they are then. `busy` are those that others kept writing through `MAX_TRIES`.
    """

    scores: Scores
    clock: Clock
    backoff: Backoff
    change: Callable[[Image], Image | None]
    fence: Fence | None = None
    done: list[Image] = field(default_factory=list)
    busy: list[Image] = field(default_factory=list)

    def run(self, chunks: Sequence[_Chunk]) -> "RewriteMembers":
        """Rewrite all chunks. A member that met a conflict is tried again apart from the others, after a wait.

        StoreUnavailableError: the backoff ends before all is done. FencedError: the board has another task by now.
        StoreRefusedError: the store will never take a change.
        """
        for tries in range(MAX_TRIES):
            if tries and chunks and not self.backoff.wait():
                raise StoreUnavailableError(_TOO_BUSY)
            chunks = [again for chunk in chunks for again in self._try(chunk)]
        self.busy = [image for chunk in chunks for image in chunk]
        return self

    def _try(self, chunk: _Chunk) -> list[_Chunk]:
        """Write members in one transaction. Returns those to try again, in the chunks to try them in."""
        if len(chunk) == 1:  # others may have written the member while its try waited
            image = self.backoff.retry(self.scores.image, (chunk[0].board, chunk[0].member))
            chunk = chunk if image is None else [image]
        changes: list[Rewrite] = []
        for image in chunk:
            if image.removed or (after := self.change(image)) is None:
                self.done.append(image)
            else:
                changes.append(Rewrite(after, image))
        if not changes:
            return []
        chunk = [rewrite.before for rewrite in changes if rewrite.before is not None]
        if self.scores.bytes_of([], changes) > MAX_TRANSACTION_BYTES:
            middle = len(chunk) // 2
            return [*self._try(chunk[:middle]), *self._try(chunk[middle:])]
        if self.backoff.expired:
            raise StoreUnavailableError(_TOO_BUSY)
        conflicts = self.backoff.retry(lambda: self.scores.apply([], changes, self.clock.now(), self.fence))
        if not conflicts:
            self.done += [rewrite.image for rewrite in changes]
            return []
        return self._split(chunk, conflicts)

    def _split(self, chunk: _Chunk, conflicts: Sequence[Conflict]) -> list[_Chunk]:
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
