"""Reads the rows of a file, CSV or JSON lines, as messages for the queue."""

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Final, NamedTuple

import orjson

from standings.aws.sqs import OutgoingMessage
from standings.domain.boards import Boards
from standings.domain.events import RefusedEvent, shown
from standings_cli.post.csv_rows import csv_rows
from standings_cli.post.event_text import EventText, message
from standings_cli.post.source import HalfLineError, InputError, Lines

_WHITESPACE: Final = " \t\r\n"


class Mark(NamedTuple):
    """A place after a row: the lines, rows and wrong rows up to it, and a digest of all of them."""

    line: int = 0
    rows: int = 0
    wrong: int = 0
    digest: str = ""


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
                mark = Mark(lines.number, count - 1, wrong, lines.digest.hexdigest())
                yield Row(line, None, str(event), mark, is_half=True)
                return
            try:
                if isinstance(event, Exception):
                    raise event
                outgoing = self._message(event, seen, now())
            except (RefusedEvent, csv.Error, UnicodeDecodeError) as error:
                wrong += 1
                problem = str(error)
            yield Row(line, outgoing, problem, Mark(lines.number, count, wrong, lines.digest.hexdigest()))

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
