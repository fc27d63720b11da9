"""Other ways to rank: the exact ones equal a sorted list, and AWS's published rule does not."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from benchmarks.harness import population, shapes
from benchmarks.harness.truth import Truth
from benchmarks.measure.comparison import compared
from benchmarks.rivals import board
from benchmarks.rivals.counting import FixedTiers
from benchmarks.rivals.lists import DaySums, ScatterGather
from benchmarks.rivals.sampled import SampledCurve
from benchmarks.rivals.sorted_set import SortedSet
from tests.support.aws import redis_server
from tests.support.dynamodb.engine import Engine

MEMBERS = 150
TODAY = 20_778
SHAPES: dict[str, Callable[[int], Any]] = {**shapes.SHAPES, "points": shapes.points}


def _placed(shape: str) -> tuple[Engine, Truth, int]:
    scores = SHAPES[shape](MEMBERS)
    client = Engine()
    board.place(client, scores, board.highest(shape))
    return client, Truth(dict(shapes.ByName(scores))), board.highest(shape)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("kind", board.RIVALS)
def test_an_exact_rival_equals_a_sorted_list(kind: board.Kind, shape: str) -> None:
    client, truth, highest = _placed(shape)
    rival = kind(client, highest)
    rng = Random(1)
    for name in rng.sample(list(truth.order), 20):
        new = rng.choice([truth.scores[rng.choice(truth.order)], rng.randint(1, highest)])
        rival.change(name, truth.scores[name], new)
        truth = Truth({**truth.scores, name: new})
    rival.refresh()

    wrong = [name for name in truth.order if rival.rank(name) != truth.rank(name)]

    assert not (rival.exact and wrong)


@pytest.mark.parametrize("shape", ["tied", "uniform", "log-normal", "one hot tier"])
def test_the_published_rule_does_not_equal_a_sorted_list(shape: str) -> None:
    client, truth, highest = _placed(shape)
    tiers = FixedTiers(client, highest)
    tiers.refresh()
    wrong = [name for name in truth.order if tiers.published_rank(name) != truth.rank(name)]

    top = truth.order[0]
    assert tiers.rank(top) == tiers.published_rank(top) == 1
    assert len(wrong) > 0.9 * MEMBERS or shape == "tied"


def test_a_sampled_curve_is_nearly_right() -> None:
    client, truth, highest = _placed("uniform")
    curve = SampledCurve(client, highest, samples=15)
    curve.refresh()

    errors = [abs(curve.rank(name) - truth.rank(name)) for name in truth.order]

    assert 0 < max(errors) <= 2 * MEMBERS / 15


def test_n_from_every_shard_have_the_first_n() -> None:
    truth = Truth(population.lognormal(Random(1), MEMBERS))
    client = Engine()
    lists = ScatterGather(client, shards=4)
    lists.members.create()
    for name, score in truth.scores.items():
        lists.members.put(name, score)

    # At the end of a shard's part the index decides among equal scores, so the test compares scores only.
    assert [score for _, score in lists.top(100)] == [score for _, _, score in truth.lines(1, 100)]


def test_stored_sums_of_days_are_right() -> None:
    rng = Random(1)
    client = Engine()
    DaySums.create(client)
    sums = DaySums(client, days=7)
    for day in range(TODAY - 10, TODAY + 8):
        sums.list_of(day).create()
    points_of: dict[tuple[str, int], int] = {}
    for day in range(TODAY - 10, TODAY + 1):
        for _ in range(30):
            name, points = population.member(rng.randrange(20)), rng.randint(1, 9)
            sums.add(name, day, points)
            points_of[name, day] = points_of.get((name, day), 0) + points

    for day in range(TODAY - 4, TODAY + 7):
        expected: dict[str, int] = {}
        for (name, on), points in points_of.items():
            if day - 7 < on <= day:
                expected[name] = expected.get(name, 0) + points
        listed = dict(sums.list_of(day).top(100))
        assert {name: listed[name] for name in expected} == expected


def test_a_sorted_set_equals_a_sorted_list(redis: Any) -> None:
    scores = shapes.points(MEMBERS)
    truth = shapes.Sorted(scores)
    rival = SortedSet(redis)
    rival.place(scores)

    assert [rival.rank(name) for name in truth.order] == [truth.rank(name) for name in truth.order]
    assert [name for name, _ in rival.page(50, 40)] == list(truth.order[49:89])
    assert [name for name, _ in rival.around(truth.order[80], 5)] == list(truth.order[75:86])


def test_without_redis_the_comparison_says_so_and_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(redis_server, "find_server", lambda: None)

    with pytest.raises(SystemExit, match="there is no redis-server"):
        compared.measure(small=True)
