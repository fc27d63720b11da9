"""A request that takes too long is tried again, and does not end `make demo` or `make serve`."""

import json
from collections.abc import Callable
from typing import Final

import boto3
import pytest
from botocore.config import Config

from demo import api, feed, serve
from demo.progress import Progress
from tests.support.cli.signing import answering

TIMEOUT_S: Final = 0.3
STALL: Final = (2, "")
HERE: Final = (200, '{"answer": "here", "MessageId": "1"}')


@pytest.mark.parametrize("slow", [STALL, (503, ""), (504, "")])
def test_a_request_is_sent_again_if_the_first_took_too_long(slow: tuple[int, str]) -> None:
    with answering(slow, HERE) as server:
        answer = api.call("PUT", f"{server.address}/members?id=a", {"name": "Ada"}, TIMEOUT_S)
    assert answer["answer"] == "here"
    assert server.bodies == [b'{"name": "Ada"}'] * 2


def test_after_three_tries_the_error_says_so() -> None:
    with answering(STALL) as server:
        with pytest.raises(api.NoAnswerError, match=r"GET http.*/boards: 3 tries, the last one: timed out"):
            api.call("GET", f"{server.address}/boards", timeout_s=TIMEOUT_S)
        assert len(server.requests) == 3


@pytest.mark.parametrize("status", [400, 404, 500])
def test_an_error_is_not_asked_for_again(status: int) -> None:
    with answering((status, "")) as server:
        with pytest.raises(api.ProblemError, match=f"GET http.*: {status} ") as raised:
            api.call("GET", server.address, timeout_s=TIMEOUT_S)
        assert raised.value.status == status
        assert len(server.requests) == 1


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
    with answering(STALL, STALL, HERE) as server:
        sent(server.address, 60)
    assert [json.loads(body)["MessageBody"] for body in server.bodies] == ["the event"] * 3
    late, arrived = capsys.readouterr().out.splitlines()
    assert "an event is late, which is posted again until it arrives: Read timeout" in late
    assert "the event arrived" in arrived


def test_a_queue_that_never_answers_ends_it_and_says_why(sent: Callable[[str, float], None]) -> None:
    with answering(STALL) as server, pytest.raises(feed.StalledError, match="no event could be posted for 0 s"):
        sent(server.address, 0)
