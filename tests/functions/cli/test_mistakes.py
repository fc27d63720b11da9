"""What a command says that cannot do its work: each message names what to do next.

What mistakes say is in `sessions/mistakes.txt`.
"""

from types import SimpleNamespace

import pytest
from botocore.exceptions import (
    ClientError,
    CredentialRetrievalError,
    EndpointConnectionError,
    NoCredentialsError,
    NoRegionError,
    ProfileNotFound,
)

from standings_cli.__main__ import parser
from standings_cli.stack import connection as stack_connection
from standings_cli.stack.advice import advice
from standings_cli.stack.errors import ApiError
from standings_cli.start.summaries import COMMANDS
from standings_cli.terminal.exit_status import INTERRUPTED, OK, UNREACHABLE
from tests.support.cli.command_line import Run, runner


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
    run: Run, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    monkeypatch.setattr(stack_connection, "SERVED", tmp_path_factory.mktemp("empty") / "serve.json")
    ran = run("--local top b")
    assert ran.status == UNREACHABLE
    assert ran.err.startswith("standings: --local: no stack is running here (")
    assert ran.err.endswith(": start one with `make serve`\n")


AGAIN = "standings: throttled: run the same command again in a moment\n"


@pytest.mark.parametrize(
    ("ended", "status", "said"),
    [(ApiError(503, "unavailable", "throttled"), UNREACHABLE, AGAIN), (KeyboardInterrupt(), INTERRUPTED, "stopped\n")],
)
def test_a_command_that_is_ended(
    capsys: pytest.CaptureFixture[str], ended: BaseException, status: int, said: str
) -> None:
    def read(*_: str, **__: str) -> None:
        raise ended

    run = runner(SimpleNamespace(api=SimpleNamespace(read=read)), capsys)
    assert run("boards list") == (status, "", said)


def test_every_command_is_one_of_its_module() -> None:
    """Help prints the table of commands; each must be what its module adds, and nothing else may be."""
    whole, names = parser(), parser(())
    assert set(names._subparsers._group_actions[0].choices) == set(COMMANDS)  # type: ignore[union-attr, arg-type]
    for each in (names, *(parser((name,)) for name in COMMANDS)):
        assert each.format_help() == whole.format_help()
