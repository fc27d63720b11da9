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
from standings_cli.terminal.exit_status import OK

PROJECT = Path(__file__).parents[3]
BOARDS = PROJECT / "layers" / "standings" / "boards.toml"


def test_it_imports_nothing_that_only_the_functions_need(tmp_path: Path) -> None:
    """`pip install .` installs no aws_lambda_powertools, and the store's adapters would only slow the start."""
    program = "import json, sys, standings_cli.__main__; print(json.dumps(list(sys.modules)))"
    path = os.pathsep.join([str(PROJECT), str(PROJECT / "layers" / "standings")])
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": path},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    )
    imported = json.loads(done.stdout)

    assert "standings_cli.__main__" in imported
    assert "standings.domain.events.event_rules" in imported
    forbidden = ("standings.aws.dynamodb", "standings.wiring", "aws_lambda_powertools")
    assert [name for name in imported if f"{name}.".startswith(tuple(f"{each}." for each in forbidden))] == []


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
