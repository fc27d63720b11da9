"""Reads the rows of a file, CSV or JSON lines, as messages for the queue. No amount is ever read as a float."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.sqs import MAX_BODY_BYTES, OutgoingMessage, message_of
from standings.domain.boards import BOARD_NAME, MAX_MEMBER_BYTES, Boards
from standings.domain.boards_toml import METRIC_NAME
from standings.domain.events import MAX_ID_LENGTH, RefusedEvent, parse_event, read_at, shown
from standings.ingest import posted
from standings_cli.files import HalfLineError, InputError, Lines, Mark

FIELDS: Final = ("id", "board", "member", "at")
METRIC_RULE: Final = "a metric's name (a-z, then a-z, 0-9 and _, at most 64)"

_AMOUNT: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)


class EventText(NamedTuple):
    """An event as JSON, and its fields. Amounts are exact in the text only."""

    text: str
    fields: Mapping[str, Any]

    def having(self, name: str, value: str) -> "EventText":
        """Return the event with one more field."""
        return EventText(f'{{"{name}":{_quoted(value)},{self.text[1:]}', {**self.fields, name: value})


def event_text(fields: Mapping[str, str], amounts: Mapping[str, str]) -> EventText:
    """Write an event as JSON: fields and metrics in a fixed order, amounts as given. Raises RefusedEvent."""
    if not amounts:
        raise RefusedEvent("metrics", "metrics: expected at least one amount, got none")
    for name, amount in amounts.items():
        check_amount(name, amount)
    parts = [f'"{name}":{_quoted(fields[name])}' for name in FIELDS if name in fields]
    metrics = ",".join(f'"{name}":{amount}' for name, amount in sorted(amounts.items()))
    parts.append(f'"metrics":{{{metrics}}}')
    return EventText(f"{{{','.join(parts)}}}", {**fields, "metrics": amounts})


def message(event: EventText, now: int, boards: Boards | None) -> OutgoingMessage:
    """Make an event's message. RefusedEvent if it breaks a rule; `boards` adds the rules of a boards.toml."""
    _check(event.fields, now)
    post = posted(event.text, event.fields, now, MAX_BODY_BYTES)
    if boards is not None:
        parse_event(post.body, boards, now, at_filled_in=post.at_filled_in)
    return message_of(post)


def check_amount(name: str, amount: str) -> None:
    """Raise RefusedEvent for an invalid metric name or amount."""
    if not METRIC_NAME.fullmatch(name):
        raise RefusedEvent("metrics", f"metrics: expected {METRIC_RULE}, got {name!r}")
    if not _AMOUNT.fullmatch(amount):
        rule = "a plain number such as 3, -2 or 11.25"
        raise RefusedEvent("amount", f"metrics.{name}: expected {rule}, got {shown(amount)}")


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def _check(fields: Mapping[str, Any], now: int) -> None:
    """Raise RefusedEvent for what the writer refuses on any board."""
    required = {"id", "updates"} if "updates" in fields else {"id", "board", "member", "metrics"}
    for name in sorted(required - fields.keys()):
        raise RefusedEvent("missing", f"{name}: is missing")
    for name in sorted(fields.keys() - required - {"at"}):
        raise RefusedEvent("unknown", f"expected the fields at, {', '.join(sorted(required))}, got {name!a}")
    event_id, board, member, at = (fields.get(name, "") for name in FIELDS)
    if not isinstance(event_id, str) or not 1 <= len(event_id) <= MAX_ID_LENGTH:
        raise RefusedEvent("id", f"id: expected text of 1 to {MAX_ID_LENGTH} characters, got {shown(event_id)}")
    if isinstance(board, str) and "board" in fields and (not BOARD_NAME.fullmatch(board) or board in (".", "..")):
        rule = "1 to 128 of A-Z a-z 0-9 . _ : -, not . or .."
        raise RefusedEvent("board", f"board: expected {rule}, got {shown(board)}")
    if isinstance(member, str) and "member" in fields and not 1 <= len(member.encode()) <= MAX_MEMBER_BYTES:
        rule = f"1 to {MAX_MEMBER_BYTES} bytes of UTF-8"
        raise RefusedEvent("member", f"member: expected {rule}, got {len(member.encode())}: {shown(member)}")
    if "at" in fields:
        if not isinstance(at, str):
            raise RefusedEvent("at", f"at: expected text, got {shown(at)}")
        read_at(at, now)


_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_TIME: Final = re.compile(r"[0-9]{1,14}", re.ASCII)
_MAX_DIGITS_OF_SECONDS: Final = 11


def csv_rows(lines: Lines, reader: "RowReader") -> Iterator[tuple[int, EventText | Exception]]:
    """Return each row's first line, and its event or what is wrong with it. InputError for a wrong header."""
    records = lines.records()
    _, columns = next(records, (1, list[str]()))
    if isinstance(columns, Exception):
        raise InputError(f"the header cannot be read: {columns}") from columns
    names = _header(columns, reader)
    for line, cells in records:
        try:
            if isinstance(cells, Exception):
                yield line, cells
            elif cells:
                yield line, _event(cells, names, reader)
        except RefusedEvent as error:
            yield line, error


def _header(columns: list[str], reader: "RowReader") -> list[str | None]:
    """Return the field or metric of each column; None for an ignored one."""
    got = f"got {', '.join(map(repr, columns))}" if columns else "the first line is empty"
    for name in (*reader.columns, *reader.ignored):
        if name not in columns:
            raise InputError(f"expected a column {name!r}, {got}")
    names = [None if column in reader.ignored else reader.columns.get(column, column) for column in columns]
    known = [*filter(None, names), *reader.metrics, *(["board"] if reader.board else [])]
    for name in known:
        if known.count(name) > 1:
            raise InputError(f"expected {name!r} once among columns and options, got it twice")
    for name in ("member", "board"):
        if name not in known:
            hint = ", or --board for all rows" if name == "board" else ""
            raise InputError(f"expected a column {name!r}, {got}: name it with --column {name}=COLUMN{hint}")
    if all(name in FIELDS for name in known):
        raise InputError("expected a metric's column, got none: METRIC=AMOUNT, such as points=1, adds one to every row")
    for column, metric in zip(columns, names, strict=True):
        if metric is not None and metric not in FIELDS and not METRIC_NAME.fullmatch(metric):
            raise InputError(
                f"column {column!r}: expected {METRIC_RULE}: "
                f"rename it with --column METRIC={column}, or skip it with --ignore {column}"
            )
    return names


def _event(cells: list[str], names: list[str | None], reader: "RowReader") -> EventText:
    if len(cells) != len(names):
        raise RefusedEvent("json", f"expected {len(names)} columns as in the header, got {len(cells)}")
    fields: dict[str, str] = {}
    amounts = dict(reader.metrics)
    for name, cell in zip(names, cells, strict=True):
        if name is None or not cell:
            continue
        if name in FIELDS:
            fields[name] = _instant(cell) if name == "at" else cell
        else:
            amounts[name] = cell
    return event_text(fields, amounts)


def _instant(cell: str) -> str:
    """Turn seconds since 1970, or milliseconds (12 digits and more), into RFC 3339; leave other text as it is."""
    if not _EPOCH_TIME.fullmatch(cell):
        return cell
    milliseconds = int(cell) * (1000 if len(cell) <= _MAX_DIGITS_OF_SECONDS else 1)
    at = _EPOCH + timedelta(milliseconds=milliseconds)
    return at.isoformat(timespec="milliseconds" if milliseconds % 1000 else "seconds").replace("+00:00", "Z")


_WHITESPACE: Final = " \t\r\n"


class Row(NamedTuple):
    """A row: its first line, its message or the problem with it, and the place after it.

    A row that `is_half` may still be written: the place is before it.
    """

    line: int
    message: OutgoingMessage | None
    problem: str
    mark: Mark
    is_half: bool = False


@dataclass(frozen=True, slots=True)
class RowReader:
    """Turns rows into events.

    `source` is the name that ids are made from; without one every row must have an id. `board` is the board of rows
    that name none. For CSV, `columns` renames columns, `ignored` drops them, and `metrics` adds amounts to every row.
    With `boards` each event is checked by the rules of a boards.toml. `at` is the instant of rows that have none.
    """

    form: str
    source: str | None
    board: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    metrics: Mapping[str, str] = field(default_factory=dict)
    boards: Boards | None = None
    at: str | None = None

    def read(self, stream: Iterable[bytes], now: Callable[[], int], *, may_grow: bool = False) -> Iterator[Row]:
        """Return the rows of a stream of lines; `now` is in milliseconds. Raises InputError and the stream's errors.

        A row without an id gets one from the source, the row's content, and the count of equal rows up to it. Rows
        that are added to the file change no other row's id.
        """
        lines = Lines(stream, self._settings(), may_grow=may_grow)
        seen: dict[int, int] = {}
        wrong = 0
        events = csv_rows(lines, self) if self.form == "csv" else _json_rows(lines)
        for count, (line, event) in enumerate(events, start=1):
            outgoing, problem = None, ""
            if isinstance(event, HalfLineError):
                mark = lines.mark(count - 1, wrong)
                yield Row(line, None, str(event), mark, is_half=True)
                return
            try:
                if isinstance(event, Exception):
                    raise event
                outgoing = self._message(event, seen, now())
            except (RefusedEvent, csv.Error, UnicodeDecodeError) as error:
                wrong += 1
                problem = str(error)
            yield Row(line, outgoing, problem, lines.mark(count, wrong))

    def _settings(self) -> str:
        columns, ignored = dict(self.columns), sorted(self.ignored)
        # Without `at` the settings are as they always were: records of earlier versions hold a digest of them.
        at = [] if self.at is None else [self.at]
        return json.dumps([self.form, self.source, self.board, columns, ignored, dict(self.metrics), *at])

    def _message(self, event: EventText, seen: dict[int, int], now: int) -> OutgoingMessage:
        if self.board is not None and not {"board", "updates"} & event.fields.keys():
            event = event.having("board", self.board)
        if "id" not in event.fields:
            event = event.having("id", self._id(event.text, seen))
        if self.at is not None and "at" not in event.fields:
            # Ids leave it out: the same rows posted with another instant are refused, and do not count twice.
            event = event.having("at", self.at)
        return message(event, now, self.boards)

    def _id(self, text: str, seen: dict[int, int]) -> str:
        if self.source is None:
            raise InputError("a row has no id, and standard input has no name to make one from: use --source NAME")
        content = text.encode()
        # Millions of rows must fit in memory, so a short digest counts equal rows. If two different rows share one,
        # their ids still differ, and stay the same unless a row is inserted between them.
        key = int.from_bytes(blake2b(content, digest_size=7).digest())
        seen[key] = occurrence = seen.get(key, 0) + 1
        origin = f"{occurrence} {len(self.source)} {self.source}".encode(errors="surrogateescape")
        return blake2b(origin + content, digest_size=16).hexdigest()


def _json_rows(lines: Lines) -> Iterator[tuple[int, EventText | Exception]]:
    while True:
        try:
            text = next(lines).strip(_WHITESPACE)
            if text:
                yield lines.number, _json_event(text)
        except StopIteration:
            return
        except (UnicodeDecodeError, RefusedEvent) as error:
            yield lines.number, error


def _json_event(text: str) -> EventText:
    try:
        fields = orjson.loads(text)
    except ValueError as error:
        raise RefusedEvent("json", f"expected JSON: {error}") from error
    if not isinstance(fields, dict) or not fields:
        raise RefusedEvent("json", f"expected a JSON object with an event's fields, got {shown(fields)}")
    return EventText(text, fields)
