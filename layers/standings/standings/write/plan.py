"""Plans how events change members' items, given the images that were read of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from standings.domain.boards.definitions import MAX_UNITS, Boards, Family
from standings.domain.boards.names import family_of
from standings.domain.events.event import Event, RefusedEvent, Rule
from standings.domain.members.counting import Counted, additions, beyond_bounds, counting, expired
from standings.domain.members.member_item import Image, new_image, rewritten
from standings.ports.scores import Addition, ItemChange, MemberKey, Rewrite

MAX_REMOVED: Final = 100  # Accumulators that one addition removes: its expression must fit in DynamoDB's 4 KB
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
    only_known = family.members == "registered"
    if only_known and item in images and (image is None or image.removed):
        message = f"member: {item[1]!r} is not registered on board {item[0]!r}"
        raise UnfitEventError(counted[0].event_id, item, "unregistered", message)
    written_at_ms = _stamp(image, now)
    abs_total = sum(abs(units) for one in counted for units in one.amounts.values())
    adds_up = all(family.metrics[name].adds_up for one in counted for name in one.amounts)
    if adds_up and (image.abs_total if image is not None else 0) + abs_total <= MAX_UNITS:
        removes = expired(family, image, written_at_ms)[:MAX_REMOVED] if image is not None else []
        adds = additions(family, counted, written_at_ms)
        # An addition writes no tie key. If there is one, it is left from another definition of ties.
        tie_keys_removed = [name for name in (*adds, *removes) if image is None or name in image.tie_keys]
        notes_removed = [name for name in removes if image is not None and name in image.notes]
        return Addition(*item, adds, removes, tie_keys_removed, notes_removed, written_at_ms, abs_total, only_known)
    after = image if image is not None else new_image(*item, written_at_ms)
    changed = False
    for one in counted:
        after, names = counting(family, after, one, written_at_ms)
        if (beyond := beyond_bounds(family, after, names)) is not None:
            raise UnfitEventError(one.event_id, item, "bounds", f"metrics: {beyond} would go beyond ±(2^53 - 1) units")
        changed = changed or bool(names)
    if changed:
        after = rewritten(after, written_at_ms, expired(family, after, written_at_ms))
    return Rewrite(after, image.version if image is not None else None)


def _stamp(image: Image | None, now: int) -> int:
    """The stamp of a change. It never goes back on an item: the latest clock that wrote it decides what is late."""
    return max(now, image.written_at_ms) if image is not None else now
