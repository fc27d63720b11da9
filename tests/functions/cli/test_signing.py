"""Requests as a gateway receives them: the signature covers exactly what was sent, and retries are bounded."""

from datetime import UTC, datetime, timedelta
from itertools import count
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.credentials import RefreshableCredentials

from standings_cli.__main__ import main, parser
from standings_cli.stack.api import Api, Signature
from standings_cli.stack.connection import Connection
from standings_cli.stack.transport import Transport
from standings_cli.terminal.exit_status import OK, UNREACHABLE, WRONG
from tests.support.cli.signing import KEYS, SECRET, answering, encoded, expected_signature, parts


def signature_of(request: bytes) -> str:
    return parts(request)[1]["authorization"].rpartition("Signature=")[2]


@pytest.mark.parametrize("stage", ["", "/_aws/execute-api/ab12", "/prod/"])
@pytest.mark.parametrize(
    "member",
    ["m1", "clan#7", "images/1.jpg", "用户", "a b+c%20", "x&y=z?", "%2F", "..", "~*'()!$,;@", "", "\x00\n", "🦦 игрок"],
)
def test_the_signature_is_over_what_is_sent(stage: str, member: str) -> None:
    with answering((200, "{}")) as server:
        api = Api(server.address + stage, Transport(), Signature(KEYS, "eu-central-1"))
        api.read("boards", "Otters:2026.a-b_c", "points", "last-7-days", "rank", member=member, previous="true")

    (request,) = server.requests
    target, headers = parts(request)
    path, _, query = target.partition(b"?")
    assert path.decode() == f"{stage.rstrip('/')}/boards/Otters%3A2026.a-b_c/points/last-7-days/rank"
    assert query.decode() == f"member={encoded(member.encode())}&previous=true"
    assert headers["x-amz-security-token"] == KEYS.token
    assert signature_of(request) == expected_signature(request, "eu-central-1")


def test_any_other_request_has_another_signature() -> None:
    with answering((200, "{}")) as server:
        Api(server.address, Transport(), Signature(KEYS, "us-east-1")).read("boards", "a:b")
    (request,) = server.requests

    assert signature_of(request) == expected_signature(request, "us-east-1")
    for changed in (
        request.replace(b"a%3Ab", b"a:b"),
        request.replace(b"a%3Ab", b"a%3Ac"),
        request.replace(b"127", b"128"),
    ):
        assert changed != request
        assert signature_of(changed) != expected_signature(changed, "us-east-1")


def test_a_token_goes_as_it_is_and_anyone_sends_nothing() -> None:
    with answering((200, "{}")) as server:
        session = Transport()
        Api(server.address, session, Signature(KEYS, "us-east-1"), "a.b.c").read("boards")
        Api(server.address, session).read("boards")

    assert [parts(request)[1].get("authorization") for request in server.requests] == ["Bearer a.b.c", None]


def test_each_attempt_is_signed_with_the_keys_of_its_moment() -> None:
    """Credentials that expire within minutes are renewed at each use."""
    tokens = count(1)

    def renewed() -> dict[str, str]:
        soon = (datetime.now(UTC) + timedelta(seconds=30)).isoformat()
        return {"access_key": KEYS.access_key, "secret_key": SECRET, "token": str(next(tokens)), "expiry_time": soon}

    keys = RefreshableCredentials.create_from_metadata(renewed(), renewed, "test")
    with answering((503, ""), (200, "{}")) as server:
        api = Api(server.address, Transport(), Signature(keys, "us-east-1"), sleep=lambda _: None)
        api.read("boards")
    assert [parts(request)[1]["x-amz-security-token"] for request in server.requests] == ["2", "3"]


@pytest.mark.parametrize("lost", [(429, "{}"), (500, "{}"), (502, "x"), (503, "{}"), (504, "{}"), (0, ""), (1, "{}")])
def test_what_passes_is_asked_again_with_growing_jittered_naps(lost: tuple[int, str]) -> None:
    naps: list[float] = []
    chances = iter((0.0, 1.0, 0.5))
    with answering(lost, lost, lost, (200, '{"boards": []}')) as server:
        api = Api(server.address, Transport(), sleep=naps.append, chance=lambda: next(chances))
        assert api.read("boards") == {"boards": []}

    assert len(server.requests) == 4
    assert naps == [0.25, 1.0, 1.5]


@pytest.mark.parametrize(
    ("answer", "requests", "status", "words"),
    [
        ((503, '{"message": "Service Unavailable"}'), 5, UNREACHABLE, "standings: HTTP 503: Service Unavailable"),
        ((429, '{"message": "Too Many Requests"}'), 5, UNREACHABLE, "standings: HTTP 429: Too Many Requests"),
        ((0, ""), 5, UNREACHABLE, "standings: Connection was closed before we received a valid response"),
        ((403, '{"message": "Forbidden"}'), 1, WRONG, "HTTP 403: Forbidden: this call needs an AWS IAM sig"),
        ((401, '{"message": "Unauthorized"}'), 1, WRONG, "a token with its scope"),
        ((400, "\x1b[2Jno"), 1, WRONG, "standings: HTTP 400: \\u001b[2Jno"),
        ((404, "[]"), 1, WRONG, "standings: HTTP 404: []"),
        ((200, "<!doctype html>"), 1, WRONG, "is not the API of a stack: expected JSON"),
    ],
)
def test_what_does_not_pass_is_told(
    capsys: pytest.CaptureFixture[str], answer: tuple[int, str], requests: int, status: int, words: str
) -> None:
    with answering(answer) as server:
        api = Api(server.address, Transport(), sleep=lambda _: None)
        assert main(["boards", "list"], lambda _: SimpleNamespace(api=api)) == status

    assert len(server.requests) == requests
    assert words in capsys.readouterr().err


def test_the_options_say_how_an_api_is_asked(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With --api-url no stack is read. Credentials come from the environment, as for all AWS clients."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    with answering((200, '{"boards": [{"board": "b"}], "next": null}')) as server:
        assert main(["--api-url", server.address, "--region", "ap-south-1", "boards", "list"]) == OK
        assert main(["boards", "list", "--api-url", server.address, "--token", "a.b.c", "--json"]) == OK

    assert capsys.readouterr().out == 'b\n{"boards": [{"board": "b"}], "next": null}\n'
    signed, with_token = server.requests
    assert signature_of(signed) == expected_signature(signed, "ap-south-1")
    assert parts(with_token)[1]["authorization"] == "Bearer a.b.c"


@pytest.mark.parametrize(
    ("arguments", "region"),
    [
        (["--api-url", "https://ab12.execute-api.eu-west-3.amazonaws.com"], "eu-west-3"),
        (["--api-url", "https://ab12.execute-api.cn-north-1.amazonaws.com.cn", "--region", "eu-west-1"], "cn-north-1"),
        (["--api-url", "https://standings.example.org", "--region", "eu-west-1"], "eu-west-1"),
    ],
)
def test_an_address_of_aws_says_its_region(arguments: list[str], region: str) -> None:
    api: Any = Connection(parser().parse_args([*arguments, "boards", "list"])).api
    assert api.signature.region == region
