"""`watch`: a ranking, live in the terminal."""

import argparse
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from standings_cli.commands.options import Commands, number
from standings_cli.commands.rankings import RADIUS, add_entries, add_ranking, question
from standings_cli.commands.watched_ranking import INTERVAL_S, WatchedRanking
from standings_cli.stack.connection import Connection
from standings_cli.terminal.exit_status import OK
from standings_cli.terminal.tables import console, standings
from standings_cli.terminal.text import ago, as_json, members, ranking, shown

_MIN_INTERVAL_S: Final = 0.2
_MAX_INTERVAL_S: Final = 3_600
_TICK_S: Final = 1.0
_HEAD_LINES: Final = 3
"""Lines above the entries: the ranking, its state, the names of the columns."""


def add(commands: Commands) -> None:
    """Add `watch`."""
    watch = commands.add(
        "watch",
        help="watch a ranking live in the terminal",
        description="Watch the first entries of a ranking, or a member with its neighbours. Arrows show how far a "
        "member has moved since you began to watch. If the API is unreachable, `watch` keeps trying. Ctrl-C ends it, "
        "with exit status 0.",
        epilog="With --json, or into a pipe, each change prints the entries anew: a line of JSON, or a table.",
    )
    add_ranking(watch)
    add_entries(watch)
    watch.add_argument("--around", metavar="MEMBER", help="show this member with its neighbours")
    watch.add_argument("--radius", type=int, metavar="N", help=f"neighbours on each side ({RADIUS})")
    watch.add_argument(
        "--every",
        type=number(_MIN_INTERVAL_S, _MAX_INTERVAL_S),
        default=INTERVAL_S,
        metavar="SECONDS",
        help="seconds between reads (%(default)g)",
    )
    watch.set_defaults(do=lambda connection, options: _watch(watch, connection, options), resumes=False)


def _watch(parser: argparse.ArgumentParser, connection: Connection, options: argparse.Namespace) -> int:
    if options.around is None:
        if options.radius is not None:
            parser.error("--radius needs --around MEMBER")
        arguments = {"limit": options.limit, "rank": options.start}
    else:
        if options.start is not None:
            parser.error("expected either --from or --around, got both")
        arguments = {"around": options.around, "radius": RADIUS if options.radius is None else options.radius}
    # One attempt for each read: the watch itself retries, and shows that it does.
    api = replace(connection.api, attempts=1)
    watched = WatchedRanking(api, lambda api: question(api, options), arguments, options.around, options.every)
    with suppress(KeyboardInterrupt):
        follow(watched, None if options.json else console(), time.time)
    return OK


def follow(watched: WatchedRanking, screen: Console | None, clock: Callable[[], float]) -> None:
    """Read and show the ranking until interrupted: on a terminal, into a pipe, or as JSON if `screen` is None."""
    live: Live | None = None
    context: AbstractContextManager[Any] = nullcontext()
    if screen is not None and screen.is_terminal and not screen.is_dumb_terminal:
        context = live = Live(console=screen, auto_refresh=False, vertical_overflow="crop")
    with context:
        while True:
            changed = watched.read(clock())
            if live is None and changed:
                _print(watched, screen, clock())
            remaining = watched.pause()
            while remaining > 0:
                if live is not None:
                    live.update(_view(watched, live.console, clock()), refresh=True)
                watched.api.sleep(min(_TICK_S, remaining))
                remaining -= _TICK_S


def _view(watched: WatchedRanking, screen: Console, now: float) -> Group:
    """Make the view for a terminal of the screen's width and height."""
    style, no_wrap = ("red", False) if watched.failure else ("dim", True)
    state = Text(_state(watched, now), style=style, no_wrap=no_wrap, overflow="ellipsis")
    if watched.answer is None:
        return Group(state)
    heading = Text(ranking(watched.answer), style="bold", no_wrap=True, overflow="ellipsis")
    entries = _fitting(watched.answer["entries"], screen.height - _HEAD_LINES, watched.member)
    return Group(heading, state, _table(watched, entries, one_line=True))


def _print(watched: WatchedRanking, screen: Console | None, now: float) -> None:
    """Print the entries; to standard error if there are none to print."""
    if watched.failure is not None or watched.answer is None:
        print(f"standings: {_state(watched, now)}", file=sys.stderr, flush=True)
    elif screen is None:
        print(as_json(watched.answer), flush=True)
    else:
        screen.print(f"{ranking(watched.answer)} · {_state(watched, now)}")
        screen.print(_table(watched, watched.answer["entries"], one_line=False), "")
        screen.file.flush()


def _state(watched: WatchedRanking, now: float) -> str:
    if watched.failure is not None:
        since = datetime.fromtimestamp(watched.failing_since, UTC).astimezone()
        return f"not reachable since {since:%H:%M:%S}, trying again: {shown(watched.failure)}"
    if watched.unranked is not None:
        return f"{shown(watched.unranked)}; still watching"
    if watched.answer is None:
        return "reading"
    as_of = watched.answer["as_of"]
    changed = f"last change {ago(now - datetime.fromisoformat(as_of).timestamp())}" if as_of else "no change yet"
    empty = "" if watched.answer["entries"] else " · no member here yet"
    return f"{members(watched.answer['total'])} · {changed}{empty}"


def _table(watched: WatchedRanking, entries: list[dict[str, Any]], *, one_line: bool) -> Table:
    return standings(entries, watched.member, watched.moved, watched.movement, one_line=one_line)


def _fitting(entries: list[dict[str, Any]], lines: int, member: str | None) -> list[dict[str, Any]]:
    """Return as many entries as there are lines, with the member in the middle if there is one."""
    lines = max(1, lines)
    place = next((place for place, entry in enumerate(entries) if entry["member"] == member), 0)
    start = max(0, min(place - lines // 2, len(entries) - lines))
    return entries[start : start + lines]
