"""`profiles`: write the profiles of a file."""

import argparse
import sys
from typing import Any, Final

from standings_cli.commands.options import Commands
from standings_cli.post.source import InputError
from standings_cli.profiles.load_file import Loading, say, state_of
from standings_cli.stack.connection import Connection
from standings_cli.terminal import WRONG, as_json, shown

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
    state = state_of(options.file, options.state)
    loading = Loading(options.file, put, is_csv, api.url, state, options.again)
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
