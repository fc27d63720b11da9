"""Rows of a file, CSV or JSON lines, as events on their way to the queue. No amount is ever read as a float."""

import csv
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import blake2b
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.sqs.activity_queue import ActivityQueue, message_of
from standings.aws.sqs.sender import OutgoingMessage
from standings.domain.boards.boards_toml import METRIC_NAME
from standings.domain.boards.definitions import Boards
from standings.domain.boards.names import BOARD_NAME, MAX_MEMBER_BYTES
from standings.domain.events.event import MAX_SHOWN_LENGTH, RefusedEvent
from standings.domain.events.event_rules import MAX_ID_LENGTH, parse_event
from standings.domain.events.instants import read_at
from standings.ingest.post_events import posted

FIELDS: Final = ("id", "board", "member", "at")
NO_MARK: Final = ""

_AMOUNT: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_TIME: Final = re.compile(r"[0-9]{1,14}", re.ASCII)
_MAX_DIGITS_OF_SECONDS: Final = 11
_WHITESPACE: Final = " \t\r\n"


class InputError(Exception):
    """A source that cannot be read at all; the message says why."""


class Mark(NamedTuple):
    """A place behind a row: how many lines and rows there are up to it, how many were wrong, and what all of it was."""

    line: int = 0
    rows: int = 0
    wrong: int = 0
    digest: str = NO_MARK


class Row(NamedTuple):
    """A row: its message, or what is wrong with it. `line` is where it begins, `mark` the place behind it."""

    line: int
    message: OutgoingMessage | None
    wrong: str
    mark: Mark


@dataclass(frozen=True, slots=True)
class Reading:
    """How rows become events.

    `source` is what ids are made from, None where every row must have one; `board` that of rows without one. For CSV:
    `columns` renames, `ignored` drops, `metrics` are amounts of every row. With `boards` each event is looked at as the
    writer will.
    """

    form: str
    source: str | None
    board: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    metrics: Mapping[str, str] = field(default_factory=dict)
    boards: Boards | None = None

    def rows(self, stream: Iterable[bytes], now: Callable[[], int]) -> Iterator[Row]:
        """The rows of a stream of lines; `now` is in milliseconds. Raises InputError, and what reading a stream does.

        A row without an id gets one that says which source it is of, what stands in it, and how many such rows there
        are up to it: rows that are added anywhere change no other row's.
        """
        lines = _Lines(stream, self)
        seen: dict[int, int] = {}
        wrong = 0
        found = (_csv if self.form == "csv" else _jsonl)(lines, self)
        for count, (line, row) in enumerate(found, start=1):
            message, why = None, ""
            try:
                if isinstance(row, Exception):
                    raise row
                message = self._message(row, seen, now())
            except (RefusedEvent, csv.Error, UnicodeDecodeError) as error:
                wrong += 1
                why = str(error)
            yield Row(line, message, why, Mark(lines.number, count, wrong, lines.digest.hexdigest()))

    def event(self, said: Mapping[str, Any], amounts: Mapping[str, str], now: int) -> OutgoingMessage:
        """One event's message; RefusedEvent where it breaks a rule that can be seen here."""
        return self._message(_plain(said, amounts), {}, now)

    def _message(self, row: "_Said", seen: dict[int, int], now: int) -> OutgoingMessage:
        text, said = row
        if self.board is not None and not {"board", "updates"} & said.keys():
            text, said = _with("board", self.board, text, said)
        if "id" not in said:
            text, said = _with("id", self._id(text, seen), text, said)
        _check(said, now)
        event = posted(text, said, now, ActivityQueue.most_bytes)
        if self.boards is not None:
            parse_event(event.body, self.boards, now, at_filled_in=event.at_filled_in)
        return message_of(event)

    def _id(self, text: str, seen: dict[int, int]) -> str:
        if self.source is None:
            raise InputError("a row has no id, and standard input no name to make one from: --source gives it one")
        content = text.encode()
        # Of some million rows only a small number each can be kept. Two that share it by accident count as alike: their
        # ids differ, and stay as they are while nothing is inserted between them.
        key = int.from_bytes(blake2b(content, digest_size=7).digest())
        seen[key] = occurrence = seen.get(key, 0) + 1
        whose = f"{occurrence} {len(self.source)} {self.source}".encode(errors="surrogateescape")
        return blake2b(whose + content, digest_size=16).hexdigest()


class _Said(NamedTuple):
    """An event as JSON, and what it says; its amounts may be text or only near what they are."""

    text: str
    said: Mapping[str, Any]


class _Lines:
    """The lines of a stream as text, how many there were, and a digest of them that knows no ends of lines."""

    def __init__(self, stream: Iterable[bytes], reading: Reading) -> None:
        self._stream = iter(stream)
        self.number = 0
        options = [reading.form, reading.source, reading.board, dict(reading.columns), sorted(reading.ignored)]
        self.digest = blake2b(json.dumps([*options, dict(reading.metrics)]).encode(), digest_size=16)

    def __iter__(self) -> "_Lines":
        return self

    def __next__(self) -> str:
        line = next(self._stream)
        self.number += 1
        self.digest.update(line.rstrip(b"\r\n") + b"\n")
        text = line.decode()
        return text.removeprefix("\ufeff") if self.number == 1 else text


def check_amount(name: str, amount: str) -> None:
    """RefusedEvent for what is no metric's name, or no amount."""
    if not METRIC_NAME.fullmatch(name):
        raise RefusedEvent("metrics", f"{name!r} can be no metric: a name is a-z, then a-z, 0-9 and _, at most 64")
    if not _AMOUNT.fullmatch(amount):
        shown = ascii(amount[:MAX_SHOWN_LENGTH])
        raise RefusedEvent("amount", f"metrics.{name}: must be a plain number such as 3, -2 or 11.25, is {shown}")


def _jsonl(lines: _Lines, _: Reading) -> Iterator[tuple[int, _Said | Exception]]:
    while True:
        try:
            text = next(lines).strip(_WHITESPACE)
        except StopIteration:
            return
        except UnicodeDecodeError as error:
            yield lines.number, error
            continue
        if text:
            yield lines.number, _object(text)


def _object(text: str) -> _Said | Exception:
    try:
        said = orjson.loads(text)
    except ValueError as error:
        return RefusedEvent("json", f"no JSON: {error}")
    if not isinstance(said, dict) or not said:
        return RefusedEvent("json", "must be a JSON object with an event's fields")
    return _Said(text, said)


def _csv(lines: _Lines, reading: Reading) -> Iterator[tuple[int, _Said | Exception]]:
    reader = csv.reader(lines, strict=True)
    try:
        names = _header(next(reader, []), reading)
    except (csv.Error, UnicodeDecodeError) as error:
        raise InputError(f"the header cannot be read: {error}") from error
    while True:
        before = lines.number
        try:
            cells = next(reader)
        except StopIteration:
            return
        except (csv.Error, UnicodeDecodeError) as error:
            yield before + 1, error
            continue
        if cells:
            yield before + 1, _cells(cells, names, reading)


def _header(columns: list[str], reading: Reading) -> list[str | None]:
    """What each column is; None for one that is ignored."""
    there = f"there are {', '.join(map(repr, columns))}" if columns else "its first line is empty"
    for name in (*reading.columns, *reading.ignored):
        if name not in columns:
            raise InputError(f"no column {name!r}; {there}")
    names = [None if column in reading.ignored else reading.columns.get(column, column) for column in columns]
    known = [*filter(None, names), *reading.metrics, *(["board"] if reading.board else [])]
    for name in known:
        if known.count(name) > 1:
            raise InputError(f"{name!r} is given twice, by columns or options")
    for name in ("member", "board"):
        if name not in known:
            hint = ", --board names that of all rows" if name == "board" else ""
            raise InputError(f"no column {name!r}; {there}; --column {name}=… says which it is{hint}")
    metrics = [name for name in known if name not in FIELDS]
    if not metrics:
        raise InputError("no column is a metric; METRIC=AMOUNT, such as points=1, gives every row the same")
    for column, metric in zip(columns, names, strict=True):
        if metric is not None and metric not in FIELDS and not METRIC_NAME.fullmatch(metric):
            raise InputError(
                f"column {column!r} can be no metric: a name is a-z, then a-z, 0-9 and _, at most 64; "
                f"--column METRIC={column} renames, --ignore {column} leaves it out"
            )
    return names


def _cells(cells: list[str], names: list[str | None], reading: Reading) -> _Said | Exception:
    if len(cells) != len(names):
        return RefusedEvent("json", f"has {len(cells)} columns, the header {len(names)}")
    said: dict[str, str] = {}
    amounts = dict(reading.metrics)
    for name, cell in zip(names, cells, strict=True):
        if name is None or not cell:
            continue
        if name in FIELDS:
            said[name] = _instant(cell) if name == "at" else cell
        else:
            amounts[name] = cell
    try:
        return _plain(said, amounts)
    except RefusedEvent as refused:
        return refused


def _plain(said: Mapping[str, Any], amounts: Mapping[str, str]) -> _Said:
    """An event as JSON: its fields, those that it has, always in one order, and its amounts as they are written."""
    if not amounts:
        raise RefusedEvent("metrics", "has no amount")
    for name, amount in amounts.items():
        check_amount(name, amount)
    fields = [f'"{name}":{_quoted(said[name])}' for name in FIELDS if name in said]
    metrics = ",".join(f'"{name}":{amount}' for name, amount in sorted(amounts.items()))
    fields.append(f'"metrics":{{{metrics}}}')
    return _Said(f"{{{','.join(fields)}}}", {**said, "metrics": amounts})


def _quoted(text: str) -> str:
    return orjson.dumps(text).decode()


def _instant(cell: str) -> str:
    """An instant as events say it: of seconds since 1970, of milliseconds (12 digits and more), or as it stands."""
    if not _EPOCH_TIME.fullmatch(cell):
        return cell
    milliseconds = int(cell) * (1000 if len(cell) <= _MAX_DIGITS_OF_SECONDS else 1)
    at = _EPOCH + timedelta(milliseconds=milliseconds)
    return at.isoformat(timespec="milliseconds" if milliseconds % 1000 else "seconds").replace("+00:00", "Z")


def _with(name: str, value: str, text: str, said: Mapping[str, Any]) -> _Said:
    return _Said(f'{{"{name}":{_quoted(value)},{text[1:]}', {**said, name: value})


def _check(said: Mapping[str, Any], now: int) -> None:
    """RefusedEvent for what the writer would refuse, whatever the boards are."""
    needed = {"id", "updates"} if "updates" in said else {"id", "board", "member", "metrics"}
    for name in sorted(needed - said.keys()):
        raise RefusedEvent("missing", f"{name}: is missing")
    for name in sorted(said.keys() - needed - {"at"}):
        raise RefusedEvent("unknown", f"{name!a}: no such field; there are at, {', '.join(sorted(needed))}")
    event_id, board, member, at = (said.get(name, "") for name in FIELDS)
    if not isinstance(event_id, str) or not 1 <= len(event_id) <= MAX_ID_LENGTH:
        raise RefusedEvent("id", f"id: must be text of 1 to {MAX_ID_LENGTH} characters")
    if isinstance(board, str) and "board" in said and (not BOARD_NAME.fullmatch(board) or board in (".", "..")):
        raise RefusedEvent("board", f"board: must be 1 to 128 of A-Z a-z 0-9 . _ : -, not . or .., is {board!a}")
    if isinstance(member, str) and "member" in said and not 1 <= len(member.encode()) <= MAX_MEMBER_BYTES:
        raise RefusedEvent("member", f"member: must have 1 to {MAX_MEMBER_BYTES} bytes of UTF-8")
    if "at" in said:
        if not isinstance(at, str):
            raise RefusedEvent("at", "at: must be text")
        read_at(at, now)
