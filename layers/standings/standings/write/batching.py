"""Groups a batch of events into transactions. Events on the same item go together, so that it is written once."""

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
