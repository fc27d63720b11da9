"""`boards`: list boards, show what a board counts, check a `boards.toml`."""

import argparse
import shlex
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from standings.client.errors import NotFound
from standings.domain.boards import Boards
from standings.domain.boards_toml import DefinitionError, mistakes_in, parse_boards
from standings.runtime.clock import now
from standings_cli.commands import values
from standings_cli.commands.options import Commands, add_csv
from standings_cli.redefinitions import Redefinition, redefinitions, that_begin_to_settle, with_new_seasons
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import unknown_status
from standings_cli.terminal import (
    DIFFERS,
    OK,
    WRONG,
    Form,
    Working,
    as_json,
    console,
    period,
    print_csv,
    say,
    shown,
    table,
)

if TYPE_CHECKING:
    from rich.table import Table

FILE: Final = Path("layers/standings/boards.toml")
_PAGE_SIZE: Final = 1_000
_DESCRIBED: Final = 100  # Boards of which a person sees what they rank; all further ones have names alone
_AT_ONCE: Final = 8
_DEFINITION: Final = (
    "{board} · family {family} · {timezone} · weeks from {week_start} · members {members} · late {late} · keep {keep}"
    " · shards {shards}"
)


def add(commands: Commands) -> None:
    """Add the commands about boards."""
    boards = commands.group("boards")

    list_boards = boards.add("list", help="list the boards by name")
    list_boards.add_argument(
        "--prefix", type=values.prefix, metavar="TEXT", help="only boards whose names begin with it"
    )
    add_csv(list_boards)
    list_boards.set_defaults(do=_list, resumes=False)

    show = boards.add("show", help="show what a board counts, and the current period of each window")
    show.add_argument("board", type=values.board)
    show.set_defaults(do=_show, resumes=False)

    check = boards.add(
        "check",
        help="check that a boards.toml can be deployed",
        description="Check that a boards.toml can be deployed, as `sam build` does. No stack is needed. With --before, "
        "name the rankings that the change begins anew, as with other tie-breaks, and the boards to rebuild.",
        epilog="A mistake is printed with its line; the exit status then is 1.",
    )
    check.add_argument("file", nargs="?", type=values.path, default=FILE, metavar="FILE", help="(%(default)s)")
    check.add_argument(
        "--before", type=values.path, metavar="OLD", help="the boards.toml that is deployed, to compare with"
    )
    check.set_defaults(do=_check, resumes=False)


def _list(connection: Connection, options: argparse.Namespace) -> int:
    cursor, describes = None, sys.stdout.isatty() and not (options.json or options.csv)
    if options.csv:
        print_csv(("board",), ())
    while True:
        limit = _DESCRIBED if describes else _PAGE_SIZE
        answer = connection.api.read("boards", prefix=options.prefix, limit=limit, cursor=cursor)
        if options.json and not options.csv:
            print(as_json(answer), flush=True)
        elif describes and answer["boards"]:
            console().print(_described(connection, [board["board"] for board in answer["boards"]]))
            describes = False
        else:
            for board in answer["boards"]:
                print(shown(board["board"]))
        cursor = answer["next"]
        if cursor is None:
            return OK


def _described(connection: Connection, boards: Sequence[str]) -> "Table":
    """A table of boards, each with what it ranks and when it ends: `km: all, week · ends …`. A read for each."""

    def about(board: str) -> str:
        try:
            answer = connection.api.read("boards", board)
        except NotFound:
            return ""  # It has gone meanwhile
        ranked = (
            (metric["metric"], ", ".join(one["window"] for one in metric["windows"])) for metric in answer["metrics"]
        )
        return "; ".join(f"{metric}: {windows}" for metric, windows in ranked if windows) + _end(answer)

    rows = table("board", "ranks", right=())
    with Working("boards list"), ThreadPoolExecutor(_AT_ONCE) as threads:
        for board, text in zip(boards, threads.map(about, boards), strict=True):
            rows.add_row(shown(board), shown(text))
    return rows


def _show(connection: Connection, options: argparse.Namespace) -> int:
    answer = connection.api.read("boards", options.board)
    if options.json:
        print(as_json(answer))
        return unknown_status(connection.api, options.board)
    screen = console()
    screen.print(f"{_DEFINITION.format_map(answer)}{_end(answer)}")
    for line in _prizes(answer):
        screen.print(shown(line))
    any_ties, any_units = (any(name in metric for metric in answer["metrics"]) for name in ("tie_breaks", "unit"))
    ties, units = ("tie-breaks",) * any_ties, ("unit",) * any_units
    columns = (
        "metric",
        "aggregate",
        "decimals",
        *units,
        "order",
        *ties,
        "ties by",
        "amounts",
        "window",
        "current period",
    )
    rows = table(*columns, right=("decimals",))
    for metric in answer["metrics"]:
        aggregate = f"with {metric['with']}" if "with" in metric else metric["aggregate"]
        cells = [metric["metric"], aggregate, str(metric["precision"])]
        cells += [shown(metric.get("unit", ""))] * any_units
        cells.append(metric["order"])
        cells += [", ".join(metric.get("tie_breaks", ()))] * any_ties
        cells.append(metric["ties"])
        cells.append(_amounts(metric))
        if not metric["windows"]:
            rows.add_row(*cells, "not ranked")
        for window in metric["windows"]:
            rows.add_row(*cells, window["window"], period(window))
            cells = [""] * len(cells)
    screen.print(rows)
    return unknown_status(connection.api, options.board)


def _end(answer: Mapping[str, Any]) -> str:
    """When a board ends: ` · ends 2027-01-20 10:15:00 UTC`; nothing if it does not."""
    if at := answer.get("expires_at"):
        return f" · ends {at[:19].replace('T', ' ')} UTC"
    return f" · ends {answer['expires']} after it begins" if answer.get("expires") else ""


def _prizes(answer: Mapping[str, Any]) -> Iterator[str]:
    """What is settled, and who wins what: `settles week`, `prizes of points in week: gold 1, top 10 %`."""
    if "settle" in answer:
        yield f"settles {', '.join(answer['settle'])}"
    for metric in answer["metrics"]:
        for window in metric["windows"]:
            prizes = [
                f"{one['name']} {one.get('ranks') or str(one['percent']) + ' %'}" for one in window.get("prizes", ())
            ]
            if prizes:
                yield f"prizes of {metric['metric']} in {window['window']}: {', '.join(prizes)}"


def _amounts(metric: Mapping[str, Any]) -> str:
    """The amounts that an event may add: `from 0 to any`, of times `from 12:30 to any`."""
    if metric["least"] is None and metric["most"] is None:
        return ""
    least, most = (Form(unit=metric.get("unit")).in_column(metric[name]) or "any" for name in ("least", "most"))
    return f"from {least} to {most}"


def _check(_: Connection, options: argparse.Namespace) -> int:
    texts: dict[Path, str] = {}
    for path in (options.file, *filter(None, [options.before])):
        try:
            texts[path] = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            say(f"standings: {path}: {error}")
            return WRONG
    found: dict[Path, Boards] = {}
    for path, text in texts.items():
        try:
            found[path] = parse_boards(text)
        except DefinitionError:
            for mistake in mistakes_in(text):
                say(f"{path.name}:{mistake.line}: {mistake.reason}")
            return DIFFERS
    anew, seasons, settles = None, list[str](), list[str]()
    if options.before is not None:
        anew = list(redefinitions(found[options.before], found[options.file], now()))
        seasons = with_new_seasons(found[options.before], found[options.file])
        settles = that_begin_to_settle(found[options.before], found[options.file])
    if options.json:
        more = (
            {}
            if anew is None
            else {"anew": [one._asdict() for one in anew], "new_seasons": seasons, "new_settle": settles}
        )
        about = {"file": str(options.file), "families": [family.pattern for family in found[options.file].families]}
        print(as_json(about | more))
    else:
        count = len(found[options.file].families)
        print(f"{shown(options.file.name)}: {count} {'family' if count == 1 else 'families'} of boards")
        _show_anew(anew, seasons)
        for boards in seasons:
            print(f"{boards}: a new season that begins before the deployment stays 404 (not-built) on boards that had")
            print("events since, rebuilt or not: post their events to a new board (docs/how-to/seasons-and-prizes.md)")
        for boards in settles:
            print(f"{boards}: begins to settle: boards that are there take no history or corrections of past periods")
            print("until `standings results BOARD` or a settlement has looked, which needs Settlements=true")
    return OK


def _show_anew(anew: Sequence[Redefinition] | None, seasons: Collection[str]) -> None:
    """Print which rankings begin anew, and what to do; None: nothing was compared."""
    if anew is None:
        return
    for boards, metric, windows, why, _ in anew:
        print(f"{boards}: {metric} begins new rankings in {', '.join(windows)}: {why}")
    if not anew:
        print("no ranking begins anew")
        return
    print("On boards that have had events they answer 404 (not-built) until you rebuild these after the deployment:")
    for boards in dict.fromkeys(one.boards for one in anew):
        print(f"standings rebuild {shlex.quote(boards)}")
    for one in anew:
        # Of a new season it is said there.
        left = {window: first for window, first in one.whole_from.items() if first or one.boards not in seasons}
        if left:
            names = ", ".join(left)
            print(f"{one.boards}: no rebuild brings back the periods so far of {one.metric} in {names}, of which")
            print("not all numbers were kept: they stay 404. If you rebuild now, the first ones that can be read are")
            print(", ".join(f"{window} {first or '(the next one to begin)'}" for window, first in left.items()))
