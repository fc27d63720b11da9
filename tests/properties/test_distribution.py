"""Histograms against counting one score after the other, at the finest width that fits."""

from collections import Counter
from itertools import pairwise
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from standings.domain.boards.definitions import MAX_UNITS
from standings.domain.scoring.sort_order import sort_value
from standings.domain.tiers import distribution, tier_tree
from standings.domain.tiers.distribution import Bucket
from standings.domain.tiers.tier_path import Path

Tree = dict[Path, dict[int, int]]

scores = (
    st.integers(-5, 5)
    | st.integers(-400, 400)
    | st.integers(0, 2**28)
    | st.integers(-MAX_UNITS, MAX_UNITS)
    | st.builds(
        lambda sign, bits, beside: sign * min(2**bits + beside, MAX_UNITS),
        st.sampled_from([-1, 1]),
        st.integers(0, 53),
        st.integers(-1, 1),
    )
)
many_scores = (
    st.lists(scores, max_size=60)
    | st.lists(st.integers(-300, 300), max_size=200)
    | st.lists(st.integers(0, 20_000), max_size=200)
    | st.lists(st.sampled_from([-129, -128, -127, -1, 0, 1, 127, 128]), max_size=6)
    | st.tuples(scores, st.integers(1, 50)).map(lambda tied: [tied[0]] * tied[1])
    | st.tuples(st.integers(1, 50), scores).map(lambda outlier: [0] * outlier[0] + [outlier[1]])
)
mosts = st.integers(1, 12) | st.sampled_from([50, 100, 127, 128, 129, 256, 1000])


def tree_of(listed: list[int], *, descending: bool) -> Tree:
    return tier_tree.deltas((None, sort_value(score, descending=descending)) for score in listed)


def ask(tree: Tree, most: int, *, descending: bool) -> tuple[list[Bucket], Tree, int]:
    """The histogram, the nodes that were read for it, and in how many rounds."""
    nodes: Tree = {}
    rounds = 0
    while missing := distribution.unread(most, nodes, descending=descending):
        assert not nodes.keys() & set(missing)
        assert len(missing) == len(set(missing))
        nodes |= {node: tree.get(node, {}) for node in missing}
        rounds += 1
    return distribution.histogram(most, nodes, descending=descending), nodes, rounds


def range_of(score: int, width: int) -> tuple[int, int]:
    if score >= 0:
        return score // width * width, score // width * width + width - 1
    low, high = range_of(-score, width)
    return -high, min(-low, -1)


def count_ranges(listed: list[int], width: int) -> list[Bucket]:
    """Every range of a width from the lowest score to the highest."""
    buckets: list[Bucket] = []
    members = Counter(range_of(score, width) for score in listed)
    at, end = min(listed, default=0), max(listed, default=-1)
    while at <= end:
        low, high = range_of(at, width)
        buckets.append(Bucket(low, high, members[low, high]))
        at = high + 1
    return buckets


def brute_force(listed: list[int], most: int) -> list[Bucket]:
    """At the finest power of two of which there are few enough; widths of which there are clearly more are passed."""
    width = 1
    while listed and (max(listed) - min(listed)) // width > most + 2:
        width *= 2
    while len(ranges := count_ranges(listed, width)) > most:
        if most == 1 and len(ranges) == 2 and ranges[0].high == -1:
            return [Bucket(ranges[0].low, ranges[1].high, len(listed))]
        width *= 2
    return ranges


@given(many_scores, mosts, st.booleans())
@settings(max_examples=600, deadline=None)
def test_every_histogram_is_what_counting_gives(listed: list[int], most: int, descending: bool) -> None:
    buckets, nodes, rounds = ask(tree_of(listed, descending=descending), most, descending=descending)

    assert brute_force(listed, most) == buckets
    assert len(buckets) <= most
    assert all(-MAX_UNITS <= bucket.low <= bucket.high <= MAX_UNITS for bucket in buckets)
    assert rounds <= 10
    assert len(nodes) <= most // 2 + 20


@pytest.mark.parametrize("descending", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_thousands_of_scores_cost_what_a_few_do(seed: int, descending: bool) -> None:
    random = Random(seed)
    reach = 10 ** random.randint(2, 15)
    listed = [random.randint(-reach if seed % 2 else 0, reach) for _ in range(3_000)]
    tree = tree_of(listed, descending=descending)
    for most in (1, 7, 50, 1000):
        buckets, nodes, rounds = ask(tree, most, descending=descending)
        assert brute_force(listed, most) == buckets
        assert rounds <= 10
        assert len(nodes) <= most // 2 + 20


@given(many_scores, many_scores, mosts, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=300, deadline=None)
def test_nodes_of_different_moments_end_in_some_histogram(
    before: list[int], after: list[int], most: int, descending: bool, random: Random
) -> None:
    trees = [tree_of(listed, descending=descending) for listed in (before, after)]
    trees.append({node: {1: -1, 3: -2} for node in trees[0]})
    mixed = {node: random.choice(trees).get(node, {}) for node in {node for tree in trees for node in tree}}
    buckets, nodes, rounds = ask(mixed, most, descending=descending)

    assert len(buckets) <= most
    assert rounds <= 10
    assert len(nodes) <= most // 2 + 20
    assert all(bucket.low <= bucket.high and bucket.members >= 0 for bucket in buckets)
    assert all(one.high + 1 == other.low for one, other in pairwise(buckets))
    assert all(-MAX_UNITS <= bucket.low <= bucket.high <= MAX_UNITS for bucket in buckets)


@pytest.mark.parametrize("descending", [True, False])
def test_nobody_has_no_histogram(descending: bool) -> None:
    assert ask({}, 50, descending=descending)[0] == []
    assert ask({(): {}}, 50, descending=descending)[0] == []


@pytest.mark.parametrize("descending", [True, False])
def test_zero_counts_with_the_positive_scores_in_either_order(descending: bool) -> None:
    listed = [0, 0, -1, -1, -1, 500, 1000, -900]

    buckets, _, _ = ask(tree_of(listed, descending=descending), 4, descending=descending)
    assert [Bucket(-1023, -512, 1), Bucket(-511, -1, 3), Bucket(0, 511, 3), Bucket(512, 1023, 1)] == buckets


def test_a_range_beside_zero_is_left_out_where_it_would_be_empty() -> None:
    buckets, _, _ = ask(tree_of([-2, 1], descending=True), 4, descending=True)

    assert [Bucket(-2, -2, 1), Bucket(-1, -1, 0), Bucket(0, 0, 0), Bucket(1, 1, 1)] == buckets


def test_one_bucket_reaches_across_zero_where_it_has_to() -> None:
    buckets, nodes, _ = ask(tree_of([-3, 9], descending=False), 1, descending=False)

    assert [Bucket(-15, 15, 2)] == buckets
    assert len(nodes) == 3


def test_the_widest_distribution_stays_within_what_scores_can_be() -> None:
    buckets, nodes, rounds = ask(tree_of([-MAX_UNITS, 0, MAX_UNITS], descending=True), 2, descending=True)

    assert [Bucket(-MAX_UNITS, -1, 1), Bucket(0, MAX_UNITS, 2)] == buckets
    assert (len(nodes), rounds) == (4, 2)


def test_a_common_chart_takes_a_few_reads() -> None:
    random = Random(7)
    tree = tree_of([int(random.paretovariate(1.2) * 100) for _ in range(50_000)], descending=True)

    for most in (50, 1000):
        _, nodes, rounds = ask(tree, most, descending=True)
        assert rounds <= 6
        assert len(nodes) <= most // 2 + 8
