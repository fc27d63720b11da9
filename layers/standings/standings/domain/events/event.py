"""An event, and the error for an event that breaks a rule."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal, NoReturn

MAX_SHOWN_LENGTH: Final = 80
Field = Literal["id", "at", "member"]  # A field whose value must be text

Rule = Literal[
    Field,
    "age",
    "ahead",
    "amount",
    "board",
    "bounds",
    "damaged",
    "deleting",
    "internal",
    "json",
    "limit",
    "metrics",
    "missing",
    "note",
    "size",
    "store",
    "unknown",
    "unregistered",
    "updates",
]
"""Why an event is refused. It is a dimension of a metric, so the words are few and never come from an event."""


class RefusedEvent(ValueError):
    """An event that can never be applied. `rule` is for metrics; the message is for people."""

    def __init__(self, rule: Rule, message: str) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Update:
    """What an event adds to one member of one board: units by metric, and notes as JSON by metric."""

    board: str
    member: str
    amounts: Mapping[str, int]
    notes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Event:
    """One event. All of its updates count, or none. `at` is in milliseconds since 1970.

    `digest` depends neither on the order of fields nor on the notation of amounts, nor on an `at` that was filled in.
    """

    id: str
    at: int
    updates: tuple[Update, ...]
    digest: bytes


def shown(value: Any) -> str:
    """A value for a message: short, and without characters that could break a line of a log."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if isinstance(value, str):
        text = ascii(value[:MAX_SHOWN_LENGTH])
    else:
        text = str(value) if isinstance(value, Decimal) else json.dumps(value)
    return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[: MAX_SHOWN_LENGTH - 3]}..."


def refuse(rule: Rule, field: str, expected: str, value: Any) -> NoReturn:
    """Raise RefusedEvent for a value of a field."""
    raise RefusedEvent(rule, f"{field}: expected {expected}, got {shown(value)}")
