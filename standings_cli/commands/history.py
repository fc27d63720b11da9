"""`history`: a member's rank in each period that can be read."""

import argparse
from collections.abc import Mapping
from typing import Any, Final

from standings_cli.commands.options import Commands, add_csv, whole_from
from standings_cli.commands.rankings import add_ranking, ranking_path
from standings_cli.stack.connection import Connection
from standings_cli.terminal import DIFFERS, OK, as_json, console, number, period, plain, print_csv, shown, table

PERIODS: Final = 14
_MOST: Final = 100  # the most periods that the API answers


def add(commands: Commands) -> None:
    """Add `history`."""
    history = commands.add(
        "history",
        epilog="Exit status 1 if the member is ranked in none of them.",
    )
    add_ranking(history)
    history.add_argument("member")
    history.add_argument(
        "--periods", type=whole_from(1, _MOST), default=PERIODS, metavar="N", help="how many periods (%(default)s)"
    )
    add_csv(history)
    history.set_defaults(do=_history, resumes=False)


def _history(connection: Connection, options: argparse.Namespace) -> int:
    path, arguments = ranking_path(connection.api, options)
    answer = connection.api.read(*path, "history", **arguments, member=options.member, periods=options.periods)
    if options.csv:
        print_csv(("period", "rank", "total", "score"), map(_cells, answer["periods"]))
    elif options.json:
        print(as_json(answer))
    else:
        _show(answer)
    return OK if any(each["rank"] is not None for each in answer["periods"]) else DIFFERS


def _cells(each: Mapping[str, Any]) -> tuple[object, ...]:
    score = None if each["score"] is None else plain(each["score"])
    return each["period"]["start"] or "all", each["rank"], each["total"], score


def _show(answer: Mapping[str, Any]) -> None:
    screen = console()
    names = (answer["board"], answer["metric"], answer["window"], answer["member"])
    screen.print(" · ".join(shown(name) for name in names))
    rows = table("period", "rank", "of", "score", right=("rank", "of", "score"))
    for each in answer["periods"]:
        rank, score = ("" if each[name] is None else number(each[name]) for name in ("rank", "score"))
        rows.add_row(period({**answer, **each}) or "all", rank or "not ranked", number(each["total"]), score)
    screen.print(rows)
