"""When a period's scores can no longer change by events: `open`, then `closing`, then `final`."""

from typing import Final, Literal

from standings.domain.windows.calendar import MINUTE
from standings.domain.windows.late_and_keep import Timetable
from standings.domain.windows.window import Window

State = Literal["open", "closing", "final"]

CLOCKS_DIFFER: Final = 5 * MINUTE
"""How much later than by the calendar a period is final. A writer decides by its own clock what is late, and may then
need the seconds of one call to write it. So this is the most by which a writer's clock may be behind a reader's."""


def final_at(timetable: Timetable, window: Window, period: int) -> int | None:
    """The instant from which no event can change a period's scores, in milliseconds; None if there is none.

    There is none for `all` and for rolling windows, which never end: each day they go on with another period.
    """
    bounds = timetable.bounds(window, period)
    if window.unit is None or window.rolling or bounds is None:
        return None
    return bounds[1] + timetable.late_for(window.unit) + CLOCKS_DIFFER


def state_of(timetable: Timetable, window: Window, period: int, now: int) -> State:
    """Whether a period is running, has ended and takes late events, or is final."""
    final, bounds = final_at(timetable, window, period), timetable.bounds(window, period)
    if final is None or bounds is None or now < bounds[1]:
        return "open"
    return "closing" if now < final else "final"


def label_of(timetable: Timetable, window: Window, period: int) -> str:
    """What a period is called in names of files: its first day, or the name of a season."""
    if window.unit == "s" and period in timetable.seasons:
        return timetable.seasons[period].name
    bounds = timetable.bounds(window, period)
    if bounds is None:
        raise ValueError(f"the window {window.name!r} has no periods")
    return timetable.local(bounds[0]).date().isoformat()
