"""The tier tree against a sorted list: after any moves every question has the list's answer."""

from bisect import bisect_left, bisect_right, insort

from hypothesis import given, settings
from hypothesis import strategies as st

from standings.domain import tiers
from standings.domain.boards import MAX_UNITS
from standings.domain.places import Path, path

scores = (
    st.integers(-5, 5)
    | st.integers(-400, 400)
    | st.integers(0, 2**28)
    | st.integers(-MAX_UNITS, MAX_UNITS)
    | st.sampled_from([0, -1, 1, 127, 128, -127, -128, -129, 16383, 16384, MAX_UNITS, -MAX_UNITS])
)
Tree = dict[Path, dict[int, int]]


def apply(tree: Tree, moves: list[tuple[int | None, int | None]]) -> None:
    for node, counters in tiers.deltas(moves).items():
        there = tree.setdefault(node, {})
        for digit, count in counters.items():
            assert count
            there[digit] = there.get(digit, 0) + count


@st.composite
def histories(draw: st.DrawFn) -> list[list[tuple[int | None, int | None]]]:
    """Batches of moves in which members come, change and leave."""
    held: list[int] = []
    batches: list[list[tuple[int | None, int | None]]] = []
    for _ in range(draw(st.integers(1, 6))):
        batch: list[tuple[int | None, int | None]] = []
        for _ in range(draw(st.integers(1, 12))):
            old = held.pop(draw(st.integers(0, len(held) - 1))) if len(held) > 0 and draw(st.booleans()) else None
            new = draw(scores) if old is None or draw(st.integers(0, 4)) else None
            if new is not None:
                held.append(new)
            batch.append((old, new))
        batches.append(batch)
    return batches


@given(histories(), st.lists(scores, max_size=8))
@settings(max_examples=300, deadline=None)
def test_every_answer_is_the_sorted_lists(history: list[list[tuple[int | None, int | None]]], asked: list[int]) -> None:
    tree: Tree = {}
    listed: list[int] = []
    for batch in history:
        apply(tree, batch)
        for old, new in batch:
            if old is not None:
                listed.remove(old)
            if new is not None:
                insort(listed, new)

    assert len(listed) == tiers.total(tree.get((), {}))
    assert all(count >= 0 for node in tree.values() for count in node.values())
    for number in [*asked, *listed]:
        nodes = {node: tree.get(node, {}) for node in tiers.nodes_for(number)}
        assert bisect_left(listed, number) == tiers.ahead(number, nodes)
        assert listed.count(number) == tiers.equals(number, nodes)
    for low, high in zip(sorted(asked), sorted(asked)[1:], strict=False):
        nodes = {node: tree.get(node, {}) for number in (low, high) for node in tiers.nodes_for(number)}
        assert bisect_right(listed, high) - bisect_left(listed, low) == tiers.between(low, high, nodes)
    for position, number in enumerate(listed):
        found = tiers.select(position, lambda node: tree.get(node, {}))
        assert found == (number, bisect_left(listed, number), listed.count(number))
    assert tiers.select(len(listed), lambda node: tree.get(node, {})) is None


@given(st.lists(st.tuples(st.none() | scores, st.none() | scores), max_size=40))
def test_the_order_of_moves_does_not_matter(moves: list[tuple[int | None, int | None]]) -> None:
    one_by_one: Tree = {}
    for move in moves:
        apply(one_by_one, [move])
    at_once: Tree = {}
    apply(at_once, moves[::-1])

    def counted(tree: Tree) -> Tree:
        return {n: kept for n, counters in tree.items() if (kept := {d: c for d, c in counters.items() if c})}

    assert counted(one_by_one) == counted(at_once)


def test_a_step_within_a_leaf_touches_one_node() -> None:
    assert list(tiers.deltas([(300, 310)])) == [path(300)[:-1]]


def test_a_rank_below_two_to_the_28_needs_five_nodes_at_most() -> None:
    assert max(len(tiers.nodes_for(number)) for number in (2**28 - 1, -(2**28) + 1, 0)) == 5
