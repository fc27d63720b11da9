"""Posts events to a stack, and counts those that are on its queue."""

from datetime import UTC, datetime
from typing import Any

from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", precision = 3, windows = ["all", "day"] }
"""
ALL = "/boards/b/points/all"
EVENT = {"id": "1", "board": "b", "member": "m", "at": "2026-11-21T10:00:00Z", "metrics": {"points": 3}}


def results(stack: Stack, body: Any) -> list[dict[str, Any]]:
    status, answer = stack.post("/events", body)
    assert status == 202, answer
    found: list[dict[str, Any]] = answer["results"]
    assert all(set(result) == {"id", "status", "detail"} for result in found)
    return found


def count_them(stack: Stack) -> list[dict[str, Any]]:
    assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}
    project(stack)
    return stack.entries(ALL)


def raw(number: int, part: str = '"metrics":{"points":1}', member: str = "m") -> str:
    return f'{{"id":"{number}","board":"b","member":"{member}",{part}}}'
