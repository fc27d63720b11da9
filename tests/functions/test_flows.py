"""One thing is followed through few files (docs/decisions/0024)."""

import sys
import threading
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final

import orjson
import pytest

from tests.support.aws.stack import ManualClock, project, running
from tests.support.awslambda.pollers import Context
from tests.support.dynamodb.tables import engine_with_tables

PROJECT: Final = Path(__file__).parents[2]
BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = WINDOWS }\n'
PLACES: Final = (f"{PROJECT}/layers/", f"{PROJECT}/functions/")


def files_of(do: Callable[[], object]) -> int:
    """How many of our files have a function that ran in a call."""
    seen: set[str] = set()

    def note(frame: FrameType, kind: str, _: Any) -> None:
        path = frame.f_code.co_filename
        if kind == "call" and path.startswith(PLACES):
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
    ("window", "of_event", "of_record", "of_read"), [("all", 12, 16, 13), ("last-7-days", 12, 21, 17)]
)
def test_one_thing_is_followed_through_few_files(window: str, of_event: int, of_record: int, of_read: int) -> None:
    engine = engine_with_tables()
    event = {"id": "1", "board": "b", "member": "m", "at": "2026-11-21T10:00:00Z", "metrics": {"points": 3}}
    batch = {"Records": [{"messageId": "1", "body": orjson.dumps(event).decode(), "messageAttributes": {}}]}
    path = f"/boards/b/points/{window}"
    clock = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))
    with running(engine, clock, BOARDS.replace("WINDOWS", orjson.dumps(sorted({"all", window})).decode())) as stack:
        assert files_of(lambda: stack.writer(batch, Context())) <= of_event
        assert files_of(lambda: project(stack)) <= of_record
        assert files_of(lambda: stack.get(f"{path}/rank", member="m")) <= of_read
        assert files_of(lambda: stack.get(path)) <= of_read
        assert stack.get(path)[1]["total"] == 1
