"""Applies batches of events to members' items: each event exactly once, in as few transactions as they fit into.

`Writer.write` parses a batch and groups its events (`transactions`). For each group a `_Transaction` reads items, plans
their changes (`plan_changes`), and writes these with the receipts of the events.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, groupby
from typing import Final, NamedTuple

from standings import stores
from standings.aws.dynamodb.scores import Addition, DamagedItem, ItemChange, NewReceipt, Receipt, Rewrite, Scores
from standings.catalog import BoardCatalog
from standings.domain import members
from standings.domain.boards import MAX_UNITS, Boards, Family, family_of
from standings.domain.coverage import BoardRecord
from standings.domain.events import Event, RefusedEvent, Rule, expired_board, limits_of, other_content, parse_event
from standings.domain.members import EventPart, History, Image
from standings.domain.scoring import decimal_text
from standings.domain.windows import DAY
from standings.runtime.clock import OUT_OF_TIME, Backoff, Clock
from standings.stores import MAX_TRANSACTION_BYTES, MemberKey

MOST_WHOLE_BYTES: Final = MAX_TRANSACTION_BYTES
"""The most bytes of a transaction whose items are written whole. A larger one has patches, which take more time."""
Images = Mapping[MemberKey, Image | None]
Correct = Callable[[Event, int | None, Backoff], bool]
"""Applies a correction: `corrections.Corrections.apply`."""


class QueueMessage(NamedTuple):
    """A message from the queue. `at_filled_in` says that the producer sent no `at` (as for `parse_event`).

    In milliseconds since 1970: `sent` is when it came to the queue. `refused_since` is when it first came to the
    writer, if it was refused then and is replayed now. An event of `history` also counts in periods that have closed.
    """

    id: str
    body: str
    at_filled_in: bool | str = False
    refused_since: int | None = None
    sent: int | None = None
    history: bool = False

    @property
    def first_sent(self) -> int | None:
        """When the message was first sent, as far as is known: a replay gets to the queue again."""
        return min((at for at in (self.sent, self.refused_since) if at is not None), default=None)


@dataclass(slots=True)
class WriteResult:
    """The result of a batch. `failed` holds the ids of messages to deliver again, each with the reason.

    So does `waiting`: corrections that came before their events.

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
    waiting: dict[str, str] = field(default_factory=dict)


class Writer:
    """Applies batches of messages: one transaction holds the receipts of some events and the changes of their items.

    An event that already has a receipt was applied before: it is dropped, and the others are applied. It counts again
    only if all its members were removed since (`counts_again`). Items are read first (half a read unit each), unless
    their board keeps no buckets and all its metrics add up.
    """

    def __init__(self, catalog: BoardCatalog, scores: Scores, clock: Clock, correct: Correct) -> None:
        self.catalog = catalog
        self.scores = scores
        self.clock = clock
        self._correct_event = correct

    def write(self, messages: Sequence[QueueMessage], deadline: float) -> WriteResult:
        """Apply a batch until the deadline, in seconds of the monotonic clock. Report the rest as failed."""
        result = WriteResult()
        events: dict[str, Event] = {}
        message_of: dict[str, QueueMessage] = {}
        others: list[tuple[QueueMessage, Event]] = []
        for message in messages:
            try:
                now = self.clock.now()
                event = parse_event(message.body, self.catalog.boards, now, at_filled_in=message.at_filled_in)
                _check_age(message, event, now)
                event = replace(event, history=True) if message.history else event
                first = events.setdefault(event.id, event)
                if first is event:
                    message_of[event.id] = message
                elif event.digest != first.digest and event.corrects is None and first.corrects is None:
                    others.append((message, event))
                else:
                    _check_content(event, first.digest)
                    result.duplicates += 1
                    # If the event counts again, the copy that was sent last decides.
                    message_of[event.id] = max(message_of[event.id], message, key=lambda one: one.first_sent or 0)
            except RefusedEvent as refusal:
                result.refused.append((message, refusal))
            except Exception as error:  # noqa: BLE001 - a body that breaks the parser must not stop the others
                internal = RefusedEvent("internal", f"body: cannot be read: {error!r}")
                internal.__cause__ = error
                result.refused.append((message, internal))
        for group in transactions(event for event in events.values() if event.corrects is None):
            by_id = {event.id: event for event in group}
            _Transaction(self, by_id, message_of, result).run(self.clock.backoff(deadline))
        # Those after the events of the same batch, in the order in which they were sent.
        corrections = [event for event in events.values() if event.corrects is not None]
        for event in sorted(corrections, key=lambda one: message_of[one.id].sent or 0):
            self._correct(event, message_of[event.id], result, self.clock.backoff(deadline))
        if others:
            self._write_others(others, result, self.clock.backoff(deadline))
        if result.refused:
            self._remember_refusals(result, self.clock.backoff(deadline))
        return result

    def _correct(self, event: Event, message: QueueMessage, result: WriteResult, backoff: Backoff) -> None:
        try:
            if self._correct_event(event, message.first_sent, backoff):
                result.applied += 1
            else:
                result.duplicates += 1
        except NotCountedYetError as error:
            result.waiting[message.id] = str(error)
        except stores.StoreUnavailableError as error:
            result.failed[message.id] = str(error)
        except DamagedItem as damage:
            result.refused.append((message, RefusedEvent("damaged", f"member: {damage}", event.id)))
        except RefusedEvent as refusal:
            result.refused.append((message, refusal))

    def _write_others(
        self, others: Sequence[tuple[QueueMessage, Event]], result: WriteResult, backoff: Backoff
    ) -> None:
        """Apply events that have the id of another event of their batch, but not its content.

        Of a corrected event two contents are known: the first, and the one that counts now. Only the latter may count
        again. A known one is dropped, and any other is refused.
        """
        events: dict[str, Event] = {}
        message_of: dict[str, QueueMessage] = {}
        try:
            receipts = backoff.retry(self.scores.receipts, {event.id for _, event in others})
        except stores.StoreUnavailableError as error:
            result.failed.update((message.id, str(error)) for message, _ in others)
            return
        for message, event in others:
            receipt = receipts.get(event.id)
            if receipt is None or event.digest not in (receipt.digest, receipt.current):
                result.refused.append((message, RefusedEvent("id", other_content(event.id), event.id)))
            elif event.digest == receipt.current and events.setdefault(event.id, event) is event:
                message_of[event.id] = message
            else:
                result.duplicates += 1
        for group in transactions(events.values()):
            _Transaction(self, {event.id: event for event in group}, message_of, result).run(backoff)

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
                    backoff.check()
                    backoff.retry(self.scores.refuse, event_id, str(refusal))
                result.refused.append((message, refusal))
            except stores.StoreUnavailableError as error:
                result.failed[message.id] = str(error)


class NotCountedYetError(Exception):
    """The event of a correction has not counted: the correction has to be delivered again."""


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
    # Events that count again, because their members were removed, and the receipts that they replace.
    again: dict[str, Receipt] = field(default_factory=dict)
    started: bool = False
    # The records of the boards of history, which must be as they were read.
    records: Mapping[str, BoardRecord] = field(default_factory=dict)
    # The records of all boards.
    boards: Mapping[str, BoardRecord] = field(default_factory=dict)
    # Whether the items are too large together to be written whole.
    patches: bool = False

    def run(self, backoff: Backoff) -> None:
        try:
            while self.events:
                backoff.check()
                try:
                    backoff.retry(self._attempt, backoff)
                except DamagedItem as damage:
                    # Only the events of its member: others must not wait for its repair.
                    for event in [one for one in self.events.values() if (damage.board, damage.member) in one.items]:
                        self._refuse(event, RefusedEvent("damaged", f"member: {damage}", event.id))
        except stores.StoreUnavailableError as error:
            self.result.failed.update((self.message_of[event_id].id, str(error)) for event_id in self.events)
        except stores.StoreRefusedError as error:
            self._refused_by_store(error, backoff)

    def _refuse_leaving(self, leaving: set[str]) -> None:
        """Refuse the events of boards that are being deleted: what they count would be removed with the board."""
        for event in list(self.events.values()):
            if (board := next((update.board for update in event.updates if update.board in leaving), None)) is not None:
                detail = f"board: {board!r} is being deleted: replay the event once that has ended"
                self._refuse(event, RefusedEvent("deleting", detail, event.id))

    def _refuse_ended(self) -> None:
        """Refuse the events of boards that have ended. Those that counted before are duplicates."""
        now = self.writer.clock.now()
        ended = {board: record.ends for board, record in self.boards.items() if record.has_ended(now)}
        late = [event for event in self.events.values() if any(one.board in ended for one in event.updates)]
        receipts = self.writer.scores.receipts(event.id for event in late) if late else {}
        for event in late:
            receipt = receipts.get(event.id)
            if receipt is not None and event.digest in (receipt.digest, receipt.current):
                self._drop(event)
                continue
            board = next(one.board for one in event.updates if one.board in ended)
            self._refuse(event, expired_board(board, ended[board], event.id))

    def _read_items(self) -> None:
        """Register the boards, and read the items that cannot be added to without reading them."""
        records = self.writer.catalog.register(one.board for event in self.events.values() for one in event.updates)
        self.boards = records
        self._refuse_ended()
        self._refuse_leaving({board for board, record in records.items() if record.is_being_deleted})
        of_history = (event for event in self.events.values() if event.history)
        self.records = {one.board: records[one.board] for event in of_history for one in event.updates}
        updates = [update for event in self.events.values() for update in event.updates]
        families = {update.board: family_of(self.writer.catalog.boards, update.board) for update in updates}
        to_read = sorted({(one.board, one.member) for one in updates if one.sets or families[one.board].reads_items})
        if to_read:
            images = self.writer.scores.images(to_read)
            self.images.update((key, images.get(key)) for key in to_read)
        self.started = True

    def _attempt(self, backoff: Backoff) -> None:
        """Try to apply the events; drop those that do not fit. StoreUnavailableError if the next try has to wait."""
        if not self.started:
            self._read_items()
        else:
            self._refuse_ended()
        now = self.writer.clock.now()
        plan, receipts = self._planned(now, backoff)
        events, changes = list(self.events.values()), list(plan.changes.values())
        checks = list(self.records.values())
        conflicts = self.writer.scores.apply(receipts, changes, now, records=checks) if events else []
        if not conflicts:
            self._applied()
        if invalid := [each.message for each in conflicts if each.reason is stores.CancelReason.INVALID]:
            raise stores.StoreRefusedError(invalid[0])
        self.result.conflicts += any(each.reason is stores.CancelReason.BUSY for each in conflicts)
        known: list[tuple[Event, Receipt | None]] = []
        for conflict in conflicts:
            changed = conflict.position - len(receipts)
            if conflict.reason is stores.CancelReason.BUSY:
                continue
            if changed < 0:
                known.append((events[conflict.position], conflict.receipt))
            elif changed >= len(changes):
                self.started = False  # A period of the board may be settled since its record was read.
            else:
                item = list(plan.changes)[changed]
                self.images[item] = conflict.image
                self.certain.add(item)
                self.checked.discard(item)
        if known:
            self._know(known)
        if len(known) < len(conflicts):
            raise stores.StoreUnavailableError(conflicts[0].message)

    def _planned(self, now: int, backoff: Backoff) -> "tuple[Plan, list[NewReceipt]]":
        """Plan changes and receipts that one transaction can hold. Raises StoreRefusedError if there are none."""
        plan = self._plan(now, backoff)
        receipts = [_new_receipt(event, plan, self.again.get(event.id)) for event in self.events.values()]
        size = self.writer.scores.bytes_of(receipts, plan.changes.values())
        if not self.patches and size > MOST_WHOLE_BYTES:
            self.patches = True
            return self._planned(now, backoff)
        if self.patches and size > MAX_TRANSACTION_BYTES:
            message = f"expected at most {MAX_TRANSACTION_BYTES} bytes in a transaction, got {size}"
            raise stores.StoreRefusedError(message)
        return plan, receipts

    def _plan(self, now: int, backoff: Backoff) -> "Plan":
        """Plan the change of every item. Refuse each event that an item cannot take, and plan again without it.

        Makes at most two requests for each item: one for its image, one for the receipts of its events.
        """
        while not backoff.expired:
            for event_id, receipt in list(self.again.items()):
                # A member may have changed since the last attempt.
                if not self._counts_again(self.events[event_id], receipt):
                    self._drop(self.events[event_id])
            as_read = {item for event_id in self.again for item in self.events[event_id].items}
            try:
                events, boards = self.events.values(), self.writer.catalog.boards
                return plan_changes(boards, events, self.images, now, as_read, self.boards, patches=self.patches)
            except UnfitEventError as unfit:
                if unfit.item not in self.certain:
                    self.images[unfit.item] = self.writer.scores.image(unfit.item)
                    self.certain.add(unfit.item)
                elif unfit.item not in self.checked:
                    # Drop events that have receipts: near the bounds a duplicate does not fit, but is no error.
                    on_item = [event for event in self.events.values() if unfit.item in event.items]
                    receipts = self.writer.scores.receipts(event.id for event in on_item)
                    self._know([(event, receipts[event.id]) for event in on_item if event.id in receipts])
                    self.checked.add(unfit.item)
                else:
                    self._refuse(self.events[str(unfit.event_id)], unfit)
        raise stores.StoreUnavailableError(OUT_OF_TIME)

    def _know(self, known: Iterable[tuple[Event, Receipt | None]]) -> None:
        """Drop events that have a receipt, but for those that count again. Refuse those with another digest."""
        same: list[tuple[Event, Receipt]] = []
        for event, receipt in known:
            try:
                if receipt is None:
                    self.again.pop(event.id, None)  # its old receipt has expired meanwhile
                else:
                    _check_content(event, receipt.digest, receipt.current)
                    same.append((event, receipt))
            except RefusedEvent as refusal:
                self._refuse(event, refusal)
        # Most duplicates were sent before the event counted, or soon after. Only for the others are items read.
        again = (
            event
            for event, receipt in same
            if members.may_count_again(receipt.stamp, self.message_of[event.id].first_sent)
        )
        unread = {item for event in again for item in event.items} - self.certain
        if unread:
            images = self.writer.scores.images(sorted(unread), consistent=True)
            self.images.update((item, images.get(item)) for item in unread)
            self.certain |= unread
        for event, receipt in same:
            if self._counts_again(event, receipt):
                self.again[event.id] = receipt
            else:
                self._drop(event)

    def _counts_again(self, event: Event, receipt: Receipt) -> bool:
        if receipt.current != event.digest:  # It was taken back, or other content counts in its place.
            return False
        images = [self.images.get(item) for item in event.items]
        return members.counts_again(images, receipt.stamp, self.message_of[event.id].first_sent)

    def _drop(self, event: Event) -> None:
        """Drop a duplicate."""
        del self.events[event.id]
        self.again.pop(event.id, None)
        self.result.duplicates += 1

    def _refused_by_store(self, error: stores.StoreRefusedError, backoff: Backoff) -> None:
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
        self.again.pop(event.id, None)
        self.result.refused.append((self.message_of[event.id], refusal))


def _check_age(message: QueueMessage, event: Event, now: int) -> None:
    """Refuse a message whose receipt may have expired, however it came back to the queue."""
    if message.refused_since is not None and now - message.refused_since > stores.REPLAYABLE_DAYS * DAY:
        reason = f"first received more than {stores.REPLAYABLE_DAYS} days ago: it might count twice"
        raise RefusedEvent("age", reason, event.id)


def _new_receipt(event: Event, plan: "Plan", replaces: Receipt | None) -> NewReceipt:
    """The receipt of an event. One that counts again after a correction keeps both contents known."""
    digest, correction = (event.digest, None) if replaces is None else (replaces.digest, replaces.correction)
    content = plan.contents[event.id]
    return NewReceipt(event.id, digest, plan.stamp, event.id in plan.superseded, replaces, content, correction)


def _check_content(event: Event, *known: bytes | None) -> None:
    """Raise RefusedEvent if an event has other content than the one that counted first, or counts now."""
    if event.digest not in known:
        raise RefusedEvent("id", other_content(event.id), event.id)


def transactions(events: Iterable[Event], most: int = stores.MAX_ACTIONS) -> list[list[Event]]:
    """Group events so that each group fits one transaction: a receipt for each event, a change for each item."""
    events = list(events)
    popularity = Counter(item for event in events for item in event.items)
    shared = {event.id: sorted((-popularity[item], item) for item in event.items) for event in events}
    groups: list[list[Event]] = []
    items: set[MemberKey] = set()  # those of the last group
    events.sort(key=lambda event: shared[event.id])
    for _, sharing in groupby(events, key=lambda event: shared[event.id][0]):
        together = list(sharing)
        if not groups or _size(groups[-1], items, together) > most >= _size([], set(), together):
            groups.append([])
            items = set()
        for event in together:
            if _size(groups[-1], items, [event]) > most:
                groups.append([])
                items = set()
            groups[-1].append(event)
            items.update(event.items)
    return groups


def _size(events: Sequence[Event], items: set[MemberKey], more: Sequence[Event]) -> int:
    # With history, each board's record is checked.
    boards = {board for event in (*events, *more) if event.history for board, _ in event.items}
    return len(events) + len(more) + len(items.union(*(event.items for event in more))) + len(boards)


def plan_changes(
    boards: Boards,
    events: Iterable[Event],
    images: Images,
    now: int,
    as_read: Collection[MemberKey],
    records: Mapping[str, BoardRecord],
    *,
    patches: bool,
) -> "Plan":
    """Plan the change of each item of the events. Raise UnfitEventError for the first event that does not fit.

    `records` are those of their boards. The items in `as_read` are changed only if they are still as they were read.
    With `patches`, items are not written whole, unless one has so many changes that they fit into no expression.
    """
    events = list(events)
    by_item = _by_item(events, records)
    stamp = stamp_of((images.get(item) for item in by_item), now)
    changes, superseded = dict[MemberKey, ItemChange](), set[str]()
    counted: dict[str, dict[MemberKey, Mapping[str, int] | str]] = {event.id: {} for event in events}
    for item, parts in by_item.items():
        family, image = family_of(boards, item[0]), images.get(item)
        _check_parts(family, item, images, parts, stamp)
        added = [_added(family, part, stamp) for part in parts]
        for part, one in zip(parts, added, strict=True):
            counted[part.event_id][item] = one
        addition = None if item in as_read else _addition(family, item, parts, added, image, stamp)
        if addition is not None:
            changes[item] = addition._replace(expiry=records[item[0]].expiry)
            continue
        after, changed, older = _count(family, item, parts, image, stamp)
        superseded |= older
        whole = replace(after, expiry=records[item[0]].expiry)
        # If nothing changed, the item is only checked.
        changes[item] = (
            rewrite(family, image, whole, changed, stamp, patches=patches) if changed else Rewrite(after, image)
        )
    return Plan(stamp, changes, superseded, {event.id: _content(event, counted[event.id]) for event in events})


def _check_parts(family: Family, item: MemberKey, images: Images, parts: Sequence[EventPart], stamp: int) -> None:
    """Refuse events of a member that is not registered. Of history, also what may count in a settled period.

    That is so as long as the board's record does not say what is settled.
    """
    image = images.get(item)
    if family.members == "registered" and item in images and (image is None or image.removed):
        message = f"member: {item[1]!r} is not registered on board {item[0]!r}"
        raise UnfitEventError(parts[0].event_id, item, "unregistered", message)
    for part in parts:
        if part.history is not None and part.history.settled is None:
            try:
                members.counted_in(family, part, stamp)
            except members.UnknownSettlementError as error:
                raise UnfitEventError(part.event_id, item, "at", f"at: {error}") from error


def _by_item(events: Iterable[Event], records: Mapping[str, BoardRecord]) -> dict[MemberKey, list[EventPart]]:
    """What events add to each item, in their order."""
    by_item: dict[MemberKey, list[EventPart]] = {}
    for event in events:
        for update in event.updates:
            history = History(records[update.board].settled) if event.history else None
            part = EventPart(event.id, event.at, update.amounts, update.notes, update.sets, history)
            by_item.setdefault((update.board, update.member), []).append(part)
    return by_item


class Plan(NamedTuple):
    """How events change items: one stamp for all items and receipts, in milliseconds, and the change of each item.

    `superseded` are the ids of events that set a number which is older than the one there. `contents` has, by event,
    the text for its receipt that says what it counts (`domain.corrections`).
    """

    stamp: int
    changes: Mapping[MemberKey, ItemChange]
    superseded: Collection[str]
    contents: Mapping[str, str]


class UnfitEventError(RefusedEvent):
    """The image that was read shows that the item cannot take an event."""

    def __init__(self, event_id: str, item: MemberKey, rule: Rule, message: str) -> None:
        super().__init__(rule, message, event_id)
        self.item = item


MAX_EXPRESSION: Final = 4_096
"""The most bytes of an expression in DynamoDB. An addition removes as many accumulators as fit. If not even its amounts
fit, the item is rewritten. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html"""
_FIXED: Final = 100  # Bytes that every expression has, at most
_VALUE: Final = len(", :10000 ")  # Bytes that a name needs in addition to its own, at most
_SET: Final = len(",#00=:00")  # Bytes of an attribute that a patch sets
_REMOVED: Final = len(",#00")  # Bytes of one that it removes
_MOST_ATTRIBUTES: Final = 4  # Of an accumulator: its number, its tie key, its note, its set key or its companions
_BOTH: Final = 1  # More, if some have both of the last


def _added(family: Family, part: EventPart, stamp: int) -> Mapping[str, int] | str:
    """What a part adds to each accumulator; a word that says why it cannot be corrected, if it does not just add."""
    if part.sets:
        return members.SETS_TOTALS
    if any(family.metrics[name].aggregate != "sum" for name in part.amounts):
        return members.HAS_BESTS
    return members.counted_in(family, part, stamp)


def _content(event: Event, added: Mapping[MemberKey, Mapping[str, int] | str]) -> str:
    """The text for an event's receipt that says what it counts, or why it cannot be corrected."""
    counted: dict[MemberKey, Mapping[str, int]] = {}
    for item, one in added.items():
        if isinstance(one, str):
            return one
        counted[item] = one
    return members.encode_content(event.id, members.Content(event.at, event.digest_at, counted))


def _count(
    family: Family, item: MemberKey, parts: Sequence[EventPart], image: Image | None, stamp: int
) -> tuple[Image, set[str], set[str]]:
    """The image with some events counted, the accumulators that changed, and the ids of superseded events."""
    after = image if image is not None else members.new_image(*item, stamp)
    changed: set[str] = set()
    superseded: set[str] = set()
    for part in sorted(parts, key=members.set_key) if any(part.sets for part in parts) else parts:
        one = part
        if part.sets:
            after, one, is_older = _with_differences(family, item, after, part)
            changed.update(family.metrics[name].total() for name in one.amounts)
            after, bests, is_older_best = members.set_bests(family, after, part, stamp)
            changed.update(bests)
            superseded |= {part.event_id} if is_older or is_older_best else set()
        after, names = members.apply_event(family, after, one, stamp)
        if (beyond := members.beyond_bounds(family, after, names)) is not None:
            raise UnfitEventError(one.event_id, item, "bounds", f"metrics: {beyond} would go beyond ±(2^53 - 1) units")
        changed.update(names)
    return after, changed, superseded


def rewrite(
    family: Family, before: Image | None, after: Image, changed: set[str], stamp: int, *, patches: bool
) -> Rewrite:
    """The item with some events counted, without old accumulators.

    A patch merges and removes as many old accumulators as its expression has room for, which are more than the events
    add. If it has no room for what the events change, the item is written whole.
    """
    room = _room(after if before is None else before, after, changed) if patches else -1
    if whole := room < 0:
        after, merged = members.late_merged(family, after, stamp)
        gone = members.expired(family, after, stamp)
    else:
        most = _MOST_ATTRIBUTES + (_BOTH if after.companions.keys() & after.set_keys.keys() else 0)
        merge_bytes = most * (_SET + _REMOVED)
        after, merged = members.late_merged(family, after, stamp, room // merge_bytes)
        room -= merge_bytes * len(merged)
        gone = members.expired(family, after, stamp)[: room // (most * _REMOVED)]
    return Rewrite(members.rewritten(after, stamp, [*merged, *gone]), before, whole)


def _room(before: Image, after: Image, changed: Iterable[str]) -> int:
    """The bytes that an expression has left after all attributes of the accumulators that changed."""
    texts = [old.keys() | new.keys() for old, new in zip(before.texts, after.texts, strict=True)]
    return MAX_EXPRESSION - _FIXED - _SET * sum(1 + sum(name in names for names in texts) for name in changed)


def _with_differences(family: Family, item: MemberKey, image: Image, part: EventPart) -> tuple[Image, EventPart, bool]:
    """Turn the totals that an event sets into amounts to add: the image with the event's set key, and the changed part.

    A total that is older than the one that was set last is left out: it changes nothing. The last value says whether
    there was one. Bests that the event sets are left out.
    """
    key, amounts, is_older = members.set_key(part), dict[str, int](), False
    for name, total in part.amounts.items():
        metric = family.metrics[name]
        if metric.aggregate != "sum":
            continue
        if key < image.set_keys.get(metric.total(), ""):
            is_older = True
            continue
        image = replace(image, set_keys={**image.set_keys, metric.total(): key})
        before = image.values.get(metric.total(), 0)
        amounts[name] = change = total - before
        if metric.is_beyond_limits(change):
            steps = (decimal_text(units, metric.precision) for units in (change, before, total))
            got = "got a change of {} (from {} to {})".format(*steps)
            message = f"metrics.{name}: expected a change of {limits_of(metric, item[0], change)}, {got}"
            raise UnfitEventError(part.event_id, item, "limit", message)
    return image, part._replace(amounts=amounts, sets=False), is_older


def _addition(
    family: Family,
    item: MemberKey,
    counted: Sequence[EventPart],
    added: Iterable[Mapping[str, int] | str],
    image: Image | None,
    stamp: int,
) -> Addition | None:
    """The addition of some events, and what each adds, to an item; None if it has to be rewritten."""
    if not all(family.metrics[name].adds_up and not one.sets for one in counted for name in one.amounts):
        return None
    if image is not None and image.is_left_over:
        return None
    before = image if image is not None else members.new_image(*item, stamp)
    abs_total = sum(abs(units) for one in counted for units in one.amounts.values())
    if before.abs_total + abs_total > MAX_UNITS:
        return None
    adds = members.additions(one for one in added if not isinstance(one, str))
    if any(one is not None and one.names_first for one in map(family.accumulator, adds)):
        return None  # So that late buckets are merged
    # An addition writes no tie key. If there is one, another definition of ties wrote it.
    tie_keys = [name for name in adds if image is None or name in image.tie_keys]
    room = MAX_EXPRESSION - _FIXED - _names_bytes(adds) - _names_bytes(tie_keys)
    if room < 0:
        return None
    removes = _first_that_fit(before, members.expired(family, before, stamp), room)
    texts_removed = [[name for name in removes if name in of] for of in before.texts]
    texts_removed[0] = [*tie_keys, *texts_removed[0]]
    return Addition(*item, adds, removes, texts_removed, stamp, abs_total, known=family.members == "registered")


def _first_that_fit(image: Image, names: Sequence[str], room: int) -> list[str]:
    """The first accumulators whose removal needs at most `room` bytes, with the texts beside them."""
    sizes = (_names_bytes([name, *(name for of in image.texts if name in of)]) for name in names)
    return [name for name, used in zip(names, accumulate(sizes), strict=True) if used <= room]


def _names_bytes(names: Iterable[str]) -> int:
    """The bytes that names need in an expression, at most."""
    return sum(len(name) + _VALUE for name in names)


def stamp_of(images: Iterable[Image | None], now: int) -> int:
    """The stamp of a transaction. It never goes back on an item: the latest clock that wrote it decides what is late.

    It is one for all items and receipts, so a later removal of any of them has a later stamp than the receipts.
    """
    return max([now, *(image.written_at_ms for image in images if image is not None)])
