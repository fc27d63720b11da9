"""Requests as a gateway receives them: signed or with a token, sent again a bounded number of times, over connections
that are kept, through a proxy where the environment names one, and only to whom one trusts."""

import base64
import json
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from itertools import count
from pathlib import Path
from socketserver import TCPServer
from types import SimpleNamespace
from typing import Any, Final
from urllib.parse import quote

import pytest
from botocore.credentials import RefreshableCredentials

from standings.client.api import Api, Signature, Transport, is_function_url
from standings.client.errors import NoAnswerError, StackError
from standings_cli.__main__ import parser
from standings_cli.stack.connection import Connection
from standings_cli.terminal import OK, UNREACHABLE, WRONG
from tests.support.aws.servers import listening
from tests.support.cli.command_line import runner
from tests.support.cli.signing import KEYS, SECRET, answering, expected_signature, parts

HIDDEN = json.dumps({"board": "b", "member": "a", "hidden": True})
MEMBERS = ("clan#7", "images/1.jpg", "a b+c%20", "x&y=z?", "%2F", "..", "~*'()!$,;@", "", "\x00\n", "🦦 用户")
READ = ("GET", "http://standings.example:81/boards?limit=1")


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def signature_of(request: bytes) -> str:
    return parts(request)[1]["authorization"].rpartition("Signature=")[2]


def signed(address: str) -> Api:
    return Api(address, Transport(), Signature(KEYS, "eu-central-1"), sleep=lambda _: None)


@pytest.mark.parametrize(
    ("stage", "member"),
    [("", "m1"), ("/_aws/execute-api/ab12", "m1"), ("/prod/", "m1"), *(("", member) for member in MEMBERS)],
    ids=ascii,
)
def test_the_signature_is_over_what_is_sent(stage: str, member: str) -> None:
    with answering((200, "{}")) as server:
        path = ("boards", "Otters:2026.a-b_c", "a/b points", "last-7-days", "rank")
        signed(server.address + stage).read(*path, member=member, previous="true")

    (request,) = server.requests
    target, headers = parts(request)
    assert target.decode() == (
        f"{stage.rstrip('/')}/boards/Otters%3A2026.a-b_c/a%2Fb%20points/last-7-days/rank"
        f"?member={quote(member, safe='')}&previous=true"
    )
    assert headers["x-amz-security-token"] == KEYS.token
    assert signature_of(request) == expected_signature(request, "eu-central-1")
    for old, new in ((b"boards", b"boardS"), (b"previous", b"Previous"), (b"127", b"128")):
        changed = request.replace(old, new)
        assert signature_of(changed) != expected_signature(changed, "eu-central-1")


def test_writes_are_signed_with_their_body(capsys: pytest.CaptureFixture[str]) -> None:
    with answering((200, HIDDEN), (204, "")) as server:
        run = runner(SimpleNamespace(api=signed(server.address)), capsys)
        assert run("member hide --register b", "a b/c").status == OK
        assert run("member remove b a --yes").status == OK
    (put, delete), (body,) = server.requests, server.bodies

    assert put.startswith(b"PUT /boards/b/member?id=a%20b%2Fc ")
    assert json.loads(body) == {"hidden": True}
    assert parts(put)[1]["content-type"] == "application/json"
    assert signature_of(put) == expected_signature(put, "eu-central-1", "PUT", body)
    assert delete.startswith(b"DELETE /boards/b/member?id=a ")
    assert signature_of(delete) == expected_signature(delete, "eu-central-1", "DELETE")


def test_each_attempt_is_signed_with_the_keys_of_its_moment() -> None:
    """Credentials that expire within minutes are renewed at each use."""
    tokens = count(1)

    def renewed() -> dict[str, str]:
        soon = (datetime.now(UTC) + timedelta(seconds=30)).isoformat()
        return {"access_key": KEYS.access_key, "secret_key": SECRET, "token": str(next(tokens)), "expiry_time": soon}

    keys = RefreshableCredentials.create_from_metadata(renewed(), renewed, "test")
    with answering((503, ""), (200, "{}")) as server:
        Api(server.address, Transport(), Signature(keys, "us-east-1"), sleep=lambda _: None).read("boards")
    first, second = (parts(request)[1]["x-amz-security-token"] for request in server.requests)
    assert int(first) < int(second)


def test_options_say_how_an_api_is_asked(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    """With --api-url no stack is read. Credentials come from the environment, as for all AWS clients."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEYS.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    run = runner(None, capsys)
    with answering((200, '{"boards": [{"board": "b"}], "next": null}')) as server:
        assert run(f"--api-url {server.address} --region ap-south-1 boards list").out == "b\n"
        with_token = run(f"boards list --api-url {server.address} --token a.b.c --json")
        monkeypatch.setattr("boto3.Session.get_credentials", lambda _: None)
        assert run(f"boards list --api-url {server.address}").out == "b\n"

    assert with_token.out == '{"boards": [{"board": "b"}], "next": null}\n'
    first, second, third = server.requests
    assert signature_of(first) == expected_signature(first, "ap-south-1")
    assert parts(second)[1]["authorization"] == "Bearer a.b.c"
    assert "authorization" not in parts(third)[1]


@pytest.mark.parametrize(
    ("options", "region"),
    [
        ("--api-url https://ab12.execute-api.eu-west-3.amazonaws.com", "eu-west-3"),
        ("--api-url https://ab12.execute-api.cn-north-1.amazonaws.com.cn --region eu-west-1", "cn-north-1"),
        ("--api-url https://standings.example.org --region eu-west-1", "eu-west-1"),
        ("--api-url https://ab12.lambda-url.eu-west-3.on.aws/", "eu-west-3"),
        # It takes no token, so requests are signed.
        ("--api-url https://ab12.lambda-url.eu-west-3.on.aws --token a.b.c --region eu-west-1", "eu-west-3"),
        ("--function-url --token a.b.c", "eu-north-1"),
    ],
)
def test_an_address_of_aws_says_its_region(options: str, region: str, monkeypatch: pytest.MonkeyPatch) -> None:
    outputs = {"ApiUrl": "https://standings.example.org", "FunctionUrlEndpoint": URL}
    monkeypatch.setattr(Connection, "_outputs", outputs)
    monkeypatch.setattr("boto3.Session.get_credentials", lambda _: KEYS)
    api: Any = Connection(parser().parse_args([*options.split(), "boards", "list"])).api
    assert api.signature.region == region


URL: Final = "https://ab12.lambda-url.eu-north-1.on.aws/"


def test_reads_go_to_the_function_url_signed_for_lambda_and_all_else_to_the_api() -> None:
    with answering((200, "{}")) as server:
        url, group = f"{server.address}/_aws/lambda-url/ab12", b'{"members":["a"]}'
        api = Api(f"{server.address}/api", Transport(), Signature(KEYS, "eu-central-1"), "a.b.c", function_url=url)
        api.read("boards", "Otters:1", "points", "all", "rank", member="a b")
        api.answer("POST", ("boards", "b", "points", "all", "ranks"), {}, group)
        api.read("events", id="e")
        api.put("members", body={"name": "Ada"}, id="a")
        api.delete("members", id="a")
    rank, ranks, *others = server.requests

    assert rank.startswith(b"GET /_aws/lambda-url/ab12/boards/Otters%3A1/points/all/rank?member=a%20b ")
    assert ranks.startswith(b"POST /_aws/lambda-url/ab12/boards/b/points/all/ranks ")
    assert signature_of(rank) == expected_signature(rank, "eu-central-1", service="lambda")
    assert signature_of(ranks) == expected_signature(ranks, "eu-central-1", "POST", group, "lambda")
    assert signature_of(rank) != expected_signature(rank, "eu-central-1")
    # CloudFront signs a request to a function URL again, but without a hash of its body Lambda refuses it.
    assert parts(ranks)[1]["x-amz-content-sha256"] == sha256(group).hexdigest()
    assert [request.split(b" ")[1].partition(b"?")[0] for request in others] == [b"/api/events", *[b"/api/members"] * 2]
    assert {parts(request)[1]["authorization"] for request in others} == {"Bearer a.b.c"}


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        *((address, True) for address in (URL, f"{URL[:-1]}:443/boards?limit=1", URL.upper(), URL[:-1])),
        ("http://127.0.0.1:4566/_aws/lambda-url/ab12/boards", True),
        # What stands behind the host is no part of it, and may be anybody's text.
        ("https://standings.example/members?id=x.lambda-url.eu-north-1.on.aws", False),
        ("https://standings.example/members?id=/_aws/lambda-url/", False),
        ("https://ab12.lambda-url.eu-north-1.on.aws.example/", False),
        ("https://ab12.execute-api.eu-north-1.amazonaws.com/x.lambda-url.eu-north-1.on.aws", False),
    ],
)
def test_the_address_says_whether_it_is_a_function_url(address: str, is_one: bool) -> None:
    assert is_function_url(address) is is_one


@pytest.mark.parametrize("lost", [(429, "{}"), (500, "{}"), (502, "x"), (503, "{}"), (504, "{}"), (0, ""), (1, "{}")])
def test_what_passes_is_asked_again_with_growing_jittered_naps(lost: tuple[int, str]) -> None:
    naps: list[float] = []
    chances = iter((0.0, 1.0, 0.5))
    with answering(lost, lost, lost, (200, HIDDEN)) as server:
        api = Api(server.address, Transport(), sleep=naps.append, chance=lambda: next(chances))
        assert api.put("boards", "b", "member", body={"hidden": True}, id="a") == json.loads(HIDDEN)

    assert server.bodies == [b'{"hidden": true}'] * 4
    assert naps == [0.25, 1.0, 1.5]


@pytest.mark.parametrize(
    ("answer", "requests", "status", "words"),
    [
        ((503, '{"message": "Service Unavailable"}'), 5, UNREACHABLE, "HTTP 503: Service Unavailable"),
        ((429, '{"message": "Too Many Requests"}'), 5, UNREACHABLE, "HTTP 429: Too Many Requests"),
        ((0, ""), 5, UNREACHABLE, "no answer from http://127.0.0.1:"),
        ((403, '{"message": "Forbidden"}'), 1, WRONG, "HTTP 403: Forbidden: this call needs an AWS IAM sig"),
        ((401, '{"message": "Unauthorized"}'), 1, WRONG, "HTTP 401: Unauthorized: this call needs an AWS IAM sig"),
        ((400, "\x1b[2Jno"), 1, WRONG, "HTTP 400: \\u001b[2Jno"),
        ((404, "[]"), 1, WRONG, "HTTP 404: []"),
        ((500, ""), 5, UNREACHABLE, "HTTP 500: no details"),
        ((200, "<!doctype html>"), 1, WRONG, "http://127.0.0.1:"),
    ],
)
@pytest.mark.parametrize("command", ["boards list", "member hide b a --register", "member remove b a --yes"])
def test_what_does_not_pass_is_told(
    capsys: pytest.CaptureFixture[str], command: str, answer: tuple[int, str], requests: int, status: int, words: str
) -> None:
    with answering(answer) as server:
        ran = runner(SimpleNamespace(api=signed(server.address)), capsys)(command)
    assert (ran.status, ran.out, len(server.requests)) == (status, "", requests)
    assert ran.err.removeprefix("standings: HTTP 200: ").removeprefix("standings: ").startswith(words)
    assert answer[0] != 200 or "is not the API of a stack: expected JSON" in ran.err


def test_a_connection_serves_many_requests_threads_share_them_and_none_is_used_that_the_server_has_ended() -> None:
    with answering((200, "{}")) as server:
        server.keeps = True
        api = Api(server.address, Transport())
        for _ in range(5):
            assert api.read("boards") == {}
        assert len(server.peers) == 5
        assert len(set(server.peers)) == 1
        with ThreadPoolExecutor(8) as pool:
            assert list(pool.map(lambda _: api.read("boards"), range(100))) == [{}] * 100
        assert len(server.peers) == 105
        assert len(set(server.peers)) <= 8
        server.hangs_up, server.peers = True, []
        api = signed(server.address)
        assert [api.read("boards") for _ in range(3)] == [{}] * 3
        assert len(set(server.peers)) == 3


def test_a_proxy_is_asked_for_the_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering((200, "{}")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.address.replace("//", "//me:a%20b@"))
        assert Transport().send(*READ).data == b"{}"
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert Transport().send("GET", f"{proxy.address}/boards").data == b"{}"
        monkeypatch.delenv("no_proxy")
        assert Transport(local=True).send("GET", f"{proxy.address}/boards").data == b"{}"

    target, headers = parts(proxy.requests[0])
    assert target == READ[1].encode()
    assert headers["host"] == "standings.example:81"
    assert base64.b64decode(headers["proxy-authorization"].removeprefix("Basic ")) == b"me:a b"
    for request in proxy.requests[1:]:
        assert parts(request)[0] == b"/boards"
        assert "proxy-authorization" not in parts(request)[1]


def test_a_proxy_makes_a_tunnel_for_https_and_none_of_another_kind_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering((403, "")) as proxy:
        monkeypatch.setenv("https_proxy", proxy.address.replace("//", "//me:pw@"))
        with pytest.raises(NoAnswerError, match=r"no answer from https://standings.example/.*403"):
            Transport().send("GET", "https://standings.example/boards", {"Authorization": "Bearer a.b.c"})
    (request,) = proxy.requests
    assert request.startswith(b"CONNECT standings.example:443 ")
    assert b"proxy-authorization: basic " in request.lower()
    assert b"a.b.c" not in request
    monkeypatch.setenv("http_proxy", "socks5://127.0.0.1:1")
    with pytest.raises(StackError, match=r"expected an address such as http://proxy:3128, got socks5:"):
        Transport().send(*READ)


def test_who_cannot_show_a_certificate_is_asked_once() -> None:
    naps: list[float] = []
    plain = TCPServer(("127.0.0.1", 0), lambda request, *_: request.sendall(b"HTTP/1.1 400 no TLS here\r\n\r\n"))
    words = r"no answer from https://.*WRONG_VERSION_NUMBER.*the trusted certificates are those of"
    with listening(plain), pytest.raises(NoAnswerError, match=words):
        Api(f"https://127.0.0.1:{plain.server_address[1]}", Transport(), sleep=naps.append).read("boards")
    assert naps == []


@pytest.mark.parametrize("name", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_certificates_that_cannot_be_read_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    for either in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(either, raising=False)
    monkeypatch.setenv(name, str(tmp_path / "none.pem"))
    with answering((200, "{}")) as server:
        ran = runner(None, capsys)(f"boards list --token a.b.c --api-url {server.address.replace('http:', 'https:')}")
    assert ran.status == UNREACHABLE
    assert "No such file or directory" in ran.err
    assert f"{tmp_path}/none.pem: set AWS_CA_BUNDLE to a file of others (PEM)" in ran.err
