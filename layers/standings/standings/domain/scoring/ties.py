"""How equal scores are ordered: by member id, or by who reached the score first."""

from typing import Final

from standings.domain.boards.definitions import MAX_UNITS, Metric
from standings.domain.scoring.sort_order import decode_sortable, encode_sortable

NO_TIE_KEY: Final = ""
"""The mark of what was counted without one: before all others."""

LONG_AGO: Final = -MAX_UNITS
"""The instant of what has no mark."""


def tie_key_of_event(metric: Metric, at: int, event_id: str) -> str:
    """The mark of an event: text in the order of events by `at`, and for `last` also by id."""
    if not metric.has_tie_keys:
        return NO_TIE_KEY
    return encode_sortable(at) + event_id if metric.aggregate == "last" else encode_sortable(at)


def tie_instant(metric: Metric, tie_key: str) -> int | None:
    """The instant that tells equals apart; None where the member id does."""
    if not metric.ties_by_instant:
        return None
    return decode_sortable(tie_key)[0] if tie_key else LONG_AGO
