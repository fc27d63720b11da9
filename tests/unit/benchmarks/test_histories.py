"""Members' histories: what they did on which days, and the trees that count it."""

from random import Random

import pytest

from benchmarks.harness.population import BOUND, member
from benchmarks.harness.truth import Truth
from benchmarks.members.histories import LIVES, ONE_DAY, TWO_OF_SEVEN, fine_points, points, tree_of
from benchmarks.members.member_truth import MemberTruth
from standings.domain.tiers.tier_tree import ahead, total


@pytest.mark.parametrize("size", [7, 30])
def test_scores_are_the_sums_of_a_periods_days(size: int) -> None:
    histories = LIVES[TWO_OF_SEVEN](Random(1), 30, size, points)
    days = histories.of(range(30))

    for offset, scores in histories.scores(size, range(-5, size)):
        ages = range(-offset, size - offset)
        assert scores == [sum(days[number].get(age, 0) for age in ages) for number in range(30)]
    assert histories.totals() == [sum(days[number].values()) for number in range(30)]


def test_trees_are_those_of_the_periods_asked_for() -> None:
    histories = LIVES[TWO_OF_SEVEN](Random(2), 50, 7, points)
    scores = {offset: found[:] for offset, found in histories.scores(7, range(-3, 2))}

    trees = histories.trees(7, [-3, 1])

    assert trees == {offset: tree_of(scores[offset]) for offset in (-3, 1)}
    assert total(trees[1][()]) == sum(score > 0 for score in scores[1])
    assert ahead(-scores[1][0], trees[1]) == sum(score > scores[1][0] for score in scores[1])
    assert histories.trees(None, [0])[0] == tree_of(histories.totals())


def test_members_are_active_on_two_days_of_every_seven() -> None:
    days = LIVES[TWO_OF_SEVEN](Random(3), 200, 7, points).of(range(200))

    for sums in days.values():
        assert {sum(age in range(first, first + 14) for age in sums) for first in range(10)} <= {2, 3, 4, 5, 6}
    assert sum(0 in sums for sums in days.values()) == pytest.approx(200 * 2 / 7, rel=0.25)


def test_members_of_one_day_have_all_of_it_today() -> None:
    histories = LIVES[ONE_DAY](Random(4), 100, 7, points)

    assert {tuple(sums) for sums in histories.of(range(100)).values()} == {(0,)}


def test_no_sum_of_fine_points_reaches_the_bound() -> None:
    histories = LIVES[TWO_OF_SEVEN](Random(5), 2_000, 7, fine_points)

    assert max(max(scores) for _, scores in histories.scores(7, range(-6, 7))) < BOUND


def test_chosen_nodes_are_those_of_the_trees() -> None:
    histories = LIVES[TWO_OF_SEVEN](Random(4), 300, 7, fine_points)
    trees = {**histories.trees(7, [-3, 1]), **histories.trees(None, [0])}
    ways = {offset: {node for node in tree if not node or node[0] % 2} for offset, tree in trees.items()}
    chosen = {**histories.nodes(7, {offset: ways[offset] for offset in (-3, 1)}), **histories.nodes(None, {0: ways[0]})}

    assert chosen == {offset: {node: trees[offset][node] for node in ways[offset]} for offset in ways}
    assert all(len(tree) > 1 for tree in chosen.values())


def test_answers_by_number_are_those_by_name() -> None:
    rng = Random(5)
    scores = [rng.choice([0, rng.randrange(1, 20), rng.randrange(1, 10**8)]) for _ in range(500)]
    by_name = Truth({member(number): score for number, score in enumerate(scores) if score})
    truth = MemberTruth(scores)

    assert (truth.total, list(truth.order), dict(truth.scores)) == (by_name.total, by_name.order, by_name.scores)
    assert truth.lines(1, 500) == by_name.lines(1, 500)
    assert [truth.score_at(position) for position in (1, 100)] == [by_name.scores[by_name.order[at]] for at in (0, 99)]
    assert all(truth.position(name) == by_name.position(name) for name in by_name.order)
    assert member(scores.index(0)) not in truth.scores
