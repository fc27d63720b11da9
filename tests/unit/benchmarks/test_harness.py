"""Tools of the benchmarks: the clock of round trips, sorted lists, members' histories, and what units are for."""

from decimal import Decimal
from random import Random

import pytest

from benchmarks.harness import population, shapes
from benchmarks.harness.capacity_units import Units
from benchmarks.harness.meter import Snapshot
from benchmarks.harness.population import BOUND, member, tree_of
from benchmarks.harness.trips import SideBySide, Ticks
from benchmarks.harness.truth import ByName, MemberTruth, Truth
from benchmarks.measure.units import SHIPPED
from benchmarks.members.breakdown import breakdown
from benchmarks.members.histories import LIVES, ONE_DAY, TWO_OF_SEVEN, fine_points, points
from standings.aws.dynamodb.keys import entry_key, log_key, node_key
from standings.domain.boards.definitions import Ranking
from standings.domain.rolling.rolling_rankings import RollingRankings
from tests.support.oracle.model import Listing, Placed


def _take(ticks: Ticks, count: int) -> int:
    ticks.now += count
    return count


@pytest.mark.parametrize(
    ("workers", "takes", "most"),
    [(8, [1, 3, 2], 3), (2, [1, 1, 1, 1, 1], 3), (1, [2, 3], 5)],
    ids=["as long as the longest", "a job waits for a free worker", "one worker, one by one"],
)
def test_jobs_side_by_side_take_round_trips(workers: int, takes: list[int], most: int) -> None:
    ticks = Ticks()
    pool = SideBySide(ticks, max_workers=workers, thread_name_prefix="")
    jobs = [pool.submit(_take, ticks, count) for count in takes]

    assert ticks.now == 0  # a job whose result is not read delays nothing
    assert [job.result() for job in jobs] == takes
    assert ticks.now == most


@pytest.mark.parametrize("seed", range(3))
def test_the_quick_lists_give_the_answers_of_the_slow_one(seed: int) -> None:
    rng = Random(seed)
    scores = [rng.choice([0, rng.randrange(1, 9), rng.randrange(1, 10**8)]) for _ in range(60)]
    named = {member(number): score for number, score in enumerate(scores) if score}
    quick, by_number = Truth(named), MemberTruth(scores)
    order = sorted(named, key=lambda name: (-named[name], name))
    slow = Listing([Placed(name, named[name], 0) for name in order], descending=True)

    assert quick.lines(1, 100) == by_number.lines(1, 100) == slow.lines()
    for method in ("competition", "ordinal", "dense"):
        assert [quick.rank(name, method) for name in quick.order] == [rank for rank, _, _ in slow.lines(method)]
    for p in range(1, 101):
        assert [score for score in set(named.values()) if quick.is_score_at(p, score)] == [slow.score_at(Decimal(p))]
    some = rng.sample(quick.order, 7)
    assert dict(zip(some, quick.group_ranks(some), strict=True)) == slow.among(some)
    assert dict(by_number.scores) == named
    assert all(by_number.position(name) == quick.position(name) for name in order)
    assert by_number.score_at(1) == named[order[0]]


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_scores_of_a_shape_are_drawn_in_descending_order(shape: str) -> None:
    scores = shapes.SHAPES[shape](10_000)

    assert list(scores) == sorted(scores, reverse=True)
    assert min(scores) >= 1
    assert list(ByName(scores).items())[7] == (member(7), scores[7])
    hot = sum(shapes.MIDDLE <= score < shapes.MIDDLE + shapes.TIER for score in scores)
    assert shape != "one hot tier" or 9_400 < hot < 9_600


def test_scores_of_a_life_are_the_sums_of_a_periods_days() -> None:
    histories = LIVES[TWO_OF_SEVEN](Random(1), 50, 7, points)
    days = histories.of(range(50))
    scores = {offset: found[:] for offset, found in histories.scores(7, range(-5, 7))}
    trees = {**histories.trees(7, [-3, 1]), **histories.trees(None, [0])}
    ways = {offset: {node for node in tree if not node or node[0] % 2} for offset, tree in trees.items()}
    chosen = {**histories.nodes(7, {one: ways[one] for one in (-3, 1)}), **histories.nodes(None, {0: ways[0]})}

    for offset, found in scores.items():
        assert found == [sum(days[number].get(age, 0) for age in range(-offset, 7 - offset)) for number in range(50)]
    summed = {-3: scores[-3], 1: scores[1], 0: histories.totals()}
    assert trees == {offset: tree_of(filter(None, found)) for offset, found in summed.items()}
    assert histories.totals() == [sum(days[number].values()) for number in range(50)]
    assert chosen == {offset: {node: trees[offset][node] for node in ways[offset]} for offset in ways}


def test_members_live_as_their_life_says() -> None:
    days = LIVES[TWO_OF_SEVEN](Random(3), 200, 7, points).of(range(200))
    fine = LIVES[TWO_OF_SEVEN](Random(5), 2_000, 7, fine_points)

    assert {tuple(sums) for sums in LIVES[ONE_DAY](Random(4), 100, 7, points).of(range(100)).values()} == {(0,)}
    for sums in days.values():
        assert {sum(age in range(first, first + 14) for age in sums) for first in range(10)} <= {2, 3, 4, 5, 6}
    assert sum(0 in sums for sums in days.values()) == pytest.approx(200 * 2 / 7, rel=0.25)
    assert max(max(scores) for _, scores in fine.scores(7, range(-6, 7))) < BOUND


METRIC = population.family(SHIPPED.definition).metrics["points"]
ALL, DAY, LAST_7 = METRIC.windows
ROLLING = RollingRankings(population.BOARD, METRIC, LAST_7)
ITEMS = {
    ("Scores", "berlin-2026#07"): "writer",
    ("Receipts", "event#1"): "writer",
    ("Rankings", entry_key(Ranking(population.BOARD, METRIC, ALL, 0).key, "m#/log")): "all",
    ("Rankings", node_key(Ranking(population.BOARD, METRIC, DAY, 20_000).key, (1, 2))): "day",
    ("Rankings/places", Ranking(population.BOARD, METRIC, DAY, 20_000).key): "day",
    ("Rankings", entry_key(ROLLING.key, "m/1")): "rows",
    ("Rankings", log_key(ROLLING.key, 3)): "log",
    ("Rankings", node_key(ROLLING.at(20_000).key, ())): "nodes",
    ("Rankings", entry_key(ROLLING.at(20_000).key, "m")): "list",
    ("Rankings/places", ROLLING.at(20_000).key): "list",
}


@pytest.mark.parametrize(("target", "part"), ITEMS.items())
def test_every_item_belongs_to_a_part(target: tuple[str, str], part: str) -> None:
    assert breakdown(METRIC, Snapshot({}, {target: Units(write=2.0)})) == {part: Units(write=2.0)}


def test_a_key_of_another_window_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected a key of one of the windows"):
        breakdown(METRIC, Snapshot({}, {("Rankings", "berlin-2026#zzz#m"): Units(write=1.0)}))
