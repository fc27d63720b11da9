"""The rankings of a rolling window: one for each period, with rows, lists and logs that periods share."""

from functools import lru_cache
from typing import Final, NamedTuple

from standings.domain.boards.definitions import Metric, Ranking, generation_code
from standings.domain.members.open_rankings import SKIP_MARGIN
from standings.domain.windows.calendar import DAY, HOUR
from standings.domain.windows.window import Unit, Window

_LENGTH: Final[dict[Unit, int]] = {"h": HOUR, "d": DAY}


class RollingRankings(NamedTuple):
    """All rankings of a rolling window on a board, in one generation."""

    board: str
    metric: Metric
    window: Window
    generation: int = 0

    @property
    def key(self) -> str:
        """The text that names the rows and the logs in keys: that of a ranking without its period."""
        code = self.metric.ranking_code(self.window)
        return f"{self.board}#{code}{generation_code(self.generation)}"

    @property
    def unit(self) -> Unit:
        """The unit of the window's buckets."""
        if self.window.unit is None:
            raise ValueError(f"expected a rolling window, got {self.window.name!r}")
        return self.window.unit

    def at(self, period: int) -> Ranking:
        """The ranking of one period."""
        return Ranking(self.board, self.metric, self.window, period, self.generation)

    def readable_until(self, period: int) -> int:
        """The instant from which a period can no longer be read."""
        return self.metric.timetable.readable_until(self.window, period) or 0

    def first_open(self, now: int) -> int:
        """The first period that can be read at `now`, or could be read until `SKIP_MARGIN` before."""
        return _first_open(self.metric, self.window, self.unit, now)


def rolling_of(ranking: Ranking) -> RollingRankings:
    """The rankings of all periods of a ranking's window."""
    return RollingRankings(ranking.board, ranking.metric, ranking.window, ranking.generation)


# The members of a batch were written at almost the same time.
@lru_cache(maxsize=4096)
def _first_open(metric: Metric, window: Window, unit: Unit, now: int) -> int:
    timetable = metric.timetable

    def is_open(period: int) -> bool:
        return now < (timetable.readable_until(window, period) or 0) + SKIP_MARGIN

    period = max(0, timetable.index(unit, max(0, now - SKIP_MARGIN - max(timetable.late_for(unit), _LENGTH[unit]))))
    while not is_open(period):
        period += 1
    while period > 0 and is_open(period - 1):
        period -= 1
    return period
