"""Connections: kept between requests, through a proxy where the environment names one, and only to whom one trusts."""

import base64
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from standings_cli.__main__ import main
from standings_cli.stack.api import Api
from standings_cli.stack.errors import NoAnswerError, StackError
from standings_cli.stack.transport import Request, Transport
from standings_cli.terminal.exit_status import UNREACHABLE
from tests.support.cli.signing import answering, parts

READ = "http://standings.example:81/boards?limit=1"


class Keeping(ThreadingHTTPServer):
    """Keeps its connections open, and knows who connected. With `hangs_up` it closes each after its answer, unsaid."""

    daemon_threads = True
    hangs_up = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Keeping)
        self.peers: list[Any] = []


class _Keeping(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Keeping

    def do_GET(self) -> None:
        self.server.peers.append(self.client_address)
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")
        self.close_connection = self.server.hangs_up

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep quiet."""


@pytest.fixture
def keeping() -> Iterator[Keeping]:
    with Keeping() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(autouse=True)
def _no_proxies(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "HTTPS_PROXY", "https_proxy", "NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


def test_a_connection_serves_many_requests(keeping: Keeping) -> None:
    api = Api(f"http://127.0.0.1:{keeping.server_port}", Transport())
    for _ in range(5):
        assert api.read("boards") == {}
    assert len(keeping.peers) == 5
    assert len(set(keeping.peers)) == 1


def test_a_connection_that_the_server_has_ended_is_not_used_again(keeping: Keeping) -> None:
    keeping.hangs_up = True
    transport, ended = Transport(), threading.Event()
    for _ in range(3):
        assert transport.send(Request("GET", f"http://127.0.0.1:{keeping.server_port}/boards")).content == b"{}"
        ended.wait(0.2)
    assert len(set(keeping.peers)) == 3


def test_a_proxy_is_asked_for_the_whole_address(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering((200, "{}")) as proxy:
        monkeypatch.setenv("http_proxy", proxy.address.replace("//", "//me:a%20b@"))
        assert Transport().send(Request("GET", READ)).content == b"{}"
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        assert Transport().send(Request("GET", f"{proxy.address}/boards")).content == b"{}"
        monkeypatch.delenv("no_proxy")
        assert Transport(local=True).send(Request("GET", f"{proxy.address}/boards")).content == b"{}"

    target, headers = parts(proxy.requests[0])
    assert target == READ.encode()
    assert headers["host"] == "standings.example:81"
    assert base64.b64decode(headers["proxy-authorization"].removeprefix("Basic ")) == b"me:a b"
    for request in proxy.requests[1:]:
        assert parts(request)[0] == b"/boards"
        assert "proxy-authorization" not in parts(request)[1]


def test_a_proxy_makes_a_tunnel_for_https(monkeypatch: pytest.MonkeyPatch) -> None:
    with answering((403, "")) as proxy:
        monkeypatch.setenv("https_proxy", proxy.address.replace("//", "//me:pw@"))
        with pytest.raises(NoAnswerError, match=r"Could not connect.*403"):
            Transport().send(Request("GET", "https://standings.example/boards", {"Authorization": "Bearer a.b.c"}))
    (request,) = proxy.requests

    assert request.startswith(b"CONNECT standings.example:443 ")
    assert b"Proxy-Authorization: Basic " in request
    assert b"a.b.c" not in request


@pytest.mark.parametrize("proxy", ["socks5://127.0.0.1:1", "https://proxy.example:3128"])
def test_a_proxy_of_another_kind_is_refused(monkeypatch: pytest.MonkeyPatch, proxy: str) -> None:
    monkeypatch.setenv("http_proxy", proxy)
    with pytest.raises(StackError, match=r"expected an address such as http://proxy:3128, got (socks5|https):"):
        Transport().send(Request("GET", READ))


def test_who_cannot_show_a_certificate_is_asked_once() -> None:
    naps: list[float] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def refuse() -> None:
            connection, _ = server.accept()
            with connection:
                connection.sendall(b"HTTP/1.1 400 no TLS here\r\n\r\n")

        thread = threading.Thread(target=refuse)
        thread.start()
        with pytest.raises(NoAnswerError, match="SSL validation failed"):
            Api(f"https://127.0.0.1:{server.getsockname()[1]}", Transport(), sleep=naps.append).read("boards")
        thread.join()
    assert naps == []


@pytest.mark.parametrize("name", ["AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"])
def test_certificates_that_cannot_be_read_are_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path, name: str
) -> None:
    for either in ("AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"):
        monkeypatch.delenv(either, raising=False)
    monkeypatch.setenv(name, str(tmp_path / "none.pem"))
    arguments = ["boards", "list", "--api-url", "https://127.0.0.1:1", "--token", "a.b.c"]
    assert main(arguments) == UNREACHABLE
    assert f"{name}: expected a file of certificates (PEM), got" in capsys.readouterr().err


@pytest.mark.parametrize("token", ["a.\u20ac.c", "a.b\nc"])
def test_a_token_that_no_header_can_carry_is_refused_and_not_shown(
    keeping: Keeping, capsys: pytest.CaptureFixture[str], token: str
) -> None:
    address = f"http://127.0.0.1:{keeping.server_port}"
    assert main(["boards", "list", "--api-url", address, "--token", token]) == UNREACHABLE
    error = capsys.readouterr().err
    assert "has a character that HTTP forbids: check --api-url and --token" in error
    assert "a.b" not in error
    assert keeping.peers == []


def test_threads_share_connections(keeping: Keeping) -> None:
    api = Api(f"http://127.0.0.1:{keeping.server_port}", Transport())
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(lambda _: api.read("boards"), range(200))) == [{}] * 200
    assert len(keeping.peers) == 200
    assert len(set(keeping.peers)) <= 8
