"""Plans what events do to members' items, from the images that are known of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from standings.domain.boards.definitions import MAX_UNITS, Boards, Family
from standings.domain.events.event import Event, Rule
from standings.domain.members.counting import Counted, additions, beyond_bounds, counting, expired
from standings.domain.members.member_item import Image, new_image, rewritten
from standings.ports.scores import Addition, ItemChange, MemberKey, Rewrite
from standings.write.batching import items_of

MAX_REMOVED: Final = 100
"""Old accumulators removed by one addition, so that its expression stays within DynamoDB's 4 KB."""

Images = Mapping[MemberKey, Image | None]


class UnfitEventError(Exception):
    """An event that an item cannot take, going by the image that is known of it."""

    def __init__(self, event: Event, item: MemberKey, rule: Rule, message: str) -> None:
        super().__init__(message)
        self.event = event
        self.item = item
        self.rule = rule


def family_of(boards: Boards, board: str) -> Family:
    """The family of a board that an accepted event has named."""
    family = boards.family(board)
    if family is None:  # parse_event lets no such board through
        raise LookupError(board)
    return family


def plan_changes(boards: Boards, events: Iterable[Event], images: Images, now: int) -> list[ItemChange]:
    """The change of every item that the events touch; UnfitEventError for the first event that an item cannot take."""
    by_item: dict[MemberKey, list[Event]] = {}
    for event in events:
        for item in items_of(event):
            by_item.setdefault(item, []).append(event)
    return [_change(family_of(boards, item[0]), item, touching, images, now) for item, touching in by_item.items()]


def _change(family: Family, item: MemberKey, events: Sequence[Event], images: Images, now: int) -> ItemChange:
    image = images.get(item)
    only_known = family.members == "registered"
    if only_known and item in images and (image is None or image.removed):
        message = f"member: {item[1]!r} is not registered on board {item[0]!r}"
        raise UnfitEventError(events[0], item, "unregistered", message)
    written_at_ms = _stamp(image, now)
    counted = [Counted(event.id, event.at, _amounts(event, item)) for event in events]
    abs_total = sum(abs(units) for one in counted for units in one.amounts.values())
    adds_up = all(family.metrics[name].adds_up for one in counted for name in one.amounts)
    if adds_up and (image.abs_total if image is not None else 0) + abs_total <= MAX_UNITS:
        removes = expired(family, image, written_at_ms)[:MAX_REMOVED] if image is not None else []
        adds = additions(family, counted, written_at_ms)
        # A number that is added to without a mark has none: one that it has is of other rules for ties.
        tie_keys_removed = [name for name in (*adds, *removes) if image is None or name in image.tie_keys]
        return Addition(*item, adds, removes, tie_keys_removed, written_at_ms, abs_total, only_known)
    before = image if image is not None else new_image(*item, written_at_ms)
    after, changed = before, False
    for event, one in zip(events, counted, strict=True):
        after, names = counting(family, after, one, written_at_ms)
        beyond = beyond_bounds(family, after, names)
        if beyond is not None:
            raise UnfitEventError(event, item, "bounds", f"metrics: {beyond} would go beyond ±(2^53 - 1) units")
        changed = changed or bool(names)
    if changed:
        after = rewritten(after, written_at_ms, expired(family, after, written_at_ms))
    return Rewrite(after, image.version if image is not None else None)


def _stamp(image: Image | None, now: int) -> int:
    """The stamp of a change. It never goes back on an item: the newest clock that wrote it decides what is late."""
    return max(now, image.written_at_ms) if image is not None else now


def _amounts(event: Event, item: MemberKey) -> Mapping[str, int]:
    return next(update.amounts for update in event.updates if (update.board, update.member) == item)
