"""Which rankings a member's item affects, and which rankings of a board are open."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final

from standings.domain.boards.definitions import Family, Ranking
from standings.domain.members.member_item import Image
from standings.domain.windows.calendar import HOUR

SKIP_MARGIN: Final = HOUR
"""A period is skipped if it could last be read this long before an image was written. It is less than
`REMOVAL_MARGIN`, so that a removed accumulator never looks like a score that fell."""

AHEAD_MARGIN: Final = HOUR  # No event counts in a bucket that begins later than this after any clock's now


def affected_rankings(family: Family, old: Image | None, new: Image) -> Iterator[Ranking]:
    """The rankings in which a member's place may differ between two images, but for those of rolling windows.

    Periods that are no longer kept when `new` is written are skipped.
    """
    before: Mapping[str, int] = old.values if old is not None else {}
    tie_keys: Mapping[str, str] = old.tie_keys if old is not None else {}
    # Hiding a member, or showing it again, moves it in every ranking.
    shown_or_hidden = old is not None and old.hidden != new.hidden
    for attribute in before.keys() | new.values.keys():
        moved = shown_or_hidden or before.get(attribute) != new.values.get(attribute)
        if not moved and tie_keys.get(attribute) == new.tie_keys.get(attribute):
            continue
        accumulator = family.accumulator(attribute)
        if accumulator is None or not (moved or accumulator.metric.ties_by_instant):
            continue
        metric, unit, is_late, bucket, _ = accumulator
        for window in metric.windows:
            if window.unit == unit and not window.rolling and not is_late:
                ranking = Ranking(new.board, metric, window, bucket)
                if _is_open(ranking, new.written_at_ms):
                    yield ranking


def _is_open(ranking: Ranking, now: int) -> bool:
    until = ranking.kept_until
    return until is None or now < until + SKIP_MARGIN


def readable_rankings(family: Family, image: Image, now: int) -> Iterator[Ranking]:
    """The rankings in whose scores an image's accumulators count, and that are kept at `now` or later.

    Those of rolling windows are not among them.
    """
    return affected_rankings(family, None, replace(image, written_at_ms=now))


def open_rankings(family: Family, board: str, now: int) -> Iterator[Ranking]:
    """Every ranking of a board that is kept at `now`, and every later one in which events count already."""
    for metric in family.metrics.values():
        for window in metric.windows:
            if window.unit is None:
                yield Ranking(board, metric, window, 0)
                continue
            newest_bucket = family.timetable.index(window.unit, now + AHEAD_MARGIN)
            period: int | None = window.periods(newest_bucket)[-1]
            while period is not None and period >= 0:
                ranking = Ranking(board, metric, window, period)
                if not _is_open(ranking, now):
                    break
                yield ranking
                period = family.timetable.beside(window.unit, period, -1)
