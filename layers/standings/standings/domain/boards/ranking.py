"""A ranking: one ordered list of a board's members."""

from typing import NamedTuple

from standings.domain.boards.definitions import Metric
from standings.domain.windows.window import Window


class Ranking(NamedTuple):
    """One ordered list: a board, a metric, a window and one of its periods, by index (0 for `all`).

    A rebuild makes it anew beside the old: each such copy of all rankings of a board is a *generation*, the first is 0.
    """

    board: str
    metric: Metric
    window: Window
    period: int
    generation: int = 0

    @property
    def key(self) -> str:
        """The text that names it in keys; it holds exactly one `#` and no `/`."""
        return f"{self.board}#{self.ranking_code}"

    @property
    def ranking_code(self) -> str:
        """The part of the key that follows the board."""
        code = self.metric.ranking_codes[self.window.name] + self.window.period_code(self.period)
        return code + generation_code(self.generation)

    @property
    def readable_until(self) -> int | None:
        """The instant at which it can no longer be read; None for `all`."""
        return self.metric.timetable.readable_until(self.window, self.period)


def generation_code(generation: int) -> str:
    """What ends the code of every ranking of a generation."""
    return f"~{generation}" if generation else ""
