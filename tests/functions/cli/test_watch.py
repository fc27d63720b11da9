"""`watch`, over the real handlers behind HTTP, with a clock of ours: it looks, things happen, it looks again."""

import io
import json
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from standings_cli.__main__ import main
from standings_cli.commands import watch
from standings_cli.stack.api import Api, transport
from standings_cli.terminal.exit_status import OK, WRONG
from tests.support.aws.gateway import Gateway, serving
from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.builders.streaming import apply, event, project

NOW = 1_795_256_100_000
HOSTILE = "\x1b]0;owned\x07[red]用户"


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(NOW)) as deployed:
        apply(deployed, [event("anna", 30), event("ben", 20), event("cleo", 10), event(HOSTILE, 5)])
        yield deployed


@pytest.fixture
def gateway(stack: Stack) -> Iterator[Gateway]:
    with serving(stack) as there:
        yield there
    assert there.raised == []


class Sleeper:
    """Passes time on a clock; at each full look, the next thing happens; after the last, Ctrl-C."""

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
    """Connections that count what is asked, and what is answered without a body."""

    def __init__(self, address: str) -> None:
        self._session = transport(address, local=True)
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
    """What a watch has written until nothing more happened."""
    session = session or Counting(address)
    sleeper = Sleeper(clock, happenings, lambda: len(session.statuses))
    api = Api(address, session, attempts=1, sleep=sleeper, chance=lambda: 1.0)
    path = (("boards", "b", "points", "all"), dict[str, str | None](period=None, method=None))
    arguments: dict[str, Any] = {"around": member, "radius": 1} if member else {"limit": 10}
    screen = console or Console(file=io.StringIO(), width=200, markup=False, highlight=False, emoji=False)
    with pytest.raises(KeyboardInterrupt):
        watched = watch.Watch(api, lambda _: path, arguments, member)
        watch.follow(watched, screen, lambda: clock.milliseconds / 1000)
    out = screen.file
    assert isinstance(out, io.StringIO)
    return out.getvalue(), session, sleeper


def terminal(width: int, height: int = 24) -> Console:
    """A terminal that keeps what is drawn."""
    return Console(
        file=io.StringIO(), width=width, height=height, force_terminal=True, color_system=None, markup=False,
        highlight=False, emoji=False, _environ={"TERM": "xterm"},
    )  # fmt: skip


def tables(text: str) -> list[list[list[str]]]:
    """The tables that went into a pipe, row by row."""
    return [[row.split() for row in part.splitlines()[2:]] for part in text.strip().split("\n\n")]


def test_rows_move_and_arrows_say_how_far(stack: Stack, gateway: Gateway) -> None:
    text, session, _ = run_watch(
        gateway.address,
        stack.clock,
        lambda: apply(stack, [event("cleo", 25)]),
        lambda: None,
        lambda: apply(stack, [event("dora", 100)]),
    )

    first, second, third = tables(text)
    assert [row[:2] for row in first][:3] == [["1", "anna"], ["2", "ben"], ["3", "cleo"]]
    assert [row[:-1] for row in second][:3] == [
        ["1", "▲", "2", "cleo"],
        ["2", "▼", "1", "anna"],
        ["3", "▼", "1", "ben"],
    ]
    assert third[0] == ["1", "new", "dora", "100"]
    assert third[1] == ["2", "▲", "1", "cleo", "35"]
    assert session.statuses == [200, 200, 304, 200]


def test_a_terminal_shows_what_the_api_answers_as_it_is_wide(stack: Stack, gateway: Gateway) -> None:
    apply(stack, [event("a" * 100, 20_000)])
    text, *_ = run_watch(gateway.address, stack.clock, console=terminal(30, 6))
    drawn = [line.strip() for line in text[text.index("rank") :].splitlines()]

    # Of six lines three are entries, each on one line.
    assert [" ".join(line.split()) for line in drawn[1:4]] == ["1 aaaaaaaaaaaaa… 20,000", "2 anna 30", "3 ben 20"]
    assert "cleo" not in text
    assert max(map(len, drawn[:4])) <= 30


def test_freshness_counts_on_between_looks(stack: Stack, gateway: Gateway) -> None:
    text, *_ = run_watch(gateway.address, stack.clock, lambda: None, lambda: None, console=terminal(80))

    for seconds in (0, 1, 2, 3):
        assert f"4 members · last change {seconds} s ago" in text


def test_no_name_is_more_than_text(stack: Stack, gateway: Gateway) -> None:
    for console in (terminal(200), None):
        text, *_ = run_watch(gateway.address, stack.clock, console=console)
        assert "\\u001b]0;owned\\u0007[red]用户" in text
        assert "\x07" not in text
        assert "\x1b]" not in text


def test_a_member_with_its_neighbours_that_is_not_ranked_yet(
    stack: Stack, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    def hide() -> None:
        stack.put("/boards/b/member", {"hidden": True}, id="dora")
        project(stack)

    text, *_ = run_watch(gateway.address, stack.clock, lambda: apply(stack, [event("dora", 15)]), hide, member="dora")

    assert [row[:-1] for row in tables(text)[0]] == [["2", "ben"], [">", "3", "dora"], ["4", "cleo"]]
    assert "new" not in text
    assert capsys.readouterr().err.splitlines() == [
        "standings: board 'b' has no member 'dora'; still watching",
        "standings: 'dora' is hidden; still watching",
    ]


def test_json_is_one_line_for_each_change(stack: Stack, gateway: Gateway, capsys: pytest.CaptureFixture[str]) -> None:
    session = Counting(gateway.address)
    sleeper = Sleeper(
        stack.clock,
        [lambda: None, lambda: apply(stack, [event("cleo", 25)]), lambda: None],
        lambda: len(session.statuses),
    )
    api = Api(gateway.address, session, sleep=sleeper)
    arguments = ["--json", "watch", "b", "--window", "all", "--limit", "2"]

    assert main(arguments, lambda _: SimpleNamespace(api=api)) == OK
    seen = capsys.readouterr()
    lines = [json.loads(line)["entries"] for line in seen.out.splitlines()]
    assert [[(entry["rank"], entry["member"], entry["score"]) for entry in entries] for entries in lines] == [
        [(1, "anna", 30), (2, "ben", 20)],
        [(1, "cleo", 35), (2, "anna", 30)],
    ]
    assert lines[1] == api.read("boards", "b", "points", "all", limit=2)["entries"]
    assert seen.err == ""


class Broken(HTTPServer):
    """An API that answers as it is told."""

    answers: tuple[int, str] = (503, "")


class _Broken(BaseHTTPRequestHandler):
    server: Broken

    def do_GET(self) -> None:
        status, body = self.server.answers
        self.send_response(status)
        self.send_header("Content-Length", str(len(body.encode()) + (status == 299)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Nobody reads along."""


@contextmanager
def broken(status: int, body: str = "") -> Iterator[str]:
    with Broken(("127.0.0.1", 0), _Broken) as server:
        server.answers = (status, body)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Moving:
    """Connections to an address that can be changed: an API that is away, and comes back."""

    def __init__(self, address: str) -> None:
        self._counting = Counting(address)
        self._there = address
        self.away = ""
        self.statuses = self._counting.statuses

    def send(self, request: Any) -> Any:
        request.url = request.url.replace(self._there, self.away or self._there)
        return self._counting.send(request)


def test_an_api_that_is_away_is_waited_for(stack: Stack, gateway: Gateway) -> None:
    with socket.socket() as nobody, broken(503, '{"message":"Service Unavailable"}') as failing:
        nobody.bind(("127.0.0.1", 0))
        moving = Moving(gateway.address)
        gone = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        text, _, sleeper = run_watch(
            gateway.address,
            stack.clock,
            lambda: setattr(moving, "away", gone),
            lambda: None,
            lambda: setattr(moving, "away", failing),
            lambda: setattr(moving, "away", ""),
            lambda: None,
            console=terminal(200),
            session=moving,
        )

    assert moving.statuses == [200, 0, 0, 503, 304, 304]
    # 2 s as ever, then 4, 8 and 16 while nothing answers, and 2 again.
    assert sum(sleeper.naps[:2]) == 2
    assert sum(sleeper.naps[2:30]) == 4 + 8 + 16
    shown = [part for part in text.split("\x1b[2K") if "not reachable since" in part]
    assert "trying again: Could not connect to the endpoint URL" in shown[0]
    assert "trying again: HTTP 503: Service Unavailable" in shown[-1]
    # What was known stays there.
    assert text.count("anna") >= 28
    last = text[text.rindex("not reachable") :]
    assert "4 members · last change" in last


def test_a_question_that_has_no_answer_ends_it(
    stack: Stack, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    api = Api(gateway.address, transport(gateway.address, local=True))
    for arguments in (["watch", "b", "--metric", "pts"], ["watch", "a b"], ["watch", "b", "--period", "2020-01-01"]):
        assert main(arguments, lambda _: SimpleNamespace(api=api)) == WRONG
        assert capsys.readouterr().err.count("\n") == 1
    with broken(200, "<html>") as elsewhere:
        page = replace(api, url=elsewhere, session=transport(elsewhere, local=True))
        assert main(["watch", "b"], lambda _: SimpleNamespace(api=page)) == WRONG
    assert "is not the API of a stack: expected JSON" in capsys.readouterr().err
    assert stack.clock() == NOW
