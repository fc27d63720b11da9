"""A ranking: one ordered list of a board's members."""

from typing import NamedTuple

from standings.domain.boards.definitions import Metric
from standings.domain.windows.window import Window


class Ranking(NamedTuple):
    """One ordered list of a board: a metric, a window, and the index of one of its periods (0 for `all`).

    A rebuild writes all rankings of a board anew beside the old ones. Each such copy is a *generation*; the first is 0.
    """

    board: str
    metric: Metric
    window: Window
    period: int
    generation: int = 0

    @property
    def key(self) -> str:
        """The text that names the ranking in keys; it contains exactly one `#` and no `/`."""
        return f"{self.board}#{self.ranking_code}"

    @property
    def ranking_code(self) -> str:
        """The part of the key after the board."""
        period = "" if self.window.unit is None else self.period
        return f"{self.metric.ranking_code(self.window)}{period}{generation_code(self.generation)}"

    @property
    def readable_until(self) -> int | None:
        """The instant from which the ranking can no longer be read; None for `all`."""
        return self.metric.timetable.readable_until(self.window, self.period)


def generation_code(generation: int) -> str:
    """The end of the code of every ranking of a generation."""
    return f"~{generation}" if generation else ""
