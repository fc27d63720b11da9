"""Plans how events change members' items, given the images that were read of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from standings.domain.boards.definitions import MAX_UNITS, Boards, Family
from standings.domain.boards.names import family_of
from standings.domain.events.event import Event, RefusedEvent, Rule
from standings.domain.members.counting import Counted, additions, beyond_bounds, counting, expired, late_merged
from standings.domain.members.member_item import Image, new_image, rewritten
from standings.ports.scores import Addition, ItemChange, MemberKey, Rewrite

MAX_EXPRESSION: Final = 4_096
"""The most bytes of an expression in DynamoDB. An addition removes as many accumulators as fit. If not even its amounts
fit, the item is rewritten. https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Constraints.html"""
_FIXED: Final = 100  # Bytes that every expression has, at most
_VALUE: Final = len(", :10000 ")  # Bytes that a name needs beside itself, at most
Images = Mapping[MemberKey, Image | None]


class UnfitEventError(RefusedEvent):
    """An item cannot take an event, according to the image that was read of the item."""

    def __init__(self, event_id: str, item: MemberKey, rule: Rule, message: str) -> None:
        super().__init__(rule, message)
        self.event_id = event_id
        self.item = item


def plan_changes(boards: Boards, events: Iterable[Event], images: Images, now: int) -> dict[MemberKey, ItemChange]:
    """Plan the change of each item of the events. Raise UnfitEventError for the first event that does not fit."""
    by_item: dict[MemberKey, list[Counted]] = {}
    for event in events:
        for update in event.updates:
            counted = Counted(event.id, event.at, update.amounts, update.notes)
            by_item.setdefault((update.board, update.member), []).append(counted)
    return {item: _change(family_of(boards, item[0]), item, counted, images, now) for item, counted in by_item.items()}


def _change(family: Family, item: MemberKey, counted: Sequence[Counted], images: Images, now: int) -> ItemChange:
    image = images.get(item)
    if family.members == "registered" and item in images and (image is None or image.removed):
        message = f"member: {item[1]!r} is not registered on board {item[0]!r}"
        raise UnfitEventError(counted[0].event_id, item, "unregistered", message)
    written_at_ms = _stamp(image, now)
    abs_total = sum(abs(units) for one in counted for units in one.amounts.values())
    adds_up = all(family.metrics[name].adds_up for one in counted for name in one.amounts)
    if adds_up and (image.abs_total if image is not None else 0) + abs_total <= MAX_UNITS:
        addition = _addition(family, item, counted, image, written_at_ms, abs_total)
        if addition is not None:
            return addition
    after = image if image is not None else new_image(*item, written_at_ms)
    changed = False
    for one in counted:
        after, names = counting(family, after, one, written_at_ms)
        if (beyond := beyond_bounds(family, after, names)) is not None:
            raise UnfitEventError(one.event_id, item, "bounds", f"metrics: {beyond} would go beyond ±(2^53 - 1) units")
        changed = changed or bool(names)
    if changed:
        after, merged = late_merged(family, after, written_at_ms)
        after = rewritten(after, written_at_ms, [*merged, *expired(family, after, written_at_ms)])
    return Rewrite(after, image.version if image is not None else None)


def _addition(
    family: Family,
    item: MemberKey,
    counted: Sequence[Counted],
    image: Image | None,
    written_at_ms: int,
    abs_total: int,
) -> Addition | None:
    """The addition of some events to an item; None if it has to be rewritten."""
    adds = additions(family, counted, written_at_ms)
    if any(one is not None and one.names_first for one in map(family.accumulator, adds)):
        return None  # So that late buckets are merged
    # An addition writes no tie key. If there is one, it is left from another definition of ties.
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
