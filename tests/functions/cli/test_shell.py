"""The command line in its shell: help, colours on a terminal alone, completion, the page in a browser, and errors.

What a command says that cannot do its work names what to do next. What mistakes say is in `sessions/mistakes.txt`.
"""

import shutil
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import pytest
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ProfileNotFound,
)
from rich.text import Text

from standings.client.errors import ApiError
from standings_cli.__main__ import parser
from standings_cli.commands import COMMANDS
from standings_cli.stack import connection as stack_connection
from standings_cli.stack.errors import advice
from standings_cli.terminal import DIFFERS, INTERRUPTED, OK, UNREACHABLE, WRONG, console
from tests.support.cli.command_line import Run, runner

PROJECT = Path(__file__).parents[3]


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(None, capsys)


def of_aws(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "x"}}, "DescribeStacks")


@pytest.mark.parametrize("command", ["", *COMMANDS, "boards check", "member erase", "dlq list"])
def test_every_command_has_help(run: Run, command: str) -> None:
    ran = run(f"{command} --help")
    assert ran.status == OK
    assert ran.out.startswith(f"usage: standings {command}".rstrip())


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NoRegionError(), "name one with --region, or a profile that has one with --profile; --local speaks to the"),
        (NoCredentialsError(), "log in to AWS, or name a profile with --profile; --local speaks to the stack"),
        (CredentialRetrievalError(provider="x", error_msg="y"), "log in to AWS"),
        (ProfileNotFound(profile="x"), "name a profile of your AWS configuration"),
        (EndpointConnectionError(endpoint_url="https://x"), "check the network, --region and --endpoint-url"),
        (of_aws("ExpiredToken"), "log in to AWS"),
        (of_aws("ValidationError"), "check --stack and --region; --local speaks to the stack"),
        (of_aws("ResourceNotFoundException"), "check --stack and --region, or deploy the stack again"),
        (of_aws("AWS.SimpleQueueService.NonExistentQueue"), "check --queue-url and --region"),
        (of_aws("AccessDeniedException"), "these credentials may not do that"),
        (of_aws("Throttling"), "run the same command again"),
    ],
)
def test_an_error_of_aws_says_what_to_do(error: Exception, words: str) -> None:
    assert advice(error).startswith(words) or words in advice(error)


@pytest.mark.parametrize("command", ["top b", "post b m points=1", "audit", "delete b --yes", "open"])
def test_without_a_region_it_says_what_to_name(run: Run, monkeypatch: pytest.MonkeyPatch, command: str) -> None:
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    monkeypatch.setenv("AWS_CONFIG_FILE", "none")
    ran = run(command)
    assert (ran.status, ran.out, ran.err.count("\n")) == (UNREACHABLE, "", 1)
    assert ran.err.startswith("standings: You must specify a region: name one with --region")


def test_without_a_stack_here_local_says_how_to_start_one(
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A command line of a wheel is in no clone: it looks in the folder from which it is called, and above it."""
    monkeypatch.setattr(stack_connection, "_CLONE", tmp_path / "site-packages")
    monkeypatch.setattr("standings.client.api.backoff", lambda *_: 0.0)
    called_from = tmp_path / "clone" / "docs"
    called_from.mkdir(parents=True)
    monkeypatch.chdir(called_from)
    ran = run("--local top b")
    assert ran.status == UNREACHABLE
    assert ran.err.startswith("standings: --local: no stack is running here (")
    assert ran.err.endswith(": start one with `make serve`, and call from its clone\n")

    served = tmp_path / "clone" / ".local" / "serve.json"
    served.parent.mkdir()
    served.write_text('{"api_url": "http://127.0.0.1:1", "endpoint": "http://127.0.0.1:1"}')
    assert "no answer from http://127.0.0.1:1/boards/b: " in run("--local top b").err


def test_a_password_in_the_address_is_not_shown(run: Run) -> None:
    ran = run("top b --api-url https://user:secret@example.org")
    assert ran.status == WRONG
    assert "--api-url: expected no user and password in the address" in ran.err
    assert "secret" not in ran.err


def test_a_full_disk_is_an_error_of_one_line(tmp_path: Path) -> None:
    file = tmp_path / "\x1b[31mrows.csv"
    file.write_text("member\nu1\n")
    typed = ["post", "--dry-run", "--board", "b", "points=1", "--csv", str(file)]
    command = [sys.executable, "-m", "standings_cli", *typed]
    with Path("/dev/full").open("w") as full:
        ran = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, check=False, cwd=PROJECT)
    assert ran.returncode == WRONG
    assert ran.stderr.splitlines()[-1].startswith("standings: a file or the output cannot be used: [Errno 28]")
    assert "Traceback" not in ran.stderr
    assert "\x1b" not in ran.stderr


AGAIN = "standings: throttled: run the same command again in a moment\n"


@pytest.mark.parametrize(
    ("ended", "status", "said"),
    [(ApiError(503, "unavailable", "throttled"), UNREACHABLE, AGAIN), (KeyboardInterrupt(), INTERRUPTED, "stopped\n")],
)
def test_a_command_that_is_ended(
    capsys: pytest.CaptureFixture[str], ended: BaseException, status: int, said: str
) -> None:
    run = runner(SimpleNamespace(api=SimpleNamespace(read=mock.Mock(side_effect=ended))), capsys)
    assert run("boards list") == (status, "", said)


def test_every_command_is_one_of_its_module() -> None:
    """Help prints the table of commands; each must be what its module adds, and nothing else may be."""
    whole, names = parser(), parser(())
    assert set(names._subparsers._group_actions[0].choices) == set(COMMANDS)  # type: ignore[union-attr, arg-type]
    for each in (names, *(parser((name,)) for name in COMMANDS)):
        assert each.format_help() == whole.format_help()


def test_colours_are_for_terminals_alone_and_not_for_all(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for is_terminal, variable, coloured in ((1, "ANY", True), (1, "NO_COLOR", False), (0, "FORCE_COLOR", False)):
        for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "COLORTERM"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("TERM", "xterm")
        monkeypatch.setenv(variable, "1")
        monkeypatch.setattr("sys.stdout.isatty", lambda: is_terminal)  # noqa: B023 - asked at once
        console().print(Text("up", style="green"))
        assert ("\x1b[32m" in capsys.readouterr().out) is coloured, variable


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("standings e", ["export"]),
        ("standings --stack mine exp", ["export"]),
        ("standings dlq re", ["replay"]),
        ("standings dlq list --re", ["--reason", "--region"]),
        ("standings export b --format ", ["csv", "jsonl"]),
        ("standings export b --format j", ["jsonl"]),
        ("standings export b --metric ", []),
        ("standings completion f", ["fish"]),
        ("standings top b --wi", ["--window"]),
        ("standings boards check README", ["README.md"]),
    ],
)
def test_bash_completes_as_the_tabulator_key_does(run: Run, line: str, offered: list[str]) -> None:
    script = (
        'source <(cat)\nCOMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _shtab_standings; printf "%s\\n" "${COMPREPLY[@]}"\n'
    )
    command = ["bash", "-c", script, "bash", *line.split(" ")]
    done = subprocess.run(command, input=run("completion bash").out, capture_output=True, text=True, check=True)
    assert (sorted(done.stdout.split()), done.stderr) == (offered, "")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_in_the_script(run: Run, shell: str) -> None:
    script = run(f"completion {shell}").out
    for word in (*COMMANDS, "replay", "window", "jsonl", "api-url"):
        assert word in script
    assert "%(default)s" not in script
    if shell == "fish":
        of_export = "complete -c standings -n '_shtab_standings_using export'"
        assert f"{of_export} -l format -xka \"csv jsonl\" -d 'the form of the lines (csv)'\n" in script
        assert f'{of_export} -l output -xka "(__fish_complete_path (commandline -ct))" -d \'write to this' in script
        assert f"{of_export} -l again -d 'write the file again, even if it exists'\n" in script
    program = shutil.which(shell)
    if program:
        assert subprocess.run([program, "-n"], input=script, text=True, check=False).returncode == 0


def test_open_prints_the_address_and_opens_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = runner(SimpleNamespace(api_url="https://example.org/stage"), capsys)
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda address: opened.append(address) or True)  # type: ignore[func-returns-value]
    page = "https://example.org/stage/"
    assert run("open") == (OK, f"{page}\n", "")
    assert run("open b:1 --window day --metric points").out == f"{page}?board=b%3A1&metric=points&window=day\n"
    assert opened == [page, f"{page}?board=b%3A1&metric=points&window=day"]

    monkeypatch.setattr("webbrowser.open", lambda _: False)
    nowhere = "standings: there is no browser here: open the address in one of yours\n"
    assert run("open") == (DIFFERS, f"{page}\n", nowhere)
