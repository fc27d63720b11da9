"""Calls the maintenance function as a command does, until a task is done; parks records as projector and Lambda do."""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from botocore.exceptions import ClientError

from standings.runtime.clock import Clock
from standings.wiring.building_blocks import REPORTING_RESERVE
from tests.support.aws.stack import ManualClock, Stack
from tests.support.aws.stack import write as write_events
from tests.support.awslambda.context import Context
from tests.support.awslambda.failure_records import OUT_OF_TRIES, failure_key, failure_record


def soon(clock: ManualClock, seconds: float = 60.0) -> float:
    """A deadline on the test's clock."""
    return clock.monotonic() + seconds


def clock_of(clock: ManualClock) -> Clock:
    """A `Clock` on the test's clock: nothing really waits."""
    return Clock(clock, clock.monotonic, clock.sleep, random.Random(1).random)


_COUNTED: list[list[str]] = []
"""The requests of the calls that are at work, the innermost last."""


@contextmanager
def apart() -> Iterator[list[str]]:
    """Let requests not count as those of the call around them."""
    requests: list[str] = []
    _COUNTED.append(requests)
    try:
        yield requests
    finally:
        _COUNTED.pop()


def call(stack: Stack, *task: str, seconds: float = 800.0, **arguments: Any) -> dict[str, Any]:
    """Call a task once, such as `("parked", "list")`. It has so many seconds by the stack's clock to do its work.

    On the engine, more requests than `most_requests` fail.
    """
    event: dict[str, Any] = arguments
    for name in reversed(task):
        event = {name: event}
    hooks = getattr(stack.dynamodb, "before", None)
    hooks = hooks if isinstance(hooks, list) else []  # Other clients count nothing
    with apart() as requests:

        def count(name: str, _: Mapping[str, Any]) -> None:
            if _COUNTED[-1] is requests:
                requests.append(name)

        hooks.append(count)
        try:
            answer = stack.maintenance(event, Context(seconds=seconds + REPORTING_RESERVE, clock=stack.clock.monotonic))
        finally:
            hooks.remove(count)
    most = most_requests(task[0], answer)
    assert len(requests) <= most, f"{task} made {len(requests)} requests, of at most {most}: {answer}"
    return answer


def most_requests(task: str, answer: Mapping[str, Any]) -> int:
    """The most requests to DynamoDB that a call may make, by what it says that it did.

    A rebuild and a deletion look at each period that there may be. An audit reads each list of each shard of a ranking,
    and what differs again.
    """
    if task in ("rebuild", "delete"):
        return 2_500 + 10 * int(answer.get("members", 0))
    if task == "parked":
        return 60 + 40 * sum(int(answer.get(name, 0)) for name in ("placed", "removed", "left"))
    if task in ("audit", "audits"):
        reports = answer.get("boards", [])
        looked_at = sum((Counter(report["looked_at"]) for report in reports), Counter[str]())
        found = sum(sum(report["found"].values()) for report in reports)
        return 200 + 60 * looked_at["rankings"] + 4 * looked_at.total() + 20 * found
    if task == "erase":
        return 30 + 10 * (int(answer["looked_at"]) + len(answer["boards"]))
    return 500


def calls(stack: Stack, *task: str, seconds: float = 800.0, **arguments: Any) -> Iterator[dict[str, Any]]:
    """Call a task until it is done, and yield each answer. Where a job waits, the clock goes on."""
    for _ in range(5_000):
        answer = call(stack, *task, seconds=seconds, **arguments)
        yield answer
        if answer["done"]:
            return
        stack.clock.milliseconds += round(answer.get("wait", 0) * 1000)
        arguments |= {"begin": False} if "phase" in answer else {"cursor": answer["cursor"]}
    raise AssertionError(answer)


def finish(stack: Stack, *task: str, **arguments: Any) -> dict[str, Any]:
    """Call a task until it is done, and return the last answer."""
    return [*calls(stack, *task, **arguments)][-1]


@contextmanager
def before(engine: Any, do: Callable[[], Any], *words: str) -> Iterator[None]:
    """Do something before each request that has all these words in its operation's name or its arguments.

    What it requests itself does not count.
    """
    is_at_it = False

    def hook(operation: str, request: dict[str, Any]) -> None:
        nonlocal is_at_it
        if not is_at_it and all(word in f"{operation} {request}" for word in words):
            is_at_it = True
            try:
                with apart():
                    do()
            finally:
                is_at_it = False

    engine.before.append(hook)
    yield
    engine.before.remove(hook)


def throttle() -> None:
    """Refuse a request, as DynamoDB does that has too much to do."""
    raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "slow down"}}, "as a test says")


def write(stack: Stack, event_id: str, member: str, points: int, board: str = "b") -> None:
    at = datetime.fromtimestamp(stack.clock() / 1000, UTC).isoformat()
    write_events(stack, [{"id": event_id, "board": board, "member": member, "at": at, "metrics": {"points": points}}])


def unprojected(stack: Stack) -> list[Any]:
    """Take the records that are not projected yet off the stream."""
    (shard,) = stack.dynamodb.stream("Scores")
    found = [json.loads(json.dumps(record)) for record in shard[stack.projected.get(0, 0) :]]
    stack.projected[0] = len(shard)
    return [record for record in found if record["dynamodb"]["Keys"]["pk"]["S"] != "#boards"]


def park(stack: Stack, *records: Any) -> list[str]:
    """Park records as the projector does; returns the keys of their objects."""
    keys = []
    for record in records:
        keys.append(f"parked/2026-11-21/{record['dynamodb']['SequenceNumber']}.json")
        body = json.dumps({"reason": "as a test says", "record": record}).encode()
        stack.bucket.put_object("failures", keys[-1], body, "application/json")
    return keys


def give_up(stack: Stack, records: list[Any], *, as_text: bool = True) -> None:
    """Keep a batch as Lambda does when it gives up."""
    at = stack.clock() / 1000
    document = json.loads(failure_record(records, OUT_OF_TRIES, at, "shardId-1", tries=101))
    if not as_text:
        document["payload"] = json.loads(document["payload"])
    key = failure_key("shardId-1", at, records[0]["dynamodb"]["SequenceNumber"])
    stack.bucket.put_object("failures", key, json.dumps(document).encode(), "application/json")
