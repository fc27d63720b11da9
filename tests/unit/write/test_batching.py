"""How a batch is cut into transactions."""

from hypothesis import given
from hypothesis import strategies as st

from standings.domain.events import Event, Update
from standings.write.writer import items_of, transactions


def event(number: int, *members: str) -> Event:
    return Event(f"e{number}", 0, tuple(Update("b", member, {"points": 1}) for member in members), b"")


def actions(events: list[Event]) -> int:
    return len(events) + len({item for one in events for item in items_of(one)})


@given(st.lists(st.lists(st.integers(0, 30), min_size=1, max_size=6, unique=True), max_size=80), st.integers(8, 30))
def test_each_event_is_in_one_transaction_that_fits(batch: list[list[int]], most: int) -> None:
    events = [event(number, *(f"m{m}" for m in members)) for number, members in enumerate(batch)]
    cut = transactions(events, most)

    assert sorted(e.id for e in events) == sorted(e.id for one in cut for e in one)
    assert all(0 < actions(one) <= most for one in cut)


def test_events_of_one_member_share_a_write() -> None:
    events = [event(n, f"m{n % 25}") for n in range(1000)]
    cut = transactions(events)

    assert sum(len({item for e in one for item in items_of(e)}) for one in cut) == 25
    assert len(cut) == 13


def test_different_members_fill_transactions() -> None:
    assert [actions(one) for one in transactions([event(n, f"m{n}") for n in range(100)])] == [100, 100]
