"""Boards: which there are, what one counts, and whether a `boards.toml` can be deployed."""

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from standings.domain.boards.boards_toml import DefinitionError, parse_boards
from standings_cli.commands.options import Commands
from standings_cli.stack.connection import Connection
from standings_cli.terminal.exit_status import DIFFERS, OK, WRONG
from standings_cli.terminal.tables import console, table
from standings_cli.terminal.text import as_json, period, shown

FILE: Final = Path("layers/standings/boards.toml")
_PAGE: Final = 1_000


def add(commands: Commands) -> None:
    """Add the commands about boards."""
    boards = commands.group("boards", help="list boards, show what one counts, check boards.toml")

    listed = boards.add("list", help="the boards that there are, by name")
    listed.add_argument("--prefix", metavar="TEXT", help="those whose names begin so")
    listed.set_defaults(do=_list, resumes=False)

    show = boards.add("show", help="what a board counts, and the current period of each window")
    show.add_argument("board")
    show.set_defaults(do=_show, resumes=False)

    check = boards.add(
        "check",
        help="whether a boards.toml can be deployed",
        description="Whether a boards.toml can be deployed: the check that `sam build` makes. It asks no stack.",
        epilog="Exit status 1 for a file with a mistake, which is told with its line.",
    )
    check.add_argument("file", nargs="?", type=Path, default=FILE, help="(%(default)s)")
    check.set_defaults(do=_check, resumes=False)


def _list(connection: Connection, given: argparse.Namespace) -> int:
    api, cursor = connection.api, None
    while True:
        answer = api.read("boards", prefix=given.prefix, limit=_PAGE, cursor=cursor)
        if given.json:
            print(as_json(answer), flush=True)
        else:
            for board in answer["boards"]:
                print(shown(board["board"]))
        cursor = answer["next"]
        if cursor is None:
            return OK


def _show(connection: Connection, given: argparse.Namespace) -> int:
    answer = connection.api.read("boards", given.board)
    if given.json:
        print(as_json(answer))
        return OK
    screen = console()
    said = (
        "family {family}",
        "{timezone}",
        "weeks from {week_start}",
        "members {members}",
        "late {late}",
        "keep {keep}",
    )
    screen.print(f"{answer['board']} · " + " · ".join(said).format_map(answer) + f" · shards {answer['shards']}")
    rows = table(
        ("metric", "left"),
        ("aggregate", "left"),
        ("decimals", "right"),
        ("order", "left"),
        ("ties by", "left"),
        ("window", "left"),
        ("current period", "left"),
    )
    for metric in answer["metrics"]:
        named = [metric["metric"], metric["aggregate"], str(metric["precision"]), metric["order"], metric["ties"]]
        for window in metric["windows"] or ({"window": "not ranked", "period": {"start": None, "end": None}},):
            rows.add_row(*named, *_window(window))
            named = [""] * len(named)
    screen.print(rows)
    return OK


def _window(window: Mapping[str, Any]) -> tuple[str, str]:
    return window["window"], period(window)


def _check(_: Connection, given: argparse.Namespace) -> int:
    path: Path = given.file
    try:
        families = parse_boards(path.read_text(encoding="utf-8")).families
    except DefinitionError as error:
        print(f"{shown(path.name)}:{error.line}: {shown(error.reason)}", file=sys.stderr)
        return DIFFERS
    except (OSError, UnicodeDecodeError) as error:
        print(f"standings: {shown(str(path))}: {error}", file=sys.stderr)
        return WRONG
    if given.json:
        print(as_json({"file": str(path), "families": [family.pattern for family in families]}))
    else:
        print(f"{shown(path.name)}: {len(families)} families of boards")
    return OK
