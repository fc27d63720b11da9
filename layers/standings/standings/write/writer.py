"""Applies events to members' items, each exactly once."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from standings.catalog.board_catalog import BoardCatalog
from standings.domain.events.event import Event, RefusedEvent
from standings.domain.events.event_rules import parse_event
from standings.domain.members.member_item import Image
from standings.domain.windows.calendar import DAY
from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.ports.scores import (
    REPLAYABLE_DAYS,
    ItemChange,
    ItemConflict,
    MemberKey,
    Receipt,
    ReceiptConflict,
    Scores,
)
from standings.runtime.retry import Backoff, Clock
from standings.write.batching import items_of, transactions
from standings.write.plan import UnfitEventError, family_of, plan_changes


class QueueMessage(NamedTuple):
    """A message from the queue; `at_filled_in` where its `at` is not its producer's.

    Times are in milliseconds since 1970: `refused_since`, when the writer first had it, if it was refused then and
    comes back; `sent`, when the queue got it, if that is known.
    """

    id: str
    body: str
    at_filled_in: bool = False
    refused_since: int | None = None
    sent: int | None = None


@dataclass(slots=True)
class WriteResult:
    """What became of a batch. `failed` are ids of messages to be delivered again, with why.

    `refused` are messages that no further try can help: they are the caller's to put aside. The `__cause__` of a
    refusal with the rule "internal" is a bug of ours. `waited` is the longest
    from a message being sent until its event was counted, in milliseconds; None where none was, or nothing tells.
    """

    applied: int = 0
    duplicates: int = 0
    conflicts: int = 0
    waited: int | None = None
    refused: list[tuple[QueueMessage, RefusedEvent]] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)

    def count(self, messages: Sequence[QueueMessage], now: int) -> None:
        """Events of messages are counted at an instant."""
        self.applied += len(messages)
        waits = [max(0, now - message.sent) for message in messages if message.sent is not None]
        if waits:
            self.waited = max(self.waited or 0, *waits)


class _Work(NamedTuple):
    message: QueueMessage
    event: Event


class Writer:
    """Applies batches of messages: a receipt for each event and the change of its items in one transaction.

    An event whose receipt is there was applied before: it is dropped, and its neighbours are applied. Boards without
    buckets are written blind, if all their metrics add up; elsewhere the items are read first (half a read unit each),
    to see what has expired and what is the best so far.
    """

    def __init__(self, registry: BoardCatalog, scores: Scores, pacing: Clock) -> None:
        self.boards = registry.boards
        self.registry = registry
        self.scores = scores
        self.pacing = pacing

    def write(self, messages: Sequence[QueueMessage], deadline: float) -> WriteResult:
        """Apply a batch; what cannot be done by the deadline (of the monotonic clock) is reported as failed."""
        written = WriteResult()
        works: dict[str, _Work] = {}
        for message in messages:
            try:
                now = self.pacing.now()
                _check_age(message, now)
                event = parse_event(message.body, self.boards, now, at_filled_in=message.at_filled_in)
                twin = works.get(event.id)
                if twin is None:
                    works[event.id] = _Work(message, event)
                elif _has_content(event, twin.event.digest):
                    written.duplicates += 1
                else:
                    raise _other_content(event)
            except RefusedEvent as refusal:
                written.refused.append((message, refusal))
            except Exception as error:  # noqa: BLE001 - whatever a body does to the parser, its neighbours are applied
                internal = RefusedEvent("internal", f"body: cannot be read: {error!r}")
                internal.__cause__ = error
                written.refused.append((message, internal))
        for events in transactions(work.event for work in works.values()):
            batch = _Transaction(self, [works[event.id] for event in events], written)
            batch.run(self.pacing.backoff(deadline))
        return written


class _Transaction:
    """One transaction's way to being done: what stands in its way is dropped, seen anew, or waited for."""

    def __init__(self, writer: Writer, works: Sequence[_Work], written: WriteResult) -> None:
        self._writer = writer
        self._works = list(works)
        self._written = written
        self._images: dict[MemberKey, Image | None] = {}
        # Items seen as they are; other images were read a moment too early to refuse an event by.
        self._certain: set[MemberKey] = set()

    def run(self, backoff: Backoff) -> None:
        started = False
        while self._works:
            if backoff.expired:
                # What was applied so far is acknowledged: the rest has less to do next time.
                self._give_up("the function's time is over")
                return
            try:
                if not started:
                    self._start()
                    started = True
                now = self._writer.pacing.now()
                changes = self._changes(now)
                receipts = [Receipt(work.event.id, work.event.digest) for work in self._works]
                obstacles = self._writer.scores.apply(receipts, changes, now) if self._works else []
            except StoreUnavailableError as error:
                if not backoff.wait(error.wait):
                    self._give_up(str(error))
                continue
            except StoreRefusedError as error:
                self._refused_by_store(error, backoff)
                return
            if not obstacles:
                messages = [work.message for work in self._works]
                self._written.count(messages, self._writer.pacing.now())
                return
            invalid = next((o.message for o in obstacles if o.reason is CancelReason.INVALID), None)
            if invalid is not None:
                self._refused_by_store(StoreRefusedError(invalid), backoff)
                return
            self._written.conflicts += any(o.reason is CancelReason.BUSY for o in obstacles)
            if self._resolve(obstacles, changes) and not backoff.wait():
                self._give_up(obstacles[0].message)

    def _start(self) -> None:
        keys = {item for work in self._works for item in items_of(work.event)}
        self._writer.registry.register(board for board, _ in keys)
        families = {board: family_of(self._writer.boards, board) for board, _ in keys}
        looked_at = [key for key in sorted(keys) if families[key[0]].has_buckets or not families[key[0]].adds_up]
        if looked_at:
            found = self._writer.scores.images(looked_at)
            self._images.update((key, found.get(key)) for key in looked_at)

    def _changes(self, now: int) -> list[ItemChange]:
        """The change of every item; an event that an item cannot take is refused, and all is planned anew."""
        while True:
            try:
                return plan_changes(self._writer.boards, (work.event for work in self._works), self._images, now)
            except UnfitEventError as unfit:
                if unfit.item not in self._certain:
                    self._images[unfit.item] = self._writer.scores.image(unfit.item)
                    self._certain.add(unfit.item)
                    continue
                work = next(work for work in self._works if work.event is unfit.event)
                # What was counted already goes beyond the bounds by being planned again: it is no less a duplicate.
                if not self._drop_known(unfit.item):
                    self._refuse(work, RefusedEvent(unfit.rule, str(unfit)))

    def _drop_known(self, item: MemberKey) -> bool:
        """Drop the events on an item that have their receipts; whether there were any."""
        known = {
            work.event.id: digest
            for work in self._works
            if item in items_of(work.event) and (digest := self._writer.scores.receipt(work.event.id)) is not None
        }
        for work in [work for work in self._works if work.event.id in known]:
            self._known_id(work, known[work.event.id])
        return bool(known)

    def _resolve(self, obstacles: Sequence[ReceiptConflict | ItemConflict], changes: Sequence[ItemChange]) -> bool:
        """Take what was found into account; True where it is a matter of waiting as well."""
        works = list(self._works)
        busy = False
        for obstacle in obstacles:
            if obstacle.reason is CancelReason.BUSY:
                busy = True
            elif isinstance(obstacle, ReceiptConflict):
                self._known_id(works[obstacle.position], obstacle.found)
            else:
                change = changes[obstacle.position]
                self._images[change.board, change.member] = obstacle.found
                self._certain.add((change.board, change.member))
                busy = True
        return busy

    def _known_id(self, work: _Work, digest: bytes | None) -> None:
        if not _has_content(work.event, digest):
            self._refuse(work, _other_content(work.event))
        elif work in self._works:
            self._works.remove(work)
            self._written.duplicates += 1

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


def _check_age(message: QueueMessage, now: int) -> None:
    """However a message comes back, also by the queue's own redrive: its receipt may be gone by now."""
    if message.refused_since is not None and now - message.refused_since > REPLAYABLE_DAYS * DAY:
        raise RefusedEvent("age", f"first received more than {REPLAYABLE_DAYS} days ago: it might count twice")


def _has_content(event: Event, digest: bytes | None) -> bool:
    """Whether a digest is that of an event. If not, its id was used for another one."""
    return digest == event.digest


def _other_content(event: Event) -> RefusedEvent:
    return RefusedEvent("id", f"id: {event.id!r} was used before, for an event with other content")
