"""What a mistake says: each message names what to do next."""

import os
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, NoCredentialsError, ProfileNotFound

from standings_cli.__main__ import main
from standings_cli.stack.advice import advice
from standings_cli.stack.errors import ApiError
from standings_cli.terminal.exit_status import UNREACHABLE, WRONG

PROJECT = Path(__file__).parents[3]


def of_aws(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "x"}}, "DescribeStacks")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["tpo", "b"], "there is no 'tpo': did you mean 'top'?"),
        (["exprot", "b"], "there is no 'exprot': did you mean 'export'?"),
        (["dlq", "lst"], "there is no 'lst': did you mean 'list'?"),
        (["xyz"], "there is no 'xyz': expected one of post, top, rank, "),
        (["export", "b", "--format", "josnl"], "there is no 'josnl': did you mean 'jsonl'?"),
        ([], "the following arguments are required: COMMAND"),
    ],
)
def test_what_is_mistyped_is_told_with_what_comes_closest(
    capsys: pytest.CaptureFixture[str], arguments: list[str], words: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == WRONG
    err = capsys.readouterr().err
    assert words in err
    assert "--help` says what is expected" in err


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (NoCredentialsError(), "log in to AWS, or name a profile with --profile; --local speaks to the stack"),
        (ProfileNotFound(profile="x"), "name a profile of your AWS configuration"),
        (EndpointConnectionError(endpoint_url="https://x"), "check the network, --region and --endpoint-url"),
        (of_aws("ExpiredToken"), "log in to AWS"),
        (of_aws("ValidationError"), "check --stack and --region"),
        (of_aws("AccessDeniedException"), "these credentials may not do that"),
        (of_aws("Throttling"), "run the same command again"),
    ],
)
def test_an_error_of_aws_says_what_to_do(error: Exception, words: str) -> None:
    assert words in advice(error)


@pytest.mark.parametrize(
    "command", [["top", "b"], ["post", "b", "m", "points=1"], ["audit"], ["delete", "b", "--yes"], ["open"]]
)
def test_without_a_region_it_says_what_to_name(tmp_path: Path, command: list[str]) -> None:
    path = os.pathsep.join([str(PROJECT), str(PROJECT / "layers" / "standings")])
    done = subprocess.run(
        [sys.executable, "-m", "standings_cli", *command],
        env={"PATH": os.environ["PATH"], "PYTHONPATH": path, "HOME": str(tmp_path), "AWS_EC2_METADATA_DISABLED": "1"},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (UNREACHABLE, "")
    (line,) = done.stderr.splitlines()
    assert line.startswith("standings: You must specify a region: name one with --region")
    assert "--local speaks to the stack that `make serve` has started" in line


def test_an_api_that_fails_for_now_says_to_come_back(capsys: pytest.CaptureFixture[str]) -> None:
    class Away:
        def read(self, *_: str, **__: str) -> None:
            raise ApiError(503, "unavailable", "DynamoDB is throttled")

    assert main(["boards", "list"], lambda _: SimpleNamespace(api=Away())) == UNREACHABLE
    expected = "standings: DynamoDB is throttled: run the same command again in a moment\n"
    assert capsys.readouterr().err == expected
