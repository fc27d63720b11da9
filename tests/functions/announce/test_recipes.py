"""The recipes for announcements: what the functions send."""

import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType
from typing import Any, ClassVar

import pytest

EXAMPLES = Path(__file__).parents[3] / "examples"
DETAIL = {
    "id": "0f",
    "stack": "standings",
    "board": "race_1.2026",
    "seq": 7,
    "entered": [{"rank": 1, "member": "dan", "score": 9}],
    "left": [{"was": 3, "member": "cem"}],
    "moved": [{"rank": 2, "was": 1, "member": "ann"}, {"rank": 3, "was": 2, "member": "ben"}],
    "top": [
        {"rank": 1, "member": "dan", "score": 9},
        {"rank": 2, "member": "ann", "score": 5},
        {"rank": 3, "member": "ben", "score": 4},
    ],
}


class Received(BaseHTTPRequestHandler):
    """Keeps what is posted."""

    requests: ClassVar[list[tuple[dict[str, str], Any]]] = []
    answer: ClassVar[dict[str, Any]] = {}

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.requests.append(({name.lower(): value for name, value in self.headers.items()}, body))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(self.answer).encode())

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@pytest.fixture
def address(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    Received.requests, Received.answer = [], {}
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with HTTPServer(("127.0.0.1", 0), Received) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}/event"
        server.shutdown()
        thread.join()


def function(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(f"example_{name}", EXAMPLES / name / "function" / "app.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_chat_hears_who_leads_and_who_was_overtaken(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_WEBHOOK", address)
    told = function("tell_chat")
    told.handler({"detail": DETAIL}, None)
    ((_, body),) = Received.requests
    assert body["text"].splitlines() == [
        "dan leads race_1.2026 with 9",
        "ann was overtaken: rank 2 after 1",
        "ben was overtaken: rank 3 after 2",
        "cem left the top: rank 3 before",
    ]

    nobody = {**DETAIL, "entered": [], "left": [], "moved": []}
    told.handler({"detail": nobody}, None)
    assert len(Received.requests) == 1


def test_browsers_get_the_event_in_the_channel_of_its_board(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {
        "PUBLISH_URL": address,
        "AWS_DEFAULT_REGION": "us-east-1",
        "AWS_ACCESS_KEY_ID": "any",
        "AWS_SECRET_ACCESS_KEY": "any",
    }.items():
        monkeypatch.setenv(name, value)
    publishing = function("browsers")
    publishing.handler({"detail": DETAIL}, None)
    ((headers, body),) = Received.requests
    assert body["channel"] == "/tops/race-1-2026"
    assert [json.loads(one) for one in body["events"]] == [DETAIL]
    assert "/us-east-1/appsync/aws4_request" in headers["authorization"]

    Received.answer = {"failed": [{"index": 0}]}
    with pytest.raises(RuntimeError, match="refused"):
        publishing.handler({"detail": DETAIL}, None)
