"""Events: what a producer sends, and the rules that an event must follow to be counted.

A body becomes an `Event`, or a `RefusedEvent` that names the field, the value and the rule.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from hashlib import blake2b
from typing import Any, Final, Literal, NamedTuple, NoReturn, TypeGuard

import orjson

from standings.domain import scoring
from standings.domain.boards import BOARD_NAME_RULE, MAX_MEMBER_BYTES, Boards, Family, Metric, family_of, is_board_name
from standings.domain.boards_toml import MAX_DECIMALS, MAX_METRICS, METRIC_NAME, METRIC_RULE
from standings.domain.scoring import Aggregate, UnitsError, decimal_text, units_of
from standings.domain.windows import EPOCH, MINUTE, SECOND, instant

_OfAField = Literal["id", "at", "board", "member", "metrics", "amount", "note", "set", "updates", "correct", "retract"]
_OfABody = Literal["json", "size", "missing", "unknown", "age", "ahead", "bounds", "limit"]
_OfAWriter = Literal["damaged", "deleting", "expired", "internal", "store", "unregistered"]
Rule = Literal[_OfAField, _OfABody, _OfAWriter]
"""Why an event is refused. It is a dimension of a metric, so the words are few and never come from an event."""
MAX_ID_LENGTH: Final = 128
MAX_BOARDS: Final = 10
MAX_UPDATES: Final = 20
MAX_PAIRS: Final = 50
MAX_NOTE_BYTES: Final = 256
MAX_DIGITS: Final = 15


def parse_event(body: str, boards: Boards, now: int, *, at_filled_in: bool | str = False) -> "Event":
    """The event in a message's body; RefusedEvent if it breaks a rule.

    `now` is in milliseconds. `at_filled_in` says that the producer sent no `at`. Or it is the `at` that the producer
    gave to many events, such as `2026-11-21T10:15:00.000Z`, which count in order, each a little later. Posted again,
    the same event may have another `at` in its body, so that is not in its digest.
    """
    document = _document(body)
    try:
        return _event(document, boards, now, at_filled_in=at_filled_in)
    except RefusedEvent as refusal:
        event_id = document.get("id")
        refusal.event_id = event_id if is_event_id(event_id) else None
        raise


def check_event(body: str, now: int) -> None:
    """Raise RefusedEvent if an event breaks a rule that holds whatever `boards.toml` says. `now` is in milliseconds."""
    document = _document(body)
    _head(document, now)
    for share in _shares(document) if "retract" not in document else ():
        for name, number in share.numbers.items():
            if not METRIC_NAME.fullmatch(name):
                raise RefusedEvent("metrics", f"{share.prefix}metrics: expected {METRIC_RULE}, got {shown(name)}")
            field = f"{share.prefix}metrics.{name}"
            try:
                scoring.check_units(_decimal(field, number), MAX_DECIMALS, MAX_DIGITS)
            except UnitsError as error:
                refuse("amount", field, str(error), number)


@dataclass(frozen=True, slots=True)
class Event:
    """One event. All of its updates count, or none. `at` is in milliseconds since 1970.

    `digest` depends neither on the order of fields nor on the notation of amounts, nor on an `at` that was filled in.
    `digest_at` is the `at` in it; None if that was filled in. A *correction* has the id of another event in `corrects`:
    its updates replace what that event counted; without updates, it takes that back. Without an `at` of its own it
    keeps the event's: both are NO_AT. One of `history`, as its message says, also counts in periods that have closed.
    """

    id: str
    at: int
    updates: tuple["Update", ...]
    digest: bytes
    digest_at: int | None = None
    corrects: str | None = None
    history: bool = False

    @property
    def items(self) -> list[tuple[str, str]]:
        """Board and member of each item that the event changes: `[("berlin-2026", "u123")]`."""
        return [(update.board, update.member) for update in self.updates]


NO_AT: Final = -1  # Stands for the `at` of a correction that has none


@dataclass(frozen=True, slots=True)
class Update:
    """What an event adds to a member of a board: units, and notes (JSON), by metric. With `sets`: totals or bests."""

    board: str
    member: str
    amounts: Mapping[str, int]
    notes: Mapping[str, str] = field(default_factory=dict)
    sets: bool = False


class RefusedEvent(ValueError):
    """An event that can never be applied: a `rule` for metrics, a message for people, the event's id if it has one."""

    def __init__(self, rule: Rule, message: str, event_id: str | None = None) -> None:
        super().__init__(message)
        self.rule = rule
        self.event_id = event_id


def expired_board(board: str, ends: int | None, event_id: str) -> RefusedEvent:
    """The refusal of an event of a board that ended at an instant (ms)."""
    return RefusedEvent("expired", f"board: {board!r} ended at {instant(ends)}, and takes no more events", event_id)


def _event(document: dict[str, Any], boards: Boards, now: int, *, at_filled_in: bool | str) -> Event:
    event_id, at, corrects = _head(document, now)
    if "retract" in document:
        return Event(event_id, at, (), _digest_of_correction(corrects, None, b""), at, corrects)
    updates = _updates(document, boards)
    digest_at = read_at(at_filled_in, now) if isinstance(at_filled_in, str) else None if at_filled_in else at
    digest = content_digest(digest_at, updates, boards)
    if corrects is not None:
        _check_correction(boards, updates)
        digest = _digest_of_correction(corrects, digest_at, digest)
    return Event(event_id, at, updates, digest, digest_at, corrects)


def _updates(document: dict[str, Any], boards: Boards) -> tuple[Update, ...]:
    pairs: dict[tuple[str, str], dict[str, Aggregate]] = {}
    set_pairs: set[tuple[str, str]] = set()
    for share in _shares(document):
        is_kept = False
        for board, amounts in _amounts(share, boards):
            given = pairs.setdefault((board, share.member), {})
            by_name = {metric.name: units for metric, units in amounts}
            for metric, units in amounts:
                is_kept = is_kept or metric.notes
                if metric.kept_with is None:
                    companions = scoring.companions_of(metric, by_name) if metric.has_companions else ""
                    added = Aggregate(units, note=share.note if metric.notes else "", companions=companions)
                    before = given.get(metric.name)
                    # Amounts of a member that an event names twice count like those of two events, the second one last.
                    given[metric.name] = added if before is None else scoring.merge(metric, added, before)
        if share.note and not is_kept:
            expected = "a metric that keeps notes (notes = true in boards.toml)"
            refuse("note", f"{share.prefix}note", expected, orjson.loads(share.note))
        set_pairs.update((board, share.member) for board in share.boards if share.sets)
    return tuple(
        Update(
            *pair,
            _with_companions(boards, pair[0], given),
            {name: one.note for name, one in given.items() if one.note},
            pair in set_pairs,
        )
        for pair, given in pairs.items()
    )


def _check_correction(boards: Boards, updates: Iterable[Update]) -> None:
    """Raise RefusedEvent unless what replaces an event are amounts of sums."""
    for update in updates:
        metrics = family_of(boards, update.board).metrics
        for name in () if update.sets else update.amounts:
            if metrics[name].aggregate != "sum":
                detail = f"metrics.{name}: {_CORRECT_SUMS}, got one with aggregate {metrics[name].aggregate}"
                raise RefusedEvent("correct", f"{detail}: {SET_INSTEAD}")
        if update.sets:
            detail = f"set: {_CORRECT_SUMS}, got a number to set: send that with a new id, and without correct"
            raise RefusedEvent("correct", detail)


_CORRECT_SUMS: Final = "expected an amount of a metric with aggregate sum in a correction"
SET_INSTEAD: Final = "set the right max or min, or post the right last, with a new id"


# A number that a float may round, or cannot hold at all: such a body is parsed again, with exact numbers.
_INEXACT: Final = re.compile(r"[0-9][0-9.]{15}|[0-9][eE][+-]?[0-9]{3}")


def _document(body: str) -> dict[str, Any]:
    try:
        if _INEXACT.search(body):
            # orjson reads decimals as floats: it silently rounds beyond 15 digits, and small numbers to 0.
            document = json.loads(body, parse_float=Decimal, parse_int=Decimal, parse_constant=no_constant)
            # json accepts some text that is not JSON, such as half a character; orjson refuses it.
            orjson.dumps(document, default=str)
        else:
            document = orjson.loads(body)
    except (ValueError, RecursionError, ArithmeticError, TypeError) as error:
        raise RefusedEvent("json", f"body: cannot be read: {error!r}") from error
    if not isinstance(document, dict):
        refuse("json", "body", "a JSON object", document)
    return document


def no_constant(name: str) -> NoReturn:
    """Raise ValueError for a constant such as NaN, which Python's parser accepts."""
    raise ValueError(f"expected JSON, which has no {name}")


_UPDATE_FIELDS: Final = frozenset({"board", "member", "metrics", "note", "set"})


def _corrected_id(document: dict[str, Any]) -> str | None:
    """The id of the event that a document corrects or takes back; None if it is an event of its own."""
    field: Literal["correct", "retract"] = "retract" if "retract" in document else "correct"
    if field not in document:
        return None
    event_id = _text(document, field, field)
    if not is_event_id(event_id):
        refuse(field, field, f"the id of an event, 1 to {MAX_ID_LENGTH} characters (it has {len(event_id)})", event_id)
    if event_id == document.get("id"):
        expected = "expected an id of its own in a correction"
        raise RefusedEvent("id", f"id: {expected}, got that of the event {shown(event_id)}")
    return event_id


def _head(document: dict[str, Any], now: int) -> tuple[str, int, str | None]:
    """The id and the `at` of an event, and the id of the event that it corrects. NO_AT: a correction without `at`."""
    corrects = _corrected_id(document)
    if "retract" in document:
        fields = {"id", "retract"}
    else:
        own = {"id", "at"} if corrects is None else {"id", "at", "correct"}
        fields = own | ({"updates"} if "updates" in document else _UPDATE_FIELDS)
    _check_fields(document, fields, "")
    event_id = _text(document, "id", "id")
    if not is_event_id(event_id):
        refuse("id", "id", f"1 to {MAX_ID_LENGTH} characters (it has {len(event_id)})", event_id)
    if corrects is not None and "at" not in document:
        return event_id, NO_AT, corrects
    return event_id, read_at(_text(document, "at", "at"), now), corrects


def is_event_id(value: Any) -> TypeGuard[str]:
    """Whether a value may be an event's id: a text of 1 to 128 characters, such as `0197f2c4`."""
    return isinstance(value, str) and 1 <= len(value) <= MAX_ID_LENGTH


MAX_AHEAD: Final = 5 * MINUTE
_INSTANT: Final = re.compile(
    r"([0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:)([0-9]{2})((\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-5][0-9]))"
)


def read_at(text: str, now: int) -> int:
    """The `at` of an event in milliseconds. Raises RefusedEvent for no instant, and one too far ahead of `now` (ms)."""
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
        refuse("ahead", "at", f"an instant at most 5 minutes ahead of the clock here, {instant(now)}", text)
    return at


class _Share(NamedTuple):
    """An update as it is written, for a member of some boards: numbers and a note (JSON); its fields' `prefix`."""

    prefix: str
    boards: list[str]
    member: str
    numbers: dict[str, Any]
    note: str
    sets: bool


def _shares(document: dict[str, Any]) -> Iterator[_Share]:
    """The updates of an event, checked by the rules that hold whatever `boards.toml` says."""
    sets_of: dict[tuple[str, str], bool] = {}
    for prefix, update in _update_objects(document):
        note, sets = _note(f"{prefix}note", update), update.get("set", False)
        if not isinstance(sets, bool):
            refuse("set", f"{prefix}set", "true or false", sets)
        names = _board_names(prefix, update)
        member = _text(update, "member", f"{prefix}member")
        if not 1 <= (size := len(member.encode())) <= MAX_MEMBER_BYTES:
            refuse("member", f"{prefix}member", f"1 to {MAX_MEMBER_BYTES} bytes of UTF-8 (it has {size})", member)
        numbers = _required(update, "metrics", f"{prefix}metrics")
        if not isinstance(numbers, dict) or not 1 <= len(numbers) <= MAX_METRICS:
            refuse("metrics", f"{prefix}metrics", f"an object of 1 to {MAX_METRICS} numbers", numbers)
        for board in names:
            if (board, member) in sets_of and (sets or sets_of[board, member]):
                once = f"board {board!r} and member {shown(member)} once in an event that sets that member's numbers"
                raise RefusedEvent("set", f"{prefix}set: expected {once}, got another update of them")
            sets_of[board, member] = sets
        yield _Share(prefix, names, member, numbers, note, sets)
    if len(sets_of) > MAX_PAIRS:
        message = f"updates: expected at most {MAX_PAIRS} different pairs of board and member, got {len(sets_of)}"
        raise RefusedEvent("updates", message)


def _update_objects(document: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """The objects with board, member and metrics, each with the prefix of its fields' names."""
    if "updates" not in document:
        return [("", document)]
    updates = document["updates"]
    if not isinstance(updates, list) or not 1 <= len(updates) <= MAX_UPDATES:
        refuse("updates", "updates", f"a list of 1 to {MAX_UPDATES} objects", updates)
    for number, update in enumerate(updates):
        if not isinstance(update, dict):
            refuse("updates", f"updates[{number}]", "an object", update)
        _check_fields(update, _UPDATE_FIELDS, f"updates[{number}].")
    return [(f"updates[{number}].", update) for number, update in enumerate(updates)]


def _board_names(prefix: str, update: dict[str, Any]) -> list[str]:
    value = _required(update, "board", f"{prefix}board")
    names = value if isinstance(value, list) else [value]
    if not 1 <= len(names) <= MAX_BOARDS:
        refuse("board", f"{prefix}board", f"one board or a list of 1 to {MAX_BOARDS}", names)
    for name in names:
        if not isinstance(name, str) or not is_board_name(name):
            refuse("board", f"{prefix}board", BOARD_NAME_RULE, name)
    if len(set(names)) < len(names):
        refuse("board", f"{prefix}board", "each board once", names)
    return names


def _note(field: str, update: dict[str, Any]) -> str:
    """The note of an update as JSON; "" if it has none."""
    if "note" not in update:
        return ""
    if isinstance(update["note"], str):
        raise RefusedEvent("note", f"{field}: expected an object, got text")  # which may be personal
    if not isinstance(update["note"], dict):
        refuse("note", field, "an object", update["note"])
    try:
        note = orjson.dumps(update["note"], default=lambda number: orjson.Fragment(str(number)))
        # A number that a float cannot hold keeps all its digits. Readers and the digest parse it.
        orjson.loads(note)
    except (TypeError, ValueError):
        refuse("note", field, "an object with fewer levels, and no number beyond ±1.8e308", update["note"])
    if len(note) > MAX_NOTE_BYTES:
        size = f"an object of at most {MAX_NOTE_BYTES} bytes of JSON (it has {len(note)})"
        refuse("note", field, size, update["note"])
    return note.decode()


def _amounts(share: _Share, boards: Boards) -> Iterator[tuple[str, list[tuple[Metric, int]]]]:
    for board in share.boards:
        amounts: list[tuple[Metric, int]] = []
        family = boards.family(board)
        if family is None:
            raise RefusedEvent("board", f"{share.prefix}board: no family in boards.toml matches {board!r}")
        for name, number in share.numbers.items():
            metric = family.metrics.get(name)
            if metric is None:
                there = ", ".join(sorted(family.metrics))
                detail = f"{share.prefix}metrics: board {board!r} has no metric {shown(name)}; there are: {there}"
                having = [other.pattern for other in boards.families if name in other.metrics]
                if having and family.pattern != board:  # A mistyped board may be of `*`
                    detail += f". The family {having[0]!r} has it, and the board is of {family.pattern!r}"
                raise RefusedEvent("metrics", detail)
            field = f"{share.prefix}metrics.{name}"
            units = _units(field, number, metric)
            if share.sets and metric.aggregate == "last":
                expected = "a metric with aggregate sum, max or min to set"
                raise RefusedEvent("set", f"{field}: expected {expected}, got one with last, which each event sets")
            # Of a sum that is set, they bound the change.
            if not (share.sets and metric.aggregate == "sum") and metric.is_beyond_limits(units):
                refuse("limit", field, limits_of(metric, board, units), number)
            amounts.append((metric, units))
        if any(metric.kept_with is not None or metric.has_companions for metric, _ in amounts):
            _check_companions(share, family, amounts)
        yield board, amounts


TO_LOWER: Final = (
    " (to lower a score, correct its event; if that cannot be corrected, lower `least` in boards.toml for that time: "
    "docs/how-to/correct-a-score.md)"
)


def _check_companions(share: _Share, family: Family, amounts: list[tuple[Metric, int]]) -> None:
    """Raise RefusedEvent if an update names a metric without one that is kept with it, or the other way round."""
    names = {metric.name for metric, _ in amounts}
    for best in {metric.kept_with or metric.name for metric, _ in amounts}:
        metric = family.metrics[best]
        together = [best, *(each.name for each in metric.tie_breaks)] if metric.has_companions else []
        if together and not names.issuperset(together):
            named = ", ".join(name for name in together if name in names)
            reason = f"expected all of {', '.join(together)}, which are of one event, or none of them, got {named}"
            raise RefusedEvent("metrics", f"{share.prefix}metrics: {reason} alone")


def _with_companions(boards: Boards, board: str, given: Mapping[str, Aggregate]) -> dict[str, int]:
    amounts = {name: one.value for name, one in given.items()}
    for name, one in given.items():
        if one.companions:
            metric = family_of(boards, board).metrics[name]
            units = scoring.units_of_companions(metric, one) or ()
            amounts |= dict(zip((each.name for each in metric.tie_breaks), units, strict=True))
    return amounts


_SMALL: Final = 10**MAX_DIGITS - 1  # A whole number of at most this many units breaks no rule


def _units(field: str, value: Any, metric: Metric) -> int:
    """An amount in the metric's units: `12.5` is 1250 with precision 2. RefusedEvent if it breaks a rule."""
    if type(value) is int:
        whole: int = value * 10**metric.precision
        if abs(whole) <= _SMALL:
            return whole
    try:
        return units_of(_decimal(field, value), metric.precision, MAX_DIGITS)
    except UnitsError as error:
        refuse("amount", field, str(error), value)


def _decimal(field: str, value: Any) -> Decimal:
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        refuse("amount", field, "a number", value)
    return Decimal(repr(value) if isinstance(value, float) else value)


def limits_of(metric: Metric, board: str, amount: int) -> str:
    """What was expected instead of an amount beyond a metric's bounds: `at least 0 and at most 500 on board 'b'`."""
    bounds = (("at least", metric.least), ("at most", metric.most))
    given = ((words, units) for words, units in bounds if units is not None)
    limits = " and ".join(f"{words} {decimal_text(units, metric.precision)}" for words, units in given)
    return f"{limits} on board {board!r}{TO_LOWER if amount < 0 and metric.aggregate == 'sum' else ''}"


def content_digest(at: int | None, updates: Iterable[Update], boards: Boards) -> bytes:
    """The digest of an event with this content; `at` is in milliseconds, None if it was filled in."""
    updates = tuple(updates)
    metrics = {board: family.metrics for board in {one.board for one in updates} if (family := boards.family(board))}
    amounts = sorted(
        [update.board, update.member, name, *_shortest(units, metrics[update.board][name].precision)]
        for update in updates
        for name, units in update.amounts.items()
    )
    notes = sorted(
        [update.board, update.member, name, orjson.dumps(orjson.loads(note), option=orjson.OPT_SORT_KEYS).decode()]
        for update in updates
        for name, note in update.notes.items()
    )
    sets = sorted([update.board, update.member] for update in updates if update.sets)
    # Without notes and totals to set, the digest is as it always was: receipts of earlier versions hold it.
    content = [at, amounts, notes, sets] if sets else [at, amounts, notes] if notes else [at, amounts]
    return blake2b(orjson.dumps(content), digest_size=12).digest()


def _digest_of_correction(corrects: str | None, at: int | None, content: bytes) -> bytes:
    return blake2b(orjson.dumps(["correct", corrects, at, content.hex()]), digest_size=12).digest()


def _shortest(units: int, precision: int) -> tuple[int, int]:
    """A decimal in its shortest form, so that an event keeps its digest when a metric's precision changes."""
    while precision and units % 10 == 0:
        units //= 10
        precision -= 1
    return units, precision


def other_content(event_id: str, boards: Iterable[str] = ()) -> str:
    """Why an event is refused whose id another one has: `id: 'e1' was used before, for an event with other content`.

    It names the boards on which that one counted, if the event names none of them: `…, on 'berlin-2026'`.
    """
    where = ", ".join(map(repr, boards))
    return f"id: {event_id!r} was used before, for an event with other content{', on ' if where else ''}{where}"


OTHER_COUNTS: Final = "other content counts in its place since a correction"
"""What is said of an event that is known and has the content that a correction has replaced."""
WITHOUT_HISTORY: Final = "it counted without history, and not in all of its periods: correct it with history"
"""What is said of an event that is known, if it is asked whether it counts as history does."""


def _required(table: dict[str, Any], key: str, field: str) -> Any:
    if key not in table:
        raise RefusedEvent("missing", f"{field}: is missing")
    return table[key]


def _text(table: dict[str, Any], key: Rule, field: str) -> str:
    value = _required(table, key, field)
    if not isinstance(value, str):
        refuse(key, field, "text", value)
    return value


def _check_fields(table: dict[str, Any], known: frozenset[str] | set[str], prefix: str) -> None:
    for key in table:
        if key not in known:
            for names, got in _ENVELOPES:
                if not prefix and table.keys() >= names:
                    raise RefusedEvent("unknown", f"body: expected an event, got {got}")
            fields = ", ".join(sorted(known))
            raise RefusedEvent("unknown", f"{prefix}{shown(key)[1:-1]}: no such field; there are {fields}")


_ENVELOPES: Final = (
    ({"Type", "TopicArn"}, "a message of SNS around it: turn on raw message delivery of the subscription"),
    (
        {"detail", "detail-type"},
        "an event of EventBridge around it: give the rule's target the input path $.detail, or an input transformer",
    ),
    ({"eventSource"}, "a record of a stream or queue around it: give the pipe's target an input template"),
)
"""What services put around a message, by its fields, and how they leave it out."""
MAX_SHOWN_LENGTH: Final = 80


def refuse(rule: Rule, field: str, expected: str, value: Any) -> NoReturn:
    """Raise RefusedEvent for a value of a field."""
    raise RefusedEvent(rule, f"{field}: expected {expected}, got {shown(value)}")


def shown(value: Any) -> str:
    """A value for a message, in one short line: `'e1'`, `1.50`, or `a list of 2`. Text is shown in ASCII."""
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return f"an object of {len(value)}"
    if isinstance(value, str):
        text = ascii(value[:MAX_SHOWN_LENGTH])
    else:
        text = str(value) if isinstance(value, Decimal) else json.dumps(value)
    return text if len(text) <= MAX_SHOWN_LENGTH else f"{text[: MAX_SHOWN_LENGTH - 3]}..."
