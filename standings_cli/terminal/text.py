"""Text for a terminal. Names from outside are escaped, so that a terminal reads them as plain text."""

import json
import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

_CONTROLS: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories of control characters, line ends and lone surrogates; all have 16 bits."""
_DIRECTIONS: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of the text around them."""


def shown(text: str) -> str:
    """Return the text on one line, with every character that a terminal could interpret escaped as in JSON."""
    return "".join(f"\\u{ord(character):04x}" if _is_control(character) else character for character in text)


def as_json(value: Any) -> str:
    """Return JSON on one line, with the same characters escaped as in `shown`."""
    # They stand only within JSON's strings, where the escape means the same character.
    return shown(json.dumps(value, ensure_ascii=False))


def number(value: float) -> str:
    """Return a number of the API with all its decimals, and commas for thousands."""
    return f"{value:,}" if isinstance(value, int) else f"{Decimal(repr(value)):,f}"


def plain(value: float) -> str:
    """Return a number of the API with all its decimals, for machines."""
    return number(value).replace(",", "")


def members(count: int) -> str:
    """Return a count of members, such as `1 member`."""
    return f"{number(count)} member{'' if count == 1 else 's'}"


def period(answer: Mapping[str, Any]) -> str:
    """Return the days or hours of an answer's period, in the board's time zone, after a season's name.

    It is empty for `all`, and before the first season.
    """
    if answer["period"]["start"] is None:
        return ""
    start, end = (datetime.fromisoformat(answer["period"][side]) for side in ("start", "end"))
    if answer["window"] == "hour" or answer["window"].endswith("-hours"):
        return f"{start:%Y-%m-%d %H:%M} to {end:{'%H:%M' if start.date() == end.date() else '%Y-%m-%d %H:%M'}}"
    first, last = start.date(), (end - timedelta(microseconds=1)).date()
    name = answer["period"].get("name")
    return f"{name}, {first} to {last}" if name else f"{first}" if first == last else f"{first} to {last}"


def ranking(answer: Mapping[str, Any]) -> str:
    """Return the ranking of an answer: board, metric, window and period."""
    names = (answer["board"], answer["metric"], answer["window"], period(answer))
    return " · ".join(shown(name) for name in names if name)


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in _CONTROLS or character in _DIRECTIONS
