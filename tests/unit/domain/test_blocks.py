"""The lists of the blocks that contain a period hold each member of the period once, and nobody else."""

import itertools

import pytest

from standings.domain.rolling import Block, blocks_of, blocks_within, lists_of
from standings.domain.windows import parse_window
from tests.support.builders.rolling.random_items import rolling_window

SLAB = 20_784
"""The first period of a slab of 8, and of one of 16."""


@pytest.mark.parametrize(
    ("name", "slab", "lists"),
    [("last-1-days", 8, 1), ("last-2-hours", 8, 2), ("last-3-days", 8, 4), ("last-7-days", 8, 5),
     ("last-10-days", 8, 5), ("last-11-days", 16, 8), ("last-24-hours", 16, 9), ("last-90-days", 16, 9)],
)  # fmt: skip
def test_a_page_merges_few_lists_and_each_step_is_in_one_of_them(name: str, slab: int, lists: int) -> None:
    window = parse_window(name)
    periods = range(SLAB, SLAB + slab)
    assert window.slab_of(SLAB + slab - 1) == periods
    containing = {period: set(blocks_within(window, period, period + 1)) for period in periods}
    assert max(map(len, containing.values())) == lists
    for first, last in itertools.combinations_with_replacement(periods, 2):
        blocks = list(blocks_of(window, first, last + 1))
        assert [period for block in blocks for period in range(block.first, block.until)] == [*range(first, last + 1)]
        assert all(len(containing[period] & set(blocks)) == (first <= period <= last) for period in periods)
        assert len(blocks) <= (last + 1 - first if window.longest_block == 1 else 8)


def test_blocks_within_some_periods_are_those_of_each() -> None:
    window = parse_window("last-30-days")
    expected = {block for period in range(SLAB - 5, SLAB + 40) for block in blocks_within(window, period, period + 1)}

    assert sorted(blocks_within(window, SLAB - 5, SLAB + 40)) == sorted(expected)


def test_the_keys_of_lists_name_the_block() -> None:
    rankings = rolling_window("last-7-days")._replace(generation=2)
    keys = lists_of(rankings.at(SLAB + 1))

    ends = ["85", "84x2", "84x4", "84x3", "85x3"]
    assert [key.removeprefix(f"{rankings.key.removesuffix('~2')}207").removesuffix("~2") for key in keys] == ends
    assert all(key.endswith("~2") for key in keys)
    assert Block(SLAB, 1).code == "20784"
