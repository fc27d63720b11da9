"""Aggregates merged in any order and grouping have the place that the events give, however many are of 0."""

import random
from functools import reduce

import pytest

from standings.domain.boards import Metric
from standings.domain.scoring import Aggregate, Place, aggregate_of_event, merge, place_of
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
