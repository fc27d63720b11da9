"""Ties: how members with equal scores are ordered.

- `ties = "member"`: by member id.
- `ties = "first"`: by the event with which they reached the score, then by member id. For `sum` it is the latest
  event, for `max` and `min` the first one with that amount, for `last` the one with the latest `at` and greatest id.

An aggregate keeps the *tie key* of that event: text that sorts as the events do, by `at`, and for `last` and metrics
with notes also by id.
"""

from typing import Final

from standings.domain.boards.definitions import MAX_UNITS, Metric
from standings.domain.scoring.sort_order import decode_sortable, encode_sortable

NO_TIE_KEY: Final = ""  # The tie key of events that were counted before tie keys were kept. It sorts before all others.
LONG_AGO: Final = -MAX_UNITS  # The instant that stands for NO_TIE_KEY


def tie_key_of_event(metric: Metric, at: int, event_id: str) -> str:
    """The tie key of an event; NO_TIE_KEY if the metric needs none."""
    if not metric.has_tie_keys:
        return NO_TIE_KEY
    by_id = metric.aggregate == "last" or metric.notes
    return encode_sortable(at) + event_id if by_id else encode_sortable(at)


def tie_instant(metric: Metric, tie_key: str) -> int | None:
    """The instant, in milliseconds, that orders equals; None if the member id does."""
    if not metric.ties_by_instant:
        return None
    return decode_sortable(tie_key)[0] if tie_key else LONG_AGO
