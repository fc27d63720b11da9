"""The functions write the items and make the requests that docs/architecture.md shows."""

import json
import re
from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.checks import rows
from tests.support.builders.stages.streaming import apply

TEXT: Final = (Path(__file__).parents[2] / "docs" / "architecture.md").read_text(encoding="utf-8")
NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
EVENTS: Final = [
    {"id": "0197f2c4", "board": "berlin-2026", "member": "u123", "at": NOW.isoformat(), "metrics": {"points": 300}},
    {"id": "0197f2c5", "board": "berlin-2026", "member": "u7", "at": NOW.isoformat(), "metrics": {"points": 12}},
]
BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day"] }'
OPERATIONS: Final = {"get_item": "GetItem", "batch_get_item": "BatchGetItem", "query": "Query"}


class Recorder:
    """Records the reads of a client."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.requests: list[str] = []

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._client, name)
        if name not in OPERATIONS:
            return method

        def recorded(**request: Any) -> Any:
            tables = [request.get("IndexName") or request.get("TableName") or next(iter(request["RequestItems"]))]
            self.requests.append(f"{OPERATIONS[name]} {tables[0]}")
            return method(**request)

        return recorded


@pytest.fixture
def recorder(engine: Any) -> Recorder:
    return Recorder(engine)


@pytest.fixture
def stack(recorder: Recorder) -> Iterator[Stack]:
    with running(recorder, ManualClock(round(NOW.timestamp() * 1000)), BOARDS) as deployed:
        apply(deployed, EVENTS)
        for _ in range(2):  # the first read fills the caches
            deployed.get("/boards/berlin-2026/points/all")
        yield deployed


@pytest.mark.parametrize(("table", "at_least"), [("Scores", 2), ("Receipts", 1), ("Rankings", 5)])
def test_the_items_are_real(stack: Stack, table: str, at_least: int) -> None:
    stored = [json.loads(json.dumps(row, default=_encoded)) for row in rows(stack.dynamodb, table)]
    (block,) = re.findall(rf"<!-- items: {table} -->\n```json\n(.*?)```", TEXT, re.DOTALL)
    shown = [json.loads(line) for line in block.splitlines()]
    assert len(shown) >= at_least
    for item in shown:
        assert item in stored


def _encoded(value: Any) -> str:
    """Encode bytes as DynamoDB's JSON does."""
    return b64encode(bytes(value)).decode()


def test_the_requests_are_real(stack: Stack, recorder: Recorder) -> None:
    (block,) = re.findall(r"<!-- requests -->\n(.*?)<!-- /requests -->", TEXT, re.DOTALL)
    shown = re.findall(r"^\| `(GET|POST) (\S+)` \| (.*) \|$", block, re.MULTILINE)
    assert len(shown) == 11
    for method, address, requests in shown:
        recorder.requests.clear()
        parts = urlsplit(address)
        if method == "GET":
            status, _ = stack.get(parts.path, **dict(parse_qsl(parts.query)))
        else:
            status, _ = stack.post(parts.path, {"members": ["u7", "u123"]})
        assert status == 200
        # Parallel requests come in any order.
        assert sorted(recorder.requests) == sorted(re.findall(r"`([^`]+)`", requests)), address
