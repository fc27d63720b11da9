"""Writes as a gateway receives them: signed with their body, and sent again where no answer came."""

import json
from types import SimpleNamespace

import pytest

from standings_cli.__main__ import main
from standings_cli.stack.api import Api, Signature
from standings_cli.stack.transport import Transport
from standings_cli.terminal.exit_status import OK, UNREACHABLE
from tests.support.cli.signing import KEYS, Raw, answering, expected_signature, parts

ANSWER = json.dumps({"board": "b", "member": "a", "hidden": True})


def run(server: Raw, *arguments: str, token: str | None = None) -> int:
    signature = None if token else Signature(KEYS, "eu-central-1")
    api = Api(server.address, Transport(), signature, token, sleep=lambda _: None)
    return main(["member", *arguments], lambda _: SimpleNamespace(api=api))


def test_the_signature_covers_the_body() -> None:
    with answering((200, ANSWER)) as server:
        assert run(server, "hide", "b", "a b/c") == OK
    (request,), (body,) = server.requests, server.bodies
    target, headers = parts(request)

    assert request.startswith(b"PUT ")
    assert target == b"/boards/b/member?id=a%20b%2Fc"
    assert json.loads(body) == {"hidden": True}
    assert headers["content-type"] == "application/json"
    signed = expected_signature(request, "eu-central-1", "PUT", body)
    assert headers["authorization"].endswith(f"Signature={signed}")


def test_a_removal_is_signed_without_a_body() -> None:
    with answering((204, "")) as server:
        assert run(server, "remove", "b", "a") == OK
    (request,) = server.requests

    assert request.startswith(b"DELETE ")
    signed = expected_signature(request, "eu-central-1", "DELETE")
    assert parts(request)[1]["authorization"].endswith(f"Signature={signed}")


def test_a_token_takes_the_place_of_the_signature() -> None:
    with answering((200, ANSWER)) as server:
        assert run(server, "register", "b", "a", token="t.o.k") == OK  # noqa: S106 - not a secret

    assert parts(server.requests[0])[1]["authorization"] == "Bearer t.o.k"
    assert server.bodies in ([], [b""])


@pytest.mark.parametrize("failure", [(0, ""), (503, "{}"), (429, "{}")])
def test_a_write_that_got_no_answer_is_sent_again(failure: tuple[int, str]) -> None:
    with answering(failure, failure, (200, ANSWER)) as server:
        assert run(server, "hide", "b", "a") == OK
    assert len(server.requests) == 3
    assert {json.dumps(json.loads(body)) for body in server.bodies} == {'{"hidden": true}'}
    with answering(failure) as server:
        assert run(server, "remove", "b", "a") == UNREACHABLE
    assert len(server.requests) == 5
