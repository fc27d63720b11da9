"""What changes with a row's steps: the counts, the list items, and the steps to store."""

from random import Random

import pytest

from standings.domain.rolling.steps import Steps, count_changes, counted_from, firsts_to_write
from tests.support.builders.rolling.random_items import random_steps


def sort_value(steps: Steps | None, period: int) -> int | None:
    place = steps.place(period) if steps is not None else None
    return None if place is None else place.sort_value


def drawn(seed: int) -> tuple[Random, Steps | None, Steps]:
    print(f"seed {seed}")
    rng = Random(seed)
    before = random_steps(rng, rng.choice([94, 100, 100, 104]), ties=True)
    after = random_steps(rng, 100, ties=True)
    return rng, rng.choice([before, before, before, None]), after


@pytest.mark.parametrize("seed", range(100))
def test_counts_change_where_the_sort_value_does(seed: int) -> None:
    _, before, drawn_after = drawn(seed)
    after = counted_from(before, drawn_after)
    changes = list(count_changes(before, after))

    by_period = {period: (old, new) for first, until, old, new in changes for period in range(first, until)}
    assert sum(change.until - change.first for change in changes) == len(by_period)
    assert changes == sorted(changes)
    for period in range(90, 160):
        old, new = sort_value(before, period), sort_value(after, period)
        expected = (old, new) if period >= after.low and old != new else None
        assert by_period.get(period) == expected, period
    # Neighbours with the same change are one.
    assert len(changes) == sum(by_period[period] != by_period.get(period - 1) for period in by_period)


@pytest.mark.parametrize("seed", range(100))
def test_what_is_stored_begins_where_the_row_that_was_read_was_complete(seed: int) -> None:
    _, before, after = drawn(seed)
    stored = counted_from(before, after)

    assert stored.low == max(after.low, before.low if before is not None else after.low)
    assert stored.by_first(stored.low) == after.by_first(stored.low)
    assert all(step.until > stored.low for step in stored.steps)
    # Nothing is counted where the row of before is not known.
    assert all(change.first >= stored.low for change in count_changes(before, stored))


@pytest.mark.parametrize("seed", range(200))
def test_the_list_is_right_whatever_attempts_that_died_had_written(seed: int) -> None:
    rng, seen, after = drawn(seed)
    others = [random_steps(rng, rng.choice([94, 100]), ties=True) for _ in range(rng.randrange(4))]
    written = firsts_to_write(100, seen, others, after)

    right = after.by_first(100)
    versions = [(seen or Steps(100)).by_first(100), *(steps.by_first(100) for steps in others), right]
    for _ in range(20):
        # Any item may be of any attempt.
        known = {first for version in versions for first in version}
        found = {first: step for first in known if (step := rng.choice(versions).get(first)) is not None}
        for first in written:
            found.pop(first, None)
            if first in right:
                found[first] = right[first]
        assert found == right
    # Items that are the same in all versions are left as they are.
    assert all(len({version.get(first) for version in versions}) > 1 for first in written)
    assert written == sorted(set(written))
