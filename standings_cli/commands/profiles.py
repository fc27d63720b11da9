"""`profiles`: write the profiles of a file, and record beside it how far it has come.

A profile that is written twice is as if it were written once, so an interruption costs a few requests.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple

from standings_cli.commands.options import Commands
from standings_cli.files import STDIN, HalfLineError, InputError, Lines, Mark, Record, Source
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import ApiError
from standings_cli.terminal import DIFFERS, OK, WRONG, Meter, as_json, shown

FIELDS: Final = ("name", "picture", "country", "data")
"""The fields of a profile. An empty cell of a CSV file is absent; `null` in JSON removes the field."""


class Row(NamedTuple):
    """A row: its first line, its member and fields, or the problem with it. One that `is_half` may still be written."""

    line: int
    member: str
    fields: dict[str, Any]
    problem: str = ""
    is_half: bool = False


def read_rows(lines: Lines, *, is_csv: bool) -> Iterator[Row]:
    """The rows of a file, in order. InputError for a wrong header."""
    return _csv_rows(lines) if is_csv else _json_rows(lines)


def _csv_rows(lines: Lines) -> Iterator[Row]:
    records = lines.records()
    _, names = next(records, (1, list[str]()))
    if isinstance(names, Exception):
        raise InputError(f"the header cannot be read: {names}") from names
    unknown = [name for name in names if name not in ("member", *FIELDS)]
    if "member" not in names or unknown or len(set(names)) < len(names):
        expected = f"expected the columns member, {', '.join(FIELDS)}, each once at most"
        raise InputError(f"the header: {expected}, got {', '.join(map(repr, names)) or 'an empty line'}")
    for first, cells in records:
        if isinstance(cells, Exception):
            yield Row(first, "", {}, str(cells), is_half=isinstance(cells, HalfLineError))
        elif cells:
            yield _csv_row(first, names, cells)


def _csv_row(first: int, names: list[str], cells: list[str]) -> Row:
    if len(cells) != len(names):
        return Row(first, "", {}, f"expected {len(names)} cells, got {len(cells)}")
    fields: dict[str, Any] = {name: cell for name, cell in zip(names, cells, strict=True) if cell}
    member = str(fields.pop("member", ""))
    try:
        if "data" in fields:
            fields["data"] = json.loads(fields["data"])
    except (ValueError, RecursionError) as error:
        return Row(first, member, {}, f"data: expected JSON, {error}")
    return _row(first, member, fields)


def _json_rows(lines: Lines) -> Iterator[Row]:
    while True:
        try:
            text = next(lines).strip()
            fields = json.loads(text) if text else None
        except StopIteration:
            return
        except (ValueError, RecursionError) as error:
            yield Row(lines.number, "", {}, f"expected JSON: {error}")
            continue
        if fields is None:
            continue
        if not isinstance(fields, dict) or not isinstance(fields.get("member"), str):
            problem = 'expected an object such as {"member": "u1", "name": "Ada"}'
            yield Row(lines.number, "", {}, problem)
        else:
            yield _row(lines.number, str(fields.pop("member")), fields)


def _row(first: int, member: str, fields: dict[str, Any]) -> Row:
    if not member:
        return Row(first, "", {}, "member: is missing")
    if not fields:
        return Row(first, member, {}, f"expected a field to set, of {', '.join(FIELDS)}")
    return Row(first, member, fields)


_EXPLANATION: Final = """
FILE (.gz too; - is standard input) is CSV with a header, if its name ends in .csv or with --csv: the columns
member, name, picture, country and data (a JSON object). Otherwise each line is a JSON object such as
{"member": "u1", "name": "Ada", "country": "DE"}; null removes a field.

Fields that a row does not name stay as they are. FILE.loaded (or --state) records how far it has come: after
an interruption, or once rows were appended, run the same command again.
"""


def add(commands: Commands) -> None:
    """Add the commands about profiles."""
    actions = commands.group("profiles")
    load = actions.add(
        "load",
        help="write the profiles of a file",
        epilog=_EXPLANATION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    load.add_argument("file", metavar="FILE")
    load.add_argument("--csv", action="store_true", help="the file is CSV, whatever its name")
    load.add_argument("--state", metavar="FILE", help="where to record what is loaded (FILE.loaded)")
    load.add_argument("--again", action="store_true", help="load all rows, even those that were loaded before")
    load.set_defaults(do=_load)


def _load(connection: Connection, options: argparse.Namespace) -> int:
    api = connection.api

    def put(member: str, fields: dict[str, Any]) -> Any:
        return api.put("members", body=fields, id=member)

    is_csv = options.csv or options.file.removesuffix(".gz").endswith(".csv")
    state = None if options.file == STDIN else Path(options.state or f"{options.file}.loaded")
    loading = Loading(options.file, put, is_csv, Record(state, "loaded rows", api.url), options.again)
    try:
        status = loading.load()
    except InputError as error:
        print(f"standings: {shown(str(error))}", file=sys.stderr)
        return WRONG
    if options.json:
        print(as_json({"source": options.file, "written": loading.written, "wrong": loading.wrong}))
    else:
        say(loading)
    return status


AT_ONCE: Final = 8
_BATCH: Final = 64

Put = Callable[[str, dict[str, Any]], Any]
"""Sets the fields of a member's profile. Raises ApiError."""


@dataclass
class Loading:
    """Loads a file. The record says how far it has come."""

    name: str
    put: Put
    is_csv: bool
    record: Record
    again: bool = False
    written: int = 0
    wrong: int = 0

    def load(self) -> int:
        """Write every profile that was not written before, and return the exit status.

        A row that is refused is named and passed over. ApiError if the stack does not answer: run it again.
        """
        with self.record.locked():
            return self._load()

    def _load(self) -> int:
        source = Source(self.name)
        lines, rows = self._rows(source)
        with Meter(f"loading {self.name}", 1.0) as meter, ThreadPoolExecutor(AT_ONCE) as pool:
            done = self._skip(rows, lines)
            if done is None:
                meter.say(f"{self.name} has changed: loading it from the start; a profile may be written again")
                source = Source(self.name)
                lines, rows = self._rows(source)
            elif done:
                meter.say(f"the first {done:,} lines were loaded before")
            while batch := list(islice(rows, _BATCH)):
                wrong = sorted(found for some in pool.map(self._refused, _by_member(batch)) for found in some)
                for line, problem in wrong:
                    meter.say(f"{self.name}:{line}: {problem}")
                self.wrong += len(wrong)
                self.written += len(batch) - len(wrong)
                self._save(lines, self.wrong - batch[-1].is_half)
                meter.move(source.share, f"{self.written:,} profiles")
        return DIFFERS if self.wrong else OK

    def _rows(self, source: Source) -> tuple[Lines, Iterator[Row]]:
        lines = Lines(source.lines(), str(self.is_csv), may_grow=source.may_grow)
        return lines, read_rows(lines, is_csv=self.is_csv)

    def _refused(self, rows: list[Row]) -> list[tuple[int, str]]:
        """Write rows one after the other, and return the lines of those that cannot be, with the reasons."""
        return [(row.line, problem) for row in rows if (problem := row.problem or self._problem(row))]

    def _problem(self, row: Row) -> str:
        try:
            self.put(row.member, row.fields)
        except ApiError as error:
            if error.is_temporary or error.kind not in ("bad-argument", "bad-body"):
                raise
            return str(error)
        return ""

    def _skip(self, rows: Iterator[Row], lines: Lines) -> int | None:
        """Pass over what was loaded before, and return the last line of it; None if that has changed."""
        mark = None if self.again else self.record.load(lambda mark: Mark(**mark))
        if mark is None:
            return 0
        while lines.number < mark.line and next(rows, None) is not None:
            pass
        if (lines.number, lines.digest.hexdigest()) != (mark.line, mark.digest):
            return None
        self.wrong = mark.wrong
        return mark.line

    def _save(self, lines: Lines, wrong: int) -> None:
        self.record.save({"mark": lines.mark(self.written + self.wrong, wrong)._asdict()})


def _by_member(batch: list[Row]) -> list[list[Row]]:
    """The rows of each member, in order, so that two of one member do not overtake each other."""
    found: dict[str, list[Row]] = {}
    for row in batch:
        found.setdefault(row.member, []).append(row)
    return list(found.values())


def say(loading: Loading) -> None:
    """Print what came of it."""
    print(f"wrote {loading.written:,} profiles of {loading.name}", end="")
    print(f"; rows skipped: {loading.wrong:,}" if loading.wrong else "", flush=True)
    if loading.wrong:
        print("correct the rows that are named above, then load them again", file=sys.stderr)
