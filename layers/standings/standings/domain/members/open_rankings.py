"""The rankings that a member's item is part of, and those that are open."""

from collections.abc import Iterator, Mapping
from typing import Final

from standings.domain.boards.definitions import Accumulator, Family
from standings.domain.boards.ranking import Ranking
from standings.domain.members.member_item import Image
from standings.domain.windows.calendar import HOUR

SKIP_MARGIN: Final = HOUR
"""A period that ended being read this long before an image's stamp is moved no more. Below `REMOVAL_MARGIN`, so that a
removed accumulator is never taken for a score that fell."""

AHEAD_MARGIN: Final = HOUR
"""No event counts in a bucket that begins later than this after any clock's now."""


def affected_rankings(family: Family, old: Image | None, new: Image) -> Iterator[Ranking]:
    """The rankings in which the place can differ between two images, told from the images alone.

    A rolling window is looked forward: a bucket is part of today's period and of those that have not begun. Periods
    that the new image's stamp puts beyond reading are left out.
    """
    before: Mapping[str, int] = old.values if old is not None else {}
    tie_keys: Mapping[str, str] = old.tie_keys if old is not None else {}
    # Whoever is hidden or comes back moves in every ranking.
    all_of_them = old is not None and old.hidden != new.hidden
    seen: set[Ranking] = set()
    for attribute in before.keys() | new.values.keys():
        same = before.get(attribute) == new.values.get(attribute)
        if same and not all_of_them and tie_keys.get(attribute) == new.tie_keys.get(attribute):
            continue
        accumulator = family.accumulator(attribute)
        if accumulator is None:
            continue
        if same and not all_of_them and not accumulator.metric.ties_by_instant:
            continue
        for ranking in _holding(new.board, accumulator):
            until = ranking.readable_until
            if ranking not in seen and (until is None or new.written_at_ms < until + SKIP_MARGIN):
                seen.add(ranking)
                yield ranking


def _holding(board: str, accumulator: Accumulator) -> Iterator[Ranking]:
    """The rankings that an accumulator is part of: a bucket is in every rolling period that contains it."""
    metric, unit, bucket = accumulator
    for window in metric.windows:
        if window.unit == unit:
            for period in range(bucket, bucket + window.size):
                yield Ranking(board, metric, window, period)


def readable_rankings(family: Family, image: Image, now: int) -> Iterator[Ranking]:
    """The rankings that an image's accumulators are part of and that can be read at `now` or later."""
    for attribute in image.values:
        accumulator = family.accumulator(attribute)
        if accumulator is None:
            continue
        for ranking in _holding(image.board, accumulator):
            until = ranking.readable_until
            if until is None or now < until + SKIP_MARGIN:
                yield ranking


def open_rankings(family: Family, board: str, now: int) -> Iterator[Ranking]:
    """Every ranking of a board that can be read at `now`, or that events have moved already and that can be later."""
    for metric in family.metrics.values():
        for window in metric.windows:
            if window.unit is None:
                yield Ranking(board, metric, window, 0)
                continue
            # Whatever clocks say it is now, and as far ahead as a rolling window is looked forward.
            last = family.timetable.index(window.unit, now + AHEAD_MARGIN) + window.size - 1
            for period in range(last, -1, -1):
                ranking = Ranking(board, metric, window, period)
                until = ranking.readable_until
                if until is not None and now >= until + SKIP_MARGIN:
                    break
                yield ranking
