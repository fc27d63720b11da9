"""`watch` while the API is unreachable, and for a question that never has an answer."""

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from types import SimpleNamespace
from typing import Any

import pytest

from standings_cli.__main__ import main
from standings_cli.stack.api import Api
from standings_cli.stack.transport import Transport
from standings_cli.terminal.exit_status import WRONG
from tests.support.aws.gateway import Gateway
from tests.support.aws.stack import Stack
from tests.support.cli.watching import NOW, Counting, run_watch, terminal


class Broken(HTTPServer):
    """An API that always gives the same answer."""

    answers: tuple[int, str] = (503, "")


class _Broken(BaseHTTPRequestHandler):
    server: Broken

    def do_GET(self) -> None:
        status, body = self.server.answers
        self.send_response(status)
        self.send_header("Content-Length", str(len(body.encode()) + (status == 299)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Keep quiet."""


@contextmanager
def broken(status: int, body: str = "") -> Iterator[str]:
    with Broken(("127.0.0.1", 0), _Broken) as server:
        server.answers = (status, body)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,))
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


class Moving:
    """Connections to an API whose address a test changes, to take it away and bring it back."""

    def __init__(self, address: str) -> None:
        self._counting = Counting()
        self._there = address
        self.away = ""
        self.statuses = self._counting.statuses

    def send(self, request: Any) -> Any:
        request.url = request.url.replace(self._there, self.away or self._there)
        return self._counting.send(request)


def test_an_api_that_is_away_is_waited_for(stack: Stack, gateway: Gateway) -> None:
    with socket.socket() as nobody, broken(503, '{"message":"Service Unavailable"}') as failing:
        nobody.bind(("127.0.0.1", 0))
        moving = Moving(gateway.address)
        gone = f"http://127.0.0.1:{nobody.getsockname()[1]}"
        text, _, sleeper = run_watch(
            gateway.address,
            stack.clock,
            lambda: setattr(moving, "away", gone),
            lambda: None,
            lambda: setattr(moving, "away", failing),
            lambda: setattr(moving, "away", ""),
            lambda: None,
            console=terminal(200),
            session=moving,
        )

    assert moving.statuses == [200, 0, 0, 503, 304, 304]
    # 2 s while it answers, then 4, 8 and 16, and 2 again.
    assert sum(sleeper.naps[:2]) == 2
    assert sum(sleeper.naps[2:30]) == 4 + 8 + 16
    shown = [part for part in text.split("\x1b[2K") if "not reachable since" in part]
    assert "trying again: Could not connect to the endpoint URL" in shown[0]
    assert "trying again: HTTP 503: Service Unavailable" in shown[-1]
    # The last entries stay on the screen.
    assert text.count("anna") >= 28
    last = text[text.rindex("not reachable") :]
    assert "4 members · last change" in last


def test_a_question_that_has_no_answer_ends_it(
    stack: Stack, gateway: Gateway, capsys: pytest.CaptureFixture[str]
) -> None:
    api = Api(gateway.address, Transport(local=True))
    for arguments in (["watch", "b", "--metric", "pts"], ["watch", "a b"], ["watch", "b", "--period", "2020-01-01"]):
        assert main(arguments, lambda _: SimpleNamespace(api=api)) == WRONG
        assert capsys.readouterr().err.count("\n") == 1
    with broken(200, "<html>") as elsewhere:
        page = replace(api, url=elsewhere, session=Transport(local=True))
        assert main(["watch", "b"], lambda _: SimpleNamespace(api=page)) == WRONG
    assert "is not the API of a stack: expected JSON" in capsys.readouterr().err
    assert stack.clock() == NOW
