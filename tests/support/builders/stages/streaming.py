"""Events through the functions in order, each once and at once: for tests that are about something else."""

from collections.abc import Sequence
from typing import Any

import orjson

from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context

BATCH = 100


def event(member: str, points: Any) -> dict[str, Any]:
    """An event of a member of the board `b`, once for each amount."""
    return {
        "id": f"{member}-{points}",
        "board": "b",
        "member": member,
        "at": "2026-11-21T10:00:00Z",
        "metrics": {"points": points},
    }


def deliver(stack: Stack, events: Sequence[dict[str, Any]]) -> None:
    """Give events to the writer. It may refuse some, but no message may come back."""
    for start in range(0, len(events), BATCH):
        records = [
            {"messageId": str(number), "body": orjson.dumps(event).decode(), "messageAttributes": {}}
            for number, event in enumerate(events[start : start + BATCH])
        ]
        assert stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}


def write(stack: Stack, events: Sequence[dict[str, Any]]) -> None:
    """Write events; every one must be accepted."""
    deliver(stack, events)
    assert stack.dead_letters.reasons() == []


def apply(stack: Stack, events: Sequence[dict[str, Any]]) -> None:
    """Write and project events; every one must be accepted."""
    write(stack, events)
    project(stack)


def project(stack: Stack) -> None:
    """Project what the engine's stream has that was not projected yet."""
    for number, shard in enumerate(stack.dynamodb.stream("Scores")):
        done = stack.projected.get(number, 0)
        for start in range(done, len(shard), BATCH):
            batch = shard[start : start + BATCH]
            assert stack.projector({"Records": batch}, Context()) == {"batchItemFailures": []}
        stack.projected[number] = len(shard)


def announce(stack: Stack) -> list[dict[str, Any]]:
    """Let the announcer look until nothing is left to look at. Returns what it announced."""
    before = len(stack.bus.events)
    while stack.looks.messages:
        stack.clock.milliseconds = max(stack.clock(), min(at for at, _ in stack.looks.messages))
        assert stack.announcer({"Records": stack.looks.take()}, Context()) == {"batchItemFailures": []}
    return stack.bus.events[before:]
