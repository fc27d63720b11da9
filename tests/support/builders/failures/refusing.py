"""Sends events to the writer, which refuses some of them."""

from datetime import UTC, datetime
from typing import Any

import orjson

from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
RIGHT = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
"""


def milliseconds() -> int:
    return int(NOW.timestamp() * 1000)


def event(event_id: str, member: str = "m", points: int = 1, board: str = "b") -> dict[str, Any]:
    return {"id": event_id, "board": board, "member": member, "at": NOW.isoformat(), "metrics": {"points": points}}


def send(stack: Stack, *bodies: Any, attributes: dict[str, Any] | None = None) -> None:
    """Put messages on the queue of events."""
    for body in bodies:
        text = body if isinstance(body, str) else orjson.dumps(body).decode()
        stack.activity.messages.append({"Id": "0", "MessageBody": text, "MessageAttributes": attributes or {}})


def write(stack: Stack) -> None:
    """Deliver the whole queue to the writer."""
    assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}


def total(stack: Stack) -> dict[str, int]:
    project(stack)
    return {entry["member"]: entry["score"] for entry in stack.entries("/boards/b/points/all")}
