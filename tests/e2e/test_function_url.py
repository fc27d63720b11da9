"""A deployed function URL: who is let in, answers byte for byte as over the API, and CloudFront in front.

The embedded AWS looks whether a request is signed at all, and not by whom: `tests/template/test_permissions.py` has the
grants, and `tests/functions/cli/test_requests.py` the signatures.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

import pytest
import urllib3

from demo.embedded.stack import Deployment
from standings.client.api import local_function_url
from standings_cli.__main__ import parser
from standings_cli.doctor.checks import Deployed, Finding, Verdict, function_url
from standings_cli.stack.connection import Connection
from tests.support.aws.deployed_api import count, event
from tests.support.aws.examples import deploy
from tests.support.aws.tokens import SCOPES, Issuer

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]

BOARD: Final = "demo-url:1"
GROUP: Final = json.dumps({"members": ["a/b", "nobody"]})
PATHS: Final = (
    "/boards/demo-url%3A1",
    "/boards/demo-url%3A1/points/all?limit=2",
    "/boards/demo-url%3A1/points/all/rank?member=a%2Fb",
    "/boards/demo-url%3A1/points/all/rank?member=a&member=a",
    "/boards/demo-url%3A1/goals/all",
    "/members?id=nobody",
    "/openapi.json",
)
KEPT: Final = ("content-type", "etag", "cache-control")


def sent(
    url: str, path: str, method: str = "GET", body: str = "", **headers: str
) -> tuple[int, Mapping[str, Any], bytes]:
    """Send a request past any proxy; the status, some headers, and the bytes of the answer."""
    given = {"Content-Type": "application/json", **headers}
    answer = urllib3.PoolManager().request(method, url + path, body=body or None, headers=given, redirect=False)
    return answer.status, {name: answer.headers.get(name) for name in KEPT}, answer.data


def url_of(stack: Deployment) -> str:
    return local_function_url(stack.endpoint, stack.outputs["FunctionUrlEndpoint"])


def connection_of(stack: Deployment, monkeypatch: pytest.MonkeyPatch, *options: str) -> Connection:
    """A connection of the command line to a stack, signed with any credentials."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "embedded")
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    given = ["--endpoint-url", stack.endpoint, "--region", "us-east-1", *options, "boards", "list"]
    return Connection(parser().parse_args(given))


@pytest.mark.xdist_group("tokens")
def test_a_signed_request_is_let_in_and_neither_a_token_nor_nothing(
    guarded: Deployment, issuer: Issuer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the API takes tokens, the address takes none."""
    token = issuer.token(scope=" ".join(SCOPES))
    connection = connection_of(guarded, monkeypatch, "--function-url", "--token", token)
    url = url_of(guarded)

    for headers in ({}, {"Authorization": f"Bearer {token}"}):
        status, _, answer = sent(url, "/boards", **headers)
        assert (status, json.loads(answer)) == (403, {"Message": "Forbidden"})
    by_api = sent(guarded.api_url, "/boards/demo-url%3A1", Authorization=f"Bearer {token}")
    assert connection.api.read("boards", BOARD) == json.loads(by_api[2])
    # What is not a read goes to the API, with the token.
    assert connection.api.put("members", body={"name": "Ada"}, id="url") == connection.api.read("members", id="url")
    assert list(function_url(Deployed(connection))) == [
        Finding(Verdict.OK, "the function URL", "answers signed reads, and refuses others with 403")
    ]


@pytest.mark.xdist_group("deployment")
def test_an_open_one_answers_anyone_as_the_api_does_and_takes_no_write(
    deployment: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    count(deployment, [event(BOARD, "a/b", 3), event(BOARD, "a", 2)])
    url = url_of(deployment)
    for path in PATHS:
        assert sent(url, path) == sent(deployment.api_url, path), path
    ranks = ("/boards/demo-url%3A1/points/all/ranks", "POST", GROUP)
    assert sent(url, *ranks) == sent(deployment.api_url, *ranks)
    assert sent(url, *ranks)[0] == 200
    status, _, answer = sent(url, "/events", "POST", event(BOARD, "a"))
    assert (status, "send it to the stack's API (ApiUrl)" in json.loads(answer)["detail"]) == (404, True)
    assert sent(url, "/")[2].startswith(b"<!doctype html>")
    (found,) = function_url(Deployed(connection_of(deployment, monkeypatch)))
    assert found == (Verdict.NOTE, "the function URL", "open to anyone: FunctionUrl is open")


@pytest.mark.xdist_group("deployment")
def test_cloudfront_serves_the_page_and_the_reads_of_a_function_url(deployment: Deployment) -> None:
    """The embedded CloudFront signs no request, so this address is open."""
    name = deploy(deployment, "function-url")["Url"].partition("://")[2]
    viewer = {"Host": name, "x-forwarded-proto": "https"}
    rank = "/boards/demo-url%3A1/points/all?limit=2"

    assert sent(deployment.endpoint, rank, **viewer)[2] == sent(deployment.api_url, rank)[2]
    assert sent(deployment.endpoint, "/", **viewer)[2] == sent(deployment.api_url, "/")[2]
    ranks = ("/boards/demo-url%3A1/points/all/ranks", "POST", GROUP)
    assert sent(deployment.endpoint, *ranks, **viewer)[2] == sent(deployment.api_url, *ranks)[2]
