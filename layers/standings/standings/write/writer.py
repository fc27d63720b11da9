"""Applies events to members' items, each exactly once."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.names import family_of
from standings.domain.events.event import Event, RefusedEvent
from standings.domain.events.event_rules import parse_event
from standings.domain.members.member_item import Image
from standings.domain.windows.calendar import DAY
from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.ports.scores import REPLAYABLE_DAYS, ItemChange, MemberKey, Receipt, ReceiptConflict, Scores
from standings.runtime.retry import Backoff, Clock, with_retry
from standings.write.batching import items_of, transactions
from standings.write.plan import UnfitEventError, plan_changes


class QueueMessage(NamedTuple):
    """A message from the queue. `at_filled_in` says that we added its `at`.

    Times are in milliseconds since 1970. `refused_since` is when the writer first received a message that it refused
    before. `sent` is when the queue received it; None if unknown.
    """

    id: str
    body: str
    at_filled_in: bool = False
    refused_since: int | None = None
    sent: int | None = None


@dataclass(slots=True)
class WriteResult:
    """The result of a batch. `failed` holds the ids of messages to deliver again, each with the reason.

    `refused` are messages that no retry can help; the caller puts them aside. If the rule of a refusal is "internal",
    its `__cause__` is a bug of ours. `waited` is the longest time from sending a message until its event was applied,
    in milliseconds; None if unknown.
    """

    applied: int = 0
    duplicates: int = 0
    conflicts: int = 0
    waited: int | None = None
    refused: list[tuple[QueueMessage, RefusedEvent]] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


class Writer:
    """Applies batches of messages: one transaction holds the receipts of some events and the changes of their items.

    An event that already has a receipt was applied before: it is dropped, and the others are applied. The writer adds
    to items without reading them on boards that keep no buckets and whose metrics all add up. Other items are read
    first (half a read unit each), to find what has expired and the best so far.
    """

    def __init__(self, registry: BoardCatalog, scores: Scores, pacing: Clock) -> None:
        self.registry = registry
        self.scores = scores
        self.pacing = pacing

    def write(self, messages: Sequence[QueueMessage], deadline: float) -> WriteResult:
        """Apply a batch until the deadline, in seconds of the monotonic clock. Report the rest as failed."""
        result = WriteResult()
        events: dict[str, Event] = {}
        message_of: dict[str, QueueMessage] = {}
        for message in messages:
            try:
                now = self.pacing.now()
                _check_age(message, now)
                event = parse_event(message.body, self.registry.boards, now, at_filled_in=message.at_filled_in)
                first = events.setdefault(event.id, event)
                if first is event:
                    message_of[event.id] = message
                else:
                    _check_content(event, first.digest)
                    result.duplicates += 1
            except RefusedEvent as refusal:
                result.refused.append((message, refusal))
            except Exception as error:  # noqa: BLE001 - a body that breaks the parser must not stop the others
                internal = RefusedEvent("internal", f"body: cannot be read: {error!r}")
                internal.__cause__ = error
                result.refused.append((message, internal))
        for group in transactions(events.values()):
            _Transaction(self, group, message_of, result).run(self.pacing.backoff(deadline))
        return result


class _Transaction:
    """Applies some events in one transaction; drops those that it cannot hold, and retries with the rest."""

    def __init__(
        self, writer: Writer, events: Sequence[Event], message_of: Mapping[str, QueueMessage], result: WriteResult
    ) -> None:
        self._writer = writer
        self._events = {event.id: event for event in events}
        self._message_of = message_of
        self._result = result
        self._started = False
        self._images: dict[MemberKey, Image | None] = {}
        # Items whose image is certain. The others may be a moment old: no event is refused because of them.
        self._certain: set[MemberKey] = set()

    def run(self, backoff: Backoff) -> None:
        try:
            while self._events:
                if backoff.expired:
                    self._give_up("the function ran out of time")
                else:
                    with_retry(self._attempt, backoff)
        except StoreUnavailableError as error:
            self._give_up(str(error))
        except StoreRefusedError as error:
            self._refused_by_store(error, backoff)

    def _read_items(self) -> None:
        """Register the boards, and read the items that cannot be added to without reading them."""
        keys = {item for event in self._events.values() for item in items_of(event)}
        self._writer.registry.register(board for board, _ in keys)
        families = {board: family_of(self._writer.registry.boards, board) for board, _ in keys}
        to_read = [key for key in sorted(keys) if families[key[0]].has_buckets or not families[key[0]].adds_up]
        if to_read:
            images = self._writer.scores.images(to_read)
            self._images.update((key, images.get(key)) for key in to_read)
        self._started = True

    def _attempt(self) -> None:
        """Try to apply the events, and drop those that were applied before.

        Raises StoreUnavailableError if the next try has to wait, StoreRefusedError if the store refuses an event.
        """
        if not self._started:
            self._read_items()
        now = self._writer.pacing.now()
        changes = self._changes(now)
        events = list(self._events.values())
        receipts = [Receipt(event.id, event.digest) for event in events]
        conflicts = self._writer.scores.apply(receipts, changes, now) if events else []
        if not conflicts:
            self._applied()
        invalid = next((each.message for each in conflicts if each.reason is CancelReason.INVALID), None)
        if invalid is not None:
            raise StoreRefusedError(invalid)
        self._result.conflicts += any(each.reason is CancelReason.BUSY for each in conflicts)
        must_wait = False
        for conflict in conflicts:
            if conflict.reason is CancelReason.BUSY:
                must_wait = True
            elif isinstance(conflict, ReceiptConflict):
                self._drop(events[conflict.position], conflict.found)
            else:
                change = changes[conflict.position]
                self._images[change.board, change.member] = conflict.found
                self._certain.add((change.board, change.member))
                must_wait = True
        if must_wait:
            raise StoreUnavailableError(conflicts[0].message)

    def _changes(self, now: int) -> list[ItemChange]:
        """Plan the change of every item. Refuse each event that an item cannot take, and plan again without it."""
        while True:
            try:
                return plan_changes(self._writer.registry.boards, self._events.values(), self._images, now)
            except UnfitEventError as unfit:
                if unfit.item not in self._certain:
                    self._images[unfit.item] = self._writer.scores.image(unfit.item)
                    self._certain.add(unfit.item)
                elif not self._drop_duplicates(unfit.item):
                    self._refuse(self._events[unfit.event_id], unfit)

    def _drop_duplicates(self, item: MemberKey) -> bool:
        """Drop the events on an item that have receipts: near the bounds a duplicate does not fit, but is no error."""
        known = [
            (event, digest)
            for event in self._events.values()
            if item in items_of(event) and (digest := self._writer.scores.receipt(event.id)) is not None
        ]
        for event, digest in known:
            self._drop(event, digest)
        return bool(known)

    def _drop(self, event: Event, digest: bytes | None) -> None:
        """Drop an event whose receipt holds a digest: as a duplicate, or as another event that uses the same id."""
        try:
            _check_content(event, digest)
        except RefusedEvent as refusal:
            self._refuse(event, refusal)
        else:
            del self._events[event.id]
            self._result.duplicates += 1

    def _refused_by_store(self, error: StoreRefusedError, backoff: Backoff) -> None:
        """Halve the transaction until the event that the store refuses is alone."""
        events = list(self._events.values())
        if len(events) == 1:
            self._refuse(events[0], RefusedEvent("store", f"body: the store refuses it: {error}"))
            return
        middle = len(events) // 2
        for half in (events[:middle], events[middle:]):
            _Transaction(self._writer, half, self._message_of, self._result).run(backoff)

    def _applied(self) -> None:
        now = self._writer.pacing.now()
        messages = [self._message_of[event_id] for event_id in self._events]
        sent = [message.sent for message in messages if message.sent is not None]
        self._result.applied += len(messages)
        if sent:
            self._result.waited = max(self._result.waited or 0, now - min(sent))
        self._events.clear()

    def _refuse(self, event: Event, refusal: RefusedEvent) -> None:
        del self._events[event.id]
        self._result.refused.append((self._message_of[event.id], refusal))

    def _give_up(self, reason: str) -> None:
        self._result.failed.update((self._message_of[event_id].id, reason) for event_id in self._events)
        self._events.clear()


def _check_age(message: QueueMessage, now: int) -> None:
    """Refuse a message whose receipt may have expired, however it came back to the queue."""
    if message.refused_since is not None and now - message.refused_since > REPLAYABLE_DAYS * DAY:
        raise RefusedEvent("age", f"first received more than {REPLAYABLE_DAYS} days ago: it might count twice")


def _check_content(event: Event, digest: bytes | None) -> None:
    """Refuse an event whose id belongs to an event with another digest."""
    if digest != event.digest:
        raise RefusedEvent("id", f"id: {event.id!r} was used before, for an event with other content")
