"""Aggregates depend neither on the order of events nor on how events are split over buckets."""

from functools import reduce

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standings.domain import scoring
from standings.domain.boards import AggregateFunction, Metric, Ties
from standings.domain.scoring import Aggregate, Place
from standings.domain.windows import Timetable, parse_window

Event = tuple[int, int, str]
"""Units, at, id."""

events = st.lists(
    st.tuples(st.integers(-3, 3), st.integers(-2, 2) | st.just(10**12), st.text("ab用", min_size=1, max_size=3)),
    min_size=1,
    max_size=8,
    unique_by=lambda event: event[2],
)
kinds = pytest.mark.parametrize("ties", ["member", "first"])
every_aggregate = pytest.mark.parametrize("aggregate", ["sum", "max", "min", "last"])


def metric(aggregate: AggregateFunction, ties: Ties) -> Metric:
    return Metric("m", aggregate, 0, "descending", ties, (parse_window("all"),), Timetable("UTC", 0, 0, 0))


def total(kind: Metric, posted: list[Event]) -> Aggregate:
    aggregate_of_all = scoring.merge_all(
        kind, [scoring.aggregate_of_event(kind, units, at, name) for units, at, name in posted]
    )
    assert aggregate_of_all is not None
    return aggregate_of_all


def expected(kind: Metric, posted: list[Event]) -> Place:
    """The place by brute force over all events."""
    amounts = [units for units, _, _ in posted]
    since = max(at for _, at, _ in posted)
    if kind.aggregate == "sum":
        score = sum(amounts)
    elif kind.aggregate == "last":
        score, since, _ = max(posted, key=lambda event: (event[1], event[2].encode()))
    else:
        score = max(amounts) if kind.aggregate == "max" else min(amounts)
        since = min(at for units, at, _ in posted if units == score)
    return Place(-score, since if kind.ties == "first" else None)


@kinds
@every_aggregate
@given(posted=events, data=st.data())
def test_any_order_and_any_split_come_to_the_same(
    aggregate: AggregateFunction, ties: Ties, posted: list[Event], data: st.DataObject
) -> None:
    kind = metric(aggregate, ties)
    shuffled = data.draw(st.permutations(posted))
    cut = data.draw(st.integers(0, len(posted)))
    parts = [total(kind, part) for part in (shuffled[:cut], shuffled[cut:]) if part]

    assert scoring.place_of(kind, total(kind, posted)) == expected(kind, posted)
    assert total(kind, shuffled) == total(kind, posted)
    assert reduce(lambda one, other: scoring.merge(kind, one, other), parts) == total(kind, posted)


def test_what_was_counted_before_marks_were_kept_stands_first() -> None:
    kind = metric("sum", "first")
    old = Aggregate(5)

    assert scoring.place_of(kind, old) < scoring.place_of(kind, total(kind, [(5, -(10**14), "a")]))
    assert scoring.place_of(kind, scoring.merge(kind, old, scoring.aggregate_of_event(kind, 0, 7, "b"))) == Place(-5, 7)
