"""Steps are a member's place in every period of a rolling window, and follow from its item alone."""

from itertools import pairwise
from random import Random

import pytest

from standings.domain import members
from standings.domain.members import AHEAD_MARGIN, SKIP_MARGIN
from standings.domain.rolling import RollingRankings, Steps, blocks_to_write, count_changes, counted_from, steps_of
from standings.domain.windows import DAY, HOUR, MAX_SLAB, parse_window
from tests.support.builders.rolling.random_items import (
    random_image,
    random_now,
    random_steps,
    random_window,
    without_expired,
)
from tests.support.thoroughness import seeds

WINDOW = parse_window("last-7-days")


def drawn(seed: int) -> tuple[Random, RollingRankings, int]:
    print(f"seed {seed}")
    rng = Random(seed)
    rankings = random_window(rng)
    return rng, rankings, random_now(rng, rankings)


@pytest.mark.parametrize("seed", seeds(60, 150))
def test_steps_are_the_place_in_every_period_that_can_be_read(seed: int) -> None:
    rng, rankings, now = drawn(seed)
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


@pytest.mark.parametrize("seed", seeds(40, 100))
def test_steps_follow_from_the_item_whenever_it_is_read_and_whatever_has_expired(seed: int) -> None:
    rng, rankings, now = drawn(seed)
    image = random_image(rng, rankings, now)
    earlier = steps_of(image, rankings, now)
    length = HOUR if rankings.unit == "h" else DAY
    for _ in range(10):
        now += rng.choice([1, length // 2, length, 5 * length, 20 * length])
        swept = without_expired(image, rankings.metric, rankings.unit, now)
        later = steps_of(swept, rankings, now)

        assert later.low >= earlier.low
        assert earlier.by_block(rankings.window, later.low) == later.by_block(rankings.window, later.low)
        image, earlier = rng.choice([(image, earlier), (swept, later)])


# A row's steps are replaced: the counts and the list items that change, and the steps to store.


def sort_value(steps: Steps | None, period: int) -> int | None:
    place = steps.place(period) if steps is not None else None
    return None if place is None else place.sort_value


def replaced(seed: int) -> tuple[Random, Steps | None, Steps]:
    """The steps of the row that was read, if there is one, and those to store, if it is complete enough."""
    print(f"seed {seed}")
    rng = Random(seed)
    before = random_steps(rng, rng.choice([94, 100, 100, 104]), ties=True)
    after = random_steps(rng, 100, ties=True)
    return rng, rng.choice([before, before, before, None]), after


@pytest.mark.parametrize("seed", seeds(50, 100))
def test_counts_change_where_the_sort_value_does(seed: int) -> None:
    _, before, after = replaced(seed)
    stored = counted_from(before, after)
    changes = list(count_changes(before, stored))

    # Nothing is known of periods before the row that was read was complete.
    assert stored.low == max(after.low, before.low if before is not None else after.low)
    assert stored.by_block(WINDOW, stored.low) == after.by_block(WINDOW, stored.low)
    assert all(step.until > stored.low for step in stored.steps)
    by_period = {period: (old, new) for first, until, old, new in changes for period in range(first, until)}
    assert sum(change.until - change.first for change in changes) == len(by_period)
    assert changes == sorted(changes)
    for period in range(90, 160):
        old, new = sort_value(before, period), sort_value(stored, period)
        assert by_period.get(period) == ((old, new) if period >= stored.low and old != new else None), period
    # Neighbours with the same change are one.
    assert len(changes) == sum(by_period[period] != by_period.get(period - 1) for period in by_period)


@pytest.mark.parametrize("seed", seeds(60, 200))
def test_the_lists_are_right_whatever_attempts_that_died_had_written(seed: int) -> None:
    rng, seen, after = replaced(seed)
    others = [random_steps(rng, rng.choice([94, 100]), ties=True) for _ in range(rng.randrange(4))]
    written = blocks_to_write(WINDOW, 100, seen, others, after)

    right = after.by_block(WINDOW, 100)
    versions = [*(steps.by_block(WINDOW, 100) for steps in (seen or Steps(100), *others)), right]
    for _ in range(20):
        # Any item may be of any attempt.
        known = {block for version in versions for block in version}
        found = {block: place for block in known if (place := rng.choice(versions).get(block)) is not None}
        for block in written:
            found.pop(block, None)
            if block in right:
                found[block] = right[block]
        assert found == right
    # Items that are the same in all versions are left as they are.
    assert all(len({version.get(block) for version in versions}) > 1 for block in written)
    assert written == sorted(set(written))
