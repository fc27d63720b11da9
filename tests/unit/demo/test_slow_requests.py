"""A request that takes too long is tried again, and does not end `make demo` or `make serve`."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

import boto3
import pytest
from botocore.config import Config

from demo import api, feed, serve
from demo.progress import Progress

TIMEOUT_S: Final = 0.3
STALL: Final = "stall"
Bodies = list[str]


@contextmanager
def server(answers: Sequence[str | int]) -> Iterator[tuple[str, Bodies]]:
    """Give the answers in turn, and the last one again and again; one of them is to say nothing while the test lasts.

    Yield the address, and the bodies of the requests as they come.
    """
    bodies: Bodies = []
    over = threading.Event()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            bodies.append(self.rfile.read(int(self.headers.get("Content-Length") or 0)).decode())
            answer = answers[min(len(bodies), len(answers)) - 1]
            if answer == STALL:
                over.wait()
                return
            content = json.dumps({"answer": answer, "MessageId": "1"}).encode()
            self.send_response(answer if isinstance(answer, int) else 200)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_GET = do_PUT = do_POST = _answer  # noqa: N815

        def log_message(self, *_: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        listening.daemon_threads = True
        threading.Thread(target=listening.serve_forever, daemon=True).start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}", bodies
        finally:
            over.set()
            listening.shutdown()


@pytest.mark.parametrize("slow", [STALL, 503, 504])
def test_a_request_is_sent_again_if_the_first_took_too_long(slow: str | int) -> None:
    with server([slow, "here"]) as (address, bodies):
        answer = api.call("PUT", f"{address}/members?id=a", {"name": "Ada"}, TIMEOUT_S)
    assert answer["answer"] == "here"
    assert bodies == ['{"name": "Ada"}'] * 2


def test_after_three_tries_the_error_says_so() -> None:
    with server([STALL]) as (address, bodies):
        with pytest.raises(api.NoAnswerError, match=r"GET http.*/boards: 3 tries, the last one: timed out"):
            api.call("GET", f"{address}/boards", timeout_s=TIMEOUT_S)
        assert len(bodies) == 3


@pytest.mark.parametrize("status", [400, 404, 500])
def test_an_error_is_not_asked_for_again(status: int) -> None:
    with server([status]) as (address, bodies):
        with pytest.raises(api.ProblemError, match=f"GET http.*: {status} ") as raised:
            api.call("GET", address, timeout_s=TIMEOUT_S)
        assert raised.value.status == status
        assert len(bodies) == 1


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, float], None]:
    """Send an event as `make serve` does, but with a timeout that is soon over."""
    monkeypatch.setattr(serve, "_PAUSE_S", 0.0)
    settings = Config(read_timeout=TIMEOUT_S, retries={"total_max_attempts": 1})

    def send(address: str, patience_s: float) -> None:
        keys = boto3.Session("embedded", "embedded", region_name="us-east-1")
        sqs = keys.client("sqs", endpoint_url=address, config=settings)
        serve.send(sqs, f"{address}/queue", "the event", Progress(), patience_s)

    return send


def test_a_slow_queue_is_said_once_and_the_event_arrives(
    sent: Callable[[str, float], None], capsys: pytest.CaptureFixture[str]
) -> None:
    with server([STALL, STALL, "here"]) as (address, bodies):
        sent(address, 60)
    assert [json.loads(body)["MessageBody"] for body in bodies] == ["the event"] * 3
    late, arrived = capsys.readouterr().out.splitlines()
    assert "an event is late, which is posted again until it arrives: Read timeout" in late
    assert "the event arrived" in arrived


def test_a_queue_that_never_answers_ends_it_and_says_why(sent: Callable[[str, float], None]) -> None:
    with server([STALL]) as (address, _), pytest.raises(feed.StalledError, match="no event could be posted for 0 s"):
        sent(address, 0)
