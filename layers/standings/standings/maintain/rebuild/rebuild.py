"""Rebuilds the rankings of a board from Scores while they are read and written; deletes boards.

A rebuild writes a new *generation*, in phases. The board's record names each phase before it begins.

1. `announced`: projectors write both generations as soon as they learn of the new one. After `PROPAGATION_WAIT` no
   attempt is left that knows the old one alone.
2. `placing`: every member is placed as its item is. Projectors bring newer changes meanwhile. A row only takes a newer
   version, so the order of the two does not matter.
3. `switched`: the new generation is read. The old one is still written, until every reader has learned of the switch.
4. `retired`: nothing writes the old generation. It is purged once every attempt that wrote it has ended.

A deletion has two phases before these, and from its first moment on the writer refuses the board's events. In `leaving`
it waits for attempts that began before. In `removing` it removes the members one by one, which empties the rankings by
ordinary moves. The rebuild that follows places nobody: it makes a new generation, so that the old one can be purged.

Every step may be repeated from where the record says. An interrupted job, or two at once, end the same.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.coverage import written_codes
from standings.domain.boards.definitions import Ranking
from standings.domain.members.member_item import Image, registered, removed, rewritten
from standings.domain.members.moves import Move
from standings.domain.members.open_rankings import open_rankings, readable_rankings
from standings.domain.rolling.shifts import Shift, placing_shifts
from standings.domain.windows.calendar import HOUR, SECOND
from standings.maintain.audit.report import StoredRow
from standings.maintain.rebuild import phases
from standings.maintain.rebuild.rebuilt_tops import RebuiltTops
from standings.maintain.rebuild.rewrite_members import Chunk, RewriteMembers, too_busy
from standings.ports.board_records import BOARD_TTL_S, DELETE, MAX_ATTEMPT_S, BoardRecord, Job
from standings.ports.errors import StoreUnavailableError
from standings.ports.rankings import MAX_ACTIONS
from standings.ports.scores import SLOTS, Fence, FencedError, Scores
from standings.project.backfill import Backfill
from standings.project.commit_moves import MAX_MOVES, placings
from standings.runtime.retry import Clock, with_retry

_CLOCK_SKEW_S: Final = 60
_PART: Final = MAX_ACTIONS - 1  # Members in one transaction, beside the check of the fence
_STREAM_AGE: Final = 25 * HOUR  # A record of the stream is younger, by any clock
_LAST_ATTEMPTS: Final = (MAX_ATTEMPT_S + _CLOCK_SKEW_S) * SECOND
"""Milliseconds after which every attempt has ended that wrote with an older record: writers read it each time."""
PROPAGATION_WAIT: Final = (BOARD_TTL_S + MAX_ATTEMPT_S + _CLOCK_SKEW_S) * SECOND
"""Milliseconds after which no function uses an older record of a board."""

_Change = Callable[[BoardRecord], BoardRecord]
Purge = Callable[[str, Iterable[str], int, Callable[[], bool]], bool]
"""Purges a generation: (board, ranking codes, generation, whether time is over) -> whether all of it is gone."""


Rows = Callable[[Sequence[tuple[Ranking, str]]], dict[tuple[Ranking, str], StoredRow]]
"""Reads the rows of members, each in a ranking."""


@dataclass(frozen=True)
class Rebuild:
    """Rebuilds boards, and deletes them."""

    catalog: BoardCatalog
    scores: Scores
    backfill: Backfill
    rows: Rows
    purge: Purge
    clock: Clock
    tops: RebuiltTops

    def go_on(self, board: str, task: str, deadline: float, *, begin: bool = True) -> phases.Progress:
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

    def run(self, task: str, *, begin: bool) -> phases.Progress:
        record = self._record()
        job = record.job
        if begin and (job is None or (task == DELETE and job.task != DELETE)):
            record = self._save(record, self._enter(phases.LEAVING if task == DELETE else phases.ANNOUNCED))
        elif job is not None and phases.is_outdated(job, self._family):
            record = self._save(record, self._enter(phases.ANNOUNCED))  # boards.toml has changed since the job began
        while (job := record.job) is not None:
            wait = self._wait(job)
            if wait > 0 or self._backoff.expired:
                return phases.Progress(
                    self._board, job.task, job.phase, record.latest, job.members, job.slot, wait, done=False
                )
            record = self._step(record, job)
        return phases.Progress(self._board, task, "", record.generation, 0, SLOTS, 0.0, done=True)

    def _wait(self, job: Job) -> float:
        """Seconds until the phase may go on."""
        if job.phase not in phases.WAITING:
            return 0.0
        wait = _LAST_ATTEMPTS if job.phase == phases.LEAVING else PROPAGATION_WAIT
        return max(0, job.since + wait - self._now()) / SECOND

    def _step(self, record: BoardRecord, job: Job) -> BoardRecord:
        """Do the work of a phase until it is done or the time is over; returns the record as it is then."""
        tops = self._service.tops
        if job.phase == phases.SWITCHED:
            # No move brought the new generation's top, so no projector has asked for a look at it.
            with_retry(partial(tops.look, self._family, self._board, self._now()), self._backoff)
        if job.phase in phases.AFTER_WAITING:
            return self._save(record, self._enter(phases.AFTER_WAITING[job.phase]))
        if job.phase == phases.REMOVING:
            return self._through_members(record, self._remove, self._enter(phases.ANNOUNCED))
        if job.phase == phases.PLACING:
            return self._through_members(record, self._place, self._enter(phases.SWITCHED))
        for generation in record.stale:
            if not self._service.purge(self._board, record.codes, generation, lambda: self._backoff.expired):
                return record
        tops.forget(self._family, self._board, record.codes, deleted=record.deleted)
        return self._save(record, lambda record: replace(record, stale=(), codes=written_codes(self._family), job=None))

    def _through_members(
        self, record: BoardRecord, do: Callable[[BoardRecord, Sequence[Chunk]], list[Image]], after_all: _Change
    ) -> BoardRecord:
        """Call `do` with all members of the board, a part at a time; the record says how far it is.

        `do` returns the members that were too busy. They are tried again, one by one, when all the others are done, or
        once they are as many as a part. Until then the record stays before them: an interrupted job meets them again.
        """
        reached, busy = phases.job_of(record), list[Image]()
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
                reached = phases.job_of(record)
                continue
            record = self._save(record, partial(_reached, job=phases.job_of(record) if busy else reached))
            if record.latest != before.latest or record.job is None or record.job.token != reached.token:
                return record
        return self._save(record, after_all)

    def _part(self, job: Job) -> tuple[list[Image], Job]:
        """The next members, and the job once they are done."""
        images: list[Image] = []
        slot, after = job.slot, job.after
        while slot < SLOTS and len(images) < _PART:
            limit = _PART - len(images)
            page = with_retry(partial(self._service.scores.members, self._board, slot, after, limit), self._backoff)
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
        moves: list[Move | Shift] = []
        for image in members.done:
            rankings = [
                ranking._replace(generation=record.latest) for ranking in readable_rankings(self._family, image, now)
            ]
            moves += placings(image, dict.fromkeys([*rankings, *entries.get(image.member, ())]))
            # A projector that has known both generations may have died after it wrote list items in the new one, and
            # one that knew the old one alone may have finished its records.
            thorough = image.written_at_ms >= recent
            shifts = placing_shifts(self._family, image, record.latest, now, thorough=thorough)
            moves += (shift for shift in shifts if thorough or shift.steps.steps)
            if len(moves) >= MAX_MOVES:
                self._service.backfill.place(moves, self._deadline)
                moves = []
        self._service.backfill.place(moves, self._deadline)
        return members.busy

    def _entries_of_removed(self, images: Sequence[Image], now: int, generation: int) -> dict[str, list[Ranking]]:
        """The rankings of a generation in which members have entries, of members that were ever removed.

        A projector that did not know the new generation yet may have projected the removal in the old one alone. The
        item no longer says in which rankings the member was, so its rows are read.
        """
        removed_members = [image.member for image in images if image.was_removed]
        rankings = list(open_rankings(self._family, self._board, now)) if removed_members else []
        rankings = [ranking for ranking in rankings if not ranking.window.rolling]
        rows = [(ranking._replace(generation=generation), name) for ranking in rankings for name in removed_members]
        entries: dict[str, list[Ranking]] = {}
        for (ranking, name), row in with_retry(partial(self._service.rows, rows), self._backoff).items():
            if row.key is not None:
                entries.setdefault(name, []).append(ranking)
        return entries

    def _registered(self, image: Image) -> Image | None:
        """The next image of a registered member that lacks a 0 in a sum that is ranked by now; None for the others."""
        complete = registered(self._family, image)
        return None if complete.values == image.values else rewritten(complete, max(self._now(), image.written_at_ms))

    def _remove(self, record: BoardRecord, chunks: Sequence[Chunk]) -> list[Image]:
        return self._rewrite(record, chunks, lambda image: removed(image, max(self._now(), image.written_at_ms))).busy

    def _rewrite(
        self, record: BoardRecord, chunks: Sequence[Chunk], change: Callable[[Image], Image | None]
    ) -> RewriteMembers:
        fence = Fence(self._board, phases.job_of(record).token)
        return RewriteMembers(self._service.scores, self._service.clock, self._deadline, change, fence).run(chunks)

    def _record(self) -> BoardRecord:
        return with_retry(lambda: self._service.catalog.known(self._board), self._backoff)

    def _save(self, record: BoardRecord, change: _Change) -> BoardRecord:
        """Write a change of the record, unless another call has moved the job on; returns the record as it is then."""
        job, before = record.job, record
        while True:
            if record.latest != before.latest or (record.job and record.job.token) != (job and job.token):
                return record
            changed = replace(change(record), version=record.version + 1)
            if with_retry(partial(self._service.catalog.records.put, changed, record), self._backoff):
                return changed
            if not self._backoff.wait():
                raise StoreUnavailableError(f"others keep writing the record of board {self._board!r}: try again later")
            record = self._record()

    def _enter(self, phase: str) -> _Change:
        return lambda record: phases.enter(record, phase, self._family, self._now())

    def _now(self) -> int:
        return self._service.clock.now()


def _reached(record: BoardRecord, job: Job) -> BoardRecord:
    """The record with the progress of its job. Other functions may have reduced the job's coverage meanwhile."""
    return replace(record, job=job._replace(coverage=phases.job_of(record).coverage))
