"""`profiles load`: writes the profiles of a file, with a record of the progress; also for `member register --csv`.

Writing a profile, or registering a member, twice changes nothing. So after an interruption, a few rows are written
again.
"""

import argparse
import csv
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, groupby, islice
from operator import attrgetter
from pathlib import Path
from typing import Any, Final, NamedTuple

from standings.client.api import Api
from standings.client.errors import ApiError
from standings_cli.commands import values
from standings_cli.commands.options import Commands
from standings_cli.files import STDIN, HalfLineError, Lines, Mark, Record, Source
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import InputError
from standings_cli.terminal import DIFFERS, OK, Meter, as_json, say

FIELDS: Final = ("name", "picture", "country", "data")
"""The fields of a profile. An empty cell of a CSV file leaves the field as it is; `null` in JSON removes it."""


class Row(NamedTuple):
    """A row: `Row(2, "u1", {"name": "Ada"})`, or `Row(2, "", {}, "member: is missing")`. `line` is its first line.

    `is_half`: the line has no line end, so somebody may still be writing it.
    """

    line: int
    member: str
    fields: dict[str, Any]
    problem: str = ""
    is_half: bool = False


def read_rows(lines: Lines, *, is_csv: bool, needs_fields: bool = True) -> Iterator[Row]:
    """The rows of a file, in order; a wrong row has a `problem`. InputError for a wrong header of CSV.

    With `needs_fields`, a row without a field to set is wrong.
    """
    if not is_csv:
        yield from (_row(line, text, None, needs_fields=needs_fields) for line, text in lines.texts())
        return
    names, rows = lines.table()
    if "member" not in names or not {"member", *FIELDS}.issuperset(names) or len(set(names)) < len(names):
        expected = f"expected the columns member, {', '.join(FIELDS)}, each once at most"
        raise InputError(f"the header: {expected}, got {', '.join(map(repr, names)) or 'an empty line'}")
    yield from (_row(line, cells, names, needs_fields=needs_fields) for line, cells in rows)


def _row(line: int, content: Any, names: list[str] | None, *, needs_fields: bool) -> Row:
    """The row of a JSON text, or of cells of CSV under the header's `names`. An exception as content is its problem."""
    try:
        if isinstance(content, Exception):
            raise content
        fields: Any = _parsed(content) if names is None else dict(zip(names, content, strict=True))
        if names is not None:
            fields = {
                name: _parsed(cell, "data: ") if name == "data" else cell for name, cell in fields.items() if cell
            }
        elif not isinstance(fields, dict) or not isinstance(fields.get("member"), str):
            raise ValueError('expected an object such as {"member": "u1", "name": "Ada"}')
        member = str(fields.pop("member", ""))
        if not member:
            raise ValueError("member: is missing")
        if needs_fields and not fields:
            raise ValueError(f"expected a field to set, of {', '.join(FIELDS)}")
    except (ValueError, csv.Error, HalfLineError) as error:
        return Row(line, "", {}, str(error), is_half=isinstance(error, HalfLineError))
    return Row(line, member, fields)


def _parsed(text: str, field: str = "") -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{field}expected JSON: {error}") from error


_EXPLANATION: Final = """
FILE (.gz too; - is standard input) is CSV with a header, if its name ends in .csv or with --csv: the columns
member, name, picture, country and data (a JSON object). Otherwise each line is a JSON object such as
{"member": "u1", "name": "Ada", "country": "DE"}; null removes a field.

Fields that a row does not name, and empty cells, stay as they are in the profile. A row that is refused
is named and skipped. FILE.loaded (or --state) records the progress: after an interruption, or once rows
were appended, run the same command again.
"""


def add(commands: Commands) -> None:
    """Add the command `profiles load`."""
    actions = commands.group("profiles")
    load = actions.add(
        "load",
        help="write the profiles that a file holds, a member in each row",
        epilog=_EXPLANATION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    load.add_argument("file", type=values.file, metavar="FILE")
    load.add_argument("--csv", action="store_true", help="the file is CSV, whatever its name")
    load.add_argument("--state", type=values.file, metavar="FILE", help="where to record the progress (FILE.loaded)")
    load.add_argument("--again", action="store_true", help="write all rows, also those that were written before")
    load.set_defaults(do=_load)


def _load(connection: Connection, options: argparse.Namespace) -> int:
    def write(api: Api, row: Row) -> None:
        api.put("members", body=row.fields, id=row.member)

    is_csv = options.csv or options.file.removesuffix(".gz").endswith(".csv")
    return load_rows(connection, options, File(options.file, is_csv), PROFILES, write)


class File(NamedTuple):
    """A file of rows: `File("people.csv", True)`. With `needs_fields`, each row has a field to set."""

    name: str
    is_csv: bool
    needs_fields: bool = True

    def opened(self) -> tuple[Source, Lines, Iterator[Row]]:
        """The file, its lines and its rows."""
        source = Source(self.name)
        lines = Lines(source.lines(), str(self.is_csv), may_grow=source.may_grow)
        return source, lines, read_rows(lines, is_csv=self.is_csv, needs_fields=self.needs_fields)


class Words(NamedTuple):
    """How a command that loads a file speaks of it: `of` names its record, and `wrote` stands before what it wrote."""

    suffix: str
    of: str
    loading: str
    loaded: str
    wrote: str
    what: str


PROFILES: Final = Words("loaded", "loaded rows", "loading", "loaded", "wrote", "profiles")
Write = Callable[[Api, Row], None]
"""Writes a row, by requests that may be sent twice. An ApiError with kind `bad-argument` or `bad-body` refuses it."""


def load_rows(
    connection: Connection, options: argparse.Namespace, file: File, words: Words, write: Write, target: str = ""
) -> int:
    """Load a file as `options` say (`state`, `again`, `json`), and return the exit status.

    `target` says, after the API's address, for what the record is.
    """
    if Source(file.name).is_repeatable:
        next(file.opened()[2], None)  # What is wrong with it is told before a stack is asked
    state = None if file.name == STDIN else Path(options.state or f"{file.name}.{words.suffix}")
    record = Record(state, words.of, connection.api.url + target)
    loading = Loading(connection.api, file, words, write, record, options.again)
    loading.load()
    if options.json:
        print(as_json({"source": file.name, "written": loading.written, "wrong": loading.wrong}))
    else:
        skipped = f"; rows skipped: {loading.wrong:,}" if loading.wrong else ""
        print(f"{words.wrote} {loading.written:,} {words.what} of {file.name}{skipped}", flush=True)
        if loading.wrong:
            say("correct the rows that are named above, then load them again")
    return DIFFERS if loading.wrong else OK


AT_ONCE: Final = 8
_BATCH: Final = 64


@dataclass
class Loading:
    """Writes the rows of a file. `record` has the progress.

    `again` ignores the record. `written` and `wrong` count rows, `wrong` also those of the runs before.
    """

    api: Api
    file: File
    words: Words
    write: Write
    record: Record
    again: bool = False
    written: int = 0
    wrong: int = 0

    def load(self) -> None:
        """Write every row that was not written before.

        A row that is refused is named and skipped. ApiError if the stack fails or does not allow it, NoAnswerError if
        it does not answer: the same command continues.
        """
        title = f"{self.words.loading} {self.file.name}"
        with self.record.locked(), Meter(title, 1.0) as meter, ThreadPoolExecutor(AT_ONCE) as pool:
            source, lines, rows = self._begin(meter)
            while batch := list(islice(rows, _BATCH)):
                # The rows of a member stay together, in order, so that none overtakes another.
                members = groupby(sorted(batch, key=attrgetter("member")), attrgetter("member"))
                found = pool.map(self._refused, [list(rows_of_one) for _, rows_of_one in members])
                wrong = sorted(chain.from_iterable(found))
                for line, problem in wrong:
                    meter.say(f"{self.file.name}:{line}: {problem}")
                self.wrong += len(wrong)
                self.written += len(batch) - len(wrong)
                mark = lines.mark(self.written + self.wrong, self.wrong - batch[-1].is_half)
                self.record.save({"mark": mark._asdict()})
                meter.move(source.share, f"{self.written:,} {self.words.what}")

    def _begin(self, meter: Meter) -> tuple[Source, Lines, Iterator[Row]]:
        """Open the file, and skip the lines that were loaded before, unless these have changed."""
        source, lines, rows = self.file.opened()
        mark = None if self.again else self.record.load(lambda mark: Mark(**mark))
        if mark is None:
            return source, lines, rows
        while lines.number < mark.line and next(rows, None) is not None:
            pass
        if (lines.number, lines.digest.hexdigest()) != (mark.line, mark.digest):
            changed = f"{self.file.name} has changed: {self.words.loading} it from the start"
            meter.say(f"{changed}; a profile may be written again")
            return self.file.opened()
        if mark.line:
            meter.say(f"the first {mark.line:,} lines were {self.words.loaded} before")
        self.wrong = mark.wrong
        return source, lines, rows

    def _refused(self, rows: list[Row]) -> list[tuple[int, str]]:
        """Write rows one after the other. Returns the lines of the refused ones, with the reasons."""
        return [(row.line, problem) for row in rows if (problem := row.problem or self._problem(row))]

    def _problem(self, row: Row) -> str:
        try:
            self.write(self.api, row)
        except ApiError as error:
            if error.is_temporary or error.kind not in ("bad-argument", "bad-body"):
                raise
            return str(error)
        return ""
