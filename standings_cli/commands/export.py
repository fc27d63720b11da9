"""`export`: write a whole list, as CSV or JSON lines, with a record of the progress until the file is complete.

A page's lines are on the disk before the record counts them. Whatever follows the recorded size is cut off and written
again, so no line is in the file twice.
"""

import argparse
import csv
import json
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NamedTuple

from standings.client.api import Api
from standings_cli.commands import values
from standings_cli.commands.options import Commands
from standings_cli.commands.rankings import COLUMNS, add_ranking, board_status, cells, columns, ranking_path, tie_breaks
from standings_cli.files import Record
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import InputError
from standings_cli.terminal import DIFFERS, Meter, as_json, csv_line, members, print_line, say, shown

FORMS: Final = ("csv", "jsonl")
PAGE_SIZE: Final = 1_000  # the most entries that the API returns at once


@dataclass
class WholeList:
    """The list at a path, read with cursors. `written` are the members that were returned before.

    `total` is the number of members at the last page. The list has `moved` if the pages show it: members came twice, or
    there are more or fewer than at the page before. Then a member that climbed past the place that was read is missing.
    """

    api: Api
    path: tuple[str, ...]
    arguments: dict[str, str | None]
    written: set[str] = field(default_factory=set)
    total: int | None = None
    moved: bool = False

    def pages(self, cursor: str | None = None) -> Iterator[tuple[list[dict[str, Any]], str | None, float]]:
        """Return each page's new entries, the cursor to read on from, and the share of the list that was read.

        A member that moves between two pages may come a second time: it is left out there. The cursor is None at the
        end. Raises ApiError and NoAnswerError.
        """
        while True:
            answer = self.api.read(*self.path, **self.arguments, limit=PAGE_SIZE, cursor=cursor)
            cursor = answer["next"]
            self.moved = self.moved or answer["total"] != (self.total or answer["total"])
            self.total = answer["total"]
            entries = list[dict[str, Any]]()
            for entry in answer["entries"]:
                if entry["member"] in self.written:
                    self.moved = True
                else:
                    self.written.add(entry["member"])
                    entries.append(entry)
            yield entries, cursor, len(self.written) / max(answer["total"], len(self.written), 1)
            if cursor is None:
                return


def add(commands: Commands) -> None:
    """Add `export`."""
    export = commands.add(
        "export",
        description="Write a whole list: rank, member, score and tie-breaks of each member. While scores change, each "
        "rank is that of the moment it was read. A member that was already written is left out if it moves, and one "
        "that climbs past the place that was read is missing: the end says so, with exit status 1 if the list is "
        "short.",
        epilog="Until the file is complete, FILE.exporting records the progress: after an interruption, run the "
        "same command again.",
    )
    add_ranking(export)
    export.add_argument("--format", choices=FORMS, default="csv", help="the form of the lines (%(default)s)")
    export.add_argument("--output", type=values.path, metavar="FILE", help="write to this file (standard output)")
    export.add_argument("--again", action="store_true", help="write the file again, even if it exists")
    export.set_defaults(do=_export)


def _export(connection: Connection, options: argparse.Namespace) -> int:
    options.resumes = options.output is not None
    path, arguments = ranking_path(connection.api, options)
    whole, form = WholeList(connection.api, path, arguments), options.format
    with Meter(f"export of {shown(options.board)}", 1.0) as meter:
        if options.output is None:
            _print(whole, form, meter)
            return _status(whole, options)
        asked = " ".join([connection.api.url, *path[1:], *filter(None, arguments.values()), options.format])
        lines = export_file(options.output, form, asked, whole, meter, again=options.again)
    if options.json:
        print(as_json({"file": str(options.output), "lines": lines}))
    else:
        print(f"{shown(str(options.output))}: {members(lines)}")
    return _status(whole, options)


def _status(whole: WholeList, options: argparse.Namespace) -> int:
    missing = (whole.total or 0) - len(whole.written)
    if missing > 0 or whole.moved:
        lack = f"{members(missing)} or more are missing" if missing > 0 else "members may be missing"
        text = f"scores changed while the list was read, and {lack}: those that climbed past the place that was read"
        say(f"standings: {text}; --again writes it from the beginning")
    if missing > 0:
        return DIFFERS
    return board_status(whole.api, {"board": options.board, "total": len(whole.written)})


def _print(whole: WholeList, form: str, meter: Meter) -> None:
    for position, (entries, _, share) in enumerate(whole.pages()):
        for line in _lines(whole, entries, form, is_first=position == 0):
            print_line(line)
        sys.stdout.flush()
        if not sys.stdout.isatty():
            meter.move(share, f"{len(whole.written):,} lines")


class Place(NamedTuple):
    """The first `size` bytes of the file hold the list up to `cursor`."""

    size: int
    cursor: str | None


def export_file(path: Path, form: str, asked: str, whole: WholeList, meter: Meter, *, again: bool) -> int:
    """Write the list to a file, or what it lacks, and return the number of its lines. Raises InputError.

    `asked` says which list of which stack it is, and in which form.
    """
    record = Record(path.with_name(f"{path.name}.exporting"), "an export", asked, "--output")
    with record.locked():
        try:
            _write(path, record, form, whole, meter, again=again)
        except OSError as error:
            raise InputError(f"{path} cannot be written ({error}): name another file with --output") from error
    return len(whole.written)


def _write(path: Path, record: Record, form: str, whole: WholeList, meter: Meter, *, again: bool) -> None:
    place = _begun(path, record, again=again)
    if place.size:
        os.truncate(path, place.size)
        whole.written.update(_members(path, form))
        meter.say(f"{len(whole.written):,} lines were written before")
    else:
        record.save(place._asdict())
    with path.open("ab" if place.size else "wb") as file:
        is_first = not place.size
        for entries, cursor, share in whole.pages(place.cursor):
            file.write("".join(_lines(whole, entries, form, is_first=is_first)).encode())
            is_first = False
            file.flush()
            os.fsync(file.fileno())
            if cursor is not None:
                record.save(Place(file.tell(), cursor)._asdict())
            meter.move(share, f"{len(whole.written):,} lines")
    record.remove()


def _begun(path: Path, record: Record, *, again: bool) -> Place:
    """Return the place to go on from; the beginning if there is no record."""
    place = None if again else record.load(Place)
    if place is None:
        if path.exists() and not again:
            raise InputError(f"{path} exists already: name another file, or write it again with --again")
        return Place(0, None)
    if place.size and (not path.exists() or path.stat().st_size < place.size):
        raise InputError(f"{path} was cut since it was begun: write it again with --again")
    return place


def _lines(whole: WholeList, entries: Sequence[Mapping[str, Any]], form: str, *, is_first: bool) -> Iterator[str]:
    """Yield the lines of a page's entries, each with its end. In CSV, the first page has a header."""
    if form == "jsonl":
        for entry in entries:
            named = {name: entry[name] for name in (*COLUMNS, "tie_breaks") if name in entry}
            yield json.dumps(named, ensure_ascii=False) + "\n"
        return
    names = tie_breaks(whole.api, whole.path, entries) if entries or is_first else ()
    if is_first:
        yield csv_line(columns(names))
    for entry in entries:
        yield csv_line(cells(entry, names))


def _members(path: Path, form: str) -> list[str]:
    """Return the members that are in the file."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, strict=True) if form == "csv" else map(json.loads, file)
            return [row["member"] for row in rows]
    except (ValueError, KeyError, TypeError, csv.Error) as error:
        raise InputError(f"{path} was changed since it was begun ({error}): write it again with --again") from error
