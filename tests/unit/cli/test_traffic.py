"""Random activity has the requested shape, and is the same for the same seed."""

from collections import Counter
from dataclasses import replace
from itertools import islice
from random import Random

import pytest

from standings_cli.load.traffic import REPEATED_WITHIN, Activity, Plan, activities

PLAN = Plan(("b",), members=100, skew=1.0, duplicates=0.1, late=0.05, late_by=60_000, least=1, most=100)
MANY = 50_000


def made(plan: Plan, count: int = MANY, seed: int = 1) -> list[Activity]:
    return list(islice(activities(plan, Random(seed)), count))


def test_the_same_for_the_same_seed() -> None:
    assert made(PLAN, 1000) == made(PLAN, 1000)
    assert made(PLAN, 1000) != made(PLAN, 1000, seed=2)


def test_shares_are_those_that_were_asked_for() -> None:
    activity_list = made(PLAN)
    distinct = {activity.number: activity for activity in activity_list}
    assert sorted(distinct) == list(range(len(distinct)))
    assert 1 - len(distinct) / MANY == pytest.approx(0.1, abs=0.01)
    late = [activity.behind for activity in distinct.values() if activity.behind]
    assert len(late) / MANY == pytest.approx(0.05, abs=0.01)
    assert 1 <= min(late) < 1_000
    assert 59_000 < max(late) <= 60_000
    assert {activity.amount for activity in activity_list} == set(range(1, 101))


def test_what_comes_again_is_what_came_lately() -> None:
    last: dict[int, int] = {}
    newest = -1
    for activity in made(PLAN):
        if activity.number <= newest:
            assert newest - activity.number < REPEATED_WITHIN
            assert last[activity.number] == hash(activity)
        newest = max(newest, activity.number)
        last[activity.number] = hash(activity)


def test_members_are_skewed_as_far_as_was_asked_for() -> None:
    harmonic = sum(1 / rank for rank in range(1, 101))
    counts = Counter(activity.member for activity in made(PLAN))
    assert len(counts) == 100
    for rank in (1, 2, 10):
        assert counts[f"member-{rank}"] / MANY == pytest.approx(1 / rank / harmonic, rel=0.1)
    even = Counter(activity.member for activity in made(replace(PLAN, skew=0.0)))
    assert len(even) == 100
    assert max(even.values()) < 1.5 * min(even.values())
    steep = Counter(activity.member for activity in made(replace(PLAN, skew=2.0)))
    assert steep["member-1"] / MANY == pytest.approx(1 / 1.635, rel=0.1)


def test_the_ends_of_what_can_be_asked_for() -> None:
    plan = replace(PLAN, members=1, duplicates=0.0, late=1.0, least=-3, most=-3)
    assert all(activity[1:4] == ("b", "member-1", -3) and activity.behind for activity in made(plan, 100))
    only = made(replace(PLAN, duplicates=1.0, late=0.0), 100)
    assert {activity.number for activity in only} == {0}
    boards = Counter(activity.board for activity in made(replace(PLAN, boards=("b-1", "b-2")), 1000))
    assert set(boards) == {"b-1", "b-2"}
