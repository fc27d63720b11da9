"""Events: what a producer sends, told from what it must not send.

A body becomes a frozen `Event`, or a `RefusedEvent` that names the field, the value and the rule.
"""

import json
import re
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Final, NoReturn

import orjson

from standings.domain.boards.boards_toml import MAX_METRICS, METRIC_NAME
from standings.domain.boards.definitions import Boards
from standings.domain.boards.names import BOARD_NAME, MAX_MEMBER_BYTES
from standings.domain.events.amounts import canonical_amount, parse_amount
from standings.domain.events.event import Event, Field, RefusedEvent, Update, refuse, shown
from standings.domain.events.instants import read_at
from standings.domain.scoring.aggregates import Aggregate, merge

MAX_ID_LENGTH: Final = 128
MAX_BOARDS: Final = 10
MAX_UPDATES: Final = 20
MAX_PAIRS: Final = 50
# A number that a float may hold only nearly, or not at all: such a body is parsed again, with exact numbers.
_INEXACT: Final = re.compile(r"[0-9][0-9.]{15}|[0-9][eE][+-]?[0-9]{3}")
_TRIPLE: Final = ("board", "member", "metrics")


def parse_event(body: str, boards: Boards, now: int, *, at_filled_in: bool = False) -> Event:
    """The event in a message's body; RefusedEvent where it breaks a rule. `now` is in milliseconds.

    `at_filled_in` says that the producer left `at` to us: posted again, the same event has another.
    """
    document = _document(body)
    known = {"id", "at", "updates"} if "updates" in document else {"id", "at", *_TRIPLE}
    _only(document, known, "")
    event_id = _text(document, "id", "id")
    if not 1 <= len(event_id) <= MAX_ID_LENGTH:
        refuse(
            "id",
            f"id: must have 1 to {MAX_ID_LENGTH} characters, has {len(event_id)}: {shown(event_id)}",
        )
    at = read_at(_text(document, "at", "at"), now)
    pairs: dict[tuple[str, str], dict[str, int]] = {}
    precisions: dict[tuple[str, str], int] = {}
    for field, triple in _triples(document):
        for board, member, amounts in _updates(field, triple, boards, precisions):
            merged = pairs.setdefault((board, member), {})
            for name, units in amounts.items():
                merged[name] = _merged(boards, board, name, merged.get(name), units)
    if len(pairs) > MAX_PAIRS:
        refuse(
            "updates",
            f"updates: {len(pairs)} different pairs of board and member, at most {MAX_PAIRS}",
        )
    updates = tuple(Update(board, member, amounts) for (board, member), amounts in pairs.items())
    return Event(event_id, at, updates, _digest(None if at_filled_in else at, updates, precisions))


def _merged(boards: Boards, board: str, name: str, before: int | None, units: int) -> int:
    """What an event that names a member twice says of a metric: what two events would come to, the later one last."""
    family = boards.family(board)
    if before is None or family is None:
        return units
    return merge(family.metrics[name], Aggregate(units), Aggregate(before)).value


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
        refuse("json", f"body: must be a JSON object, is {shown(document)}")
    return document


def no_constant(name: str) -> NoReturn:
    """ValueError for what Python's parser reads and JSON has not, such as NaN."""
    raise ValueError(f"there is no {name} in JSON")


def _triples(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    if "updates" not in document:
        return [("", document)]
    updates = document["updates"]
    if not isinstance(updates, list) or not 1 <= len(updates) <= MAX_UPDATES:
        refuse(
            "updates",
            f"updates: must be a list of 1 to {MAX_UPDATES} objects, is {shown(updates)}",
        )
    triples = []
    for number, update in enumerate(updates):
        field = f"updates[{number}]"
        if not isinstance(update, dict):
            refuse("updates", f"{field}: must be an object, is {shown(update)}")
        _only(update, set(_TRIPLE), f"{field}.")
        triples.append((f"{field}.", update))
    return triples


def _updates(
    field: str, triple: dict[str, Any], boards: Boards, precisions: dict[tuple[str, str], int]
) -> list[tuple[str, str, dict[str, int]]]:
    names = _boards(field, triple)
    member = _text(triple, "member", f"{field}member")
    size = len(member.encode())
    if not 1 <= size <= MAX_MEMBER_BYTES:
        refuse(
            "member",
            f"{field}member: must have 1 to {MAX_MEMBER_BYTES} bytes of UTF-8, has {size}: {shown(member)}",
        )
    metrics = _required(triple, "metrics", f"{field}metrics")
    if not isinstance(metrics, dict) or not 1 <= len(metrics) <= MAX_METRICS:
        refuse(
            "metrics",
            f"{field}metrics: must be an object of 1 to {MAX_METRICS} numbers, is {shown(metrics)}",
        )
    found = []
    for board in names:
        family = boards.family(board)
        if family is None:
            refuse("board", f"{field}board: no family in boards.toml matches {board!r}")
        amounts = {}
        for name, value in metrics.items():
            metric = family.metrics.get(name)
            if metric is None:
                hint = "" if METRIC_NAME.fullmatch(name) else ", nor could there be"
                refuse("metrics", f"{field}metrics: board {board!r} has no metric {shown(name)}{hint}")
            amounts[name] = parse_amount(f"{field}metrics.{name}", value, metric)
            precisions[board, name] = metric.precision
        found.append((board, member, amounts))
    return found


def _boards(field: str, triple: dict[str, Any]) -> list[str]:
    value = _required(triple, "board", f"{field}board")
    names = value if isinstance(value, list) else [value]
    if not 1 <= len(names) <= MAX_BOARDS:
        refuse(
            "board",
            f"{field}board: must be one board or a list of 1 to {MAX_BOARDS}, is a list of {len(names)}",
        )
    for name in names:
        if not isinstance(name, str) or not BOARD_NAME.fullmatch(name) or name in (".", ".."):
            refuse(
                "board",
                f"{field}board: must be 1 to 128 of A-Z a-z 0-9 . _ : -, not . or .., is {shown(name)}",
            )
    if len(set(names)) < len(names):
        refuse("board", f"{field}board: a board stands there twice: {shown(names)}")
    return names


def _digest(at: int | None, updates: tuple[Update, ...], precisions: dict[tuple[str, str], int]) -> bytes:
    said = sorted(
        [update.board, update.member, name, *canonical_amount(units, precisions[update.board, name])]
        for update in updates
        for name, units in update.amounts.items()
    )
    return blake2b(orjson.dumps([at, said]), digest_size=12).digest()


def _required(table: dict[str, Any], key: str, field: str) -> Any:
    if key not in table:
        refuse("missing", f"{field}: is missing")
    return table[key]


def _text(table: dict[str, Any], key: Field, field: str) -> str:
    value = _required(table, key, field)
    if not isinstance(value, str):
        refuse(key, f"{field}: must be text, is {shown(value)}")
    return value


def _only(table: dict[str, Any], known: set[str], prefix: str) -> None:
    for key in table:
        if key not in known:
            refuse(
                "unknown",
                f"{prefix}{shown(key)[1:-1]}: no such field; there are {', '.join(sorted(known))}",
            )
