"""Where an event counts that is older than `late`."""

from collections.abc import Callable, Iterable
from typing import NamedTuple

from standings.domain.boards import Boards, Metric
from standings.domain.windows import DAY, Window


class Late(NamedTuple):
    """The windows in whose periods an event counts no longer: `Late(["day", "season"], ["season"], rolls=False)`.

    `readable` are those whose period can still be read: as history it counts there. `rolls`: rolling windows take it.
    """

    windows: list[str]
    readable: list[str]
    rolls: bool

    def sentence(self, how: str) -> str | None:
        """Where it counts; None if it is not late. `how` says what makes it history: `history=true`."""
        if not self.windows:
            return None
        where = "does not count in all its periods" if self.rolls else "counts in `all` alone"
        return f"it is older than `late` and {where}{advice(self.readable, f'{how} counts it in its')}"


def advice(readable: Iterable[str], counts: str) -> str:
    """What to do about late events: `; --history counts them in their day (7), unless settled`."""
    names = ", ".join(readable)
    return f"; {counts} {names}, unless settled" if names else "; the other periods can no longer be read"


def late_windows(
    boards_of: Callable[[str], Boards | None], parts: Iterable[tuple[str, Iterable[str], bool]], at: int, now: int
) -> Late:
    """The windows for which an event comes too late (ms). Each part has a board, metrics, and whether it sets them."""
    closed, rolls = dict[str, bool](), False
    for board, names, sets in parts:
        boards = boards_of(board)
        family = None if boards is None else boards.family(board)
        for metric in (family.metrics[name] for name in names if name in family.metrics) if family is not None else ():
            for window in metric.windows:
                unit = window.unit
                if unit is None or metric.timetable.bucket_for(unit, at, now) is not None:
                    continue
                if window.rolling and not (sets and metric.is_best):
                    rolls |= metric.late_bucket(unit, at, now) is not None
                elif (period := _period(metric, window, at)) is not None or unit != "s":
                    until = None if period is None else metric.timetable.readable_until(window, period)
                    can_be_read = until is not None and now < until
                    closed[window.name] = closed.get(window.name, False) or can_be_read
    return Late([*closed], [name for name, can_be_read in closed.items() if can_be_read], rolls)


def _period(metric: Metric, window: Window, at: int) -> int | None:
    """The last period that contains an instant; None in a gap between seasons, and where Python has no calendar."""
    if window.unit is None or at < DAY:
        return None
    timetable = metric.timetable
    index = timetable.index(window.unit, at)
    if not timetable.has(window.unit, index) or at >= timetable.end(window.unit, index):
        return None
    return window.periods(index)[-1]
