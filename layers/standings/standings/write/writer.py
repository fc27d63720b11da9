"""Applies batches of events: each event exactly once, in as few transactions as they fit into."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Final, NamedTuple

from standings.aws.dynamodb.scores import Scores
from standings.catalog import BoardCatalog
from standings.domain.boards import MAX_UNITS, Boards, Family, family_of
from standings.domain.events import Event, RefusedEvent, Rule, limits_of, parse_event
from standings.domain.members import (
    EventPart,
    Image,
    additions,
    apply_event,
    beyond_bounds,
    expired,
    late_merged,
    new_image,
    rewritten,
)
from standings.domain.scoring import decimal_text
from standings.domain.windows import DAY
from standings.runtime.clock import Backoff, Clock
from standings.stores import (
    MAX_ACTIONS,
    MAX_TRANSACTION_BYTES,
    REPLAYABLE_DAYS,
    Addition,
    CancelReason,
    DamagedItem,
    DamagedItemError,
    ItemChange,
    MemberKey,
    Patch,
    ReceiptConflict,
    Rewrite,
    StoreRefusedError,
    StoreUnavailableError,
)

# Groups a batch of events into transactions. Events on the same item go together, so that it is written once.


def items_of(event: Event) -> list[MemberKey]:
    """The items that an event changes."""
    return [(update.board, update.member) for update in event.updates]


def transactions(events: Iterable[Event], most: int = MAX_ACTIONS) -> list[list[Event]]:
    """Group events so that each group fits one transaction: a receipt for each event, a change for each item."""
    events = list(events)
    popularity = Counter(item for event in events for item in items_of(event))

    def by_shared_items(event: Event) -> list[tuple[int, MemberKey]]:
        return sorted((-popularity[item], item) for item in items_of(event))

    groups: list[list[Event]] = []
    items: set[MemberKey] = set()  # those of the last group
    for _, sharing in groupby(sorted(events, key=by_shared_items), key=lambda event: by_shared_items(event)[0]):
        together = list(sharing)
        if not groups or _size(groups[-1], items, together) > most >= _size([], set(), together):
            groups.append([])
            items = set()
        for event in together:
            if _size(groups[-1], items, [event]) > most:
                groups.append([])
                items = set()
            groups[-1].append(event)
            items.update(items_of(event))
    return groups


def _size(events: Sequence[Event], items: set[MemberKey], more: Sequence[Event]) -> int:
    return len(events) + len(more) + len(items.union(*map(items_of, more)))


# Plans how events change members' items, given the images that were read of them.

MAX_EXPRESSION: Final = 4_096
"""The most bytes of an expression in DynamoDB. An addition removes as many accumulators as fit. If not even its amounts
fit, the item is rewritten. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html"""
_FIXED: Final = 100  # Bytes that every expression has, at most
_VALUE: Final = len(", :10000 ")  # Bytes that a name needs in addition to its own, at most
_SET: Final = len(",#00=:00")  # Bytes of an attribute that a patch sets
_REMOVED: Final = len(",#00")  # Bytes of one that it removes
_MOST_ATTRIBUTES: Final = 3  # Of an accumulator: its number, its tie key and its note
MOST_WHOLE_BYTES: Final = MAX_TRANSACTION_BYTES
"""Up to here, items are written whole: that takes the writer less time."""
Images = Mapping[MemberKey, Image | None]


class UnfitEventError(RefusedEvent):
    """The image that was read shows that the item cannot take an event."""

    def __init__(self, event_id: str, item: MemberKey, rule: Rule, message: str) -> None:
        super().__init__(rule, message, event_id)
        self.item = item


def plan_changes(
    boards: Boards, events: Iterable[Event], images: Images, now: int, *, patches: bool = False
) -> dict[MemberKey, ItemChange]:
    """Plan the change of each item of the events. Raise UnfitEventError for the first event that does not fit.

    With `patches`, items are not written whole, unless one has so many changes that they fit into no expression.
    """
    by_item: dict[MemberKey, list[EventPart]] = {}
    for event in events:
        for update in event.updates:
            counted = EventPart(event.id, event.at, update.amounts, update.notes, update.sets)
            by_item.setdefault((update.board, update.member), []).append(counted)
    return {
        item: _change(family_of(boards, item[0]), item, counted, images, now, patches=patches)
        for item, counted in by_item.items()
    }


def _change(
    family: Family, item: MemberKey, counted: Sequence[EventPart], images: Images, now: int, *, patches: bool
) -> ItemChange:
    image = images.get(item)
    if family.members == "registered" and item in images and (image is None or image.removed):
        message = f"member: {item[1]!r} is not registered on board {item[0]!r}"
        raise UnfitEventError(counted[0].event_id, item, "unregistered", message)
    written_at_ms = _stamp(image, now)
    abs_total = sum(abs(units) for one in counted for units in one.amounts.values())
    adds_up = all(family.metrics[name].adds_up and not one.sets for one in counted for name in one.amounts)
    if adds_up and (image.abs_total if image is not None else 0) + abs_total <= MAX_UNITS:
        addition = _addition(family, item, counted, image, written_at_ms, abs_total)
        if addition is not None:
            return addition
    after = image if image is not None else new_image(*item, written_at_ms)
    changed: set[str] = set()
    for part in counted:
        one = _with_differences(family, item, after, part) if part.sets else part
        after, names = apply_event(family, after, one, written_at_ms)
        if (beyond := beyond_bounds(family, after, names)) is not None:
            raise UnfitEventError(one.event_id, item, "bounds", f"metrics: {beyond} would go beyond ±(2^53 - 1) units")
        changed.update(names)
    if changed and patches and (patch := _patch(family, image, after, changed, written_at_ms)) is not None:
        return patch
    if changed:
        after, merged = late_merged(family, after, written_at_ms)
        after = rewritten(after, written_at_ms, [*merged, *expired(family, after, written_at_ms)])
    return Rewrite(after, image.version if image is not None else None)


def _patch(
    family: Family, before: Image | None, after: Image, changed: Collection[str], written_at_ms: int
) -> Patch | None:
    """The patch that counts events in an item; None if an expression has no room for what they change.

    With the room that is left it merges and removes old accumulators, which are more than the events add.
    """
    texts = [of for image in (before, after) if image is not None for of in (image.tie_keys, image.notes)]
    attributes = sum(
        1 + any(name in of for of in texts[::2]) + any(name in of for of in texts[1::2]) for name in changed
    )
    room = MAX_EXPRESSION - _FIXED - _SET * attributes
    if room < 0:
        return None
    merge_bytes = _MOST_ATTRIBUTES * (_SET + _REMOVED)
    after, merged = late_merged(family, after, written_at_ms, room // merge_bytes)
    room -= merge_bytes * len(merged)
    gone = expired(family, after, written_at_ms)[: room // (_MOST_ATTRIBUTES * _REMOVED)]
    return Patch(rewritten(after, written_at_ms, [*merged, *gone]), before)


def _with_differences(family: Family, item: MemberKey, image: Image, part: EventPart) -> EventPart:
    """The part with the amounts that take the member's totals to those that the event sets."""
    amounts = {}
    for name, total in part.amounts.items():
        metric = family.metrics[name]
        before = image.values.get(metric.total(), 0)
        amounts[name] = change = total - before
        if metric.is_beyond_limits(change):
            steps = (decimal_text(units, metric.precision) for units in (change, before, total))
            got = "got a change of {} (from {} to {})".format(*steps)
            message = f"metrics.{name}: expected a change of {limits_of(metric)} on board {item[0]!r}, {got}"
            raise UnfitEventError(part.event_id, item, "limit", message)
    return part._replace(amounts=amounts, sets=False)


def _addition(
    family: Family,
    item: MemberKey,
    counted: Sequence[EventPart],
    image: Image | None,
    written_at_ms: int,
    abs_total: int,
) -> Addition | None:
    """The addition of some events to an item; None if it has to be rewritten."""
    adds = additions(family, counted, written_at_ms)
    if any(one is not None and one.names_first for one in map(family.accumulator, adds)):
        return None  # So that late buckets are merged
    # An addition writes no tie key. If there is one, another definition of ties wrote it.
    tie_keys = [name for name in adds if image is None or name in image.tie_keys]
    room = MAX_EXPRESSION - _FIXED - _names_bytes(adds) - _names_bytes(tie_keys)
    if room < 0:
        return None
    removes = _first_that_fit(image, expired(family, image, written_at_ms), room) if image is not None else []
    tie_keys += [name for name in removes if image is not None and name in image.tie_keys]
    notes = [name for name in removes if image is not None and name in image.notes]
    return Addition(*item, adds, removes, tie_keys, notes, written_at_ms, abs_total, family.members == "registered")


def _first_that_fit(image: Image, names: Iterable[str], room: int) -> list[str]:
    """The first accumulators whose removal needs at most `room` bytes, with their tie keys and notes."""
    fit = []
    for name in names:
        room -= _names_bytes([name, *(name for of in (image.tie_keys, image.notes) if name in of)])
        if room < 0:
            break
        fit.append(name)
    return fit


def _names_bytes(names: Iterable[str]) -> int:
    """The bytes that names need in an expression, at most."""
    return sum(len(name) + _VALUE for name in names)


def _stamp(image: Image | None, now: int) -> int:
    """The stamp of a change. It never goes back on an item: the latest clock that wrote it decides what is late."""
    return max(now, image.written_at_ms) if image is not None else now


# Applies events to members' items, each exactly once.


class QueueMessage(NamedTuple):
    """A message from the queue. `at_filled_in` says that the producer sent no `at` (as for `parse_event`).

    In milliseconds since 1970: `sent` is when the queue got it, `refused_since` when the writer got it before refusing
    it.
    """

    id: str
    body: str
    at_filled_in: bool | str = False
    refused_since: int | None = None
    sent: int | None = None


@dataclass(slots=True)
class WriteResult:
    """The result of a batch. `failed` holds the ids of messages to deliver again, each with the reason.

    `refused` are messages that no retry can help: the caller sends them to the dead-letter queue. The store has their
    reasons by the events' ids. A refusal by the rule "internal" has the internal error as its `__cause__`. `waited` is
    the longest time from sending to applying, in milliseconds.
    """

    applied: int = 0
    duplicates: int = 0
    conflicts: int = 0
    waited: int | None = None
    refused: list[tuple[QueueMessage, RefusedEvent]] = field(default_factory=list)
    failed: dict[str, str] = field(default_factory=dict)


class Writer:
    """Applies batches of messages: one transaction holds the receipts of some events and the changes of their items.

    An event that already has a receipt was applied before: it is dropped, and the others are applied. Items are read
    first (half a read unit each), unless their board keeps no buckets and all its metrics add up.
    """

    def __init__(self, catalog: BoardCatalog, scores: Scores, clock: Clock) -> None:
        self.catalog = catalog
        self.scores = scores
        self.clock = clock

    def write(self, messages: Sequence[QueueMessage], deadline: float) -> WriteResult:
        """Apply a batch until the deadline, in seconds of the monotonic clock. Report the rest as failed."""
        result = WriteResult()
        events: dict[str, Event] = {}
        message_of: dict[str, QueueMessage] = {}
        for message in messages:
            try:
                now = self.clock.now()
                event = parse_event(message.body, self.catalog.boards, now, at_filled_in=message.at_filled_in)
                _check_age(message, event, now)
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
            by_id = {event.id: event for event in group}
            _Transaction(self, by_id, message_of, result).run(self.clock.backoff(deadline))
        self._remember_refusals(result, self.clock.backoff(deadline))
        return result

    def _remember_refusals(self, result: WriteResult, backoff: Backoff) -> None:
        """Store why each event is refused, for `GET /events`: one write each.

        An event that uses the id of another one is left out: the id stands for that other event. If a refusal cannot be
        stored now, its message is delivered again.
        """
        messages, result.refused = result.refused, []
        for message, refusal in messages:
            event_id = refusal.event_id
            try:
                if event_id is not None and refusal.rule != "id":
                    if backoff.expired:
                        raise StoreUnavailableError("the function ran out of time")
                    backoff.retry(self.scores.refuse, event_id, str(refusal))
                result.refused.append((message, refusal))
            except StoreUnavailableError as error:
                result.failed[message.id] = str(error)


@dataclass(slots=True)
class _Transaction:
    """Applies some events, by id, in one transaction; drops those that it cannot hold, and retries with the rest."""

    writer: Writer
    events: dict[str, Event]
    message_of: Mapping[str, QueueMessage]
    result: WriteResult
    images: dict[MemberKey, Image | None] = field(default_factory=dict)
    # Items whose image was read consistently, or came back with a condition that failed. Other images may be old: no
    # event is refused because of them.
    certain: set[MemberKey] = field(default_factory=set)
    # Items for whose events the receipts were read after the certain image: duplicates are gone.
    checked: set[MemberKey] = field(default_factory=set)
    started: bool = False
    # Whether the items are too large together to be written whole.
    patches: bool = False

    def run(self, backoff: Backoff) -> None:
        try:
            while self.events:
                if backoff.expired:
                    raise StoreUnavailableError("the function ran out of time")
                try:
                    backoff.retry(self._attempt, backoff)
                except DamagedItemError as damage:
                    self._refuse_all_of(damage.item)
        except StoreUnavailableError as error:
            self.result.failed.update((self.message_of[event_id].id, str(error)) for event_id in self.events)
        except StoreRefusedError as error:
            self._refused_by_store(error, backoff)

    def _refuse_all_of(self, damage: DamagedItem) -> None:
        """Refuse the events of a member whose item cannot be read. Others must not wait for its repair."""
        for event in list(self.events.values()):
            if (damage.board, damage.member) in items_of(event):
                self._refuse(event, RefusedEvent("damaged", f"member: {damage}", event.id))

    def _refuse_leaving(self, leaving: set[str]) -> None:
        """Refuse the events of boards that are being deleted: what they count would be removed with the board."""
        for event in list(self.events.values()):
            if (board := next((update.board for update in event.updates if update.board in leaving), None)) is not None:
                detail = f"board: {board!r} is being deleted: replay the event once that has ended"
                self._refuse(event, RefusedEvent("deleting", detail, event.id))

    def _read_items(self) -> None:
        """Register the boards, and read the items that cannot be added to without reading them."""
        keys = {item for event in self.events.values() for item in items_of(event)}
        records = self.writer.catalog.register(board for board, _ in keys)
        if leaving := {board for board, record in records.items() if record.is_being_deleted}:
            self._refuse_leaving(leaving)
            keys = {item for event in self.events.values() for item in items_of(event)}
        families = {board: family_of(self.writer.catalog.boards, board) for board, _ in keys}
        set_items = {(one.board, one.member) for event in self.events.values() for one in event.updates if one.sets}
        to_read = [
            key
            for key in sorted(keys)
            if key in set_items or families[key[0]].has_buckets or not families[key[0]].adds_up
        ]
        if to_read:
            images = self.writer.scores.images(to_read)
            self.images.update((key, images.get(key)) for key in to_read)
        self.started = True

    def _attempt(self, backoff: Backoff) -> None:
        """Try to apply the events; drop those that do not fit. StoreUnavailableError if the next try has to wait."""
        if not self.started:
            self._read_items()
        now = self.writer.clock.now()
        changes = self._planned(now, backoff)
        events = list(self.events.values())
        conflicts = self.writer.scores.apply(events, list(changes.values()), now) if events else []
        if not conflicts:
            self._applied()
        invalid = next((each.message for each in conflicts if each.reason is CancelReason.INVALID), None)
        if invalid is not None:
            raise StoreRefusedError(invalid)
        self.result.conflicts += any(each.reason is CancelReason.BUSY for each in conflicts)
        must_wait = False
        for conflict in conflicts:
            if conflict.reason is CancelReason.BUSY:
                must_wait = True
            elif isinstance(conflict, ReceiptConflict):
                self._drop(events[conflict.position], conflict.found)
            else:
                item = list(changes)[conflict.position]
                self.images[item] = conflict.found
                self.certain.add(item)
                self.checked.discard(item)
                must_wait = True
        if must_wait:
            raise StoreUnavailableError(conflicts[0].message)

    def _planned(self, now: int, backoff: Backoff) -> dict[MemberKey, ItemChange]:
        """Plan changes that one transaction can hold. Raises StoreRefusedError if there are none."""
        changes = self._changes(now, backoff)
        if not self.patches and self._bytes(changes) > MOST_WHOLE_BYTES:
            self.patches = True
            changes = self._changes(now, backoff)
        if self.patches and (size := self._bytes(changes)) > MAX_TRANSACTION_BYTES:
            raise StoreRefusedError(f"expected at most {MAX_TRANSACTION_BYTES} bytes in a transaction, got {size}")
        return changes

    def _bytes(self, changes: Mapping[MemberKey, ItemChange]) -> int:
        return self.writer.scores.bytes_of(self.events.values(), changes.values())

    def _changes(self, now: int, backoff: Backoff) -> dict[MemberKey, ItemChange]:
        """Plan the change of every item. Refuse each event that an item cannot take, and plan again without it.

        Makes at most two requests for each item: one for its image, one for the receipts of its events.
        """
        while not backoff.expired:
            try:
                events, boards = self.events.values(), self.writer.catalog.boards
                return plan_changes(boards, events, self.images, now, patches=self.patches)
            except UnfitEventError as unfit:
                if unfit.item not in self.certain:
                    self.images[unfit.item] = self.writer.scores.image(unfit.item)
                    self.certain.add(unfit.item)
                elif unfit.item not in self.checked:
                    self._drop_duplicates(unfit.item)
                    self.checked.add(unfit.item)
                else:
                    self._refuse(self.events[str(unfit.event_id)], unfit)
        raise StoreUnavailableError("the function ran out of time")

    def _drop_duplicates(self, item: MemberKey) -> None:
        """Drop the events on an item that have receipts: near the bounds a duplicate does not fit, but is no error."""
        events = [event for event in self.events.values() if item in items_of(event)]
        receipts = self.writer.scores.receipts(event.id for event in events)
        for event in events:
            if event.id in receipts:
                self._drop(event, receipts[event.id])

    def _drop(self, event: Event, digest: bytes | None) -> None:
        """Drop an event that has a receipt: a duplicate, or with another digest another event under the same id."""
        try:
            _check_content(event, digest)
            del self.events[event.id]
            self.result.duplicates += 1
        except RefusedEvent as refusal:
            self._refuse(event, refusal)

    def _refused_by_store(self, error: StoreRefusedError, backoff: Backoff) -> None:
        """Halve the transaction until the event that the store refuses is alone."""
        events = list(self.events.items())
        if not (middle := len(events) // 2):
            (event_id, event), *_ = events
            self._refuse(event, RefusedEvent("store", f"body: the store refuses it: {error}", event_id))
            return
        for half in (events[:middle], events[middle:]):
            _Transaction(self.writer, dict(half), self.message_of, self.result).run(backoff)

    def _applied(self) -> None:
        sent = [at for event_id in self.events if (at := self.message_of[event_id].sent) is not None]
        if sent:
            self.result.waited = max(self.result.waited or 0, self.writer.clock.now() - min(sent))
        self.result.applied += len(self.events)
        self.events.clear()

    def _refuse(self, event: Event, refusal: RefusedEvent) -> None:
        del self.events[event.id]
        self.result.refused.append((self.message_of[event.id], refusal))


def _check_age(message: QueueMessage, event: Event, now: int) -> None:
    """Refuse a message whose receipt may have expired, however it came back to the queue."""
    if message.refused_since is not None and now - message.refused_since > REPLAYABLE_DAYS * DAY:
        reason = f"first received more than {REPLAYABLE_DAYS} days ago: it might count twice"
        raise RefusedEvent("age", reason, event.id)


def _check_content(event: Event, digest: bytes | None) -> None:
    if digest != event.digest:
        raise RefusedEvent("id", f"id: {event.id!r} was used before, for an event with other content", event.id)
