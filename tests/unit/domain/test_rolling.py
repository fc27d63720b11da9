"""Rolling windows: a member's steps, the blocks of its lists, and entries of logs as text."""

import itertools
from itertools import pairwise
from random import Random

import pytest

from standings.domain import members
from standings.domain.members import AHEAD_MARGIN, SKIP_MARGIN
from standings.domain.scoring import Place
from standings.domain.windows import MAX_SLAB, parse_window
from standings.rankings.rolling.steps import (
    Block,
    CountChange,
    LogEntry,
    Step,
    Steps,
    blocks_of,
    blocks_to_write,
    blocks_within,
    decode_entry,
    encode_entry,
    steps_of,
)
from tests.support.builders.rolling.random_items import random_image, random_now, random_window
from tests.support.thoroughness import seeds

WINDOW = parse_window("last-7-days")


@pytest.mark.parametrize("seed", seeds(60, 150))
def test_steps_are_the_place_in_every_period_that_can_be_read(seed: int) -> None:
    rng = Random(seed)
    rankings = random_window(rng)
    now = random_now(rng, rankings)
    image, slab_of = random_image(rng, rankings, now), rankings.window.slab_of
    low, listed = steps = steps_of(image, rankings, now)

    # They are complete from the slab of the first period that can still be read, or could an hour ago.
    first = next(period for period in range(low, low + 1000) if now - SKIP_MARGIN < rankings.readable_until(period))
    assert (rankings.first_open(now), slab_of(first).start) == (first, low)
    assert all(rankings.readable_until(period) <= now - SKIP_MARGIN for period in range(low - 50, first))
    # All periods from there on, and some in which nothing can count yet.
    newest = rankings.metric.timetable.index(rankings.unit, now + AHEAD_MARGIN)
    for period in range(low, newest + rankings.window.size + 2 * MAX_SLAB):
        assert steps.place(period) == members.place(image, rankings.at(period)), period
    # They are in order, and as long as they can be.
    assert all(low <= step.first < step.until for step in listed)
    assert all(one.until <= following.first for one, following in pairwise(listed))
    assert not any((one.until, one.place) == (following.first, following.place) for one, following in pairwise(listed))


def test_list_items_are_written_where_the_row_or_any_attempt_differs_from_the_new_steps() -> None:
    """`tests/faults/safeguards/rolling.py` shows what is wrong if a row or an attempt is left out."""
    seen, attempt, after = (
        Steps(104, tuple(Step(first, until, Place((value,))) for first, until, value in steps))
        for steps in ([(104, 107, -5), (107, 112, -7)], [(104, 105, -5)], [(104, 107, -5), (107, 109, -7)])
    )

    assert blocks_to_write(WINDOW, 104, seen, [], after) == [Block(108, 1), Block(108, 4)]
    others = [Block(104, 1), Block(104, 3), Block(107, 1), Block(108, 1)]
    assert blocks_to_write(WINDOW, 104, None, [attempt], after) == others


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


@pytest.mark.parametrize(
    ("entry", "text"),
    [
        (LogEntry(0, []), "[0]"),
        # One activity is a short entry.
        (
            LogEntry(1_795_256_100_000, [CountChange(20_778, 20_785, None, (-150,))]),
            "[1795256100000,20778,7,null,-150]",
        ),
        (LogEntry(9, [CountChange(4, 6, (1,), (3,)), CountChange(6, 7, (2,), None)]), "[9,4,2,1,2,0,1,2,null]"),
        (
            LogEntry(0, [CountChange(7, 9, (0,), (2**53,)), CountChange(3, 4, (1,), (-1,))]),
            f"[0,7,2,0,{2**53},-6,1,1,-2]",
        ),
        (
            LogEntry(0, [CountChange(0, 90, None, (-(2**53),)), CountChange(90, 91, (5,), None)]),
            f"[0,0,90,null,{-(2**53)},0,1,5,null]",
        ),
        # With tie-breaks.
        (LogEntry(9, [CountChange(4, 6, (-8, 312), (-8, 310))]), "[9,4,2,[-8,312],[0,-2]]"),
        (LogEntry(9, [CountChange(4, 6, None, (-8, 312, 0))]), "[9,4,2,null,[-8,312,0]]"),
    ],
)
def test_an_entry_is_json_of_the_differences(entry: LogEntry, text: str) -> None:
    assert encode_entry(entry) == text
    assert decode_entry(text) == entry


@pytest.mark.parametrize(
    "text",
    [
        *("", "x", "5", "null", "[]", '"text"', "{}", "[null]", "[1.5]", "[true]"),
        *("[1,2]", "[1,2,3,4]", "[1,2,3,4,5,6]", "[1,null,3,4,5]", "[1,2,null,4,5]", "[1,2,3.5,4,5]"),
        *('[1,2,3,"x","y"]', "[1,2,3,4.5,5]", "[1,2,3,4,5.5]", "[1,2,3,null,false]", "[1,2,3,[4],null]"),
        *("[1,2,3,[4,5],6]", "[1,2,3,[4,null],null]", "[1,2,3,[4,5.5],null]", "[1,2,3,[4,5],[4,5,6]]"),
        *("[1,2,-3,4,5]", "[1,2,0,4,5]"),
    ],
)
def test_any_other_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_entry(text)
