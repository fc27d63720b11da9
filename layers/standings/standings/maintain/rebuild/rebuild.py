"""Makes the rankings of a board anew from Scores, beside those that are read; and deletes a board.

A rebuild writes a new *generation*. It goes in phases, each of which is in the board's record before it begins:

1. `announced`: projectors write both generations as soon as they learn of it. After `PROPAGATION_WAIT` no attempt
goes on that
   knew just the old one: whatever changes from here on is placed in the new generation as well.
2. `placing`: every member is placed as its item is. Beside that its newer changes come from the projectors, and a row
   takes no version that is not newer than its own, so it is the same whoever comes first.
3. `switched`: the new generation is read. Readers that have yet to learn of it find the old one written for so long.
4. `retired`: nothing writes the old one, and once every attempt has ended that did, what there is of it is removed.

A board is deleted by the same hands: when every writer knows (`leaving`), its members are removed one by one
(`removing`), which empties the rankings by the same moves as ever. Then all is made anew from what is left: nothing
but members that came back meanwhile.

Every step may be done again from where its record says: a job that was cut off, or that two are at, ends the same.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final, Protocol

from standings.catalog.board_catalog import DELETE, MAX_ATTEMPT_S, BoardCatalog
from standings.domain.boards.coverage import coverage_of
from standings.domain.boards.definitions import Family
from standings.domain.members.member_item import Image, registered, removed, rewritten
from standings.domain.members.moves import Move
from standings.domain.members.open_rankings import readable_rankings
from standings.domain.windows.calendar import SECOND
from standings.ports.board_records import BoardRecord, Job
from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import MAX_ACTIONS
from standings.ports.scores import SLOTS, ItemConflict, ReceiptConflict, Rewrite, Scores
from standings.project.backfill import Backfill, placings
from standings.project.commit_moves import MAX_MOVES
from standings.runtime.retry import Clock, with_retry
from standings.runtime.ttl_cache import BOARD_TTL_S

_CLOCKS: Final = 60
PROPAGATION_WAIT: Final = (BOARD_TTL_S + MAX_ATTEMPT_S + _CLOCKS) * SECOND
"""After so long no function goes by an older record: each remembers it for `BOARD_TTL_S`, and an attempt takes up to
`MAX_ATTEMPT_S`. The rest is for clocks that differ."""

REBUILD: Final = "rebuild"
LEAVING: Final = "leaving"
REMOVING: Final = "removing"
ANNOUNCED: Final = "announced"
PLACING: Final = "placing"
SWITCHED: Final = "switched"
RETIRED: Final = "retired"

MAX_TRIES: Final = 8
"""Tries of a busy member, with some seconds of waiting between them, before the job goes on with the others."""

_WAITING: Final = frozenset({LEAVING, ANNOUNCED, SWITCHED, RETIRED})

_Change = Callable[[Image], Image | None]
_Chunk = list[Image]


class NoSuchBoardError(ValueError):
    """A board that has no events, or that no family of `boards.toml` matches."""


class Purging(Protocol):
    """Removes what a generation of rankings has left."""

    def purge(self, board: str, codes: Iterable[str], generation: int, over: Callable[[], bool]) -> bool:
        """Remove entries and tiers of a generation that nobody reads or writes; False where time was over before."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a job is: `members` are done in this phase, in `slot` of `SLOTS`; there is nothing to do for `wait` s."""

    board: str
    task: str
    phase: str
    generation: int
    members: int
    slot: int
    wait: float
    done: bool


class Rebuild:
    """Rebuilds boards, and deletes them."""

    def __init__(
        self,
        registry: BoardCatalog,
        scores: Scores,
        backfill: Backfill,
        purging: Purging,
        pacing: Clock,
    ) -> None:
        self.registry = registry
        self.scores = scores
        self.backfill = backfill
        self.purging = purging
        self.pacing = pacing

    def go_on(self, board: str, task: str, deadline: float, *, begin: bool = True) -> Progress:
        """Go on with the job of a board up to a deadline of the monotonic clock; `begin` one where there is none.

        NoSuchBoardError; StoreUnavailableError for not now; StoreRefusedError for a member that cannot be placed.
        """
        return _Run(self, board, deadline).run(task, begin=begin)

    def go_on_all(self, pattern: str, since: int | None, deadline: float) -> dict[str, Any]:
        """Go on with rebuilding all boards whose names match a glob, side by side: most of a rebuild is waiting.

        `since` is the `cursor` of the answer before: boards whose rebuild was begun after that are not begun again.
        """
        began = self.pacing.now() if since is None else since
        backoff = self.pacing.backoff(deadline)
        found, undone = 0, list[float]()
        after: str | None = None
        while names := with_retry(partial(self.registry.records.names, after, MAX_ACTIONS), backoff):
            after = names[-1]
            for name in names:
                if fnmatchcase(name, pattern) and self.registry.boards.family(name) is not None:
                    found += 1
                    if backoff.expired:
                        undone.append(0.0)
                    elif (progress := self._go_on_since(name, began, deadline)) is not None and not progress.done:
                        undone.append(progress.wait)
        answer = {"boards": found, "boards_done": found - len(undone)}
        return {"done": not undone, "cursor": began, **answer, "wait": min(undone, default=0.0)}

    def _go_on_since(self, board: str, since: int, deadline: float) -> Progress | None:
        """How far the rebuild of a board is; None where it is done."""
        record = with_retry(lambda: self.registry.current(board), self.pacing.backoff(deadline))
        if record is None or (record.job is None and record.renewed >= since):
            return None
        return self.go_on(board, REBUILD, deadline, begin=record.job is None)


class _Run:
    def __init__(self, service: Rebuild, board: str, deadline: float) -> None:
        family = service.registry.boards.family(board)
        if family is None:
            raise NoSuchBoardError(f"no family in boards.toml matches {board!r}")
        self._service = service
        self._board = board
        self._family: Family = family
        self._deadline = deadline
        self._backoff = service.pacing.backoff(deadline)

    def run(self, task: str, *, begin: bool) -> Progress:
        record = self._record()
        job = record.job
        if begin and (job is None or (task == DELETE and job.task != DELETE)):
            record = self._save(record, self._leave if task == DELETE else self._announce)
        elif job is not None and job.phase in {ANNOUNCED, PLACING} and not self._is_planned(job):
            # boards.toml has changed since: what was begun would not hold what it ranks now.
            record = self._save(record, self._announce)
        while (job := record.job) is not None:
            wait = self._wait(job)
            if wait > 0 or self._is_over():
                return self._progress(record, job, wait)
            record = self._step(record, job)
        return Progress(self._board, task, "", record.generation, 0, SLOTS, 0.0, done=True)

    # ---- phases

    def _step(self, record: BoardRecord, job: Job) -> BoardRecord:
        """Do what a phase asks for, up to its end or that of the time: the record as it is then."""
        after_waiting = {LEAVING: self._arrive, ANNOUNCED: self._begin_placing, SWITCHED: self._retire}
        if job.phase in after_waiting:
            return self._save(record, after_waiting[job.phase])
        if job.phase == REMOVING:
            return self._through_members(record, self._remove, self._announce)
        if job.phase == PLACING:
            return self._through_members(record, self._place, self._switch)
        for generation in record.stale:
            if not self._service.purging.purge(self._board, record.codes, generation, self._is_over):
                return record
        return self._save(record, self._finish)

    def _leave(self, record: BoardRecord) -> BoardRecord:
        job = Job(DELETE, LEAVING, self._now(), coverage_of(self._family))
        return replace(record, written=(record.generation,), stale=_without(record), again=False, job=job)

    def _arrive(self, record: BoardRecord) -> BoardRecord:
        return self._to(record, REMOVING)

    def _announce(self, record: BoardRecord) -> BoardRecord:
        task = record.job.task if record.job is not None else REBUILD
        number = record.latest + 1
        return replace(
            record,
            latest=number,
            renewed=self._now(),
            written=(record.generation, number),
            stale=_without(record),
            job=Job(task, ANNOUNCED, self._now(), coverage_of(self._family)),
        )

    def _begin_placing(self, record: BoardRecord) -> BoardRecord:
        renewed = record.coverage.renewed(self._family, self._now())
        # Whoever of another definition has been at work meanwhile has said so in what was planned.
        return self._to(record, PLACING, coverage=renewed.within(_job_of(record).coverage))

    def _switch(self, record: BoardRecord) -> BoardRecord:
        job = _job_of(record)
        deleted = not record.again if job.task == DELETE else record.deleted
        found = self._to(record, SWITCHED, task=REBUILD)
        return replace(found, generation=record.latest, coverage=job.coverage, deleted=deleted, again=False)

    def _retire(self, record: BoardRecord) -> BoardRecord:
        return replace(self._to(record, RETIRED), written=(record.generation,), stale=_without(record))

    def _finish(self, record: BoardRecord) -> BoardRecord:
        return replace(record, stale=(), codes=self._family.rankings(), job=None)

    def _to(self, record: BoardRecord, phase: str, **changes: Any) -> BoardRecord:
        """The record with its job at the beginning of a phase."""
        job = _job_of(record)
        return replace(record, job=Job(job.task, phase, self._now(), job.coverage)._replace(**changes))

    # ---- members

    def _through_members(
        self,
        record: BoardRecord,
        do: Callable[[BoardRecord, Sequence[_Chunk]], list[Image]],
        after_all: Callable[[BoardRecord], BoardRecord],
    ) -> BoardRecord:
        """Do something with all members of the board, in parts after each of which the record says how far it is.

        `do` returns the members that were too busy. They are tried again, one by one, when all the others are done, or
        once they are as many as a part. Until then the record does not go past them: a job that is cut off finds them.
        """
        reached, left = _job_of(record), list[Image]()
        while reached.slot < SLOTS or left:
            if reached.slot == SLOTS or len(left) >= MAX_ACTIONS:
                if not self._backoff.wait():
                    raise self._too_busy()
                left = do(record, [[image] for image in left])
            elif self._is_over():
                return record
            else:
                images, slot, after = self._part(reached)
                left += do(record, [images])
                reached = reached._replace(slot=slot, after=after, members=reached.members + len(images))
            before = record
            saved = _job_of(record) if left else reached
            record = self._save(record, partial(_reached, job=saved))
            if record.latest != before.latest or record.job is None or record.job.phase != reached.phase:
                return record
        return self._save(record, after_all)

    def _part(self, job: Job) -> tuple[list[Image], int, str | None]:
        """The next members, and where those begin that follow."""
        images: list[Image] = []
        slot, after = job.slot, job.after
        while slot < SLOTS and len(images) < MAX_ACTIONS:
            wanted = MAX_ACTIONS - len(images)
            listed = partial(self._service.scores.members, self._board, slot, after, wanted)
            found = with_retry(listed, self._backoff)
            images += found
            if len(found) < wanted:
                slot, after = slot + 1, None
            else:
                after = found[-1].member
        return images, slot, after

    def _place(self, record: BoardRecord, chunks: Sequence[_Chunk]) -> list[Image]:
        """Place members in the new generation as their items are; returns those that were too busy."""
        now = self._now()
        moves: list[Move] = []
        current, left = self._rewrite(chunks, self._brought_up)
        for image in current:
            rankings = dict.fromkeys(readable_rankings(self._family, image, now))
            moves += placings(image, [ranking._replace(generation=record.latest) for ranking in rankings])
            if len(moves) >= MAX_MOVES:
                self._service.backfill.place(moves, self._deadline)
                moves = []
        self._service.backfill.place(moves, self._deadline)
        return left

    def _brought_up(self, image: Image) -> Image | None:
        """A member's next image, with 0 in every sum that is ranked by now, where members are registered."""
        wanted = registered(self._family, image)
        return None if wanted.values == image.values else rewritten(wanted, max(self._now(), image.written_at_ms))

    def _remove(self, _: BoardRecord, chunks: Sequence[_Chunk]) -> list[Image]:
        """Remove members, as they are by then; returns those that were too busy."""
        return self._rewrite(chunks, lambda image: removed(image, max(self._now(), image.written_at_ms)))[1]

    def _rewrite(self, chunks: Sequence[_Chunk], change: _Change) -> tuple[list[Image], list[Image]]:
        """Write what `change` makes of each member (None: nothing), a chunk in one transaction.

        Returns the members as they are then, and those that are not written after `MAX_TRIES`. Members that someone
        else has written meanwhile are tried again apart from the others. Each further try waits first.
        StoreUnavailableError when the deadline comes before the end.
        """
        backoff = self._service.pacing.backoff(self._deadline)
        done: list[Image] = []
        tries = 0
        while chunks and tries < MAX_TRIES:
            if tries and not backoff.wait():
                raise self._too_busy()
            chunks = [again for chunk in chunks for again in self._try(chunk, change, done)]
            tries += 1
        return done, [image for chunk in chunks for image in chunk]

    def _try(self, chunk: _Chunk, change: _Change, done: list[Image]) -> list[_Chunk]:
        """Write members in one transaction, all or none. Returns those to try again, in the chunks to try them in."""
        before: list[Image] = []
        changes: list[Rewrite] = []
        for image in self._read_again(chunk):
            after = None if image.removed else change(image)
            if after is None:
                done.append(image)
            else:
                before.append(image)
                changes.append(Rewrite(after, image.version))
        if not changes:
            return []
        if self._is_over():
            raise self._too_busy()
        obstacles = with_retry(lambda: self._service.scores.apply([], changes, self._now()), self._backoff)
        if not obstacles:
            done += [rewrite.image for rewrite in changes]
            return []
        return _split(before, obstacles, done)

    def _read_again(self, chunk: _Chunk) -> _Chunk:
        """A member by itself as it is now: while its try waited, others may have written it."""
        if len(chunk) != 1:
            return chunk
        key = (chunk[0].board, chunk[0].member)
        image = with_retry(partial(self._service.scores.image, key), self._backoff)
        return chunk if image is None else [image]

    def _too_busy(self) -> StoreUnavailableError:
        return StoreUnavailableError(f"others keep writing members of board {self._board!r}: try again later")

    # ---- the board's record

    def _record(self) -> BoardRecord:
        registry = self._service.registry
        found = with_retry(lambda: registry.current(self._board), self._backoff)
        if found is None:
            raise NoSuchBoardError(f"board {self._board!r} has no events")
        return found

    def _save(self, record: BoardRecord, change: Callable[[BoardRecord], BoardRecord]) -> BoardRecord:
        """Write what a change makes of the record, unless the job has gone on without us: what there is then."""
        job, before = record.job, record
        while True:
            if record.latest != before.latest or (record.job and record.job.phase) != (job and job.phase):
                return record
            written = replace(change(record), version=record.version + 1)
            put = partial(self._service.registry.records.put, written, record.version)
            if with_retry(put, self._backoff):
                return written
            if not self._backoff.wait():
                raise StoreUnavailableError(f"the record of board {self._board!r} is written by others all the while")
            record = self._record()

    def _is_planned(self, job: Job) -> bool:
        """Whether a job will make all that is ranked by now."""
        wanted = coverage_of(self._family)
        return job.coverage.rankings == wanted.rankings and (job.coverage.late, job.coverage.keep) == (
            wanted.late,
            wanted.keep,
        )

    def _wait(self, job: Job) -> float:
        if job.phase not in _WAITING:
            return 0.0
        return max(0, job.since + PROPAGATION_WAIT - self._now()) / SECOND

    def _is_over(self) -> bool:
        return self._backoff.expired

    def _now(self) -> int:
        return self._service.pacing.now()

    def _progress(self, record: BoardRecord, job: Job, wait: float) -> Progress:
        return Progress(self._board, job.task, job.phase, record.latest, job.members, job.slot, wait, done=False)


def _split(chunk: _Chunk, obstacles: Sequence[ReceiptConflict | ItemConflict], done: list[Image]) -> list[_Chunk]:
    """The chunks in which to try members again: each that stood in the way by itself, and the others together.

    Where all of them did, as all do when the table is throttled, the chunk is halved.
    """
    clear = dict(enumerate(chunk))
    met: list[Image] = []
    for obstacle in obstacles:
        if obstacle.reason is CancelReason.INVALID:
            raise StoreRefusedError(obstacle.message)
        image = clear.pop(obstacle.position)
        if obstacle.reason is CancelReason.BUSY:
            met.append(image)
        elif isinstance(obstacle.found, Image):
            met.append(obstacle.found)
        else:
            done.append(image)  # its item is gone
    if clear:
        return [list(clear.values()), *([image] for image in met)]
    middle = (len(met) + 1) // 2
    return [half for half in (met[:middle], met[middle:]) if half]


def _job_of(record: BoardRecord) -> Job:
    """The job of a record that is seen to have one."""
    if record.job is None:
        raise LookupError(record.board)
    return record.job


def _reached(record: BoardRecord, job: Job) -> BoardRecord:
    """The record with how far its job is; what it is to be whole for may have changed meanwhile."""
    return replace(record, job=job._replace(coverage=_job_of(record).coverage))


def _without(record: BoardRecord) -> tuple[int, ...]:
    """The generations that are there and no longer of use, once just the one that is read is written."""
    return tuple(sorted({*record.stale, *record.written} - {record.generation}))
