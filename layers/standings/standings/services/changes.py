"""Plans what events do to members' items, from the images that are known of them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from standings.domain.boards import MAX_UNITS, Boards, Family
from standings.domain.events import Event
from standings.domain.members import Image, additions, beyond_bounds, expired
from standings.services.batching import items_of
from standings.services.store import ItemChange, MemberKey

MOST_REMOVED: Final = 100
"""Old accumulators removed by one write, so that its expression stays within DynamoDB's 4 KB."""

Images = Mapping[MemberKey, Image | None]


class BeyondBoundsError(Exception):
    """An event that would take a score of an item beyond ±(2^53 - 1) units, going by the image that is known of it."""

    def __init__(self, event: Event, item: MemberKey, message: str) -> None:
        super().__init__(message)
        self.event = event
        self.item = item


def family_of(boards: Boards, board: str) -> Family:
    """The family of a board that an accepted event has named."""
    family = boards.family(board)
    if family is None:  # parse_event lets no such board through
        raise LookupError(board)
    return family


def plan_changes(boards: Boards, events: Iterable[Event], images: Images, now: int) -> list[ItemChange]:
    """The change of every item that the events touch; BeyondBoundsError for the first event that goes too far."""
    by_item: dict[MemberKey, list[Event]] = {}
    for event in events:
        for item in items_of(event):
            by_item.setdefault(item, []).append(event)
    return [
        _change(family_of(boards, item[0]), item, touching, images.get(item), now) for item, touching in by_item.items()
    ]


def _change(family: Family, item: MemberKey, events: Sequence[Event], image: Image | None, now: int) -> ItemChange:
    # A stamp never goes back on an item: the newest clock that wrote it decides what is late.
    stamp = max(now, image.stamp) if image is not None else now
    counted = [(event.at, _amounts(event, item)) for event in events]
    removes = expired(family, image, stamp)[:MOST_REMOVED] if image is not None else []
    magnitude = sum(abs(units) for _, amounts in counted for units in amounts.values())
    exact = (image.magnitude if image is not None else 0) + magnitude > MAX_UNITS
    if exact:
        values = _values_after(family, item, events, image, stamp)
        magnitude = sum(abs(value) for name, value in values.items() if name not in removes)
    seen = image.version if image is not None else None
    return ItemChange(*item, additions(family, counted, stamp), removes, stamp, magnitude, exact, seen)


def _values_after(
    family: Family, item: MemberKey, events: Sequence[Event], image: Image | None, stamp: int
) -> dict[str, int]:
    values = dict(image.values) if image is not None else {}
    for event in events:
        adds = additions(family, [(event.at, _amounts(event, item))], stamp)
        for name, units in adds.items():
            values[name] = values.get(name, 0) + units
        beyond = beyond_bounds(family, values, adds)
        if beyond is not None:
            raise BeyondBoundsError(event, item, f"metrics: {beyond} would go beyond ±(2^53 - 1) units")
    return values


def _amounts(event: Event, item: MemberKey) -> Mapping[str, int]:
    return next(update.amounts for update in event.updates if (update.board, update.member) == item)
