"""The recipes for announcements: what the functions send."""

import io
import json
from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from types import SimpleNamespace
from typing import Any

import pytest

URL = "https://example.com/event"
EXAMPLES = Path(__file__).parents[3] / "examples"
TOP = [{"rank": rank, "member": member, "score": score} for rank, member, score in ((1, "dan", 9), (2, "ann", 5))]
DETAIL = {
    "id": "0f",
    "stack": "standings",
    "board": "race_1.2026",
    "seq": 7,
    "entered": TOP[:1],
    "top": TOP,
    "left": [{"was": 3, "member": "cem"}],
    "moved": [{"rank": 2, "was": 1, "member": "ann"}, {"rank": 3, "was": 2, "member": "ben"}],
}


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Keeps what is posted, and answers."""
    kept = SimpleNamespace(posted=[], answer={})

    def urlopen(request: Any, timeout: float) -> io.BytesIO:
        assert (request.get_method(), timeout) == ("POST", 10)
        headers = {name.lower(): value for name, value in request.header_items()}
        kept.posted.append((request.full_url, headers, json.loads(request.data)))
        return io.BytesIO(json.dumps(kept.answer).encode())

    monkeypatch.setattr("urllib.request.urlopen", urlopen)
    return kept


def handler(name: str) -> Callable[[dict[str, Any], None], None]:
    """The function of an example, as its file defines it now."""
    function: Callable[[dict[str, Any], None], None] = run_path(str(EXAMPLES / name / "function" / "app.py"))["handler"]
    return function


def test_a_chat_hears_who_leads_and_who_was_overtaken(web: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CHAT_WEBHOOK", URL)
    told = handler("tell_chat")
    told({"detail": DETAIL}, None)
    ((url, headers, body),) = web.posted
    assert (url, headers["content-type"]) == (URL, "application/json")
    assert body["text"].splitlines() == [
        "dan leads race_1.2026 with 9",
        "ann was overtaken: rank 2 after 1",
        "ben was overtaken: rank 3 after 2",
        "cem left the top: rank 3 before",
    ]

    nobody = {**DETAIL, "entered": [], "left": [], "moved": []}
    told({"detail": nobody}, None)
    assert len(web.posted) == 1


def test_browsers_get_the_event_in_the_channel_of_its_board(web: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    keys = dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "any")
    for name, value in {**keys, "PUBLISH_URL": URL, "AWS_DEFAULT_REGION": "us-east-1"}.items():
        monkeypatch.setenv(name, value)
    publish = handler("browsers")
    publish({"detail": DETAIL}, None)
    ((url, headers, body),) = web.posted
    assert url == URL
    assert body["channel"] == "/tops/race-1-2026"
    assert [json.loads(one) for one in body["events"]] == [DETAIL]
    assert "/us-east-1/appsync/aws4_request" in headers["authorization"]

    web.answer = {"failed": [{"index": 0}]}
    with pytest.raises(RuntimeError, match="refused"):
        publish({"detail": DETAIL}, None)
