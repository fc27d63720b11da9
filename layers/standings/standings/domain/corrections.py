"""Corrections: what an event counted, as its receipt holds it, and how other content replaces that in members' items.

A receipt says where an event counted, number by number. So a correction takes away exactly what was added, whatever the
definition, the clock and the limits of late events are by now. It changes no period that has closed.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

import orjson

from standings.domain import members
from standings.domain.boards import Accumulator, Family, late_name
from standings.domain.events import NO_AT, SET_INSTEAD, Event, RefusedEvent
from standings.domain.members import Content, EventPart, Image
from standings.domain.windows import Window

WHY_NOT: Final = {
    members.TOO_LARGE: "it counted in more places than its receipt has room for: post what is missing, or the "
    "difference as a negative amount, with a new id",
    members.SETS_TOTALS: "it set a total or a best: set the right one with a new id and a later `at`",
    members.HAS_BESTS: f"it names a metric with another aggregate than sum: {SET_INSTEAD}",
    "": "it counted before version 0.4, whose receipts say where an event counted: post the difference with a new id",
}
"""Why an event cannot be corrected, and what to do instead, by what its receipt holds in place of the content."""


def decode_content(text: str) -> Content | None:
    """The content of such a text; None if it says why there is none."""
    if not text.startswith("["):
        return None
    at, boards, *digest_at = orjson.loads(text)
    counted = {
        (board, member): {name: units for names, units in added.items() for name in names.split(",")}
        for board, changed in boards.items()
        for member, added in changed.items()
    }
    return Content(at, digest_at[0] if digest_at else at, counted)


def dated(event: Event, content: Content) -> Event:
    """A correction with an `at`: its own, or that of the event that it corrects."""
    if event.at != NO_AT:
        return event
    return replace(event, at=content.at, digest_at=content.digest_at)


def corrected(
    family: Family, image: Image, counted: Mapping[str, int], instead: EventPart | None, now: int
) -> tuple[Image, set[str]]:
    """Take away what an event counted for a member, and count another part in its place at `now` (ms).

    Returns the new image, and the accumulators that changed. The tie keys stay those of the latest event that counted,
    even if it is taken back. Accumulators that have gone since are left out: nothing that can be read contains them.
    """
    names: set[str] = set()
    for name, units in counted.items():
        if (held := _held(family, image, name)) is not None and (cell := image.cell(held)) is not None:
            image = image.with_cells({held: cell._replace(value=cell.value - units)})
            names.add(held)
    if instead is not None:
        image, changed = members.apply_event(family, image, instead, now)
        names.update(changed)
    return image, names


def _held(family: Family, image: Image, name: str) -> str | None:
    """The accumulator that now has what was added to one: itself, or the late bucket it was merged into; or None."""
    if name in image.values:
        return name
    accumulator = family.accumulator(name)
    if accumulator is None or accumulator.unit is None or not accumulator.is_late:
        return None
    merged = late_name(accumulator.metric.bucket(accumulator.unit, accumulator.bucket))
    return merged if merged in image.values else None


def check_definition(family: Family, correction: Event, counted: Iterable[str]) -> None:
    """Raise RefusedEvent if a corrected event counted in an accumulator that this definition does not know."""
    for name in counted:
        if family.accumulator(name) is None:
            reason = "a number that it counted means something else since boards.toml changed"
            raise refused(correction, f"{reason}: post the difference with a new id")


def counts_more(family: Family, counted: Iterable[str], part: EventPart, now: int) -> bool:
    """Whether an event of history counts at `now` (ms) in more places than it did, and can be corrected."""
    names = {*counted}
    for name in names:
        if family.accumulator(name) is None or members.is_settled(family, name, part.history, now):
            return False
    for name in members.counted_in(family, part, now):
        if (accumulator := family.accumulator(name)) is not None and accumulator.unit is not None:
            # Rolling periods read a bucket, and what came late for it.
            names_of_it = {name, accumulator.metric.bucket(accumulator.unit, accumulator.bucket)}
            if not names_of_it & names:
                return True
    return False


def closed_period(family: Family, counted: Iterable[str], now: int) -> str | None:
    """A readable period in which an event counted and that has closed by `now` (ms): `points in day 2026-11-20`."""
    for name in counted:
        accumulator = family.accumulator(name)
        if accumulator is None or accumulator.unit is None:
            continue
        for window in accumulator.metric.kept_windows:
            if window.unit == accumulator.unit and (period := _closed_in(accumulator, window, now)) is not None:
                metric = accumulator.metric
                return f"{metric.name} in {window.name} {metric.timetable.span(window, period).name}"
    return None


def _closed_in(accumulator: Accumulator, window: Window, now: int) -> int | None:
    """The latest period of a window that an accumulator counts in, if it has closed; None if it is open."""
    metric, unit, is_late, bucket, first = accumulator
    timetable = metric.timetable
    if unit is None or (is_late and not window.rolling):
        return None
    if not window.rolling:
        return bucket if now - timetable.end(unit, bucket) >= timetable.late_for(unit) else None
    latest = min(window.periods(bucket)[-1], timetable.index(unit, now - timetable.late_for(unit)) - 1)
    return latest if first <= latest and now < timetable.rolling_until(unit, latest) else None


def refused(correction: Event, reason: str) -> RefusedEvent:
    """The refusal of a correction, for a reason that says what to do."""
    detail = f"correct: the event {correction.corrects!r} cannot be corrected: {reason}"
    return RefusedEvent("correct", detail, correction.id)
