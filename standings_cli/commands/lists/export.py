"""`export`: write a whole list, as CSV or JSON lines."""

import argparse
import math
import sys
from pathlib import Path

from standings_cli.commands.options import Commands
from standings_cli.commands.rankings import add_ranking, board_status, ranking_path
from standings_cli.export.export_file import export_file
from standings_cli.export.forms import FORMS, Form
from standings_cli.export.pages import WholeList
from standings_cli.post.source import InputError
from standings_cli.stack.connection import Connection
from standings_cli.terminal import DIFFERS, WRONG, Meter, as_json, members, number, shown


def add(commands: Commands) -> None:
    """Add `export`."""
    export = commands.add(
        "export",
        description="Write a whole list: rank, member and score of each member. While scores change, each rank is that "
        "of the moment it was read. A member that was already written is left out if it moves, and one that climbs "
        "past the place that was read is missing: the end says so, with exit status 1 if the list is short.",
        epilog="Until the file is whole, FILE.exporting records how far it has come: after an interruption, run the "
        "same command again.",
    )
    add_ranking(export)
    export.add_argument("--format", choices=list(FORMS), default="csv", help="the form of the lines (%(default)s)")
    export.add_argument("--output", type=Path, metavar="FILE", help="write to this file (standard output)")
    export.add_argument("--again", action="store_true", help="write the file again, even if it exists")
    export.set_defaults(do=_export)


def _export(connection: Connection, options: argparse.Namespace) -> int:
    options.resumes = options.output is not None
    path, arguments = ranking_path(connection.api, options)
    whole, form = WholeList(connection.api, path, arguments), FORMS[options.format]
    with Meter(f"export of {shown(options.board)}", 1.0, pause=math.inf) as meter:
        if options.output is None:
            _print(whole, form, meter)
            return _status(whole, options)
        asked = [connection.api.url, *path[1:], *filter(None, arguments.values()), options.format]
        try:
            lines = export_file(options.output, form, asked, whole, meter, again=options.again)
        except InputError as error:
            print(f"standings: {shown(str(error))}", file=sys.stderr)
            return WRONG
    if options.json:
        print(as_json({"file": str(options.output), "lines": lines}))
    else:
        print(f"{shown(str(options.output))}: {number(lines)} members")
    return _status(whole, options)


def _status(whole: WholeList, options: argparse.Namespace) -> int:
    missing = (whole.total or 0) - len(whole.written)
    if missing > 0 or whole.moved:
        lack = f"{members(missing)} or more are missing" if missing > 0 else "members may be missing"
        text = f"scores changed while the list was read, and {lack}: those that climbed past the place that was read"
        print(f"standings: {text}; --again writes it from the beginning", file=sys.stderr)
    if missing > 0:
        return DIFFERS
    return board_status(whole.api, {"board": options.board, "total": len(whole.written)})


def _print(whole: WholeList, form: Form, meter: Meter) -> None:
    """Write the list to standard output: to a terminal with what it could interpret escaped."""
    is_terminal = sys.stdout.isatty()
    print(form.header, end="")
    for entries, _, share in whole.pages():
        for entry in entries:
            line = form.line(entry)
            print(shown(line.removesuffix("\n")) if is_terminal else line, end="\n" if is_terminal else "")
        sys.stdout.flush()
        if not is_terminal:
            meter.move(share, f"{len(whole.written):,} lines")
