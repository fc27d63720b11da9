"""When the state machine begins, how late its events are, and in which steps time goes on."""

from datetime import UTC, datetime
from typing import Final

STARTS: Final = (
    datetime(2026, 10, 23, 20, 30, tzinfo=UTC),  # before the end of daylight saving, of a week and of a month
    datetime(2026, 10, 24, 21, 57, tzinfo=UTC),  # three minutes before the day on which it ends
    datetime(2026, 12, 30, 22, 50, tzinfo=UTC),
    datetime(2027, 3, 26, 22, 59, tzinfo=UTC),
)
MINUTES_AGO: Final = (0, 0, 0, -4, 1, 30, 61, 5 * 60, *(24 * 60 * days for days in (1, 2, 3, 6, 9, 20, 42, 400)))
STEPS_IN_MINUTES: Final = (1, 20, 60, 5 * 60, 24 * 60, 25 * 60, 3 * 24 * 60, 7 * 24 * 60, 29 * 24 * 60)
