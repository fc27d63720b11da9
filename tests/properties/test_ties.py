"""Aggregates merged in any order and grouping have the place that the events give, however many are of 0."""

import random
from functools import reduce

import pytest

from standings.domain.boards import Metric
from standings.domain.scoring import (
    MISSING,
    Aggregate,
    Place,
    aggregate_of_event,
    companions_of,
    merge,
    place_of,
)
from tests.support.builders.points import family
from tests.support.thoroughness import seeds

AMOUNTS = (0, 0, 0, 5, -5, 1)


def metric_of(aggregate: str) -> Metric:
    rules = f'aggregate = "{aggregate}", ties = "first", windows = ["all"]'
    return family("b", f'[boards."*"]\nmetrics.points = {{ {rules} }}').metrics["points"]


def expected(aggregate: str, events: list[tuple[int, int]]) -> tuple[int, int]:
    """The score of some amounts with their instants, and since when it is that score."""
    if aggregate == "sum":
        changes = [at for amount, at in events if amount]
        return sum(amount for amount, _ in events), max(changes) if changes else min(at for _, at in events)
    best = {"max": max, "min": min}[aggregate](amount for amount, _ in events)
    return best, min(at for amount, at in events if amount == best)


@pytest.mark.parametrize("aggregate", ["sum", "max", "min"])
@pytest.mark.parametrize("seed", seeds(2, 20))
def test_who_was_first_follows_from_the_events_alone(aggregate: str, seed: int) -> None:
    rng, metric = random.Random(seed), metric_of(aggregate)
    for _ in range(500):
        events = [(rng.choice(AMOUNTS[: rng.choice([1, 4, 6])]), rng.randrange(8)) for _ in range(rng.randint(1, 7))]
        score, since = expected(aggregate, events)
        parts = [aggregate_of_event(metric, amount, at, "e") for amount, at in events]
        while len(parts) > 1:
            parts.append(merge(metric, parts.pop(rng.randrange(len(parts))), parts.pop(rng.randrange(len(parts)))))
        assert place_of(metric, parts[0]) == Place((-score,), since), events


@pytest.mark.parametrize("stored", [Aggregate(0, "Tz"), Aggregate(0), Aggregate(7, "Tz")])
def test_a_stored_sum_keeps_its_time_whatever_amounts_of_0_follow(stored: Aggregate) -> None:
    """Version 0.3 marked no sum of 0, so nobody knows what it was made of: its place stays what it is."""
    metric = metric_of("sum")
    zeros = [aggregate_of_event(metric, 0, at, "e") for at in (1, 10**12)]
    assert reduce(lambda one, other: merge(metric, one, other), [*zeros, stored]) == stored
    assert reduce(lambda one, other: merge(metric, one, other), zeros, stored) == stored


LIFTS = """
[boards."*"]
metrics.best = { aggregate = "%s", ties = "first", notes = true, windows = ["all"], tie_breaks = ["weight", "age"] }
metrics.weight = { with = "best", order = "ascending", precision = 1 }
metrics.age = { with = "best" }
"""


@pytest.mark.parametrize("aggregate", ["max", "min", "last"])
@pytest.mark.parametrize("seed", seeds(2, 20))
def test_a_best_and_its_companions_are_of_one_event_however_events_are_merged(aggregate: str, seed: int) -> None:
    """Of equal bests the one ahead in the tie-breaks counts, then the first: score, companions, instant and note."""
    rng, metric = random.Random(seed), family("b", LIFTS % aggregate).metrics["best"]
    for _ in range(300):
        drawn = range(rng.randint(1, 7))
        events = [
            (rng.choice([5, 5, 7]), rng.choice([60, 62]), rng.choice([-1, 3]), rng.randrange(4), n) for n in drawn
        ]
        if aggregate == "last":
            best, weight, age, at, name = max(events, key=lambda event: event[3:])
        else:
            sign = -1 if aggregate == "max" else 1
            best, weight, age, at, name = min(events, key=lambda one: (sign * one[0], one[1], -one[2], one[3], one[4]))
        parts = [
            aggregate_of_event(
                metric, units, when, str(n), f'{{"n":{n}}}', companions_of(metric, {"weight": kg, "age": years})
            )
            for units, kg, years, when, n in [*events, *rng.sample(events, min(2, len(events)))]  # some again
        ]
        while len(parts) > 1:
            parts.append(merge(metric, parts.pop(rng.randrange(len(parts))), parts.pop(rng.randrange(len(parts)))))
        assert place_of(metric, parts[0]) == Place((-best, weight, -age), at), events
        assert parts[0].note == f'{{"n":{name}}}', events


def test_a_best_of_before_has_no_companions_that_tie_breaks_go_by_now() -> None:
    """Another order chose among equal bests: such companions mean another thing, and the best is behind all others."""
    before = family("b", LIFTS % "max").metrics["best"]
    now = family("b", LIFTS.replace('order = "ascending", ', "") % "max").metrics["best"]
    kept = aggregate_of_event(before, 5, 1, "e", companions=companions_of(before, {"weight": 600, "age": 3}))

    assert place_of(before, kept).values == (-5, 600, -3)
    assert place_of(now, kept).values == (-5, MISSING, MISSING)
    again = aggregate_of_event(now, 5, 9, "f", companions=companions_of(now, {"weight": 1, "age": 1}))
    assert place_of(now, merge(now, kept, again)).values == (-5, -1, -1)
