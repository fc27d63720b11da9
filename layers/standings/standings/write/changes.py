"""How events change members' items: what is added to them, or the next image of each."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from standings.aws.dynamodb.scores import Addition, ItemChange, Rewrite
from standings.domain.boards import MAX_UNITS, Boards, Family, family_of
from standings.domain.corrections import HAS_BESTS, SETS_TOTALS, Content, encode_content
from standings.domain.events import Event, RefusedEvent, Rule, limits_of
from standings.domain.members import (
    EventPart,
    History,
    Image,
    additions,
    apply_event,
    beyond_bounds,
    counted_in,
    expired,
    late_merged,
    new_image,
    rewritten,
    set_key,
)
from standings.domain.scoring import decimal_text
from standings.stores import MemberKey

Images = Mapping[MemberKey, Image | None]


def plan_changes(
    boards: Boards,
    events: Iterable[Event],
    images: Images,
    now: int,
    as_read: Collection[MemberKey] = (),
    settled: Mapping[str, History] = {},
    *,
    patches: bool = False,
) -> "Plan":
    """Plan the change of each item of the events. Raise UnfitEventError for the first event that does not fit.

    `settled` has what is settled of each board that an event of history names. The items in `as_read` are changed only
    if they are still as they were read. With `patches`, items are not written whole, unless one has so many changes
    that they fit into no expression.
    """
    events = list(events)
    by_item = _by_item(events, settled)
    stamp = stamp_of((images.get(item) for item in by_item), now)
    changes, superseded = dict[MemberKey, ItemChange](), set[str]()
    counted: dict[str, dict[MemberKey, Mapping[str, int] | str]] = {event.id: {} for event in events}
    for item, parts in by_item.items():
        family, image = family_of(boards, item[0]), images.get(item)
        if family.members == "registered" and item in images and (image is None or image.removed):
            message = f"member: {item[1]!r} is not registered on board {item[0]!r}"
            raise UnfitEventError(parts[0].event_id, item, "unregistered", message)
        added = [_added(family, part, stamp) for part in parts]
        for part, one in zip(parts, added, strict=True):
            counted[part.event_id][item] = one
        addition = None if item in as_read else _addition(family, item, parts, added, image, stamp)
        if addition is not None:
            changes[item] = addition
            continue
        after, changed, older = _count(family, item, parts, image, stamp)
        superseded |= older
        # If nothing changed, the item is only checked.
        changes[item] = (
            rewrite(family, image, after, changed, stamp, patches=patches) if changed else Rewrite(after, image)
        )
    return Plan(stamp, changes, superseded, {event.id: _content(event, counted[event.id]) for event in events})


def _by_item(events: Iterable[Event], settled: Mapping[str, History]) -> dict[MemberKey, list[EventPart]]:
    """What events add to each item, in their order."""
    by_item: dict[MemberKey, list[EventPart]] = {}
    for event in events:
        for update in event.updates:
            history = settled[update.board] if event.history else None
            part = EventPart(event.id, event.at, update.amounts, update.notes, update.sets, history)
            by_item.setdefault((update.board, update.member), []).append(part)
    return by_item


class Plan(NamedTuple):
    """How events change items: one stamp for all items and receipts, in milliseconds, and the change of each item.

    `superseded` are the ids of events that set a total which is older than the one there. `contents` has, by event, the
    text for its receipt that says what it counts (`domain.corrections`).
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


def _added(family: Family, part: EventPart, stamp: int) -> Mapping[str, int] | str:
    """What a part adds to each accumulator; a word that says why it cannot be corrected, if it does not just add."""
    if part.sets:
        return SETS_TOTALS
    if any(family.metrics[name].aggregate != "sum" for name in part.amounts):
        return HAS_BESTS
    return counted_in(family, part, stamp)


def _content(event: Event, added: Mapping[MemberKey, Mapping[str, int] | str]) -> str:
    """The text for an event's receipt that says what it counts, or why it cannot be corrected."""
    counted: dict[MemberKey, Mapping[str, int]] = {}
    for item, one in added.items():
        if isinstance(one, str):
            return one
        counted[item] = one
    return encode_content(event.id, Content(event.at, event.digest_at, counted))


def _count(
    family: Family, item: MemberKey, parts: Sequence[EventPart], image: Image | None, stamp: int
) -> tuple[Image, set[str], set[str]]:
    """The image with some events counted, the accumulators that changed, and the ids of superseded events."""
    after = image if image is not None else new_image(*item, stamp)
    changed: set[str] = set()
    superseded: set[str] = set()
    for part in sorted(parts, key=set_key) if any(part.sets for part in parts) else parts:
        one = part
        if part.sets:
            after, one = _with_differences(family, item, after, part)
            superseded |= {part.event_id} if len(one.amounts) < len(part.amounts) else set()
            changed.update(family.metrics[name].total() for name in one.amounts)
        after, names = apply_event(family, after, one, stamp)
        if (beyond := beyond_bounds(family, after, names)) is not None:
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
        after, merged = late_merged(family, after, stamp)
        gone = expired(family, after, stamp)
    else:
        merge_bytes = _MOST_ATTRIBUTES * (_SET + _REMOVED)
        after, merged = late_merged(family, after, stamp, room // merge_bytes)
        room -= merge_bytes * len(merged)
        gone = expired(family, after, stamp)[: room // (_MOST_ATTRIBUTES * _REMOVED)]
    return Rewrite(rewritten(after, stamp, [*merged, *gone]), before, whole)


def _room(before: Image, after: Image, changed: Iterable[str]) -> int:
    """The bytes that an expression has left after all attributes of the accumulators that changed."""
    texts = [old.keys() | new.keys() for old, new in zip(before.texts, after.texts, strict=True)]
    return MAX_EXPRESSION - _FIXED - _SET * sum(1 + sum(name in names for names in texts) for name in changed)


def _with_differences(family: Family, item: MemberKey, image: Image, part: EventPart) -> tuple[Image, EventPart]:
    """Turn the totals that an event sets into amounts to add: the image with the event's set key, and the changed part.

    A total that is older than the one that was set last is left out: it changes nothing.
    """
    key, amounts = set_key(part), dict[str, int]()
    for name, total in part.amounts.items():
        metric = family.metrics[name]
        if key < image.set_keys.get(metric.total(), ""):
            continue
        image = replace(image, set_keys={**image.set_keys, metric.total(): key})
        before = image.values.get(metric.total(), 0)
        amounts[name] = change = total - before
        if metric.is_beyond_limits(change):
            steps = (decimal_text(units, metric.precision) for units in (change, before, total))
            got = "got a change of {} (from {} to {})".format(*steps)
            message = f"metrics.{name}: expected a change of {limits_of(metric)} on board {item[0]!r}, {got}"
            raise UnfitEventError(part.event_id, item, "limit", message)
    return image, part._replace(amounts=amounts, sets=False)


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
    before = image if image is not None else new_image(*item, stamp)
    abs_total = sum(abs(units) for one in counted for units in one.amounts.values())
    if before.abs_total + abs_total > MAX_UNITS:
        return None
    adds = additions(one for one in added if not isinstance(one, str))
    if any(one is not None and one.names_first for one in map(family.accumulator, adds)):
        return None  # So that late buckets are merged
    # An addition writes no tie key. If there is one, another definition of ties wrote it.
    tie_keys = [name for name in adds if image is None or name in image.tie_keys]
    room = MAX_EXPRESSION - _FIXED - _names_bytes(adds) - _names_bytes(tie_keys)
    if room < 0:
        return None
    removes = _first_that_fit(before, expired(family, before, stamp), room)
    texts_removed = [[name for name in removes if name in of] for of in before.texts]
    texts_removed[0] = [*tie_keys, *texts_removed[0]]
    return Addition(*item, adds, removes, texts_removed, stamp, abs_total, known=family.members == "registered")


def _first_that_fit(image: Image, names: Iterable[str], room: int) -> list[str]:
    """The first accumulators whose removal needs at most `room` bytes, with the texts beside them."""
    fit = []
    for name in names:
        room -= _names_bytes([name, *(name for of in image.texts if name in of)])
        if room < 0:
            break
        fit.append(name)
    return fit


def _names_bytes(names: Iterable[str]) -> int:
    """The bytes that names need in an expression, at most."""
    return sum(len(name) + _VALUE for name in names)


def stamp_of(images: Iterable[Image | None], now: int) -> int:
    """The stamp of a transaction. It never goes back on an item: the latest clock that wrote it decides what is late.

    It is one for all items and receipts, so a later removal of any of them has a later stamp than the receipts.
    """
    return max([now, *(image.written_at_ms for image in images if image is not None)])
