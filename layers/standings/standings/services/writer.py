"""Applies events to members' items, each exactly once."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from standings.domain.boards import MAX_UNITS, Boards, Family
from standings.domain.events import Event, RefusedEvent, parse_event
from standings.domain.members import Image, additions, beyond_bounds, expired
from standings.services.batching import items_of, transactions
from standings.services.pacing import Backoff, Pacing
from standings.services.store import (
    ChangeObstacle,
    Hindrance,
    ItemChange,
    MemberKey,
    Receipt,
    ReceiptObstacle,
    Scores,
    StoreRefusedError,
    StoreUnavailableError,
)

MOST_REMOVED: Final = 100
"""Old accumulators removed by one write, so that its expression stays within DynamoDB's 4 KB."""


class Message(NamedTuple):
    """A message from the queue."""

    id: str
    body: str


@dataclass(slots=True)
class Written:
    """What became of a batch. `failed` are ids of messages to be delivered again, with why.

    `refused` are messages that no further try can help: they are the caller's to put aside.
    """

    applied: int = 0
    duplicates: int = 0
    conflicts: int = 0
    refused: list[tuple[Message, RefusedEvent]] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


class _Work(NamedTuple):
    message: Message
    event: Event


class Writer:
    """Applies batches of messages: a receipt for each event and the change of its items in one transaction.

    An event whose receipt is there was applied before: it is dropped, and its neighbours are applied. Boards without
    buckets are written blind; elsewhere the items are read first (half a read unit each), to see what has expired.
    """

    def __init__(self, boards: Boards, scores: Scores, pacing: Pacing) -> None:
        self._boards = boards
        self._scores = scores
        self._pacing = pacing
        self._registered: set[str] = set()

    def write(self, messages: Sequence[Message], deadline: float) -> Written:
        """Apply a batch; what cannot be done by the deadline (of the monotonic clock) is reported as failed."""
        written = Written()
        works: dict[str, _Work] = {}
        for message in messages:
            try:
                event = parse_event(message.body, self._boards, self._pacing.now())
                twin = works.get(event.id)
                if twin is None:
                    works[event.id] = _Work(message, event)
                elif twin.event.digest == event.digest:
                    written.duplicates += 1
                else:
                    raise _other_content(event)
            except RefusedEvent as refusal:
                written.refused.append((message, refusal))
        for events in transactions(work.event for work in works.values()):
            batch = _Transaction(self, [works[event.id] for event in events], written)
            batch.run(self._pacing.backoff(deadline))
        return written

    def register(self, board: str) -> None:
        """Put a board on the list of boards before its first event."""
        if board not in self._registered:
            self._scores.register_board(board, self.family(board).rankings(), self._pacing.now())
            self._registered.add(board)

    def family(self, board: str) -> Family:
        """The family of a board that an event has named."""
        family = self._boards.family(board)
        if family is None:  # parse_event lets no such board through
            raise LookupError(board)
        return family

    @property
    def now(self) -> Callable[[], int]:
        """The wall clock."""
        return self._pacing.now

    @property
    def scores(self) -> Scores:
        """The truth."""
        return self._scores


class _Transaction:
    """One transaction's way to being done: what stands in its way is dropped, seen anew, or waited for."""

    def __init__(self, writer: Writer, works: Sequence[_Work], written: Written) -> None:
        self._writer = writer
        self._works = list(works)
        self._written = written
        self._images: dict[MemberKey, Image | None] = {}

    def run(self, backoff: Backoff) -> None:
        started = False
        while self._works:
            try:
                if not started:
                    self._start()
                    started = True
                now = self._writer.now()
                changes = self._changes(now)
                if not self._works:
                    return
                receipts = [Receipt(work.event.id, work.event.digest) for work in self._works]
                obstacles = self._writer.scores.apply(receipts, changes, now)
            except StoreUnavailableError as error:
                if not backoff.wait(error.wait):
                    self._give_up(str(error))
                continue
            except StoreRefusedError as error:
                self._refused_by_store(error, backoff)
                return
            if not obstacles:
                self._written.applied += len(self._works)
                return
            self._written.conflicts += any(o.hindrance is Hindrance.BUSY for o in obstacles)
            if self._resolve(obstacles, changes) and not backoff.wait():
                self._give_up(obstacles[0].message)

    def _start(self) -> None:
        keys = {item for work in self._works for item in items_of(work.event)}
        for board in {board for board, _ in keys}:
            self._writer.register(board)
        with_buckets = [
            key
            for key in sorted(keys)
            if any(metric.bucket_codes for metric in self._writer.family(key[0]).metrics.values())
        ]
        if with_buckets:
            self._images.update(self._writer.scores.images(with_buckets))

    def _changes(self, now: int) -> list[ItemChange]:
        """The change of every item; an event that goes beyond a score's bounds is refused, and all is planned anew."""
        while True:
            by_item: dict[MemberKey, list[_Work]] = {}
            for work in self._works:
                for item in items_of(work.event):
                    by_item.setdefault(item, []).append(work)
            try:
                return [self._change(item, works, now) for item, works in by_item.items()]
            except _BeyondBoundsError as beyond:
                self._refuse(beyond.work, RefusedEvent("bounds", str(beyond)))

    def _change(self, item: MemberKey, works: Sequence[_Work], now: int) -> ItemChange:
        board, member = item
        family = self._writer.family(board)
        image = self._images.get(item)
        # A stamp never goes back on an item: the newest clock that wrote it decides what is late.
        stamp = max(now, image.stamp) if image is not None else now
        counted = [
            (work.event.at, update.amounts)
            for work in works
            for update in work.event.updates
            if (update.board, update.member) == item
        ]
        adds = additions(family, counted, stamp)
        amount = sum(abs(units) for _, amounts in counted for units in amounts.values())
        removes = expired(family, image, stamp)[:MOST_REMOVED] if image is not None else []
        exact = (image.magnitude if image is not None else 0) + amount > MAX_UNITS
        magnitude = amount
        if exact:
            values = self._within_bounds(family, item, works, counted, stamp)
            magnitude = sum(abs(value) for name, value in values.items() if name not in removes)
        return ItemChange(
            board,
            member,
            adds,
            removes,
            stamp,
            magnitude,
            exact,
            image.version if image is not None else None,
        )

    def _within_bounds(
        self,
        family: Family,
        item: MemberKey,
        works: Sequence[_Work],
        counted: Sequence[tuple[int, Mapping[str, int]]],
        stamp: int,
    ) -> dict[str, int]:
        image = self._images.get(item)
        values = dict(image.values) if image is not None else {}
        for work, one in zip(works, counted, strict=True):
            adds = additions(family, [one], stamp)
            for name, units in adds.items():
                values[name] = values.get(name, 0) + units
            beyond = beyond_bounds(family, values, adds)
            if beyond is not None:
                raise _BeyondBoundsError(work, f"metrics: {beyond} would go beyond ±(2^53 - 1) units")
        return values

    def _resolve(self, obstacles: Sequence[ReceiptObstacle | ChangeObstacle], changes: Sequence[ItemChange]) -> bool:
        """Take what was found into account; True where it is a matter of waiting as well."""
        works = list(self._works)
        busy = False
        for obstacle in obstacles:
            if obstacle.hindrance is Hindrance.BUSY:
                busy = True
            elif isinstance(obstacle, ReceiptObstacle):
                self._known_id(works[obstacle.position], obstacle)
            elif obstacle.hindrance is Hindrance.INVALID:
                self._invalid(changes[obstacle.position], obstacle.message)
            else:
                change = changes[obstacle.position]
                self._images[change.board, change.member] = obstacle.found
                busy = True
        return busy

    def _known_id(self, work: _Work, obstacle: ReceiptObstacle) -> None:
        if obstacle.hindrance is Hindrance.INVALID:
            self._refuse(work, RefusedEvent("store", f"id: {obstacle.message}"))
        elif obstacle.found == work.event.digest:
            if work in self._works:
                self._works.remove(work)
                self._written.duplicates += 1
        else:
            self._refuse(work, _other_content(work.event))

    def _invalid(self, change: ItemChange, message: str) -> None:
        for work in list(self._works):
            if (change.board, change.member) in items_of(work.event):
                self._refuse(work, RefusedEvent("store", f"{change.member!r}: {message}"))

    def _refused_by_store(self, error: StoreRefusedError, backoff: Backoff) -> None:
        """The store says no to the whole and not which part: halve it until the part stands alone."""
        if len(self._works) == 1:
            self._refuse(self._works[0], RefusedEvent("store", f"body: the store refuses it: {error}"))
            return
        middle = len(self._works) // 2
        for half in (self._works[:middle], self._works[middle:]):
            _Transaction(self._writer, half, self._written).run(backoff)

    def _refuse(self, work: _Work, refusal: RefusedEvent) -> None:
        if work in self._works:
            self._works.remove(work)
            self._written.refused.append((work.message, refusal))

    def _give_up(self, reason: str) -> None:
        for work in self._works:
            self._written.failed[work.message.id] = reason
        self._works.clear()


class _BeyondBoundsError(Exception):
    def __init__(self, work: _Work, message: str) -> None:
        super().__init__(message)
        self.work = work


def _other_content(event: Event) -> RefusedEvent:
    return RefusedEvent("id", f"id: {event.id!r} was used before, for an event with other content")
