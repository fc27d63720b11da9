"""`watch`: a ranking, live in the terminal, as long as one looks."""

import argparse
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from standings_cli.commands.options import Commands
from standings_cli.commands.rankings import RADIUS, Question, add_entries, add_ranking, question
from standings_cli.stack.api import LOST, Api, ApiError
from standings_cli.stack.connection import Connection
from standings_cli.terminal.exit_status import OK
from standings_cli.terminal.tables import Side, console, table
from standings_cli.terminal.text import ago, as_json, members, number, ranking, shown

_EVERY_S: Final = 2.0
_SHORTEST_S: Final = 0.2
_MAX_S_LENGTH: Final = 3_600
_MAX_NAP_S_LENGTH: Final = 30.0
_TICK_S: Final = 1.0
_HEAD: Final = 3
"""Lines above the entries: the ranking, how it stands, the names of the columns."""
_UNRANKED: Final = frozenset({"no-such-member", "not-ranked"})


@dataclass
class Watch:
    """What is known of a ranking that is asked for again and again."""

    api: Api
    ask: Callable[[Api], Question]
    arguments: Mapping[str, str | int | None]
    member: str | None = None
    every: float = _EVERY_S
    answer: dict[str, Any] | None = None
    unranked: str | None = None
    """Why there are no entries around the member, in the API's words."""
    away: str | None = None
    """Why the API did not answer, since `since`."""
    since: float = 0.0
    moved: frozenset[str] = frozenset()
    """Members whose rank or score is another than at the look before."""
    _question: Question | None = None
    _tag: str | None = None
    _failures: int = 0
    _before: dict[str, tuple[int, float]] = field(default_factory=dict)
    _began: dict[str, int] = field(default_factory=dict)

    def look(self, now: float) -> bool:
        """Ask; whether something has changed. Raises ApiError for a question that will never have an answer."""
        try:
            changed = self._look()
        except (*LOST, ApiError) as error:
            if isinstance(error, ApiError) and not error.passes:
                raise
            self.since = self.since if self.away else now
            self.away = str(error)
            self._failures += 1
            return self._failures == 1
        changed = changed or self.away is not None
        self.away, self._failures = None, 0
        return changed

    def pause(self) -> float:
        """Seconds until the next look: growing ones, unequal for many who watch, while no answer comes."""
        if not self._failures:
            return self.every
        nap = min(max(self.every, 1.0) * 2.0 ** min(self._failures, 10), _MAX_NAP_S_LENGTH)
        return nap * (0.5 + self.api.chance() / 2)

    def movement(self, entry: Mapping[str, Any]) -> Text:
        """How far a member has moved since the view of this period began; who was not among the first then is new."""
        began = self._began.get(entry["member"])
        if began is None:
            # Who becomes a neighbour of a member may have been there all along.
            return Text("" if self.member else "new", style="cyan")
        by = began - entry["rank"]
        if by == 0:
            return Text()
        return Text(f"▲ {number(by)}", style="green") if by > 0 else Text(f"▼ {number(-by)}", style="red")

    def _look(self) -> bool:
        if self._question is None:
            self._question = self.ask(self.api)
        try:
            found = self.api.look(self._tag, *self._question.path, **self._question.arguments, **self.arguments)
        except ApiError as error:
            if error.kind not in _UNRANKED:
                raise
            changed = self.unranked != str(error)
            self.unranked, self.answer, self._tag = str(error), None, None
            return changed
        if found is None:
            return False
        self.unranked = None
        answer, self._tag = found
        self._count(answer)
        self.answer = answer
        return True

    def _count(self, answer: Mapping[str, Any]) -> None:
        """Note what has moved; a new period is a new beginning."""
        now = {entry["member"]: (entry["rank"], entry["score"]) for entry in answer["entries"]}
        if not self._began or self.answer is None or self.answer["period"] != answer["period"]:
            self._began = {member: rank for member, (rank, _) in now.items()}
            self._before = now
        self.moved = frozenset(member for member, stands in now.items() if self._before.get(member) != stands)
        self._before = now


def add(commands: Commands) -> None:
    """Add the live view."""
    watch = commands.add(
        "watch",
        help="a ranking, live in the terminal",
        description="The first of a ranking, or a member with its neighbours, as they move. Arrows say how far a "
        "member has moved since the view began. An API that is away is waited for. Ctrl-C ends it, with exit status 0.",
        epilog="With --json, or into a pipe, what is shown is written anew at each change, as one line of JSON or as a "
        "table.",
    )
    add_ranking(watch)
    add_entries(watch)
    watch.add_argument("--around", metavar="MEMBER", help="this member with its neighbours")
    watch.add_argument("--radius", type=int, metavar="N", help=f"its neighbours on each side ({RADIUS})")
    watch.add_argument(
        "--every", type=_seconds, default=_EVERY_S, metavar="SECONDS", help="how often to ask (%(default)g)"
    )
    watch.set_defaults(do=lambda connection, given: _watch(watch, connection, given), resumes=False)


def _watch(parser: argparse.ArgumentParser, connection: Connection, given: argparse.Namespace) -> int:
    if given.around is None:
        if given.radius is not None:
            parser.error("--radius goes with --around")
        arguments = {"limit": given.limit, "rank": given.start}
    else:
        if given.start is not None:
            parser.error("--from cannot go with --around")
        arguments = {"around": given.around, "radius": RADIUS if given.radius is None else given.radius}
    # The watch tries again by itself, and says so in between.
    api = replace(connection.api, attempts=1)
    watch = Watch(api, lambda api: question(api, given), arguments, given.around, given.every)
    try:
        follow(watch, None if given.json else console(), time.time)
    except KeyboardInterrupt:
        return OK
    return OK


def follow(watch: Watch, screen: Console | None, clock: Callable[[], float]) -> None:
    """Look and show, again and again: on a screen, into a pipe, or, without a console, as lines of JSON."""
    live: Live | None = None
    around: AbstractContextManager[Any] = nullcontext()
    if screen is not None and screen.is_terminal and not screen.is_dumb_terminal:
        around = live = Live(console=screen, auto_refresh=False, vertical_overflow="crop")
    with around:
        while True:
            changed = watch.look(clock())
            if live is None and changed:
                _write(watch, screen, clock())
            left = watch.pause()
            while left > 0:
                if live is not None:
                    live.update(view(watch, live.console, clock()), refresh=True)
                watch.api.sleep(min(_TICK_S, left))
                left -= _TICK_S


def view(watch: Watch, screen: Console, now: float) -> Group:
    """What a terminal shows, as wide and as high as it is."""
    head = Text(ranking(watch.answer) if watch.answer else "", style="bold", no_wrap=True, overflow="ellipsis")
    state = Text(_state(watch, now), style="red" if watch.away else "dim", no_wrap=not watch.away, overflow="ellipsis")
    if watch.answer is None:
        return Group(state)
    entries = _fitting(watch.answer["entries"], screen.height - _HEAD, watch.member)
    return Group(head, state, _rows(watch, entries, narrow=True))


def _write(watch: Watch, screen: Console | None, now: float) -> None:
    """The same for whoever reads a pipe; that the API is away is no result."""
    if watch.away is not None or watch.answer is None:
        print(f"standings: {_state(watch, now)}", file=sys.stderr, flush=True)
    elif screen is None:
        print(as_json(watch.answer), flush=True)
    else:
        screen.print(f"{ranking(watch.answer)} · {_state(watch, now)}")
        screen.print(_rows(watch, watch.answer["entries"], narrow=False), "")
        screen.file.flush()


def _state(watch: Watch, now: float) -> str:
    if watch.away is not None:
        since = datetime.fromtimestamp(watch.since, UTC).astimezone()
        return f"not reachable since {since:%H:%M:%S}, trying again: {shown(watch.away)}"
    if watch.unranked is not None:
        return f"{shown(watch.unranked)}; waiting for it"
    if watch.answer is None:
        return "asking"
    stamp = watch.answer["as_of"]
    changed = f"last change {ago(now - datetime.fromisoformat(stamp).timestamp())}" if stamp else "no change yet"
    nobody = "" if watch.answer["entries"] else " · nobody stands here yet"
    return f"{members(watch.answer['total'])} · {changed}{nobody}"


def _rows(watch: Watch, entries: list[dict[str, Any]], *, narrow: bool) -> Table:
    columns: list[tuple[str, Side]] = [("rank", "right"), ("", "left"), ("member", "left"), ("score", "right")]
    made = table(*columns) if watch.member is None else table(("", "left"), *columns)
    for entry in entries:
        member = Text(shown(entry["member"]))
        if narrow:
            # One line for each, however long its name.
            member.no_wrap, member.overflow = True, "ellipsis"
        cells: list[str | Text] = [number(entry["rank"]), watch.movement(entry), member, number(entry["score"])]
        mine = [] if watch.member is None else [">" if entry["member"] == watch.member else ""]
        made.add_row(*mine, *cells, style="bold" if entry["member"] in watch.moved else None)
    return made


def _fitting(entries: list[dict[str, Any]], lines: int, member: str | None) -> list[dict[str, Any]]:
    """As many entries as there are lines for; those next to the member, if there is one."""
    lines = max(1, lines)
    place = next((place for place, entry in enumerate(entries) if entry["member"] == member), 0)
    start = max(0, min(place - lines // 2, len(entries) - lines))
    return entries[start : start + lines]


def _seconds(text: str) -> float:
    value = float(text)
    if not _SHORTEST_S <= value <= _MAX_S_LENGTH:
        raise argparse.ArgumentTypeError(f"must be from {_SHORTEST_S} to {_MAX_S_LENGTH} seconds, is {text}")
    return value
