"""The tier tree against a sorted list: dense ranks, histograms, and how few nodes they read; also of two moments.

`tests/functions/read/test_every_read.py` compares ranks, positions and percentiles with a list.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Collection
from functools import partial
from itertools import pairwise
from random import Random

from hypothesis import example, given, settings
from hypothesis import strategies as st

from standings.domain import tiers
from standings.domain.boards import MAX_UNITS
from standings.domain.scoring import MISSING, Place, behind, encode_values, sort_key, sort_value
from standings.domain.tiers import Bin, Path, is_leaf, is_whole, path, values_at

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
Tree = dict[Path, dict[int, int]]


def test_a_step_within_a_leaf_touches_one_node() -> None:
    assert list(tiers.deltas([((300,), (310,))])) == [path((300,))[:-1]]


def test_a_rank_below_two_to_the_28_needs_five_nodes_at_most() -> None:
    assert max(len(tiers.nodes_for((number,))) for number in (2**28 - 1, -(2**28) + 1, 0)) == 5


def tree_of(listed: list[int]) -> Tree:
    return {node: dict(counters) for node, counters in tiers.deltas([(None, (number,)) for number in listed]).items()}


def read(tree: Tree, nodes: Tree, missing: Callable[[Tree], Collection[Path]]) -> tuple[Tree, int]:
    """Read what is missing until nothing is: the nodes that are read then, and in how many rounds."""
    rounds = 0
    while left := missing(nodes):
        assert not nodes.keys() & set(left)
        assert len(left) == len(set(left))
        nodes = nodes | {node: tree.get(node, {}) for node in left}
        rounds += 1
    return nodes, rounds


def read_for_distinct(tree: Tree, numbers: list[int]) -> tuple[Tree, int]:
    """The nodes that tell the distinct ordinals ahead, and in how many rounds they are read after the paths."""
    paths = {node: tree.get(node, {}) for number in numbers for node in tiers.nodes_for((number,))}
    return read(tree, paths, partial(tiers.undivided, (max(numbers),), components=1))


def distinct_ahead(numbers: list[int], nodes: Tree) -> dict[int, int]:
    """How many different numbers are ahead of each, in a tree of one number a member."""
    found = tiers.distinct_ahead([(number,) for number in numbers], nodes, 1)
    return {number: count for (number,), count in found.items()}


def of_two_moments(before: Tree, after: Tree, random: Random) -> Tree:
    """A tree whose nodes were read at different moments; some have counters that no moment has."""
    trees = [before, after, {node: {1: -1, 3: -2} for node in before}]
    return {node: random.choice(trees).get(node, {}) for node in {node for tree in trees for node in tree}}


many_scores = (
    st.lists(scores, max_size=60)
    | st.lists(st.integers(-300, 300), max_size=200)
    | st.lists(st.integers(0, 20_000), max_size=200)
    | st.lists(st.sampled_from([-129, -128, -127, -1, 0, 1, 127, 128]), max_size=6)
    | st.tuples(scores, st.integers(1, 50)).map(lambda tied: [tied[0]] * tied[1])
    | st.lists(scores, max_size=20).map(lambda lone: [near for one in lone for near in (one, max(one ^ 1, -MAX_UNITS))])
    | st.tuples(st.integers(0, 50), scores).map(lambda outlier: [3] * outlier[0] + [4] + [outlier[1]])
)


@given(many_scores, st.lists(scores, min_size=1, max_size=8))
@settings(max_examples=300)
def test_dense_ranks_are_those_of_the_sorted_list(listed: list[int], others: list[int]) -> None:
    tree = tree_of(listed)
    numbers = others + listed[:20]
    nodes, rounds = read_for_distinct(tree, numbers)

    distinct = sorted(set(listed))
    assert {number: bisect_left(distinct, number) for number in numbers} == distinct_ahead(numbers, nodes)

    paths = {node for number in numbers for node in tiers.nodes_for((number,))}
    ahead = tiers.ahead((max(numbers),), nodes)
    assert rounds <= 8
    for length in range(1, 9):
        assert len([node for node in nodes.keys() - paths if len(node) == length]) <= ahead // 2


@given(many_scores, scores)
@settings(max_examples=200)
def test_what_is_undivided_says_how_many_members_it_has(listed: list[int], number: int) -> None:
    tree = tree_of(listed)
    nodes = {node: tree.get(node, {}) for node in tiers.nodes_for((number,))}
    while missing := tiers.undivided((number,), nodes, 1):
        for node, count in missing.items():
            (low,), (high,) = tiers.span(node)
            assert high < number
            assert count == len([other for other in listed if low <= other <= high]) >= 2
        nodes |= {node: tree[node] for node in missing}


@given(many_scores, many_scores, scores, st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_nodes_of_different_moments_end_in_some_dense_rank(
    before: list[int], after: list[int], number: int, random: Random
) -> None:
    nodes, rounds = read_for_distinct(of_two_moments(tree_of(before), tree_of(after), random), [number])

    assert rounds <= 8
    most = sum(max(count, 0) for node in tiers.nodes_for((number,)) for count in nodes[node].values())
    assert 0 <= distinct_ahead([number], nodes)[number] <= most


@given(many_scores.filter(bool), st.lists(scores, max_size=200), st.randoms(use_true_random=False))
@settings(max_examples=200)
def test_nodes_of_different_moments_agree_on_members_that_were_found(
    before: list[int], after: list[int], random: Random
) -> None:
    mixed = of_two_moments(tree_of(before), tree_of(after), random)
    read_nodes = {node: {digit: max(0, count) for digit, count in each.items()} for node, each in mixed.items()}
    found = [(number,) for number in random.sample(before, min(len(before), 5))]
    agreeing = tiers.agreeing(read_nodes, found)

    held = Counter(found)
    first, *others = sorted(held)
    assert tiers.equals(first, agreeing) >= held[first]
    for number, later in pairwise((first, *others)):
        assert tiers.ahead(number, agreeing) + tiers.equals(number, agreeing) <= tiers.ahead(later, agreeing)
        assert tiers.equals(later, agreeing) >= held[later]
    last = max(found)
    assert tiers.ahead(last, agreeing) + tiers.equals(last, agreeing) <= sum(agreeing[()].values())
    assert tiers.agreeing(tree_of(before), found) == tree_of(before)


@given(st.integers(0, 10**12), st.integers(1, 10**12))
@example(1, 20_000)
@example(20_000, 1)
def test_a_percentile_is_never_more_than_is_true(ahead: int, others: int) -> None:
    total = ahead + others
    shown = tiers.percentile(ahead, total)

    assert shown * total <= 10_000 * others < (shown + 1) * total
    assert (shown == 10_000) == (ahead == 0)
    # Whoever has this percentile is at or ahead of the score there.
    assert ahead <= tiers.position_at(shown, 100, total)


def test_a_million_equals_ahead_are_told_by_one_path() -> None:
    tree = {node: {digit: 1_000_000} for node, digit in zip(tiers.nodes_for((-70_000,)), path((-70_000,)), strict=True)}
    nodes, rounds = read_for_distinct(tree, [5])

    assert distinct_ahead([5], nodes) == {5: 1}
    assert (len(nodes), rounds) == (5, 3)


def test_only_what_may_hold_two_ordinals_is_read() -> None:
    listed = [2**30, 2**30 + 1, 2**31, 2**32, 2**32]
    nodes, rounds = read_for_distinct(tree_of(listed), [2**40])

    assert distinct_ahead([2**40], nodes) == {2**40: 4}
    assert rounds == 5
    assert len(nodes) == 7 + 1 + 2 * 4


# ---- histograms against counting one score after the other, at the finest width that fits


def tree_in(listed: list[int], *, descending: bool) -> Tree:
    return tree_of([sort_value(score, descending=descending) for score in listed])


mosts = st.integers(1, 12) | st.sampled_from([50, 100, 127, 128, 129, 256, 1000])


def ask(tree: Tree, most: int, *, descending: bool) -> tuple[list[Bin], Tree, int]:
    """The histogram, the nodes that were read for it, and in how many rounds."""
    nodes, rounds = read(tree, {}, lambda nodes: tiers.unread(most, nodes, descending=descending))
    return tiers.histogram(most, nodes, descending=descending), nodes, rounds


def range_of(score: int, width: int) -> tuple[int, int]:
    if score >= 0:
        return score // width * width, score // width * width + width - 1
    low, high = range_of(-score, width)
    return -high, min(-low, -1)


def count_ranges(listed: list[int], width: int) -> list[Bin]:
    """Every range of a width from the lowest score to the highest."""
    buckets: list[Bin] = []
    members = Counter(range_of(score, width) for score in listed)
    at, end = min(listed, default=0), max(listed, default=-1)
    while at <= end:
        low, high = range_of(at, width)
        buckets.append(Bin(low, high, members[low, high]))
        at = high + 1
    return buckets


def brute_force(listed: list[int], most: int) -> list[Bin]:
    """At the finest power of two of which there are few enough; widths of which there are clearly more are passed."""
    width = 1
    while listed and (max(listed) - min(listed)) // width > most + 2:
        width *= 2
    while len(ranges := count_ranges(listed, width)) > most:
        if most == 1 and len(ranges) == 2 and ranges[0].high == -1:
            return [Bin(ranges[0].low, ranges[1].high, len(listed))]
        width *= 2
    return ranges


@given(many_scores, mosts, st.booleans())
@settings(max_examples=600)
def test_every_histogram_is_what_counting_gives(listed: list[int], most: int, descending: bool) -> None:
    buckets, nodes, rounds = ask(tree_in(listed, descending=descending), most, descending=descending)

    assert brute_force(listed, most) == buckets
    assert len(buckets) <= most
    assert all(-MAX_UNITS <= bucket.low <= bucket.high <= MAX_UNITS for bucket in buckets)
    assert rounds <= 10
    assert len(nodes) <= most // 2 + 20


@given(many_scores, many_scores, mosts, st.booleans(), st.randoms(use_true_random=False))
@settings(max_examples=300)
def test_nodes_of_different_moments_end_in_some_histogram(
    before: list[int], after: list[int], most: int, descending: bool, random: Random
) -> None:
    earlier, later = (tree_in(listed, descending=descending) for listed in (before, after))
    buckets, nodes, rounds = ask(of_two_moments(earlier, later, random), most, descending=descending)

    assert len(buckets) <= most
    assert rounds <= 10
    assert len(nodes) <= most // 2 + 20
    assert all(bucket.low <= bucket.high and bucket.members >= 0 for bucket in buckets)
    assert all(one.high + 1 == other.low for one, other in pairwise(buckets))
    assert all(-MAX_UNITS <= bucket.low <= bucket.high <= MAX_UNITS for bucket in buckets)


def test_a_common_chart_takes_a_few_reads() -> None:
    random = Random(7)
    tree = tree_in([int(random.paretovariate(1.2) * 100) for _ in range(50_000)], descending=True)

    for most in (50, 1000):
        _, nodes, rounds = ask(tree, most, descending=True)
        assert rounds <= 6
        assert len(nodes) <= most // 2 + 8


# ---- sort keys and paths order as the numbers and names that they are made of


members = st.text(min_size=1, max_size=40).map(lambda text: text.encode("utf-8", "ignore").decode() or "m")


@given(st.lists(st.tuples(scores, st.none() | scores, members), min_size=2, max_size=30), st.booleans())
@example([*((number, None, "a") for number in (-1, 0, -128, 127, 128)), (-129, None, "b")], False)
def test_sort_keys_order_by_number_then_if_dated_by_instant_then_by_bytes_of_the_member(
    triples: list[tuple[int, int | None, str]], dated: bool
) -> None:
    listed = [(number, (since or 0) if dated else None, member) for number, since, member in triples]
    expected = sorted(listed, key=lambda one: (one[0], one[1] or 0, one[2].encode()))

    assert expected == sorted(listed, key=lambda one: sort_key(Place((one[0],), one[1]), one[2]).encode())


def test_the_largest_sort_key_fits_dynamodb() -> None:
    assert len(sort_key(Place((-MAX_UNITS, *[MISSING] * 3), -MAX_UNITS), "x" * 256).encode()) <= 1024


# ---- places of several numbers: score and tie-breaks


several = st.integers(1, 4).flatmap(
    lambda components: st.lists(
        st.tuples(st.integers(-3, 3) | scores, *[st.integers(-2, 2) | scores | st.just(MISSING)] * (components - 1)),
        min_size=1,
        max_size=40,
    )
)


@given(several)
@settings(max_examples=300)
def test_paths_and_texts_of_several_numbers_order_as_they_do_and_lead_back(listed: list[tuple[int, ...]]) -> None:
    components = len(listed[0])
    assert sorted(listed) == sorted(listed, key=path) == sorted(listed, key=encode_values)
    for values in listed:
        full_path = path(values)
        assert values_at(full_path) == values
        nodes = [full_path[:length] for length in range(len(full_path) + 1)]
        assert [*filter(partial(is_whole, components=components), nodes)] == [full_path]
        assert [*filter(partial(is_leaf, components=components), nodes)] == [full_path[:-1]]
        assert encode_values(values) < behind(values) <= encode_values((*values[:-1], values[-1] + 1))
        for length in range(1, len(full_path)):
            tier = full_path[:length]
            if not any(is_whole(tier, whole) for whole in range(1, components)):
                first, last = tiers.span(tier)
                assert [each for each in listed if first <= each[: len(first)] <= last] == [
                    each for each in listed if path(each)[:length] == tier
                ]


@given(several, st.data())
@settings(max_examples=200)
def test_ranks_of_several_numbers_are_those_of_the_sorted_list(
    listed: list[tuple[int, ...]], data: st.DataObject
) -> None:
    tree = {node: dict(counters) for node, counters in tiers.deltas([(None, values) for values in listed]).items()}
    ordered, components = sorted(listed), len(listed[0])
    for values in listed:
        assert tiers.ahead(values, tree) == bisect_left(ordered, values)
        assert tiers.equals(values, tree) == ordered.count(values)
        # By the score alone.
        assert tiers.ahead(values[:1], tree) == sum(other[0] < values[0] for other in ordered)
        assert tiers.equals(values[:1], tree) == sum(other[0] == values[0] for other in ordered)
    position = data.draw(st.integers(0, len(ordered) - 1))
    selected = tiers.select(position, lambda node: tree.get(node, {}), components)
    values = ordered[position]
    assert selected == (values, bisect_left(ordered, values), ordered.count(values))

    nodes = {node: tree.get(node, {}) for each in listed for node in tiers.nodes_for(each)}
    nodes, _ = read(tree, nodes, partial(tiers.undivided, ordered[-1], components=components))
    distinct = sorted(set(listed))
    assert tiers.distinct_ahead(distinct, nodes, components) == {one: n for n, one in enumerate(distinct)}

    old, new = data.draw(st.sampled_from(listed)), data.draw(st.sampled_from(listed))
    moved = Counter({(node, digit): n for node, each in tree.items() for digit, n in each.items()})
    for node, each in tiers.deltas([(old, new)]).items():
        moved.update({(node, digit): n for digit, n in each.items()})
    listed.remove(old)
    after = tiers.deltas([(None, values) for values in [*listed, new]])
    assert {key: n for key, n in moved.items() if n} == {
        (node, digit): n for node, each in after.items() for digit, n in each.items()
    }
