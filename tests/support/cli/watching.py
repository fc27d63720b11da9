"""A watch whose clock belongs to the test, and where it draws."""

import io
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from rich.console import Console

from standings_cli.commands import watch
from standings_cli.stack.api import Api
from standings_cli.stack.transport import Transport
from tests.support.aws.manual_clock import ManualClock

NOW = 1_795_256_100_000
HOSTILE = "\x1b]0;owned\x07[red]用户"


class Sleeper:
    """Passes time on a clock. After each read the next thing happens; after the last, Ctrl-C."""

    def __init__(self, clock: ManualClock, happenings: Sequence[Callable[[], Any]], looks: Callable[[], int]) -> None:
        self._clock = clock
        self._happenings = list(happenings)
        self._looks = looks
        self._seen = 0
        self.naps: list[float] = []

    def __call__(self, seconds: float) -> None:
        self._clock.milliseconds += round(seconds * 1000)
        self.naps.append(seconds)
        if self._looks() > self._seen:
            self._seen = self._looks()
            if not self._happenings:
                raise KeyboardInterrupt
            self._happenings.pop(0)()


class Counting:
    """Connections that keep the status of each answer; 0 for none."""

    def __init__(self) -> None:
        self._session = Transport(local=True)
        self.statuses: list[int] = []

    def send(self, request: Any) -> Any:
        self.statuses.append(0)
        answer = self._session.send(request)
        self.statuses[-1] = answer.status_code
        return answer


def run_watch(
    address: str,
    clock: ManualClock,
    *happenings: Callable[[], Any],
    console: Console | None = None,
    session: Any = None,
    member: str | None = None,
) -> tuple[str, Counting, Sleeper]:
    """Run a watch until nothing more happens, and return what it has written."""
    session = session or Counting()
    sleeper = Sleeper(clock, happenings, lambda: len(session.statuses))
    api = Api(address, session, attempts=1, sleep=sleeper, chance=lambda: 1.0)
    path = (("boards", "b", "points", "all"), dict[str, str | None](period=None, method=None))
    arguments: dict[str, Any] = {"around": member, "radius": 1} if member else {"limit": 10}
    screen = console or Console(file=io.StringIO(), width=200, markup=False, highlight=False, emoji=False)
    watched = watch.Watch(api, lambda _: path, arguments, member)
    with pytest.raises(KeyboardInterrupt):
        watch.follow(watched, screen, lambda: clock.milliseconds / 1000)
    out = screen.file
    assert isinstance(out, io.StringIO)
    return out.getvalue(), session, sleeper


def terminal(width: int, height: int = 24) -> Console:
    """Make a terminal that keeps what is drawn."""
    return Console(
        file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None, markup=False,
        highlight=False, emoji=False, _environ={"TERM": "xterm"},
    )  # fmt: skip


def tables(text: str) -> list[list[list[str]]]:
    """Return the tables that were written to a pipe, row by row."""
    return [[row.split() for row in part.splitlines()[2:]] for part in text.strip().split("\n\n")]
