"""How equal scores are ordered: by member id, or by who reached the score first."""

from typing import Final

from standings.domain.boards.definitions import MAX_UNITS, Metric
from standings.domain.scoring.sort_order import read_written, written

UNMARKED: Final = ""
"""The mark of what was counted without one: before all others."""

LONG_AGO: Final = -MAX_UNITS
"""The instant of what has no mark."""


def mark_of(metric: Metric, at: int, event_id: str) -> str:
    """The mark of an event: text in the order of events by `at`, and for `last` also by id."""
    if not metric.marked:
        return UNMARKED
    return written(at) + event_id if metric.aggregate == "last" else written(at)


def since_of(metric: Metric, mark: str) -> int | None:
    """The instant that tells equals apart; None where the member id does."""
    if not metric.dated:
        return None
    return read_written(mark)[0] if mark else LONG_AGO
