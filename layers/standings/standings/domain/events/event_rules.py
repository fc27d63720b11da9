"""Events: what a producer sends, told from what it must not send.

A body becomes a frozen `Event`, or a `RefusedEvent` that names the field, the value and the rule.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Final, Literal, NoReturn

import orjson

from standings.domain.boards.boards_toml import METRIC_NAME, MOST_METRICS
from standings.domain.boards.definitions import MAX_UNITS, Boards, Metric
from standings.domain.scoring.aggregates import Cell, combined
from standings.domain.windows.late_and_keep import MINUTE, SECOND

MOST_AHEAD: Final = 5 * MINUTE
LONGEST_ID: Final = 128
LONGEST_MEMBER: Final = 256
MOST_BOARDS: Final = 10
MOST_UPDATES: Final = 20
MOST_PAIRS: Final = 50
MOST_DIGITS: Final = 15
LONGEST_SHOWN: Final = 80

BOARD_NAME: Final = re.compile(r"[A-Za-z0-9._:-]{1,128}")
_INSTANT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:)([0-9]{2})((\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-5][0-9]))"
)
# A number that a float may hold only nearly, or not at all: such a body is parsed again, with exact numbers.
_INEXACT: Final = re.compile(r"[0-9][0-9.]{15}|[0-9][eE][+-]?[0-9]{3}")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_SURELY_KEPT: Final = 10**MOST_DIGITS - 1
"""Units, and so digits, of which a whole number breaks no rule."""
_TRIPLE: Final = ("board", "member", "metrics")


Field = Literal["id", "at", "member"]
"""A field whose value must be text."""

Rule = Literal[
    Field,
    "age",
    "ahead",
    "amount",
    "board",
    "bounds",
    "internal",
    "json",
    "metrics",
    "missing",
    "size",
    "store",
    "unknown",
    "unregistered",
    "updates",
]
"""What an event can be refused for: a dimension of a metric, so few words, and none that an event brings."""


class RefusedEvent(ValueError):
    """An event that can never be applied. `rule` is for metrics; the message is for people."""

    def __init__(self, rule: Rule, message: str) -> None:
        super().__init__(message)
        self.rule = rule


@dataclass(frozen=True, slots=True)
class Update:
    """What an event adds to one member of one board: units by metric."""

    board: str
    member: str
    amounts: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Event:
    """One event: it counts on all of its updates or on none. `at` is in milliseconds since 1970.

    `digest` is the same for two bodies that say the same, whatever their order of fields and notation of numbers. An
    `at` that was filled in for the producer is not something that its event says.
    """

    id: str
    at: int
    updates: tuple[Update, ...]
    digest: bytes


def parse_event(body: str, boards: Boards, now: int, *, at_filled_in: bool = False) -> Event:
    """The event in a message's body; RefusedEvent where it breaks a rule. `now` is in milliseconds.

    `at_filled_in` says that the producer left `at` to us: posted again, the same event has another.
    """
    document = _document(body)
    known = {"id", "at", "updates"} if "updates" in document else {"id", "at", *_TRIPLE}
    _only(document, known, "")
    event_id = _text(document, "id", "id")
    if not 1 <= len(event_id) <= LONGEST_ID:
        _refuse(
            "id",
            f"id: must have 1 to {LONGEST_ID} characters, has {len(event_id)}: {_show(event_id)}",
        )
    at = read_at(_text(document, "at", "at"), now)
    pairs: dict[tuple[str, str], dict[str, int]] = {}
    precisions: dict[tuple[str, str], int] = {}
    for field, triple in _triples(document):
        for board, member, amounts in _updates(field, triple, boards, precisions):
            merged = pairs.setdefault((board, member), {})
            for name, units in amounts.items():
                merged[name] = _merged(boards, board, name, merged.get(name), units)
    if len(pairs) > MOST_PAIRS:
        _refuse(
            "updates",
            f"updates: {len(pairs)} different pairs of board and member, at most {MOST_PAIRS}",
        )
    updates = tuple(Update(board, member, amounts) for (board, member), amounts in pairs.items())
    return Event(event_id, at, updates, _digest(None if at_filled_in else at, updates, precisions))


def _merged(boards: Boards, board: str, name: str, before: int | None, units: int) -> int:
    """What an event that names a member twice says of a metric: what two events would come to, the later one last."""
    family = boards.family(board)
    if before is None or family is None:
        return units
    return combined(family.metrics[name], Cell(units), Cell(before)).value


def _document(body: str) -> dict[str, Any]:
    try:
        if _INEXACT.search(body):
            # orjson reads decimals as floats, which round beyond 15 digits, and to 0, without a word.
            document = json.loads(body, parse_float=Decimal, parse_int=Decimal, parse_constant=no_constant)
            # What only nearly is JSON is refused as everywhere: half a character, for one.
            orjson.dumps(document, default=str)
        else:
            document = orjson.loads(body)
    except (ValueError, RecursionError, ArithmeticError, TypeError) as error:
        raise RefusedEvent("json", f"body: cannot be read: {error!r}") from error
    if not isinstance(document, dict):
        _refuse("json", f"body: must be a JSON object, is {_show(document)}")
    return document


def no_constant(name: str) -> NoReturn:
    """ValueError for what Python's parser reads and JSON has not, such as NaN."""
    raise ValueError(f"there is no {name} in JSON")


def _triples(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    if "updates" not in document:
        return [("", document)]
    updates = document["updates"]
    if not isinstance(updates, list) or not 1 <= len(updates) <= MOST_UPDATES:
        _refuse(
            "updates",
            f"updates: must be a list of 1 to {MOST_UPDATES} objects, is {_show(updates)}",
        )
    triples = []
    for number, update in enumerate(updates):
        field = f"updates[{number}]"
        if not isinstance(update, dict):
            _refuse("updates", f"{field}: must be an object, is {_show(update)}")
        _only(update, set(_TRIPLE), f"{field}.")
        triples.append((f"{field}.", update))
    return triples


def _updates(
    field: str, triple: dict[str, Any], boards: Boards, precisions: dict[tuple[str, str], int]
) -> list[tuple[str, str, dict[str, int]]]:
    names = _boards(field, triple)
    member = _text(triple, "member", f"{field}member")
    size = len(member.encode())
    if not 1 <= size <= LONGEST_MEMBER:
        _refuse(
            "member",
            f"{field}member: must have 1 to {LONGEST_MEMBER} bytes of UTF-8, has {size}: {_show(member)}",
        )
    metrics = _required(triple, "metrics", f"{field}metrics")
    if not isinstance(metrics, dict) or not 1 <= len(metrics) <= MOST_METRICS:
        _refuse(
            "metrics",
            f"{field}metrics: must be an object of 1 to {MOST_METRICS} numbers, is {_show(metrics)}",
        )
    found = []
    for board in names:
        family = boards.family(board)
        if family is None:
            _refuse("board", f"{field}board: no family in boards.toml matches {board!r}")
        amounts = {}
        for name, value in metrics.items():
            metric = family.metrics.get(name)
            if metric is None:
                hint = "" if METRIC_NAME.fullmatch(name) else ", nor could there be"
                _refuse("metrics", f"{field}metrics: board {board!r} has no metric {_show(name)}{hint}")
            amounts[name] = _units(f"{field}metrics.{name}", value, metric)
            precisions[board, name] = metric.precision
        found.append((board, member, amounts))
    return found


def _boards(field: str, triple: dict[str, Any]) -> list[str]:
    value = _required(triple, "board", f"{field}board")
    names = value if isinstance(value, list) else [value]
    if not 1 <= len(names) <= MOST_BOARDS:
        _refuse(
            "board",
            f"{field}board: must be one board or a list of 1 to {MOST_BOARDS}, is a list of {len(names)}",
        )
    for name in names:
        if not isinstance(name, str) or not BOARD_NAME.fullmatch(name) or name in (".", ".."):
            _refuse(
                "board",
                f"{field}board: must be 1 to 128 of A-Z a-z 0-9 . _ : -, not . or .., is {_show(name)}",
            )
    if len(set(names)) < len(names):
        _refuse("board", f"{field}board: a board stands there twice: {_show(names)}")
    return names


def _units(field: str, value: Any, metric: Metric) -> int:
    """An amount as a whole number of the metric's units."""
    if type(value) is int:
        whole: int = value * 10**metric.precision
        if abs(whole) <= _SURELY_KEPT:
            return whole
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        _refuse("amount", f"{field}: must be a number, is {_show(value)}")
    sign, all_digits, exponent = Decimal(repr(value) if isinstance(value, float) else value).as_tuple()
    if not isinstance(exponent, int):
        _refuse("amount", f"{field}: must be a finite number, is {_show(value)}")
    digits = "".join(map(str, all_digits)).lstrip("0")
    kept = digits.rstrip("0")
    exponent += len(digits) - len(kept)
    if not kept:
        return 0
    if len(kept) > MOST_DIGITS:
        _refuse("amount", f"{field}: more than {MOST_DIGITS} significant digits: {_show(value)}")
    if exponent < -metric.precision:
        _refuse("amount", f"{field}: at most {metric.precision} decimals are kept, got {_show(value)}")
    zeros = exponent + metric.precision
    if len(kept) + zeros > len(str(MAX_UNITS)) or (units := int(kept) * 10**zeros) > MAX_UNITS:
        _refuse(
            "amount",
            f"{field}: beyond ±(2^53 - 1) units of {metric.precision} decimals: {_show(value)}",
        )
    return -int(units) if sign else int(units)


def read_at(text: str, now: int) -> int:
    """When an event says that it was, in milliseconds; RefusedEvent where that is no instant, or is ahead of `now`."""
    try:
        if not (match := _INSTANT.fullmatch(text)):
            raise ValueError(text)
        # A leap second is legal, and Python has none: it is taken for the first of the next minute.
        leap = match[2] == "60"
        plain = f"{match[1]}59{match[3]}" if leap else text
        at = (datetime.fromisoformat(plain.upper()) - _EPOCH) // timedelta(milliseconds=1) + leap * SECOND
    except (ValueError, OverflowError) as error:
        message = f"at: must be an RFC 3339 instant with offset such as 2026-11-21T10:15:00Z, is {_show(text)}"
        raise RefusedEvent("at", message) from error
    if at > now + MOST_AHEAD:
        _refuse("ahead", f"at: more than 5 minutes ahead of the writer's clock: {_show(text)}")
    return at


def _digest(at: int | None, updates: tuple[Update, ...], precisions: dict[tuple[str, str], int]) -> bytes:
    said = sorted(
        [update.board, update.member, name, *_canonical(units, precisions[update.board, name])]
        for update in updates
        for name, units in update.amounts.items()
    )
    return blake2b(orjson.dumps([at, said]), digest_size=12).digest()


def _canonical(units: int, precision: int) -> tuple[int, int]:
    """A decimal in one way only, so that a changed precision does not make a known event another."""
    while precision and units % 10 == 0:
        units //= 10
        precision -= 1
    return units, precision


def _required(table: dict[str, Any], key: str, field: str) -> Any:
    if key not in table:
        _refuse("missing", f"{field}: is missing")
    return table[key]


def _text(table: dict[str, Any], key: Field, field: str) -> str:
    value = _required(table, key, field)
    if not isinstance(value, str):
        _refuse(key, f"{field}: must be text, is {_show(value)}")
    return value


def _only(table: dict[str, Any], known: set[str], prefix: str) -> None:
    for key in table:
        if key not in known:
            _refuse(
                "unknown",
                f"{prefix}{_show(key)[1:-1]}: no such field; there are {', '.join(sorted(known))}",
            )


def _show(value: Any) -> str:
    """A value for a person to read: short, and with nothing in it that could break a line of a log."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if isinstance(value, str):
        text = ascii(value[:LONGEST_SHOWN])
    else:
        text = str(value) if isinstance(value, Decimal) else json.dumps(value)
    return text if len(text) <= LONGEST_SHOWN else f"{text[: LONGEST_SHOWN - 3]}..."


def _refuse(rule: Rule, message: str) -> NoReturn:
    raise RefusedEvent(rule, message)
