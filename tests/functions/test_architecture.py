"""The functions write the items and make the requests that docs/architecture.md shows, in few files (decision 24)."""

import json
import re
import sys
import threading
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import FrameType
from typing import Any, Final
from urllib.parse import parse_qsl, urlsplit

import pytest

from standings.domain.boards_toml import parse_boards
from standings.rankings.commits import one_after_another
from standings.rankings.rolling.steps import rolling_windows
from standings.rankings.rolling.storing import fold_log
from tests.support.aws.stack import ManualClock, Stack, apply, deliver, project, running
from tests.support.builders.checks import rows
from tests.support.dynamodb.requests import Requests
from tests.support.faults import faulty_client

PROJECT: Final = Path(__file__).parents[2]
TEXT: Final = (PROJECT / "docs" / "architecture.md").read_text(encoding="utf-8")
NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
EVENTS: Final = [
    {"id": "0197f2c4", "board": "berlin-2026", "member": "u123", "at": NOW.isoformat(), "metrics": {"points": 300}},
    {"id": "0197f2c5", "board": "berlin-2026", "member": "u7", "at": NOW.isoformat(), "metrics": {"points": 12}},
]
BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day"] }'
ROLLING: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["last-7-days"] }'
OPERATIONS: Final = {"get_item": "GetItem", "batch_get_item": "BatchGetItem", "query": "Query"}


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(Requests(engine), ManualClock(round(NOW.timestamp() * 1000)), BOARDS) as deployed:
        apply(deployed, EVENTS)
        deployed.put("/members", {"name": "Ádám", "country": "HU"}, id="u7")
        for _ in range(2):  # the first read fills the caches
            deployed.get("/boards/berlin-2026/points/all")
        yield deployed


@pytest.fixture
def rolling(engine: Any) -> Iterator[Stack]:
    """A board with `last-7-days`: u123 got 300 points two days ago and 12 today, u7 got 12 today."""
    first, second = EVENTS
    two_days_ago = NOW - timedelta(days=2)
    clock = ManualClock(round(two_days_ago.timestamp() * 1000))
    with running(Requests(engine), clock, ROLLING) as deployed:
        apply(deployed, [{**first, "id": "0197f2c3", "at": two_days_ago.isoformat()}])
        clock.milliseconds = round(NOW.timestamp() * 1000)
        apply(deployed, [{**first, "metrics": {"points": 12}}, second])
        for _ in range(2):  # the first read fills the caches
            deployed.get("/boards/berlin-2026/points/last-7-days")
        yield deployed


def _shown(stack: Stack, caption: str, table: str) -> int:
    """Check that the table holds every item that the page shows below a caption; return their number."""
    # Bytes are written as in DynamoDB's JSON.
    stored = [
        json.loads(json.dumps(row, default=lambda value: b64encode(bytes(value)).decode()))
        for row in rows(stack.dynamodb, table)
    ]
    (block,) = re.findall(rf"<!-- items: {caption} -->\n```json\n(.*?)```", TEXT, re.DOTALL)
    shown = [json.loads(line) for line in block.splitlines()]
    for item in shown:
        assert item in stored
    return len(shown)


@pytest.mark.parametrize(("table", "at_least"), [("Scores", 2), ("Receipts", 1), ("Rankings", 5), ("Profiles", 1)])
def test_the_items_are_real(stack: Stack, table: str, at_least: int) -> None:
    assert _shown(stack, table, table) >= at_least


def test_the_items_of_a_rolling_window_are_real(rolling: Stack) -> None:
    assert _shown(rolling, "a rolling row", "Rankings") == 1
    assert _shown(rolling, "a rolling list", "Rankings") == 6
    assert _shown(rolling, "a log", "Rankings") == 1

    _fold(rolling)

    assert _shown(rolling, "rolling nodes", "Rankings") == 4
    assert _shown(rolling, "a folded log", "Rankings") == 1


def _fold(stack: Stack) -> None:
    """Fold the log, as a projector does where it is longer."""
    family = parse_boards(ROLLING).family("berlin-2026")
    assert family is not None
    (rankings,) = rolling_windows(family, "berlin-2026")
    clock = faulty_client.Time(stack.clock()).clock()
    assert fold_log(stack.dynamodb, "Rankings", clock, one_after_another, rankings, 0) == 0


def test_the_requests_are_real(stack: Stack) -> None:
    assert _requests(stack, "requests") == 16


def test_the_requests_on_a_rolling_window_are_real(rolling: Stack) -> None:
    assert _requests(rolling, "rolling requests") == 5
    _fold(rolling)
    assert _requests(rolling, "rolling requests") == 5


def _requests(stack: Stack, caption: str) -> int:
    """Check the requests of each question that the page shows below a caption; return the number of questions."""
    (block,) = re.findall(rf"<!-- {caption} -->\n(.*?)<!-- /{caption} -->", TEXT, re.DOTALL)
    shown = re.findall(r"^\| `(GET|POST) (\S+)` \| (.*) \|$", block, re.MULTILINE)
    for method, address, listed in shown:
        stack.dynamodb.take()
        parts = urlsplit(address)
        if method == "GET":
            status, _ = stack.get(parts.path, **dict(parse_qsl(parts.query)))
        else:
            status, _ = stack.post(parts.path, {"members": ["u7", "u123"]})
        assert status == 200
        made = {f"{OPERATIONS[name]} {table}": count for (name, table), count in stack.dynamodb.take().items()}
        named = re.findall(r"(?:(\d+) × )?`([^`]+)`", listed)
        assert made == Counter(request for count, request in named for _ in range(int(count or 1))), address
    return len(shown)


def files_of(do: Callable[[], object]) -> int:
    """How many files of the layer and the functions have a function that ran in a call."""
    seen: set[str] = set()

    def note(frame: FrameType, kind: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if kind == "call" and path.startswith((f"{PROJECT}/layers/", f"{PROJECT}/functions/")):
            seen.add(path)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        do()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return len(seen)


@pytest.mark.parametrize(
    ("boards", "window", "of_event", "of_record", "of_read"),
    # A read passes the module of coverage, which stood in another module once: 14 files, no longer 13.
    [(BOARDS, "all", 12, 16, 14), (ROLLING.replace('["last', '["all", "last'), "last-7-days", 12, 18, 16)],
)
def test_one_thing_is_followed_through_few_files(
    engine: Any, clock: ManualClock, boards: str, window: str, of_event: int, of_record: int, of_read: int
) -> None:
    path = f"/boards/berlin-2026/points/{window}"
    with running(engine, clock, boards) as stack:
        assert files_of(lambda: deliver(stack, EVENTS[:1])) <= of_event
        assert files_of(lambda: project(stack)) <= of_record
        assert files_of(lambda: stack.get(f"{path}/rank", member="u123")) <= of_read
        assert files_of(lambda: stack.get(path)) <= of_read
        assert stack.get(path)[1]["total"] == 1
