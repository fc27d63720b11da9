"""The functions on one engine, for schedules that take each step by hand."""

import json
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from itertools import count
from typing import Any, Final
from unittest import mock

from standings.domain.windows import DAY, parse_window
from standings.rankings.commits import Outcome
from standings.wiring import rankings
from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.faults.faulty_client import Faulty, error

NOW: Final = 1_795_256_100_000
"""2026-11-21T10:15:00Z."""
POINTS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day"] }\n'
BEST: Final = '[boards."*"]\nmetrics.points = { aggregate = "max", windows = ["all"] }\n'
TIED: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"], tie_breaks = ["penalty", "best"] }
metrics.penalty = { aggregate = "sum", order = "ascending" }
metrics.best = { aggregate = "max" }
"""
LIFTS: Final = """
[boards."*"]
metrics.points = { aggregate = "max", windows = ["all"], tie_breaks = ["weight"] }
metrics.weight = { with = "points", order = "ascending" }
"""
LATE: Final = POINTS.replace("\n", '\nlate = "1 day"\nkeep = "1 day"\n', 1)
WINDOW: Final = "last-3-days"
ROLLING_POINTS: Final = LATE.replace('"all", "day"', f'"{WINDOW}"')
NOT_LATE: Final = ROLLING_POINTS.replace('late = "1 day"', 'late = "0 days"')
NEXT_SLAB: Final = parse_window(WINDOW).slab_of(NOW // DAY).stop * DAY
"""The beginning of the next slab, in milliseconds."""


def day(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).date().isoformat()


class DiedError(Exception):
    """A process has died."""


def to_the_end(jobs: Sequence[Callable[[], Outcome]]) -> list[Outcome]:
    """Run jobs one after the other. If one dies, the others are as far as they would be in threads of their own."""
    outcomes: list[Outcome] = []
    died: list[DiedError] = []
    for job in jobs:
        try:
            outcomes.append(job())
        except DiedError as error:
            died.append(error)
    if died:
        raise died[0]
    return outcomes


class Rig:
    """The functions on one engine. Each step is a call; time passes only when something waits."""

    def __init__(self, stacks: ExitStack) -> None:
        self.stacks = stacks
        self.clock = ManualClock(NOW)
        self.engine: Any = Engine(clock=self.clock.monotonic)
        create_tables(self.engine)
        self.client = Faulty(self.engine)
        self._numbers = count()
        self._taken = 0
        self.stacks.enter_context(mock.patch("time.monotonic", self.clock.monotonic))
        self.stacks.enter_context(mock.patch("time.sleep", self.clock.sleep))
        self.stacks.enter_context(mock.patch.object(rankings, "run_parallel", return_value=to_the_end))

    def functions(self, boards: str = POINTS, client: Any = None, clock: ManualClock | None = None) -> Stack:
        return self.stacks.enter_context(running(client or self.client, clock or self.clock, boards))

    def send(self, stack: Stack, member: str, points: int, **more: Any) -> None:
        """Send an event through the writer.

        `more` may hold `others`, numbers of other metrics, the event's `id`, its `board`, its time `at`, the time
        `sent` of its message, and the time `received` at which that was first received, all in milliseconds. With
        `sets`, the points are the new total, or best.
        """
        number = next(self._numbers)
        at = more.get("at", stack.clock())
        event: dict[str, Any] = {"id": more.get("id", f"e{number}"), "board": more.get("board", "b"), "member": member}
        event["metrics"] = {"points": points, **more.get("others", {})}
        attributes = {}
        event |= {"set": True} if "sets" in more else {}
        if "received" in more:
            attributes["first_received"] = {"dataType": "String", "stringValue": str(more["received"])}
        body = json.dumps({**event, "at": f"2026-11-{21 + (at - NOW) // DAY:02}T10:00:00Z"})
        sent = {"SentTimestamp": str(more.get("sent", stack.clock()))}
        record = {"messageId": str(number), "body": body, "attributes": sent, "messageAttributes": attributes}
        assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}

    def count(self, stack: Stack, member: str, points: int, *, by: Stack | None = None, **more: Any) -> None:
        """Send an event through the writer, and project what is new by the same functions or others."""
        self.send(stack, member, points, **more)
        self.project(by or stack, *self.records())

    def spread(self, boards: str = POINTS) -> None:
        """Count twenty members by functions with the same boards but nine shards."""
        stack = self.functions(boards.replace("\n", "\nshards = 9\n", 1))
        for number in range(20):
            self.send(stack, f"m{number}", number)
        self.project(stack, *self.records())

    def hide(self, stack: Stack, member: str, *, hidden: bool = True) -> None:
        stack.put("/boards/b/member", {"hidden": hidden}, id=member)

    def once(self, do: Callable[[], Any], *words: str) -> None:
        """Do something before the first request that has all these words in its operation's name or its arguments."""

        def hook(operation: str, request: dict[str, Any]) -> None:
            if all(word in f"{operation} {request}" for word in words):
                self.engine.before.remove(hook)
                do()

        self.engine.before.append(hook)

    def records(self) -> list[Any]:
        (shard,) = self.engine.stream("Scores")
        new, self._taken = shard[self._taken :], len(shard)
        return [record for record in new if not record["dynamodb"]["Keys"]["pk"]["S"].startswith("#")]

    def project(self, stack: Stack, *records: Any, down: bool = False) -> None:
        """Run a batch through the projector until it is done. With `down` the store is down during the first try."""
        left = list(records)
        while left:
            self.client.steps.extend([error("ThrottlingException")] * 1000 * down)
            failed = stack.projector({"Records": left}, Context())["batchItemFailures"]
            self.client.steps.clear()
            down = False
            if not failed:
                return
            numbers = [record["dynamodb"]["SequenceNumber"] for record in left]
            left = left[min(numbers.index(failure["itemIdentifier"]) for failure in failed) :]

    def project_halfway(self, stack: Stack, *records: Any) -> None:
        """Run a batch in a process that dies at its first transactions."""

        def dies(_: Faulty, __: dict[str, Any]) -> Any:
            raise DiedError

        self.client.steps.extend([dies] * 100)
        with suppress(DiedError):
            stack.projector({"Records": records}, Context())
        assert len(self.client.steps) < 100
        self.client.steps.clear()

    def park(self, stack: Stack, record: Any) -> None:
        body = json.dumps({"reason": "by hand", "record": record}).encode()
        stack.bucket.put_object("failures", "parked/2026-11-21/1.json", body, "application/json")

    def replay(self, stack: Stack) -> None:
        assert stack.maintenance({"parked": {"replay": {}}}, Context())["done"]

    def rebuild(self, stack: Stack, until: str = "", task: str = "rebuild") -> None:
        """Begin or continue a rebuild or a deletion of the board, up to a phase or to its end."""
        record = self.engine.get_item(TableName="Scores", Key={"pk": {"S": "#boards"}, "sk": {"S": "b"}})["Item"]
        begin = json.loads(record["d"]["S"])["job"] is None
        while True:
            answer = stack.maintenance({task: {"board": "b", "begin": begin}}, Context())
            begin = False
            if answer["done"] or answer["phase"] == until:
                return
            self.clock.milliseconds += round(answer["wait"] * 1000)

    def ranks(self, stack: Stack) -> list[tuple[int, str]]:
        """The ranks and members of the list of `all`, where each member's own rank must be the same."""
        listed = [(entry["rank"], entry["member"]) for entry in stack.entries("/boards/b/points/all")]
        alone = [(stack.get("/boards/b/points/all/rank", member=name)[1]["rank"], name) for _, name in listed]
        assert alone == listed
        return listed

    def scores(self, stack: Stack, window: str = "all", period: str | None = None) -> dict[str, int]:
        """The scores of a list, which must be as many as its tiers count: a page trusts the list where they differ."""
        path = f"/boards/b/points/{window}"
        listed = {entry["member"]: entry["score"] for entry in stack.entries(path, period=period)}
        _, answer = stack.get(f"{path}/distribution", period=period)
        assert sum(bucket["members"] for bucket in answer["buckets"]) == len(listed)
        return listed


def on_a_rig(schedule: Callable[[Rig], None]) -> None:
    """Run a schedule."""
    with ExitStack() as stacks:
        schedule(Rig(stacks))


HIDE: Final = None
"""Stands for hiding the member, among the points of its events."""


def delivering(
    name: str,
    changes: Sequence[int | None],
    steps: Sequence[tuple[Any, ...]],
    expected: dict[str, int],
    boards: str = POINTS,
    window: str = "all",
) -> Callable[[Rig], None]:
    """Return a schedule of one member's changes, of steps with some of their records, and of its scores after them.

    A step is a method of the rig, such as `Rig.project`, and the numbers of the records that it gets.
    """

    def schedule(pipeline: Rig) -> None:
        stack = pipeline.functions(boards)
        for points in changes:
            pipeline.hide(stack, "a") if points is HIDE else pipeline.send(stack, "a", points)
        records = pipeline.records()
        for step, *numbers in steps:
            step(pipeline, stack, *(records[number] for number in numbers))
        assert pipeline.scores(stack, window) == expected

    schedule.__name__ = name
    return schedule
