"""What lists look like elsewhere than on a terminal: CSV; colours on a terminal alone; completion; the page."""

import csv
import io
import os
import shutil
import subprocess
import sys
from types import SimpleNamespace

import pytest
from rich.text import Text

from standings_cli.__main__ import main
from standings_cli.start.summaries import COMMANDS
from standings_cli.terminal.exit_status import DIFFERS, OK
from standings_cli.terminal.tables import console

ENTRIES = [{"rank": 1, "member": 'a"b,c', "score": 1200.5}, {"rank": 2, "member": "x\x1b[2J\ny", "score": -3}]
PAGE = {"board": "b", "metric": "m", "window": "all", "total": 2, "as_of": None, "entries": ENTRIES, "next": None}
PERIODS = [
    {"period": {"start": "2026-11-21T00:00:00Z", "end": "2026-11-22T00:00:00Z"}, "rank": 1, "total": 3, "score": 1205},
    {
        "period": {"start": "2026-11-20T00:00:00Z", "end": "2026-11-21T00:00:00Z"},
        "rank": None,
        "total": 1,
        "score": None,
    },
]


class Api:
    """Answers every kind of list."""

    def read(self, *path: str, **_: object) -> object:
        if path == ("boards",):
            return {"boards": [{"board": "b"}, {"board": "c"}], "next": None}
        return {**PAGE, "periods": PERIODS, "member": "a"} if path[-1] == "history" else PAGE


def run(*arguments: str) -> int:
    return main(list(arguments), lambda _: SimpleNamespace(api=Api(), api_url="https://example.org/stage"))


@pytest.mark.parametrize(
    ("command", "rows"),
    [
        (["top", "b"], [["rank", "member", "score"], ["1", 'a"b,c', "1200.5"], ["2", "x\x1b[2J\ny", "-3"]]),
        (["around", "b", "a"], [["rank", "member", "score"], ["1", 'a"b,c', "1200.5"], ["2", "x\x1b[2J\ny", "-3"]]),
        (
            ["history", "b", "a"],
            [
                ["period", "rank", "total", "score"],
                ["2026-11-21T00:00:00Z", "1", "3", "1205"],
                ["2026-11-20T00:00:00Z", "", "1", ""],
            ],
        ),
        (["boards", "list"], [["board"], ["b"], ["c"]]),
    ],
)
def test_lists_as_csv(capsys: pytest.CaptureFixture[str], command: list[str], rows: list[list[str]]) -> None:
    ranking = [] if command[0] == "boards" else ["--metric", "m", "--window", "all"]
    assert run(*command, *ranking, "--csv") == OK
    assert list(csv.reader(io.StringIO(capsys.readouterr().out, newline=""))) == rows


def test_csv_on_a_terminal_holds_nothing_that_it_would_interpret(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert run("top", "b", "--metric", "m", "--window", "all", "--csv") == OK
    out = capsys.readouterr().out
    assert "\x1b" not in out
    assert len(out.splitlines()) == 3


@pytest.mark.parametrize(
    ("is_terminal", "environment", "coloured"),
    [
        (True, {}, True),
        (True, {"NO_COLOR": "1"}, False),
        (False, {}, False),
        (False, {"FORCE_COLOR": "1"}, False),
    ],
)
def test_colours_are_for_terminals_alone_and_not_for_all(
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    is_terminal: bool,
    environment: dict[str, str],
    coloured: bool,
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)
    console().print(Text("up", style="green"))
    assert ("\x1b[32m" in capsys.readouterr().out) is coloured


def completed(line: str) -> list[str]:
    """Complete a line in bash, as the tabulator key does; return what is offered."""
    script = 'source <(cat)\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _standings; printf "%s\\n" "${COMPREPLY[@]}"\n'
    path = os.pathsep.join(sys.path)
    made = subprocess.run(
        [sys.executable, "-m", "standings_cli", "completion", "bash"],
        env={**os.environ, "PYTHONPATH": path},
        capture_output=True,
        text=True,
        check=True,
    )
    words = line.split(" ")
    done = subprocess.run(
        ["bash", "-c", script, *words[:1], *words], input=made.stdout, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("standings e", ["export"]),
        ("standings --stack mine exp", ["export"]),
        ("standings --stack top exp", ["export"]),
        ("standings dlq re", ["replay"]),
        ("standings dlq list --re", ["--region", "--reason"]),
        ("standings export b --format ", ["csv", "jsonl"]),
        ("standings export b --format j", ["jsonl"]),
        ("standings export b --metric ", []),
        ("standings completion ", ["bash", "zsh", "fish", "--help"]),
        ("standings top b --wi", ["--window"]),
    ],
)
def test_bash_completes(line: str, offered: list[str]) -> None:
    found = completed(line)
    if line.endswith("completion "):
        assert found[:3] == offered[:3]
    else:
        assert sorted(found) == sorted(offered)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_the_script(capsys: pytest.CaptureFixture[str], shell: str) -> None:
    assert run("completion", shell) == OK
    script = capsys.readouterr().out
    for word in (*COMMANDS, "replay", "window", "jsonl", "api-url"):
        assert word in script
    assert "%(default)s" not in script
    program = shutil.which(shell)
    if program:
        assert subprocess.run([program, "-n"], input=script, text=True, check=False).returncode == 0


def test_open_prints_the_address_and_opens_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[str] = []

    def browse(address: str) -> bool:
        opened.append(address)
        return True

    monkeypatch.setattr("webbrowser.open", browse)
    assert run("open") == OK
    assert run("open", "b:1", "--window", "day", "--metric", "points") == OK
    addresses = ["https://example.org/stage/", "https://example.org/stage/?board=b%3A1&metric=points&window=day"]
    assert opened == addresses
    assert capsys.readouterr().out.split() == addresses
    monkeypatch.setattr("webbrowser.open", lambda _: False)
    assert run("open") == DIFFERS
    assert "open the address in one of yours" in capsys.readouterr().err
