"""When an event happened: RFC 3339 text to milliseconds since 1970."""

import re
from datetime import datetime, timedelta
from typing import Final

from standings.domain.events.event import RefusedEvent, refuse, shown
from standings.domain.windows.calendar import EPOCH, MINUTE, SECOND

MAX_AHEAD: Final = 5 * MINUTE
_INSTANT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:)([0-9]{2})((\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-5][0-9]))"
)


def read_at(text: str, now: int) -> int:
    """Read the `at` of an event, in milliseconds; RefusedEvent if it is not an instant, or too far ahead of `now`."""
    try:
        if not (match := _INSTANT.fullmatch(text)):
            raise ValueError(text)
        # Python has no leap seconds, but RFC 3339 does: second 60 becomes the first of the next minute.
        leap = match[2] == "60"
        plain = f"{match[1]}59{match[3]}" if leap else text
        at = (datetime.fromisoformat(plain.upper()) - EPOCH) // timedelta(milliseconds=1) + leap * SECOND
    except (ValueError, OverflowError) as error:
        expected = "an RFC 3339 instant with offset such as 2026-11-21T10:15:00Z"
        raise RefusedEvent("at", f"at: expected {expected}, got {shown(text)}") from error
    if at > now + MAX_AHEAD:
        refuse("ahead", "at", "an instant at most 5 minutes ahead of the writer's clock", text)
    return at
