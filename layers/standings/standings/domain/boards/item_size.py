"""How large a member's item can grow: it has a number, and maybe a note, for each bucket that a period still needs."""

from collections.abc import Iterable
from typing import Final

from standings.domain.boards.definitions import Family, Metric, late_name
from standings.domain.windows.calendar import DAY
from standings.domain.windows.late_and_keep import SEASON_KEPT
from standings.domain.windows.window import Unit

MAX_ITEM_BYTES: Final = 400_000
"""DynamoDB takes 400 KiB, 409,600 bytes."""
MAX_NOTED_BYTES: Final = 100_000
"""Of items with notes. Each write of an item costs a unit for each KB of it."""

_NOW: Final = 1_774_000_000_000  # Any instant: another one changes the number of buckets by one at most
_BESIDE: Final = 1_500  # Keys, version, clocks
_VALUE: Final = 12
_TIE_KEY: Final = 10 + 4 * 128  # An instant and an event's id, of characters of up to four bytes
_NOTE: Final = 256


def most_bytes(family: Family, *, late: bool) -> int:
    """The most bytes of a member's item on a board of the family, if the member is active in every bucket.

    With `late`, it also has events in every bucket that came when the bucket had closed.
    """
    return _BESIDE + sum(_bytes(metric, late=late) for metric in family.metrics.values())


def _bytes(metric: Metric, *, late: bool) -> int:
    names = [metric.total()]
    for unit in metric.bucket_codes:
        buckets = _buckets(metric, unit)
        names += [metric.bucket(unit, bucket) for bucket in buckets]
        if late and any(window.rolling and window.unit == unit for window in metric.windows):
            names += _late_buckets(metric, unit, buckets)
    texts = (_TIE_KEY if metric.has_tie_keys else 0) + (_NOTE if metric.notes else 0)
    copies = 1 + metric.has_tie_keys + metric.notes  # The name stands with the value, the tie key and the note
    return sum(copies * (len(name) + 1) + _VALUE + texts for name in names)


def _late_buckets(metric: Metric, unit: Unit, buckets: Iterable[int]) -> Iterable[str]:
    """The late buckets that an item may hold beside these buckets."""
    timetable = metric.timetable
    first = timetable.index(unit, _NOW - timetable.late_for(unit))
    for bucket in buckets:
        if bucket < first:
            yield (name := late_name(metric.bucket(unit, bucket)))
            if timetable.rolling_until(unit, first - 1) > _NOW:
                yield from (f"{name}f{of}" for of in (first - 1, first))


def _buckets(metric: Metric, unit: Unit) -> Iterable[int]:
    """The buckets that an item may hold together."""
    if unit == "s":
        stored = SEASON_KEPT // DAY + 2
        seasons = metric.timetable.seasons.all
        together = [
            [one.index for one in seasons if one.starts <= newest.starts <= one.ends + stored] for newest in seasons
        ]
        return max(together, key=len)
    newest = metric.timetable.index(unit, _NOW) + 1
    return range(_oldest(metric, unit, newest), newest + 1)


def _oldest(metric: Metric, unit: Unit, newest: int) -> int:
    """The oldest bucket that an item may still hold. An expired one goes with the first write a day later."""
    bucket = newest
    while metric.expires(unit, bucket - 1) + 2 * DAY > _NOW:
        bucket -= 1
    return bucket
