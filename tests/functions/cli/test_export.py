"""`standings export`: a whole list, exact on a quiet board; nobody twice on a moving one; no line lost by a kill."""

import csv
import io
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from standings.client.api import Api, Transport
from standings_cli.terminal import DIFFERS, INTERRUPTED, OK, WRONG
from tests.support.aws.gateway import serving
from tests.support.aws.stack import ManualClock, Stack, apply, event
from tests.support.cli.command_line import Run
from tests.support.thoroughness import seeds

PROJECT = Path(__file__).parents[3]
BOARDS = '[boards."*"]\nmetrics.points = { aggregate = "sum", precision = 2, windows = ["all", "day"] }\n'
PAGE_SIZE = 7
HOSTILE = ('a"b', "a,b", "a\nb", "a\rb", "a\r\nb", "\x1b[31mred", " 用户 ", "=1+1", "\ufeffm")


class Session(Transport):
    """Sends requests to an address, and does `before` each."""

    def __init__(self, address: str) -> None:
        super().__init__(local=True)
        self.address = address
        self.before: Callable[[], Any] = lambda: None

    def send(self, *request: Any) -> Any:
        self.before()
        return super().send(*request)

    def stop_at(self, number: int) -> None:
        """Press Ctrl-C before the request with this number, from 0."""
        self.before = mock.Mock(side_effect=[*[None] * number, KeyboardInterrupt, *[None] * 99])


class Board:
    """The board `b`: moves its members, and reads its list from the handlers."""

    def __init__(self, stack: Stack, rng: Random) -> None:
        self._stack = stack
        self._rng = rng
        self._ids = count()

    def move(self, members: list[str]) -> None:
        hundredths = (self._rng.choice([100, 200, 250, self._rng.randrange(-500, 5_000)]) for _ in members)
        points = dict(zip(members, (one / 100 for one in hundredths), strict=True))
        apply(self._stack, [{**event(member, amount), "id": str(next(self._ids))} for member, amount in points.items()])

    def lines(self) -> list[tuple[int, str, float]]:
        return [(one["rank"], one["member"], one["score"]) for one in self._stack.entries("/boards/b/points/all")]


def read_csv(text: str) -> list[tuple[int, str, float]]:
    header, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert header == ["rank", "member", "score"]
    return [(int(rank), member, float(score)) for rank, member, score in rows]


def read_jsonl(text: str) -> list[tuple[int, str, float]]:
    rows = [json.loads(line) for line in text.removesuffix("\n").split("\n")]
    assert all(list(row) == ["rank", "member", "score"] for row in rows)
    return [tuple(row.values()) for row in rows]


READ = {"csv": read_csv, "jsonl": read_jsonl}


@pytest.fixture
def session(stack: Stack) -> Iterator[Session]:
    with serving(stack) as gateway:
        yield Session(gateway.address)
        assert gateway.raised == []


@pytest.fixture
def connection(session: Session, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr("standings_cli.commands.export.PAGE_SIZE", PAGE_SIZE)
    return SimpleNamespace(api=Api(session.address, session, sleep=lambda _: None))


@pytest.fixture
def board(stack: Stack) -> Board:
    board = Board(stack, Random(7))
    board.move([*(f"m{n}" for n in range(40)), *HOSTILE])
    return board


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "list"


@pytest.mark.parametrize("form", ["csv", "jsonl"])
def test_on_a_quiet_board_it_is_the_sorted_list(run: Run, board: Board, form: str, file: Path) -> None:
    ran = run(f"export b --format {form}")
    assert (ran.status, ran.err) == (OK, "")
    assert READ[form](ran.out) == board.lines()

    ran = run(f"export b --format {form} --window day --period 2026-11-21 --output", str(file))
    assert ran == (OK, f"{file}: 49 members\n", "")
    assert READ[form](file.read_bytes().decode()) == board.lines()
    assert list(file.parent.iterdir()) == [file]


def test_a_board_with_nobody_is_a_header(run: Run, file: Path) -> None:
    assert run("export empty --json --output", str(file)).out == f'{{"file": "{file}", "lines": 0}}\n'
    assert file.read_text("utf-8") == "rank,member,score\n"
    assert run("export empty --format jsonl --again --output", str(file)).status == DIFFERS
    assert file.read_bytes() == b""


@pytest.mark.usefixtures("board")
def test_a_terminal_gets_no_character_that_it_would_interpret(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    out = run("export b").out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 1 + 49


@pytest.mark.parametrize("seed", seeds(6, 60))
def test_on_a_moving_board_nobody_stands_twice(run: Run, session: Session, stack: Stack, seed: int, file: Path) -> None:
    """Members move between pages, and the command is stopped between pages, its file cut or made longer by half a
    line: the lines that count are those of members that never moved, each there once."""
    rng = Random(seed)
    board = Board(stack, rng)
    members = [*(f"m{n}" for n in range(rng.randrange(1, 60))), *HOSTILE]
    board.move(members)
    moved: set[str] = set()
    form = rng.choice(["csv", "jsonl"])

    def before() -> None:
        if rng.random() < 0.5:
            some = rng.sample(members, rng.randrange(1, 4))
            moved.update(some)
            board.move(some)
        if rng.random() < 0.3:
            raise KeyboardInterrupt

    session.before = before
    while (ran := run(f"export b --window all --format {form} --output", str(file))).status == INTERRUPTED:
        if file.exists() and rng.random() < 0.5:
            with file.open("ab") as opened:
                opened.write(rng.choice([b'7,"ha', b'{"rank": 7, "mem', b"1,m0,5\n", b"\xe7\x94"]))

    lines = READ[form](file.read_bytes().decode())
    listed = [member for _, member, _ in lines]
    assert len(set(listed)) == len(listed), seed
    assert set(listed) <= set(members), seed
    resting = [line[1:] for line in board.lines() if line[1] not in moved]
    assert [line[1:] for line in lines if line[1] not in moved] == resting, seed
    # Who climbed past the place that was read is missing, and the end says so.
    missing = len(members) - len(listed)
    assert ran.status == (DIFFERS if missing else OK), seed
    assert (f"{missing} member" in ran.err) == (missing > 0), seed


def test_a_day_goes_on_after_midnight(run: Run, session: Session, board: Board, clock: ManualClock, file: Path) -> None:
    session.stop_at(4)
    assert run("export b --window day --output", str(file)).status == INTERRUPTED
    assert len(read_csv(file.read_bytes().decode())) == 3 * PAGE_SIZE
    clock.milliseconds += 86_400_000
    assert run("export b --window day --output", str(file)).status == OK
    assert read_csv(file.read_bytes().decode()) == board.lines()


def test_a_file_is_not_overwritten_nor_mixed_with_another(run: Run, session: Session, board: Board, file: Path) -> None:
    def refused(options: str, message: str) -> None:
        ran = run(f"export b {options} --output", str(file))
        assert (ran.status, ran.out) == (WRONG, "")
        assert ran.err.startswith(f"standings: {file}{message}")

    file.write_text("mine")
    refused("--window all", " exists already: name another file, or write it again with --again")
    assert file.read_text() == "mine"

    session.stop_at(3)
    stopped = (INTERRUPTED, "", "stopped; run the same command again to continue\n")
    assert run("export b --window all --again --output", str(file)) == stopped
    another = f".exporting: expected a record of an export for {session.address} b points {{}}, got one for "
    another += f"{session.address} b points all csv: use --output for another file, or --again starts over"
    refused("--window day", another.format("day csv"))
    refused("--window all --format jsonl", another.format("all jsonl"))
    whole = file.read_bytes()
    file.write_bytes(whole.replace(b"member", b"ranker", 1))
    refused("--window all", " was changed since it was begun ('member'): write it again with --again")
    file.write_bytes(whole[:5])
    refused("--window all", " was cut since it was begun: write it again with --again")
    file.with_name("list.exporting").write_text("{}")
    refused("--window all", ".exporting: expected a record of an export, got TypeError(")
    assert run("export b --window all --again --output", str(file)).status == OK
    assert read_csv(file.read_bytes().decode()) == board.lines()

    nowhere = run("export b --output", str(file / "folder"))
    assert nowhere.status == WRONG
    assert "([Errno 20] Not a directory" in nowhere.err


def test_a_kill_loses_no_line_and_writes_none_twice(stack: Stack, session: Session, board: Board, file: Path) -> None:
    begun: list[subprocess.Popen[str]] = []
    query, requests = stack.query, count(1)

    def killing(request: dict[str, Any], context: Any) -> dict[str, Any]:
        if next(requests) == 4:
            begun[-1].send_signal(signal.SIGKILL)
        return query(request, context)

    stack.query = killing
    program = (
        "import sys, standings_cli.commands.export as pages; from standings_cli.__main__ import main\n"
        "pages.PAGE_SIZE = 7; sys.exit(main(sys.argv[1:]))"
    )
    command = ["export", "b", "--window", "all", "--output", str(file), "--api-url", session.address, "--token", "t"]
    path = os.pathsep.join([str(PROJECT), str(PROJECT / "layers" / "standings")])

    def run() -> int:
        environment = {**os.environ, "PYTHONPATH": path, "NO_PROXY": "127.0.0.1"}
        begun.append(subprocess.Popen([sys.executable, "-c", program, *command], env=environment, text=True))
        return begun[-1].wait(120)

    assert run() == -signal.SIGKILL
    with file.open("ab") as opened:
        opened.write(b"61,half a li")
    assert run() == 0
    assert read_csv(file.read_bytes().decode()) == board.lines()
