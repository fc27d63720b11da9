"""How things read on a terminal: what others have named is text there, whatever it holds."""

import json
import unicodedata
from collections.abc import Mapping
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any, Final

_CONTROLS: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""What a terminal may take for a command, what ends a line, and halves of characters; all of 16 bits."""
_TURNS: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""What turns the direction of writing, also that of what stands beside it."""


def shown(text: str) -> str:
    """Text of others in one line, such that no terminal takes it for more than text: the rest stands escaped."""
    return "".join(_escaped(character) if _is_more(character) else character for character in text)


def as_json(value: Any) -> str:
    """JSON in one line; what a terminal would take for more than text is escaped, as JSON has it."""
    # Outside of its texts JSON has none of these, and in them this is the same text.
    return shown(json.dumps(value, ensure_ascii=False))


def number(value: float) -> str:
    """A number of the API with all its decimals, and commas for thousands."""
    return f"{value:,}" if isinstance(value, int) else f"{Decimal(repr(value)):,f}"


def members(count: int) -> str:
    """So many members."""
    return f"{number(count)} member{'' if count == 1 else 's'}"


def ago(seconds: float) -> str:
    """How long ago something was, to two digits or so."""
    for unit, size, most in (("s", 1, 90), ("min", 60, 5_400), ("h", 3_600, 172_800)):
        if seconds < most:
            return f"{max(0, round(seconds / size))} {unit} ago"
    return f"{round(seconds / 86_400)} days ago"


def period(answer: Mapping[str, Any]) -> str:
    """The period of an answer, as the board's clocks show it: its days, or its hours; empty for `all`."""
    if answer["period"]["start"] is None:
        return ""
    start, end = (datetime.fromisoformat(answer["period"][side]) for side in ("start", "end"))
    if answer["window"] == "hour" or answer["window"].endswith("-hours"):
        return f"{start:%Y-%m-%d %H:%M} to {end:{'%H:%M' if start.date() == end.date() else '%Y-%m-%d %H:%M'}}"
    first, last = start.date(), (end - timedelta(microseconds=1)).date()
    return f"{first}" if first == last else f"{first} to {last}"


def ranking(answer: Mapping[str, Any]) -> str:
    """Which ranking an answer is about."""
    names = (answer["board"], answer["metric"], answer["window"], period(answer))
    return " · ".join(shown(name) for name in names if name)


def _is_more(character: str) -> bool:
    return unicodedata.category(character) in _CONTROLS or character in _TURNS


def _escaped(character: str) -> str:
    return f"\\u{ord(character):04x}"
