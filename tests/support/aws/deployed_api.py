"""Requests to the API of a deployed stack, past any proxy, and events that it counts."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

from demo import feed
from demo.embedded.stack import Deployment


def answer_of(deployment: Deployment, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
    """Send a request with JSON. Return the status and the JSON (None: no content)."""
    data = None if body is None else json.dumps(body).encode()
    sent = {"Content-Type": "application/json", **headers}
    request = urllib.request.Request(deployment.api_url + path, data, sent, method=method)  # noqa: S310 - loopback
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        answer = opener.open(request, timeout=30)
    except urllib.error.HTTPError as error:
        answer = error
    with answer:
        content = answer.read()
        return answer.status, json.loads(content) if content else None


def event(board: str, member: str, points: int = 1, **more: Any) -> str:
    """A message with an event of now, but for what `more` says."""
    said = {"id": uuid4().hex, "at": datetime.now(UTC).isoformat(), "metrics": {"points": points}}
    return json.dumps({"board": board, "member": member, **said, **more})


def count(deployment: Deployment, messages: Sequence[str] = ()) -> None:
    """Post messages, and wait until the rankings contain them and all that was posted before."""
    feed.post(deployment, messages, lambda *_: None)
    feed.drain(deployment, lambda _: None)
    feed.settle(deployment)


def scores_of(deployment: Deployment, board: str, metric: str = "points") -> Mapping[str, int]:
    """The scores of a board's first members by their names, in their order."""
    entries = answer_of(deployment, "GET", f"/boards/{board}/{metric}/all")[1]["entries"]
    return {entry["member"]: entry["score"] for entry in entries}


def invoked(deployment: Deployment, function: str, said: dict[str, Any]) -> Any:
    """The answer of a function."""
    answer = deployment.client("lambda").invoke(FunctionName=function, Payload=json.dumps(said).encode())
    content = json.loads(answer["Payload"].read())
    assert "FunctionError" not in answer, content
    return content


def maintained(deployment: Deployment, task: dict[str, Any]) -> Any:
    return invoked(deployment, deployment.outputs["MaintenanceFunctionName"], task)


def until(what: Callable[[], Any]) -> None:
    """Wait a minute and a half, at most, until something is true."""
    end = time.monotonic() + 90
    while not (answer := what()):
        assert time.monotonic() < end, answer
        time.sleep(0.5)
