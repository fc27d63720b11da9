"""Reads of a ranking: `top`, `rank` and `around`."""

import argparse
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from standings_cli.commands.options import Commands
from standings_cli.stack.api import Api, ApiError
from standings_cli.stack.connection import Connection
from standings_cli.terminal.exit_status import OK
from standings_cli.terminal.tables import console, standings
from standings_cli.terminal.text import as_json, members, number, ranking, shown

TOP: Final = 10
RADIUS: Final = 5
_MOST: Final = 1_000
"""As many entries as the API gives at once."""


@dataclass(frozen=True, slots=True)
class Question:
    """What a command line asks a ranking: its path, and the arguments of all reads of it."""

    path: tuple[str, ...]
    arguments: Mapping[str, str | None]

    def read(self, api: Api, *path: str, **arguments: str | int | None) -> dict[str, Any]:
        """What the API answers below the ranking's path."""
        return api.read(*self.path, *path, **self.arguments, **arguments)


def add(commands: Commands) -> None:
    """Add the reads of a ranking."""
    top = commands.add(
        "top",
        help="the first of a ranking, or those from a rank on",
        description="The first of a ranking, or those from a rank on.",
        epilog="With --json one line for each page of up to 1000 entries.",
    )
    add_ranking(top)
    add_entries(top)
    top.set_defaults(do=_top, resumes=False)

    rank = commands.add(
        "rank",
        help="a member's rank, or the rank that a score would have",
        description="A member's rank, score and percentile, or the rank that a score would have.",
        epilog="Exit status 1 where the member is not ranked.",
    )
    add_ranking(rank)
    rank.add_argument("member", nargs="?", help="whose rank")
    rank.add_argument("--score", metavar="SCORE", help="instead of a member: the rank that a score would have")
    rank.add_argument("--previous", action="store_true", help="and the member's rank in the period before")
    rank.set_defaults(do=partial(_rank, rank), resumes=False)

    around = commands.add(
        "around",
        help="a member with its neighbours",
        description="A member with its neighbours on both sides.",
        epilog="Exit status 1 where the member is not ranked.",
    )
    add_ranking(around)
    around.add_argument("member", help="in the middle")
    around.add_argument("--radius", type=int, default=RADIUS, metavar="N", help="neighbours on each side (%(default)s)")
    around.set_defaults(do=_around, resumes=False)


def add_ranking(parser: argparse.ArgumentParser) -> None:
    """The options that say which ranking, and the board."""
    parser.add_argument("board")
    parser.add_argument("--metric", help="what is ranked; without it the board's first ranked metric")
    parser.add_argument("--window", help="all, day, last-7-days, …; without it the metric's first")
    parser.add_argument(
        "--period", help="another than the current one: a day in it (2026-11-20), or hour (2026-11-20T15)"
    )
    parser.add_argument(
        "--method",
        choices=("competition", "ordinal", "dense"),
        help="how equals are numbered: competition (1224, the default), ordinal (1234) or dense (1223)",
    )


def add_entries(parser: argparse.ArgumentParser) -> None:
    """The options that say which entries of a list."""
    parser.add_argument("--limit", type=_positive, default=TOP, metavar="N", help="how many (%(default)s)")
    parser.add_argument("--from", type=_positive, dest="start", metavar="RANK", help="those from this position on")


def question(api: Api, given: argparse.Namespace) -> Question:
    """The ranking of a command line; the board's definition is asked for where it does not say all."""
    metric, window = given.metric, given.window
    if metric is None or window is None:
        ranked = {one["metric"]: one["windows"] for one in api.read("boards", given.board)["metrics"] if one["windows"]}
        if metric is None and not ranked:
            raise ApiError(404, "no-such-metric", f"board {given.board!r} has no metric that is ranked")
        metric = metric or next(iter(ranked))
        # A metric that is not there, or not ranked: then the API says which there are.
        window = window or next((one["window"] for one in ranked.get(metric, ())), "all")
    return Question(("boards", given.board, metric, window), {"period": given.period, "method": given.method})


def heading(answer: Mapping[str, Any]) -> str:
    """Which ranking it is, how many are in it, and when it has last changed."""
    changed = f"last change {answer['as_of'][:19].replace('T', ' ')} UTC" if answer["as_of"] else "no change yet"
    return f"{ranking(answer)} · {members(answer['total'])} · {changed}"


def _top(connection: Connection, given: argparse.Namespace) -> int:
    entries, answer = [], None
    for answer in _pages(connection.api, given):
        entries += answer["entries"]
        if given.json:
            print(as_json(answer), flush=True)
    if not given.json and answer is not None:
        _show(answer, entries)
    return OK


def _pages(api: Api, given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    asked, left, place = question(api, given), given.limit, {"rank": given.start}
    while True:
        answer = asked.read(api, limit=min(left, _MOST), **place)
        yield answer
        left -= len(answer["entries"])
        if left <= 0 or answer["next"] is None:
            return
        place = {"cursor": answer["next"]}


def _around(connection: Connection, given: argparse.Namespace) -> int:
    api = connection.api
    answer = question(api, given).read(api, around=given.member, radius=given.radius)
    if given.json:
        print(as_json(answer))
    else:
        _show(answer, answer["entries"], given.member)
    return OK


def _show(answer: Mapping[str, Any], entries: list[dict[str, Any]], member: str | None = None) -> None:
    screen = console()
    screen.print(heading(answer))
    if entries:
        screen.print(standings(entries, member))
    else:
        screen.print("nobody stands this far down" if answer["total"] else "nobody is ranked here yet")


def _rank(parser: argparse.ArgumentParser, connection: Connection, given: argparse.Namespace) -> int:
    if (given.member is None) == (given.score is None):
        parser.error("say whose rank, or a score by --score: one of them")
    if given.score is not None and given.previous:
        parser.error("--previous goes with a member")
    api = connection.api
    previous = "true" if given.previous else None
    answer = question(api, given).read(api, "rank", member=given.member, score=given.score, previous=previous)
    if given.json:
        print(as_json(answer))
        return OK
    screen = console()
    screen.print(heading(answer))
    screen.print(_score_rank(answer) if given.member is None else _member_rank(answer))
    return OK


def _member_rank(answer: Mapping[str, Any]) -> str:
    said = (
        f"{shown(answer['member'])}: rank {number(answer['rank'])} of {number(answer['total'])}, "
        f"score {number(answer['score'])}, percentile {number(answer['percentile'])}"
    )
    if "previous_rank" not in answer:
        return said
    if answer["previous_rank"] is None:
        return f"{said}, not ranked in the period before"
    by = answer["previous_rank"] - answer["rank"]
    moved = f"{number(abs(by))} {'up' if by > 0 else 'down'} from {number(answer['previous_rank'])}" if by else "as"
    return f"{said}, {moved} in the period before"


def _score_rank(answer: Mapping[str, Any]) -> str:
    return (
        f"{number(answer['score'])} would be rank {number(answer['rank'])}: {number(answer['above'])} ahead, "
        f"{number(answer['at'])} equal, {number(answer['below'])} behind"
    )


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ValueError(text)
    return value
