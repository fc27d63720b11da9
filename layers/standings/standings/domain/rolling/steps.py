"""Steps: a member's places in all periods of a rolling window, as ranges of periods with one place each.

An activity today counts in the periods of today and of the next days alike, so a member has far fewer steps than
periods. Steps follow from the member's item alone: two attempts that see the same item find the same steps.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple

from standings.domain.members.member_item import Image
from standings.domain.members.rolling_sum import aggregate_of, contributions
from standings.domain.rolling.blocks import Block, blocks_of
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.scoring.aggregates import place_of
from standings.domain.scoring.sort_order import Place
from standings.domain.windows.window import Window


class Step(NamedTuple):
    """A member's place in the periods from `first` to the one before `until`."""

    first: int
    until: int
    place: Place


class Steps(NamedTuple):
    """A member's steps, by first period. They are complete from the period `low` on."""

    low: int
    steps: tuple[Step, ...] = ()

    def place(self, period: int) -> Place | None:
        """The member's place in a period from `low` on; None if it has none."""
        return next((step.place for step in self.steps if step.first <= period < step.until), None)

    def by_block(self, window: Window, low: int) -> dict[Block, Place]:
        """The blocks that the steps are made up of, and the place in each: those that reach to `low` or beyond."""
        return {
            block: step.place
            for step in self.steps
            if step.until > low
            for block in blocks_of(window, step.first, step.until)
            if block.until > low
        }


class CountChange(NamedTuple):
    """One member less at a sort value, and one more at another (None: nowhere), in a range of periods."""

    first: int
    until: int
    old: int | None
    new: int | None


NO_CHANGE: Final = (None, None)


def steps_of(image: Image | None, rankings: RollingRankings, now: int) -> Steps:
    """The steps of an item that was written at `now`; those of a hidden member are none.

    They are complete from the beginning of a slab on, although the slab's first periods may no longer be readable: else
    the blocks of the first step would follow from when the item was read.
    """
    low = rankings.window.slab_of(rankings.first_open(now)).start
    if image is None or image.hidden:
        return Steps(low)
    metric = rankings.metric
    parts = [part for part in contributions(image, metric, rankings.window) if part.until > low]
    edges = {max(edge, low) for part in parts for edge in (part.first, part.until)}
    steps: list[Step] = []
    for start, until in pairwise(sorted(edges)):
        aggregate = aggregate_of(image, metric, parts, start)
        if aggregate is None:
            continue
        place = place_of(metric, aggregate)
        last = steps[-1] if steps else None
        if last is not None and last.until == start and last.place == place:
            steps[-1] = last._replace(until=until)
        else:
            steps.append(Step(start, until, place))
    return Steps(low, tuple(steps))


def counted_from(before: Steps | None, after: Steps) -> Steps:
    """The steps to store after those of the row that was read: nothing is known of periods before that row's `low`."""
    if before is None or before.low <= after.low:
        return after
    return Steps(before.low, tuple(step for step in after.steps if step.until > before.low))


def count_changes(before: Steps | None, after: Steps) -> Iterator[CountChange]:
    """How the counts change, from the first period of `after` on, if a row's steps are replaced."""
    old = before.steps if before is not None else ()
    edges = sorted({max(edge, after.low) for step in (*old, *after.steps) for edge in (step.first, step.until)})
    change: CountChange | None = None
    for start, until in pairwise(edges):
        values = _sort_value(old, start), _sort_value(after.steps, start)
        if change is not None and (change.until, change.old, change.new) == (start, *values):
            change = change._replace(until=until)
            continue
        if change is not None and change.old != change.new:
            yield change
        change = CountChange(start, until, *values)
    if change is not None and change.old != change.new:
        yield change


def _sort_value(steps: Iterable[Step], period: int) -> int | None:
    return next((step.place.sort_value for step in steps if step.first <= period < step.until), None)


def blocks_to_write(window: Window, low: int, seen: Steps | None, others: Iterable[Steps], after: Steps) -> list[Block]:
    """The blocks of the list items to write, for steps that replace those of the row that was read.

    An item is left as it is only if it is the same in the row, in the new steps, and in all `others`: those of every
    image in between, for an attempt that died may have written any of them.
    """
    versions = [steps.by_block(window, low) for steps in (seen or Steps(low), *others, after)]
    blocks = sorted({block for version in versions for block in version})
    return [block for block in blocks if any(version.get(block) != versions[-1].get(block) for version in versions)]
