"""Cuts a batch of events into transactions: all events of one item together, so that they cost one write of it."""

from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby

from standings.domain.events.event import Event
from standings.ports.rankings import MAX_ACTIONS
from standings.ports.scores import MemberKey


def items_of(event: Event) -> list[MemberKey]:
    """The items that an event changes."""
    return [(update.board, update.member) for update in event.updates]


def transactions(events: Iterable[Event], most: int = MAX_ACTIONS) -> list[list[Event]]:
    """Groups of events of which each, with a receipt for every event and a change for every item, is one transaction.

    Events that share an item (a member, or the clan of many) stand together as far as there is room.
    """
    events = list(events)
    popularity = Counter(item for event in events for item in items_of(event))

    def by_shared_items(event: Event) -> list[tuple[int, MemberKey]]:
        return sorted((-popularity[item], item) for item in items_of(event))

    cut: list[list[Event]] = []
    open_: list[Event] = []
    items: set[MemberKey] = set()
    ordered = sorted(((by_shared_items(event), event) for event in events), key=lambda pair: pair[0])
    for _, group in groupby(ordered, key=lambda pair: pair[0][0]):
        together = [event for _, event in group]
        if open_ and _size(open_, items, together) > most >= _size([], set(), together):
            cut.append(open_)
            open_, items = [], set()
        for event in together:
            if _size(open_, items, [event]) > most:
                cut.append(open_)
                open_, items = [], set()
            open_.append(event)
            items.update(items_of(event))
    return [*cut, open_] if open_ else cut


def _size(events: Sequence[Event], items: set[MemberKey], more: Sequence[Event]) -> int:
    added = {item for event in more for item in items_of(event)} - items
    return len(events) + len(more) + len(items) + len(added)
