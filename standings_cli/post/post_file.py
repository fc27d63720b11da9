"""Posts the rows of a file, CSV or JSON lines, and records up to which row the queue has accepted them.

Amounts stay text, as the file has them: no amount is ever read as a float.
"""

import csv
import json
import time
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from hashlib import blake2b
from itertools import chain, islice
from operator import itemgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.sqs import AT_FILLED_IN, MAX_BODY_BYTES, MAX_ENTRIES, OutgoingMessage, message_of
from standings.client.decimals import has_too_many_digits
from standings.client.posts import members_of
from standings.domain.boards import Boards
from standings.domain.events import (
    WITHOUT_HISTORY,
    RefusedEvent,
    check_event,
    no_constant,
    parse_event,
    read_at,
    refuse,
)
from standings.domain.events import shown as short
from standings.domain.windows import instant
from standings.ingest import posted
from standings_cli.files import STDIN, HalfLineError, Lines, Mark, Record, Source
from standings_cli.post.cells import USUAL, Notation
from standings_cli.post.columns import FIELDS, ONLY, Column, Columns
from standings_cli.post.copies import SUFFIX, posted_beside, read_posted, same
from standings_cli.post.correcting import corrected, is_corrected, is_elsewhere
from standings_cli.post.known import AHEAD, MOST, UNASKED, Known, Result
from standings_cli.post.late_rows import MOST as LOOKED_AT
from standings_cli.post.late_rows import LateRows, definitions
from standings_cli.post.mistakes import SHOWN, Mistakes
from standings_cli.post.outbox import NotTakenError, Outbox, Outgoing
from standings_cli.post.rounding import Rounding
from standings_cli.post.times import Times
from standings_cli.post.total_line import TotalLine
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import InputError
from standings_cli.terminal import DIFFERS, INTERRUPTED, OK, UNREACHABLE, Meter, Working, say, shown


class EventText(NamedTuple):
    """An event as JSON, and its fields: `EventText('{"member":"u1","metrics":{"points":3}}', {"member": "u1", …})`.

    The text has the amounts exactly as they were given. The fields may not: parsing JSON makes floats.
    """

    text: str
    fields: Mapping[str, Any]

    def having(self, name: str, value: str | bool) -> "EventText":  # noqa: FBT001 - the value of a field
        """The event with one more field, such as `event.having("id", "run-1")`. The event must not have it yet."""
        return EventText(f'{{"{name}":{_json(value)},{self.text[1:]}', {**self.fields, name: value})

    @property
    def sets(self) -> bool:
        """Whether it sets a total."""
        updates = self.fields.get("updates")
        parts = [self.fields, *(updates if isinstance(updates, list) else ())]
        return any(isinstance(part, Mapping) and part.get("set") is True for part in parts)


def event_text(
    fields: Mapping[str, str], amounts: Mapping[str, str], *, sets: bool = False, note: str | None = None
) -> EventText:
    """An event as JSON: `event_text({"member": "u1"}, {"points": "3"})` is `{"member":"u1","metrics":{"points":3}}`.

    Fields stand in a fixed order, and metrics in the order of their names, so equal events have equal texts. With
    `sets` the amounts are new totals. `note` is JSON, and is sent as it is. RefusedEvent if there are no amounts.
    """
    if not amounts:
        raise RefusedEvent("metrics", "metrics: expected at least one amount, got none")
    parts = [f'"{name}":{_field(name, fields[name])}' for name in FIELDS if name in fields]
    metrics = ",".join(f'"{name}":{amount}' for name, amount in sorted(amounts.items()))
    parts.append(f'"metrics":{{{metrics}}}')
    parts += ['"set":true'] if sets else []
    parts += [] if note is None else [f'"note":{note}']
    return EventText(f"{{{','.join(parts)}}}", {**fields, "metrics": amounts})


def message(
    event: EventText, at: int, boards: Boards | None, given: int | None = None, *, history: bool = False
) -> OutgoingMessage:
    """The message of an event, which happens `at` (in milliseconds) if it names no other time.

    `given` is the time that `at` was made from. Receipts hold that one, whatever place a row has in its file.
    With `history` it also counts in periods that have closed.
    RefusedEvent if the event breaks a rule that holds on every board, or with `boards` a rule of its board.
    """
    text = instant(given)
    post = posted(event.text, event.fields, at, MAX_BODY_BYTES - len(text or ""))
    if post.at_filled_in and text is not None:
        post = post._replace(at_filled_in=text)
    if boards is None:
        check_event(post.body, at)
    else:
        parse_event(post.body, boards, at, at_filled_in=post.at_filled_in)
    return message_of(post._replace(history=history))


def _field(name: str, text: str) -> str:
    try:
        return _json(text)
    except orjson.JSONEncodeError:
        refuse("json", name, "text of UTF-8", text)


def _json(value: str | bool) -> str:  # noqa: FBT001 - the value of a field
    return orjson.dumps(value).decode()


_NO_OTHERS: Final[list[Any]] = [[], None, ".", None, False, None]
"""What newer settings are that nobody has given."""


class Row(NamedTuple):
    """A row: `Row(2, OutgoingMessage(…), "", Mark(2, 1, 0, "9f…"))`, or with a problem instead of the message.

    `line` is its first line, `mark` the place after it. `is_half`: the line has no line end, so somebody may still be
    writing it; then the place is before the row. `members` are those that its event changes. `occurrence` is 0 for a
    row with an id of its own, else 1, or more if rows before it say the same, and each counts.
    """

    line: int
    message: OutgoingMessage | None
    problem: str
    mark: Mark
    is_half: bool = False
    members: frozenset[str] = frozenset()
    occurrence: int = 0


@dataclass(slots=True)
class _Seen:
    """How many rows of each content there were, and how many of that of the last one."""

    counts: dict[int, int] = field(default_factory=dict)
    of_row: int = 0


@dataclass(frozen=True, slots=True)
class RowReader:
    """Turns rows into events: `RowReader("csv", "runs.csv", board="berlin-2026", columns={"km": "distance"})`.

    - `form`: `csv`, or `jsonl` for a JSON object on each line.
    - `source`: the name that ids are made from; without one every row must have an id.
    - `board`, `member`, `at`: for rows that have none. `sets`: the numbers of rows that do not say so are new totals.
    - `columns`, `ignored`, `metrics`: for CSV, the fields or metrics of columns with other names, the columns to skip,
      and amounts for every row.
    - `boards`: the boards by whose rules each event is checked; None leaves that to the writer.
    - `only`: the columns to take, and no others. A column is named by its name, or by its number in the header, `#7`.
    - `notation`: how instants and numbers are written; `delimiter` stands between cells, and None looks at the header.
    - `rounding`: rounds numbers to the decimals of their metric; None refuses what has more.
    - `history`: events count in periods that have closed too. `corrects`: each row has an id, and corrects its event.

    In JSON lines, an object without `metrics` and `updates` is a row of a table: its names are columns.
    """

    form: str
    source: str | None
    board: str | None = None
    columns: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    metrics: Mapping[str, str] = field(default_factory=dict)
    boards: Boards | None = None
    at: str | None = None
    sets: bool = False
    only: frozenset[str] = frozenset()
    notation: Notation = USUAL
    delimiter: str | None = None
    rounding: Rounding | None = None
    member: str | None = None
    history: bool = False
    corrects: bool = False

    @property
    def table(self) -> Columns:
        """The columns that are taken."""
        return Columns(self.columns, self.ignored, self.only)

    @property
    def given(self) -> dict[str, str]:
        """What options give to every row: `{"points": "1", "board": "berlin-2026"}`."""
        named = {"board": self.board, "member": self.member}
        return {**self.metrics, **{name: value for name, value in named.items() if value is not None}}

    def rounded(self, amounts: Mapping[str, str], board: str | None) -> Mapping[str, str]:
        """The amounts of a row, rounded if they shall be."""
        if self.rounding is None or board is None:
            return amounts
        return {name: self.rounding.amount(amount, [board], name) for name, amount in amounts.items()}

    def times(self, now: Callable[[], int]) -> Times:
        """The times of a run that begins now. RefusedEvent if `at` is none."""
        at = None if self.at is None else read_at(self.at, now())
        try:
            instant(at)
        except OverflowError:
            refuse("at", "at", "a time in the years 1 to 9999 of UTC", self.at)
        return Times(now, at, now())

    def read(self, stream: Iterable[bytes], times: Times, *, may_grow: bool = False) -> Iterator[Row]:
        """Yield the rows of a stream of lines. Raises InputError and the stream's errors.

        A row without an id gets one made from the source, the row's content, and the number of equal rows before it. So
        rows that are added to the file change no other row's id. The id of a total that is set, without a time of its
        own, is also made from `at`, or from when the run began: posted again, the total is set again.
        """
        lines = Lines(stream, self.settings(), may_grow=may_grow, delimiter=self.delimiter)
        seen = _Seen()
        wrong = 0
        rows: Iterator[tuple[int, Any]] = lines.texts()
        columns: list[Column] = []
        parse: Callable[[Any], EventText] = JsonRows(self).event
        if self.form == "csv":
            names, rows = lines.table()
            columns = self.table.taken(names, self.given)
            parse = partial(_event, columns=columns, reader=self)
        for count, (line, content) in enumerate(rows, start=1):
            outgoing, problem, members, seen.of_row = None, "", frozenset[str](), 0
            try:
                if isinstance(content, Exception):
                    raise content
                event = parse(content)
                if self.member is not None and not {"member", "updates"} & event.fields.keys():
                    event = event.having("member", self.member)
                outgoing = self._message(event, seen, times, count - 1)
                members = members_of(event.fields)
            except HalfLineError as error:
                yield Row(line, None, str(error), lines.mark(count - 1, wrong), is_half=True)
                return
            except (RefusedEvent, csv.Error, UnicodeDecodeError) as error:
                wrong += 1
                problem = _explained(error, columns)
            yield Row(line, outgoing, problem, lines.mark(count, wrong), members=members, occurrence=seen.of_row)

    def settings(self) -> str:
        """All that decides what a line of the file says. Records hold a digest of it."""
        columns, ignored = dict(self.columns), sorted(self.ignored)
        # Without these two the settings are as they always were: records of earlier versions hold a digest of them.
        more: list[Any] = [*([] if self.at is None else [self.at]), *(["set"] if self.sets else [])]
        notation = (self.notation.zone, self.notation.decimal, self.delimiter)
        others = [sorted(self.only), *notation, self.rounding is not None, self.member]
        others += [] if self.notation.dates is None else [self.notation.dates]
        more += [] if others == _NO_OTHERS else [others]
        more += [*(["history"] if self.history else []), *(["correct"] if self.corrects else [])]
        return json.dumps([self.form, self.source, self.board, columns, ignored, dict(self.metrics), *more])

    def _message(self, event: EventText, seen: _Seen, times: Times, number: int) -> OutgoingMessage:
        if self.board is not None and not {"board", "updates"} & event.fields.keys():
            event = event.having("board", self.board)
        if self.sets and "set" not in event.fields:
            if "updates" in event.fields:
                raise RefusedEvent("set", 'updates: expected "set": true in each of them, which --set does not add')
            event = event.having("set", value=True)
        if "id" not in event.fields and self.corrects:
            raise RefusedEvent("id", "id: is missing: --correct goes by the ids of rows")
        if "id" not in event.fields:
            event = event.having("id", self._id(event, seen, times))
        if "at" in event.fields:
            return message(event, times.now(), self.boards, history=self.history)
        # Ids leave it out: the same rows posted with another instant are refused, and do not count twice.
        return message(event, times.of_row(number), self.boards, times.at, history=self.history)

    def _id(self, event: EventText, seen: _Seen, times: Times) -> str:
        if self.source is None:
            raise InputError("a row has no id, and standard input has no name to make one from: use --source NAME")
        content = event.text.encode()
        # Millions of rows must fit in memory, so a short digest counts equal rows. If two different rows share one,
        # their ids still differ, and stay the same unless a row is inserted between them.
        key = int.from_bytes(blake2b(content, digest_size=7).digest())
        seen.counts[key] = occurrence = seen.counts.get(key, 0) + 1
        seen.of_row = 1 if event.sets else occurrence  # A total that is set twice is the same
        of_run = event.sets and "at" not in event.fields and times.run is not None
        since = f"{times.run if times.at is None else times.at} " if of_run else ""
        origin = f"{since}{occurrence} {len(self.source)} {self.source}".encode(errors="surrogateescape")
        return blake2b(origin + content, digest_size=16).hexdigest()


def _event(cells: Sequence[str], columns: Iterable[Column], reader: RowReader) -> EventText:
    fields: dict[str, str] = {}
    amounts = dict(reader.metrics)
    for column in columns:
        if cell := cells[column.number - 1]:
            _add(fields, amounts, column.field, cell, reader.notation)
    rounded = reader.rounded(amounts, fields.get("board", reader.board))
    return event_text(fields, rounded, sets=reader.sets)


def _add(fields: dict[str, str], amounts: dict[str, str], name: str, cell: str, notation: Notation) -> None:
    if name not in FIELDS:
        amounts[name] = notation.amount(name, cell)
    else:
        fields[name] = notation.instant(cell) if name == "at" else cell


_OF_EVENTS: Final = frozenset({"metrics", "updates", "retract"})
"""An object with one of these is an event, and no row of a table."""


class _Number(str):
    """A number of JSON, with all its digits."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class JsonRows:
    """Turns JSON lines into events: `JsonRows(reader).event('{"member": "u1", "metrics": {"points": 3}}')`."""

    reader: RowReader
    _taken: dict[tuple[str, ...], list[Column]] = field(default_factory=dict)

    def event(self, text: str) -> EventText:
        """The event of a line: an event, or a row of a table, whose names are columns. RefusedEvent if it is neither.

        What is written as an event needs it stays as it is, to the letter.
        """
        try:
            fields = orjson.loads(text)
        except ValueError as error:
            raise RefusedEvent("json", f"expected JSON: {error}") from error
        if not isinstance(fields, dict) or not fields:
            refuse("json", "body", "a JSON object with an event's fields", fields)
        if not _OF_EVENTS & fields.keys():
            return self._of_table(_exact(text))
        if self.reader.table.is_given or self.reader.metrics:
            options = "--column, --ignore, --only and METRIC=AMOUNT are for rows whose numbers stand beside `member`"
            raise RefusedEvent("metrics", f"body: expected a row without `metrics` and `updates`: {options}")
        if not self._is_event(fields):
            exact = _exact(text)
            if self._changes(exact):
                text = orjson.dumps(exact, _as_number, orjson.OPT_PASSTHROUGH_SUBCLASS).decode()
                fields = orjson.loads(text)
        return EventText(text, fields)

    def _is_event(self, fields: Mapping[str, Any]) -> bool:
        """Whether nothing has to change: it names its instant by RFC 3339, or none, and is not rounded."""
        at = fields.get("at")
        if self.reader.rounding is not None or (isinstance(at, int | float) and not isinstance(at, bool)):
            return False
        return not isinstance(at, str) or self.reader.notation.instant(at) == at

    def _changes(self, event: dict[str, Any]) -> bool:
        """Change an event's instant to RFC 3339, and round its numbers. Returns whether something is different then."""
        before, has_changed = event.get("at"), False
        if isinstance(before, str):
            event["at"] = self.reader.notation.instant(before)
            has_changed = event["at"] != before
        updates = event.get("updates")
        for part in (event, *(updates if isinstance(updates, list) else ())):
            metrics = part.get("metrics") if isinstance(part, dict) else None
            boards = part.get("board", self.reader.board) if isinstance(part, dict) else None
            if self.reader.rounding is None or not isinstance(metrics, dict) or not isinstance(boards, str | list):
                continue
            named = [board for board in ([boards] if isinstance(boards, str) else boards) if isinstance(board, str)]
            for name, amount in metrics.items():
                if isinstance(amount, _Number):
                    metrics[name] = _Number(self.reader.rounding.amount(amount, named, name))
                    has_changed = has_changed or metrics[name] != amount
        return has_changed

    def _of_table(self, row: Mapping[str, Any]) -> EventText:
        names = (*row,)
        if names not in self._taken:
            self._taken[names] = self.reader.table.taken(names, self.reader.given, is_header=False)
        fields: dict[str, str] = {}
        amounts = dict(self.reader.metrics)
        try:
            for column in self._taken[names]:
                value, name = row[column.name], column.field
                if value is None or value == "":
                    continue
                if not isinstance(value, str):
                    where, such = name if name in FIELDS else f"metrics.{name}", f"got {short(value)}: {ONLY}"
                    raise RefusedEvent("json", f"{where}: expected text or a number, {such}")
                _add(fields, amounts, name, str(value), self.reader.notation)
        except RefusedEvent as error:
            raise RefusedEvent(error.rule, _explained(error, self._taken[names])) from error
        rounded = self.reader.rounded(amounts, fields.get("board", self.reader.board))
        return event_text(fields, rounded, sets=self.reader.sets)


def _exact(text: str) -> dict[str, Any]:
    """The object of a line, with all digits of its numbers. RefusedEvent for more levels than Python reads."""
    try:
        found: dict[str, Any] = json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=no_constant)
    except RecursionError as error:
        raise RefusedEvent("json", "expected JSON of fewer levels") from error
    return found


def _as_number(number: Any) -> orjson.Fragment:
    return orjson.Fragment(str(number))


def _explained(error: Exception, columns: Iterable[Column]) -> str:
    """What is wrong with a row, with the name of its column, and the option that may help."""
    problem = str(error)
    if isinstance(error, UnicodeDecodeError):
        return f"expected UTF-8, {problem}: save the file in it (in Excel as CSV UTF-8)"
    if has_too_many_digits(error):
        problem += "; --round rounds to the decimals of the metric"
    for column in columns:
        if problem.startswith((f"metrics.{column.field}:", f"{column.field}:")):
            return column.explained(problem)
    return problem


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """Every row up to `mark` is on the queue, except the wrong ones.

    `Checkpoint(1795256100000, 1795256160000, Mark(40, 39, 0, "9f…"))`: no row was sent before `begun`, and this was
    `written` a minute later, in milliseconds since 1970. Unless `finished`, rows after the mark may have been sent too.
    The `run` that sent them began then; version 0.3 does not say when.
    """

    begun: int
    written: int
    mark: Mark
    finished: bool = False
    run: int | None = None


def _checkpoint(mark: Mapping[str, Any], **others: Any) -> Checkpoint:
    """The checkpoint that a record holds."""
    return Checkpoint(mark=Mark(**mark), **others)


SAFE_MS: Final = 29 * 86_400_000  # an older event is not sent again: receipts are kept for 30 days

_NO_AT: Final = (
    "rows without `at` count as of now, so also in the windows of today; --at TIME gives them another time (totals "
    "from elsewhere belong only in `all`: --at 2000-01-01T00:00:00Z)"
)
_CHANGED: Final = (
    "rows that say the same count once. A row without an id that says something else now, maybe by an option such as "
    "--zone or METRIC=AMOUNT, counts beside what it counted before; docs/how-to/correct-a-score.md takes that back"
)
_SINCE: Final = "{0} or the options have changed since its first {1} lines were posted: posting from the start; {2}"
_COPY: Final = (
    "{0} begins with the {1} lines of {2}, which were posted: rows without ids count once more. With --source {3} they "
    "have the ids that they had, and count once"
)
_EQUAL: Final = (
    "{0}: rows that say the same as one before: {1:,}, in line {2}; each is an event of its own. Take out what is one "
    "result twice; docs/how-to/correct-a-score.md takes back what has counted"
)
_REPLACES: Final = "rows that say the same count once, and others replace what their ids counted"
CHECKED: Final = 10_000
"""Rows about which a dry run asks the API."""
_WITHOUT_HISTORY: Final = (
    "counted without --history, and not in all periods: --correct --history counts what is missing (rows without ids: "
    "docs/how-to/bring-your-history.md)"
)
_ELSEWHERE: Final = (
    "rows whose ids counted on another board, and stay there: {:,}. An id is one event of the whole stack: give other "
    "activity other ids; --anyway moves what counted there"
)
_MOVES: Final = "rows whose ids counted on another board, and move from there: {:,}"
_NOTHING_SENT: Final = (
    "nothing was sent: {0} of the first {0} rows would be refused. Mend them, or deploy a boards.toml that takes them; "
    "--anyway sends them all the same"
)
_FULL: Final = (
    "from here on, rows share one instant, the last of the quarter of an hour of --at, so chance decides which of two "
    "counts as the later one: an earlier --at has room for more rows"
)


@dataclass
class FilePosting:
    """Posts a file: `FilePosting("runs.csv", reader).post(connection)`, which returns the exit status.

    `state` names the file of the record, by default `runs.csv.posted`. `again` posts rows that were posted before too;
    `anyway` continues although receipts may be gone, or all of the first rows are refused. `as_json` prints the summary
    as JSON.
    """

    name: str
    reader: RowReader
    state: str | None = None
    again: bool = False
    anyway: bool = False
    as_json: bool = False
    now: Callable[[], int] = lambda: time.time_ns() // 1_000_000
    _begun: float = field(default_factory=time.monotonic)
    _read: Mark = field(default_factory=Mark)  # the place after the last row that was read
    _before: int = 0
    _posted: int = 0
    _known: int = 0
    _refused: int = 0  # The API says that the writer would refuse them
    _without_history: int = 0
    _elsewhere: int = 0  # Their ids have counted on another board
    _not_taken: int = 0  # Rows that the queue itself has refused, in addition to those that are not events
    _asks: bool = False  # The API says which rows are known
    _equal: list[int] = field(default_factory=list)  # The lines of rows that say the same as one before
    _is_half: bool = False  # The last line may still be written
    _warned: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._source = Source(self.name)
        self._times = self.reader.times(self.now)

    def print(self, connection: Connection) -> int:
        """Print the events instead of posting them. Returns the exit status: `DIFFERS` if a row is wrong or refused.

        The ids of totals and the times are those of a run that begins now.
        """
        self._look_ahead(connection)
        self._warn_of_posted()
        mistakes = Mistakes(self.name, say)
        known = self._asking(connection, is_asked=connection.knows_api and self.reader.boards is None)
        rows = self._valid(self._rows(), mistakes)
        asked = known.marked(islice(rows, CHECKED), itemgetter(0), *self._parts)
        for (message, row), result in chain(asked, ((each, UNASKED) for each in rows)):
            print(message.body)
            self._posted += 1
            if self.reader.corrects and is_corrected(orjson.loads(message.body)["id"], result, moves=self.anyway):
                result = {**result, "status": "new"}  # noqa: PLW2901 - what would become of its correction
            self._count(row, result, mistakes)
        mistakes.close()
        self._say_equal()
        if known.problem:
            say(f"the rows were not checked by the rules of their boards: {known.problem}")
        elif known.is_asked and self._posted > CHECKED:
            say(f"only the first {CHECKED:,} rows were checked by the rules of their boards")
        self._say_what_lacks()
        counts = {"rows skipped": self._read.wrong, "known": self._known, "refused": self._refused}
        more = [f"; {name}: {count:,}" for name, count in counts.items() if count or name == "rows skipped"]
        say(f"events: {self._posted:,}{''.join(more)}")
        return DIFFERS if self._read.wrong or self._is_half or self._refused else OK

    def post(self, connection: Connection) -> int:
        """Post the rows that were not posted before. Returns the exit status.

        `OK`, `DIFFERS` if a row was wrong, `UNREACHABLE` if the queue did not accept all, `INTERRUPTED` by Ctrl-C.
        InputError for a file or record that cannot be used.
        """
        if self._source.is_repeatable:
            next(self._rows(), None)  # A file or header that is wrong is told before a stack is asked
            self._look_ahead(connection)
        record = Record(self._state, "posted rows", connection.queue_url)
        with record.locked():
            return self._post(connection, record)

    @property
    def _state(self) -> Path | None:
        return None if self.name == STDIN else Path(self.state or f"{self.name}{SUFFIX}")

    def _post(self, connection: Connection, record: Record) -> int:
        with Meter(f"posting {self.name}", 1.0) as meter:
            checkpoint, rows = self._begin(record, meter)
            self._not_taken = checkpoint.mark.wrong - self._read.wrong
            mistakes = Mistakes(self.name, meter.say)
            known = self._asking(connection, is_asked=connection.knows_api)
            due = self._when_due(self._valid(rows, mistakes))
            messages = (
                corrected(known, due, checkpoint.run or checkpoint.begun, moves=self.anyway)
                if self.reader.corrects
                else known.marked(due, itemgetter(0), *self._parts)
            )
            first = [*islice(messages, self._parts[0])]
            if self._are_all_refused(first):
                for (_, row), result in first:
                    self._count(row, result, mistakes)
                mistakes.close()
                meter.say(_NOTHING_SENT.format(f"{len(first):,}"))
                status: int | None = DIFFERS
            else:
                if first:  # Some may have been sent, whatever happens from here on.
                    checkpoint = self._saved(record, checkpoint)
                outbox = Outbox(connection.client("sqs"), connection.queue_url)
                sending = outbox.delivered(
                    chain(first, messages), lambda each: Outgoing(each[0][0], each[0][1].members)
                )
                status, checkpoint = self._send(sending, record, checkpoint, mistakes, meter)
                mistakes.close()
            self._asks = known.is_asked
            if known.problem and self._posted:
                meter.say(f"known rows are counted as posted, since the API does not name them: {known.problem}")
        self._summarise(checkpoint)
        is_clean = not (checkpoint.mark.wrong or self._is_half or self._refused)
        return status if status is not None else OK if is_clean else DIFFERS

    def _send(
        self,
        sending: Generator[list[tuple[tuple[tuple[OutgoingMessage, Row], Result], str | None]], None, None],
        record: Record,
        checkpoint: Checkpoint,
        mistakes: Mistakes,
        meter: Meter,
    ) -> tuple[int | None, Checkpoint]:
        """Send rows, and record up to which the queue has taken them. Returns the exit status if it was stopped."""
        to_continue = "run the same command again to continue"
        if record.path is None:
            to_continue = "post all rows again: they have the same ids and count once"
        try:
            with closing(sending):
                for rows_done in sending:
                    for ((_, row), result), refusal in rows_done:
                        if refusal is not None:
                            mistakes.name(row.line, f"the queue refuses it: {refusal}")
                            self._not_taken += 1
                            continue
                        self._count(row, result, mistakes)
                        self._posted += result["status"] != "known"
                    mark = rows_done[-1][0][0][1].mark
                    mark = mark._replace(wrong=mark.wrong + self._not_taken)
                    checkpoint = self._saved(record, checkpoint, mark=mark)
                    meter.move(self._source.share, f"{self._posted:,} events")
            mark = self._read._replace(wrong=self._read.wrong + self._not_taken)
            return None, self._saved(record, checkpoint, mark=mark, finished=True)
        except NotTakenError as error:
            after = f"after line {checkpoint.mark.line} of {self.name}"
            meter.say(f"standings: the queue did not accept all rows {after}: {error}; {to_continue}")
            return UNREACHABLE, checkpoint
        except KeyboardInterrupt:
            meter.say(f"stopped after line {checkpoint.mark.line}; {to_continue}")
            return INTERRUPTED, checkpoint

    def _asking(self, connection: Connection, *, is_asked: bool) -> Known:
        return Known(lambda: connection.api, is_asked, history=self.reader.history, looks_at_boards=True)

    @property
    def _parts(self) -> tuple[int, int]:
        """How many events a request asks about, and how many requests are ahead.

        Of standard input each batch is sent at once: the next row may be hours away.
        """
        return (MAX_ENTRIES, 0) if self.name == STDIN else (MOST, AHEAD)

    def _are_all_refused(self, first: Sequence[tuple[Any, Result]]) -> bool:
        """Whether nothing shall be sent, since the writer would refuse each of the first rows of a file."""
        is_ready = not self.anyway and self.name != STDIN and bool(first)
        return is_ready and all(result["status"] == "refused" for _, result in first)

    def _count(self, row: Row, result: Result, mistakes: Mistakes) -> None:
        """Count a row by what the API says of it, and name it if the writer would refuse it."""
        if result["status"] == "known":
            self._known += 1
            self._without_history += result["detail"] == WITHOUT_HISTORY
        elif result["status"] == "refused":
            self._refused += 1
            mistakes.name(row.line, f"it is refused: {result['detail']}")
        if self.reader.corrects and row.message is not None:
            self._elsewhere += is_elsewhere(orjson.loads(row.message.body)["id"], result)

    def _say_equal(self) -> None:
        if self._equal:
            more = len(self._equal) - SHOWN
            lines = ", ".join(map(str, self._equal[:SHOWN])) + (f" and {more:,} more" if more > 0 else "")
            say(_EQUAL.format(self.name, len(self._equal), lines))

    def _say_what_lacks(self) -> None:
        if self._without_history:
            rows = f"{self._without_history:,} known row{'' if self._without_history == 1 else 's'}"
            say(f"{rows} {_WITHOUT_HISTORY}")
        if self._elsewhere:
            say((_MOVES if self.anyway else _ELSEWHERE).format(self._elsewhere))

    def _look_ahead(self, connection: Connection) -> None:
        """Say what the first `LOOKED_AT` rows show, before any is sent.

        Without `history`: how many would not count in their periods, if somebody knows the boards. Of CSV: whether the
        last row of the file is a total.
        """
        is_csv = self.reader.form == "csv"
        if not self._source.is_repeatable or (self.reader.history and not is_csv):
            return
        total, rows, late = TotalLine(), self._rows(), None
        first = (row for row in islice(rows, LOOKED_AT) if row.message is not None)
        messages = (row.message for row in (total.watched(first) if is_csv else first) if row.message is not None)
        with Working(f"reading {self.name}"):
            if not self.reader.history:
                late = LateRows(definitions(connection, self.reader.boards), self.now()).warning(messages)
            deque(messages if is_csv else (), 0)
            last = total.warning() if is_csv and next(rows, None) is None else None
        if late is not None:
            say(f"{self.name}: {late}")
        if last is not None:
            say(f"{self.name}:{last}")
        self._times.begin(self._times.run)

    def _warn_of_posted(self) -> None:
        """Say in a dry run whether rows may count once more, by the records of what was posted."""
        if self._state is None or not self._source.is_repeatable:
            return
        own = read_posted(self._state, None)
        if own is None:
            self._warn_of_copies(None, say)
        elif not same(self._source.lines(), [own], lambda _: self.reader.settings()):
            self._say_changed(own.line, say)

    def _warn_of_copies(self, target: str | None, say: Callable[[str], None]) -> None:
        """Say whose lines this file has, if they were posted under another name and their ids go by it."""
        others = [one for one in posted_beside(Path(self.name), target) if one.source != self.reader.source]
        if not others or not self._source.is_repeatable:
            return
        found = same(self._source.lines(), others, lambda one: replace(self.reader, source=one.source).settings())
        if found and any(row.occurrence for row in islice(self._rows(), CHECKED)):
            one = max(found, key=lambda one: one.line)
            say(_COPY.format(self.name, one.line, one.name, one.source))
        self._times.begin(self._times.run)

    def _say_changed(self, line: int, say: Callable[[str], None]) -> None:
        say(_SINCE.format(self.name, line, _REPLACES if self.reader.corrects else _CHANGED))

    def _begin(self, record: Record, meter: Meter) -> tuple[Checkpoint, Iterator[Row]]:
        """The checkpoint to continue from, and the rows after it. InputError if rows might count twice."""
        rows, now = self._rows(), self.now()
        saved = record.load(_checkpoint, again=self.again)
        begun = saved.begun if saved is not None and now - saved.begun <= SAFE_MS else now
        checkpoint = Checkpoint(begun, now, Mark(), run=now)
        self._times.begin(now)
        if saved is None:
            self._warn_of_copies(record.target, meter.say)
        if saved is None or self.again:
            return checkpoint, rows
        if not saved.finished:
            self._refuse_if_old(saved.written, f"was interrupted, and some rows after line {saved.mark.line} may")
        meter.move(0, "reading the rows that were posted before")
        if self._skip(rows, saved.mark):
            self._before = saved.mark.rows
            if self._before and not saved.finished:
                meter.say(f"{self._before:,} rows were posted before; continuing after line {saved.mark.line}")
            run = now if saved.finished else saved.run
            self._times.begin(run)
            return replace(saved, written=now, finished=False, run=run), rows
        self._refuse_if_old(saved.begun, "has changed, and rows of it may")
        self._say_changed(saved.mark.line, meter.say)
        self._read = Mark()
        self._times.begin(now)
        return checkpoint, self._rows()

    def _refuse_if_old(self, sent: int, happened: str) -> None:
        age = self.now() - sent
        if age > SAFE_MS and not self.anyway:
            raise InputError(
                f"{self.name} {happened} have been sent {age // 86_400_000} days ago: the receipts that keep an event "
                "from counting twice are deleted after 30 days. Check what was counted, and post new rows as a file of "
                "their own. --anyway continues, --again posts all rows: what counted 30 days ago then counts twice"
            )

    def _skip(self, rows: Iterator[Row], mark: Mark) -> bool:
        """Read the rows up to a mark. Returns whether they are the same as when it was saved."""
        while self._read.line < mark.line:
            row = next(rows, None)
            if row is None:
                return False
            self._read = row.mark
        return (self._read.line, self._read.digest) == (mark.line, mark.digest)

    def _rows(self) -> Iterator[Row]:
        return self.reader.read(self._source.lines(), self._times, may_grow=self._source.may_grow)

    def _when_due(self, messages: Iterable[tuple[OutgoingMessage, Row]]) -> Iterator[tuple[OutgoingMessage, Row]]:
        """Yield messages, none far before its time: a thousand rows that have none of their own take a second."""
        for each in messages:
            self._times.wait()
            yield each

    def _valid(self, rows: Iterable[Row], mistakes: Mistakes) -> Iterator[tuple[OutgoingMessage, Row]]:
        """Yield the rows that are events, and name the wrong ones."""
        for row in rows:
            self._read = row.mark
            self._is_half = row.is_half
            if row.message is None:
                mistakes.name(row.line, row.problem)
            else:
                if row.occurrence > 1:
                    self._equal.append(row.line)
                if AT_FILLED_IN in row.message.attributes:
                    self._warn(row, mistakes.say)
                yield row.message, row

    def _warn(self, row: Row, say: Callable[[str], None]) -> None:
        """Say, once, what a row that has no time of its own should know."""
        if self.reader.at is None and self.reader.form == "csv":
            text = _NO_AT
        elif self._times.is_full:
            text = _FULL
        else:
            return
        if text not in self._warned:
            self._warned.add(text)
            say(f"{self.name}:{row.line}: {text}")

    def _saved(self, record: Record, checkpoint: Checkpoint, **changes: Any) -> Checkpoint:
        checkpoint = replace(checkpoint, written=self.now(), **changes)
        record.save({**asdict(checkpoint), "mark": checkpoint.mark._asdict()})
        return checkpoint

    def _summarise(self, checkpoint: Checkpoint) -> None:
        seconds = time.monotonic() - self._begun
        wrong = checkpoint.mark.wrong
        if self.as_json:
            known = self._known if self._asks else None
            summary = {"source": self.name, "posted": self._posted, "known": known, "before": self._before}
            summary |= {"wrong": wrong, "refused": self._refused if self._asks else None}
            print(json.dumps({**summary, "finished": checkpoint.finished, "seconds": round(seconds, 1)}))
            return
        if checkpoint.finished and not self._posted and not self._known and self._before:
            text = f"all {checkpoint.mark.rows - wrong:,} events of {self.name} were posted before"
        else:
            text = f"posted {self._posted:,} event{'' if self._posted == 1 else 's'} of {self.name} in {seconds:.1f} s"
            text += f", {self._known:,} known (they counted before)" if self._known else ""
            text += f", {self._before:,} rows were posted before" if self._before else ""
            text += f"; refused: {self._refused:,}" if self._refused else ""
        print(shown(text + (f"; rows skipped: {wrong:,}" if wrong else "")))
        self._say_equal()
        self._say_what_lacks()
        if self._posted:
            say("`standings dlq list` shows events that the writer refuses")
