"""What the command line imports, and which AWS clients it makes, before it has something to do with them."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from botocore.session import Session

from standings_cli.__main__ import main, parser
from standings_cli.stack.connection import Connection
from standings_cli.start.summaries import COMMANDS
from standings_cli.terminal.exit_status import DIFFERS, OK, WRONG
from tests.support.cli.signing import answering

PROJECT = Path(__file__).parents[3]
BOARDS = PROJECT / "layers" / "standings" / "boards.toml"


def imported(tmp_path: Path, *arguments: str) -> set[str]:
    """Run a command line in a process of its own; return the top-level packages and our modules it has imported."""
    program = (
        "import atexit, json, sys; sys.argv[0] = 'standings'\n"
        "atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr))\n"
        "from standings_cli.__main__ import run; run()"
    )
    path = os.pathsep.join([str(PROJECT), str(PROJECT / "layers" / "standings")])
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments],
        env={**os.environ, "PYTHONPATH": path, "NO_PROXY": "127.0.0.1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == OK, done.stderr
    return set(json.loads(done.stderr.splitlines()[-1]))


def within(modules: set[str], *packages: str) -> list[str]:
    return [name for name in modules if f"{name}.".startswith(tuple(f"{package}." for package in packages))]


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["boards", "check", str(BOARDS)]])
def test_what_speaks_to_no_stack_starts_at_once(tmp_path: Path, arguments: list[str]) -> None:
    modules = imported(tmp_path, *arguments)

    assert "standings_cli.__main__" in modules
    assert within(modules, "boto3", "botocore", "rich", "urllib3") == []


def test_reads_with_a_token_import_no_boto3(tmp_path: Path) -> None:
    with answering((200, '{"boards": [], "next": null}')) as server:
        modules = imported(tmp_path, "boards", "list", "--api-url", server.address, "--token", "a.b.c")
    assert within(modules, "boto3", "botocore", "urllib3", "rich") == []


def test_it_imports_nothing_that_only_the_functions_need(tmp_path: Path) -> None:
    """`pip install .` installs no aws_lambda_powertools, and the store's adapters would only slow the start."""
    modules = imported(tmp_path, "post", "b", "m", "points=1", "--dry-run")

    assert "standings.domain.events.event_rules" in modules
    assert within(modules, "standings.aws.dynamodb", "standings.wiring", "aws_lambda_powertools") == []


def test_every_command_is_one_of_its_module() -> None:
    """Help prints the table of commands; each must be what its module adds, and nothing else may be."""
    whole, names = parser(), parser(())
    assert set(names._subparsers._group_actions[0].choices) == set(COMMANDS)  # type: ignore[union-attr, arg-type]
    assert whole.format_help() == names.format_help()
    for name in COMMANDS:
        alone = parser((name,))
        assert alone.format_help() == whole.format_help()


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The services of the clients that are made."""
    made: list[str] = []
    create = Session.create_client

    def create_client(session: Any, service: str, *args: Any, **kwargs: Any) -> Any:
        made.append(service)
        return create(session, service, *args, **kwargs)

    monkeypatch.setattr(Session, "create_client", create_client)
    return made


def connection(*arguments: str) -> Connection:
    return Connection(parser().parse_args([*arguments, "boards", "list"]))


@pytest.mark.parametrize(
    "arguments",
    [
        ["boards", "check", str(BOARDS)],
        ["post", "b", "m", "points=1", "--dry-run"],
        ["post", "--csv", "x", "--dry-run"],
    ],
)
def test_a_command_that_needs_no_stack_makes_no_client(
    clients: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x").write_text("board,member,points\nb,m,1\n", encoding="utf-8")
    assert main(arguments) == OK
    assert clients == []


def test_reads_at_a_known_address_make_no_client(clients: list[str]) -> None:
    assert connection("--api-url", "http://127.0.0.1:1").api.url == "http://127.0.0.1:1"
    assert clients == []


def test_a_queue_at_a_known_address_needs_the_client_of_the_queue_alone(clients: list[str]) -> None:
    known = connection("--queue-url", "https://queue.invalid/activity", "--region", "us-east-1")
    assert known.queue_url == "https://queue.invalid/activity"
    known.client("sqs")
    assert clients == ["sqs"]


@pytest.mark.parametrize("command", [[], ["top"], ["rank"], ["history"], ["around"], ["boards"], ["boards", "check"]])
def test_every_command_has_help(capsys: pytest.CaptureFixture[str], command: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*command, "--help"])
    assert ended.value.code == OK
    assert capsys.readouterr().out.startswith(" ".join(["usage: standings", *command]))


def test_the_check_of_a_boards_toml(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["boards", "check", str(BOARDS)]) == OK
    assert capsys.readouterr().out == "boards.toml: 2 families of boards\n"

    wrong = tmp_path / "boards.toml"
    wrong.write_text('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["fortnight"] }\n', "utf-8")
    assert main(["boards", "check", str(wrong)]) == DIFFERS
    assert capsys.readouterr().err.startswith("boards.toml:2: windows: expected all, hour, day, week, month, year")
    assert main(["boards", "check", str(tmp_path / "none.toml")]) == WRONG
