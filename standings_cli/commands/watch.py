"""`watch`: a ranking, live in the terminal."""

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.text import Text

from standings_cli.commands.options import Commands, number_from
from standings_cli.commands.rankings import RADIUS, RankingPath, add_entries, add_ranking, ranking_path
from standings_cli.stack.api import Api
from standings_cli.stack.backoff import backoff
from standings_cli.stack.board_names import unknown_board
from standings_cli.stack.connection import Connection
from standings_cli.stack.errors import UNRANKED, ApiError, NoAnswerError
from standings_cli.terminal.exit_status import OK
from standings_cli.terminal.tables import console, standings
from standings_cli.terminal.text import ago, as_json, members, number, ranking, shown

_INTERVAL_S: Final = 2.0
_MAX_RETRY_S: Final = 30.0
_TICK_S: Final = 1.0
_HEAD_LINES: Final = 3  # above the entries: the ranking, its state, the names of the columns


@dataclass
class Watch:
    """What is known of the ranking, and of its last read."""

    api: Api
    find: Callable[[Api], RankingPath]
    """Finds the ranking, at the first read."""
    arguments: Mapping[str, str | int | None]
    member: str | None = None
    interval: float = _INTERVAL_S
    answer: dict[str, Any] | None = None
    unranked: str | None = None
    """The API's reason why the member is not ranked."""
    nobody: str | None = None
    """Why the board has nobody, if it may be mistyped."""
    failure: str | None = None
    """Why the API has not answered since `failing_since`."""
    failing_since: float = 0.0
    moved: frozenset[str] = frozenset()
    """The members whose rank or score the last read has changed."""
    _ranking: RankingPath | None = None
    _tag: str | None = None
    _failures: int = 0
    _last: dict[str, tuple[int, float]] = field(default_factory=dict)
    _first_ranks: dict[str, int] = field(default_factory=dict)

    def read(self, now: float) -> bool:
        """Read the ranking, and return whether there is something new to show. Raises ApiError if it is permanent."""
        try:
            changed = self._read()
        except (NoAnswerError, ApiError) as error:
            if isinstance(error, ApiError) and not error.is_temporary:
                raise
            self.failing_since = self.failing_since if self.failure else now
            self.failure = str(error)
            self._failures += 1
            return self._failures == 1
        changed = changed or self.failure is not None
        self.failure, self._failures = None, 0
        return changed

    def pause(self) -> float:
        """Return the seconds until the next read. They grow, and are random, while the API fails."""
        if not self._failures:
            return self.interval
        return backoff(self._failures, 2.0 * max(self.interval, 1.0), _MAX_RETRY_S, self.api.chance)

    def movement(self, entry: Mapping[str, Any]) -> Text:
        """Return how far a member has moved since the first read of this period, `new` if it was not listed then."""
        first = self._first_ranks.get(entry["member"])
        if first is None:
            # A new neighbour of the watched member may have been ranked all along.
            return Text("" if self.member else "new", style="cyan")
        by = first - entry["rank"]
        if by == 0:
            return Text()
        return Text(f"▲ {number(by)}", style="green") if by > 0 else Text(f"▼ {number(-by)}", style="red")

    def _read(self) -> bool:
        path, arguments = self._ranking = self._ranking or self.find(self.api)
        try:
            tagged = self.api.read_if_changed(self._tag, *path, **arguments, **self.arguments)
        except ApiError as error:
            if error.kind not in UNRANKED:
                raise
            changed = self.unranked != str(error)
            self.unranked, self.answer, self._tag = str(error), None, None
            return changed
        if tagged is None:
            return False
        self.unranked = None
        answer, self._tag = tagged
        self.nobody = None if answer["total"] else unknown_board(self.api, answer["board"])
        self._compare(answer)
        self.answer = answer
        return True

    def _compare(self, answer: Mapping[str, Any]) -> None:
        """Note which members have moved. A new period starts anew."""
        current = {entry["member"]: (entry["rank"], entry["score"]) for entry in answer["entries"]}
        if not self._first_ranks or self.answer is None or self.answer["period"] != answer["period"]:
            self._first_ranks = {member: rank for member, (rank, _) in current.items()}
            self._last = current
        self.moved = frozenset(member for member, place in current.items() if self._last.get(member) != place)
        self._last = current


def add(commands: Commands) -> None:
    """Add `watch`."""
    parser = commands.add(
        "watch",
        description="Watch the first entries of a ranking, or a member with its neighbours. Arrows show how far a "
        "member has moved since you began to watch. If the API is unreachable, `watch` keeps trying. Ctrl-C ends it, "
        "with exit status 0.",
        epilog="With --json, or into a pipe, each change prints the entries anew: a line of JSON, or a table.",
    )
    add_ranking(parser)
    add_entries(parser)
    add = parser.add_argument
    add("--around", metavar="MEMBER", help="show this member with its neighbours")
    add("--radius", type=int, metavar="N", help=f"neighbours on each side ({RADIUS})")
    seconds = number_from(0.2, 3_600)
    add("--every", type=seconds, default=_INTERVAL_S, metavar="SECONDS", help="seconds between reads (%(default)g)")
    parser.set_defaults(do=partial(_watch, parser), resumes=False)


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
    watch = Watch(api, lambda api: ranking_path(api, options), arguments, options.around, options.every)
    with suppress(KeyboardInterrupt):
        follow(watch, None if options.json else console(), time.time)
    return OK


def follow(watch: Watch, screen: Console | None, clock: Callable[[], float]) -> None:
    """Read and show the ranking until interrupted: on a terminal, into a pipe, or as JSON if `screen` is None."""
    live: Live | None = None
    context: AbstractContextManager[Any] = nullcontext()
    if screen is not None and screen.is_terminal and not screen.is_dumb_terminal:
        context = live = Live(console=screen, auto_refresh=False, vertical_overflow="crop")
    with context:
        while True:
            changed = watch.read(clock())
            if live is None and changed:
                _print(watch, screen, clock())
            remaining = watch.pause()
            while remaining > 0:
                if live is not None:
                    live.update(_view(watch, live.console, clock()), refresh=True)
                watch.api.sleep(min(_TICK_S, remaining))
                remaining -= _TICK_S


def _view(watch: Watch, screen: Console, now: float) -> Group:
    """Make the view for a terminal of the screen's width and height."""
    style, no_wrap = ("red", False) if watch.failure else ("dim", True)
    state = Text(_state(watch, now), style=style, no_wrap=no_wrap, overflow="ellipsis")
    if watch.answer is None:
        return Group(state)
    heading = Text(ranking(watch.answer), style="bold", no_wrap=True, overflow="ellipsis")
    entries = _fitting(watch.answer["entries"], screen.height - _HEAD_LINES, watch.member)
    return Group(heading, state, standings(entries, watch.member, watch.moved, watch.movement, one_line=True))


def _print(watch: Watch, screen: Console | None, now: float) -> None:
    """Print the entries; to standard error if there are none to print."""
    if watch.failure is not None or watch.answer is None:
        print(f"standings: {_state(watch, now)}", file=sys.stderr, flush=True)
    elif screen is None:
        print(as_json(watch.answer), flush=True)
    else:
        screen.print(f"{ranking(watch.answer)} · {_state(watch, now)}")
        screen.print(standings(watch.answer["entries"], watch.member, watch.moved, watch.movement), "")
        screen.file.flush()


def _state(watch: Watch, now: float) -> str:
    if watch.failure is not None:
        since = datetime.fromtimestamp(watch.failing_since, UTC).astimezone()
        return f"not reachable since {since:%H:%M:%S}, trying again: {shown(watch.failure)}"
    if watch.unranked is not None:
        return f"{shown(watch.unranked)}; still watching"
    if watch.answer is None:
        return "reading"
    as_of = watch.answer["as_of"]
    changed = f"last change {ago(now - datetime.fromisoformat(as_of).timestamp())}" if as_of else "no change yet"
    empty = "" if watch.answer["entries"] else f" · {shown(watch.nobody or 'no member here yet')}"
    return f"{members(watch.answer['total'])} · {changed}{empty}"


def _fitting(entries: list[dict[str, Any]], lines: int, member: str | None) -> list[dict[str, Any]]:
    """Return as many entries as there are lines, with the member in the middle if there is one."""
    lines = max(1, lines)
    place = next((place for place, entry in enumerate(entries) if entry["member"] == member), 0)
    start = max(0, min(place - lines // 2, len(entries) - lines))
    return entries[start : start + lines]
