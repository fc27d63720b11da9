"""Announcements under faults: calls fail and die, two functions run at once, messages come twice, the index lags."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from typing import Any, Final
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from standings.wiring.building_blocks import REPORTING_RESERVE
from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.awslambda.pollers import Context, Killed
from tests.support.builders.checks import rows
from tests.support.builders.maintenance import finish, write
from tests.support.dynamodb.tables import engine_with_tables
from tests.support.thoroughness import assert_all_met, seeds, thorough_seeds

MEMBERS: Final = [f"m{number}" for number in range(12)]
READS: Final = ("query", "get_item", "batch_get_item")  # They may see an old state
STATES: Final = 6  # The index shows one of so many last states
TROUBLED: Final = {*READS, "transact_get_items", "transact_write_items", "put_item"}
FULL: Final = 10  # Messages that one call of the announcer gets at most
SEEDS: Final = (15, 400)
TRAPS: Final = [
    "a top of more than five",
    "rebuild beside announcements of a day",
    "delete beside announcements of a day",
]
PATIENCE: Final = 1_000  # Calls after which everything that waits must be done


def _state(items: list[dict[str, Any]]) -> Any:
    """An engine that has the items of Rankings at an instant. Many reads may see one state, and reads alone do."""
    engine = engine_with_tables()
    for item in items:
        engine.put_item(TableName="Rankings", Item=item)
    return engine


class Trouble:
    """DynamoDB, where by `chance` a call fails or dies, or a function runs beside it, and reads may see old states.

    So do calls of the queue and the bus.
    """

    def __init__(self, engine: Any, rng: random.Random) -> None:
        self.engine, self.rng = engine, rng
        self.chance = 0.0
        self.beside: Callable[[], None] = lambda: None
        self._states: list[Callable[[], Any]] = []
        self._is_beside = False

    def __getattr__(self, name: str) -> Any:
        if name not in TROUBLED:
            return getattr(self.engine, name)
        return self.troubled(name, lambda **request: getattr(self._seen(name, request), name)(**request))

    def troubled(self, name: str, method: Callable[..., Any]) -> Callable[..., Any]:
        """A method of a client, with trouble before and after it."""

        def call(*args: Any, **request: Any) -> Any:
            self._perhaps(name)
            answer = method(*args, **request)
            self._perhaps(name)
            return answer

        return call

    def _seen(self, name: str, request: dict[str, Any]) -> Any:
        """What a call sees: an eventually consistent read may see an old state of Rankings."""
        if not self.chance:
            return self.engine
        if "write" in name or "put" in name:
            now: Callable[[], Any] = cache(partial(_state, rows(self.engine, "Rankings")))
            self._states = [*self._states, now][-STATES:]
        if "get" in name and ("'ConsistentRead': True" in str(request) or "'Rankings'" not in str(request)):
            return self.engine
        if name not in READS or request.get("TableName", "Rankings") != "Rankings":
            return self.engine
        state: Callable[[], Any] = self.rng.choice([*self._states, lambda: self.engine])
        return state()

    def _perhaps(self, name: str) -> None:
        if self._is_beside or self.rng.random() >= self.chance:
            return
        what = self.rng.randrange(5)
        if what == 0:
            raise Killed(name)
        if what == 1:
            raise ClientError({"Error": {"Code": "InternalServerError", "Message": "failed by the test"}}, name)
        with self.untroubled():
            self.beside()

    @contextmanager
    def untroubled(self) -> Iterator[None]:
        """Let calls do what they do."""
        before, self._is_beside = self._is_beside, True
        try:
            yield
        finally:
            self._is_beside = before


class Announced:
    """The board `b`, whose top is announced, with its writer, projector and announcer."""

    def __init__(self, stack: Stack, trouble: Trouble, top: int, window: str) -> None:
        self.stack, self.trouble, self.rng, self.top, self.window = stack, trouble, trouble.rng, top, window
        self.met: set[str] = set()
        self._events = 0
        trouble.beside = self._beside
        stack.looks.send_message_batch = trouble.troubled("send", stack.looks.send_message_batch)  # type: ignore[method-assign]
        stack.bus.put_events = trouble.troubled("put_events", stack.bus.put_events)  # type: ignore[method-assign]

    def change(self, member: str, points: int | None) -> None:
        """Give a member a score, or hide, show or remove it, without any trouble."""
        with self.trouble.untroubled():
            if points is not None:
                self._events += 1
                write(self.stack, f"e{self._events}", member, points)
            elif self.rng.random() < 0.5:
                self.stack.put("/boards/b/member", {"hidden": self.rng.random() < 0.6}, id=member)
            else:
                self.stack.delete("/boards/b/member", id=member)

    def _beside(self) -> None:
        what = self.rng.randrange(3)
        if what == 0:
            self.change(self.rng.choice(MEMBERS), self.rng.randrange(5))
            self.project()
            self.stack.clock.milliseconds += 2_000
        self.project() if what == 1 else self.announce()

    def waiting(self) -> int:
        return len(self.stack.dynamodb.stream("Scores")[0]) - self.stack.projected.get(0, 0)

    def project(self) -> None:
        """Apply some records from the beginning of the stream. They stay there if anything fails."""
        done = self.stack.projected.get(0, 0)
        batch = self.stack.dynamodb.stream("Scores")[0][done : done + self.rng.randint(1, 8)]
        context = Context(seconds=REPORTING_RESERVE + 5, clock=self.stack.clock.monotonic)
        try:
            answer = self.stack.projector({"Records": batch}, context) if batch else {}
        except Killed:
            return
        if answer == {"batchItemFailures": []} and self.stack.projected.get(0, 0) == done:
            self.stack.projected[0] = done + len(batch)

    def announce(self) -> None:
        """Look at what messages that are due name. They stay on the queue if anything fails."""
        looks = self.stack.looks
        due = [message for message in looks.messages if message["due"] <= self.stack.clock()]
        batch = self.rng.sample(due, min(len(due), FULL))
        records = [{"messageId": str(number), "body": look["MessageBody"]} for number, look in enumerate(batch)]
        try:
            answer = self.stack.announcer({"Records": records}, Context())
        except Killed:
            return
        failed = {int(failure["itemIdentifier"]) for failure in answer["batchItemFailures"]}
        for number, message in enumerate(batch):
            if number not in failed and message in looks.messages:
                looks.messages.remove(message)

    def live(self, steps: int) -> None:
        for _ in range(steps):
            self.stack.clock.milliseconds += self.rng.choice((0, 1, 30, 400, 2_000))
            action = self.rng.random()
            if action < 0.01:
                self.maintain(self.rng.choice(("rebuild", "rebuild", "delete")))
            elif action < 0.4:
                self.change(self.rng.choice(MEMBERS), None if self.rng.random() < 0.15 else self.rng.randrange(5))
            elif action < 0.7:
                self.project()
            else:
                self.announce()

    def maintain(self, task: str) -> None:
        """Rebuild or delete the board, without any trouble. Looks wait meanwhile."""
        chance, self.trouble.chance = self.trouble.chance, 0.0
        while task == "delete" and self.waiting():  # A deletion waits for records that are under way
            self.project()
        if self.stack.get("/boards")[1]["boards"]:
            finish(self.stack, task, board="b")
        self.trouble.chance = chance
        announced = [event for event in self.stack.bus.events if event["top"]]
        if announced and self.window == "day":
            self.met.add(f"{task} beside announcements of a day")

    def catch_up(self) -> None:
        """Let the index catch up, and everything that waits be done, without any trouble."""
        chance, self.trouble.chance = self.trouble.chance, 0.0
        for _ in range(PATIENCE):
            if self.waiting():
                self.project()
            elif self.stack.looks.messages:
                due = min(look["due"] for look in self.stack.looks.messages)
                self.stack.clock.milliseconds = max(self.stack.clock(), due)
                self.announce()
            else:
                break
        else:
            raise AssertionError("it does not come to rest")
        self.trouble.chance = chance
        assert self.stack.bucket.objects == {}, "a record was parked"

    def assert_last_is_the_top(self) -> None:
        last: dict[str, Any] = max(self.stack.bus.events, key=lambda event: event["seq"], default={"top": []})
        with self.trouble.untroubled(), mock.patch.object(self.trouble, "chance", 0.0):
            assert last["top"] == self.stack.entries(f"/boards/b/points/{self.window}")[: self.top]
        if len(last["top"]) > 5:
            self.met.add("a top of more than five")

    def assert_the_story_is_whole(self) -> None:
        """Each number comes with one id and one content, none is left out, and each top follows from the one before."""
        by_seq: dict[int, dict[str, Any]] = {}
        for event in self.stack.bus.events:
            assert by_seq.setdefault(event["seq"], event) == event
            assert event["seq"] <= len(by_seq), "a number came before the one ahead of it"
        assert len({event["id"] for event in by_seq.values()}) == len(by_seq)
        assert sorted(by_seq) == list(range(1, len(by_seq) + 1))
        ranks: dict[str, int] = {}
        for seq in sorted(by_seq):
            event = by_seq[seq]
            now = {line["member"]: line["rank"] for line in event["top"]}
            assert {line["member"] for line in event["entered"]} == now.keys() - ranks.keys()
            assert {(line["member"], line["was"]) for line in event["left"]} == {
                (member, rank) for member, rank in ranks.items() if member not in now
            }
            assert {(line["member"], line["was"], line["rank"]) for line in event["moved"]} == {
                (member, ranks[member], rank) for member, rank in now.items() if ranks.get(member, rank) != rank
            }
            ranks = now


@contextmanager
def announced(
    engine: Any, clock: ManualClock, seed: int, top: int, ties: str, shards: int, window: str = "all"
) -> Iterator[Announced]:
    """The seed decides everything: calls run one after the other, on the test's clock."""
    boards = (
        f'[boards."*"]\nshards = {shards}\nannounce.{window} = {{ top = {top} }}\n'
        f'metrics.points = {{ aggregate = "last", ties = "{ties}", windows = ["{window}"] }}\n'
    )
    trouble = Trouble(engine, random.Random(seed))
    with mock.patch("random.random", trouble.rng.random), running(trouble, clock, boards) as stack:
        yield Announced(stack, trouble, top, window)


@pytest.mark.parametrize("seed", seeds(*SEEDS))
def test_the_last_list_announced_is_the_list(engine: Any, clock: ManualClock, seed: int, shared_folder: Path) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    top, ties, shards = rng.choice((1, 3, 5, 20)), rng.choice(("member", "first")), rng.choice((1, 3))
    with announced(engine, clock, seed, top, ties, shards, rng.choice(("all", "day"))) as board:
        board.trouble.chance = rng.choice((0.0, 0.02, 0.1, 0.3))
        for _ in range(rng.randint(1, 4)):
            board.live(rng.randrange(80))
            if rng.random() < 0.3:
                board.catch_up()
                board.assert_last_is_the_top()
        board.catch_up()
        board.assert_last_is_the_top()
        board.assert_the_story_is_whole()
    assert_all_met(shared_folder, "announcing", seed, thorough_seeds(*SEEDS), board.met, TRAPS)


def test_a_top_that_changes_back_while_it_is_written_is_announced_in_the_end(engine: Any, clock: ManualClock) -> None:
    """The look at the second change finds what was announced last, since the first look has not written yet."""
    with announced(engine, clock, 1, top=3, ties="member", shards=1) as board:
        board.change("ann", 1)
        board.catch_up()
        clock.milliseconds += 2_000
        changed_back: list[bool] = []

        def change_back(operation: str, request: dict[str, Any]) -> None:
            if operation == "PutItem" and request["Item"]["pk"]["S"].endswith("/top") and not changed_back:
                changed_back.append(True)
                clock.milliseconds += 1_500
                board.change("ann", 1)
                board.catch_up()

        board.change("ann", 2)
        board.project()
        engine.before.append(change_back)
        board.catch_up()
        assert changed_back
        board.assert_last_is_the_top()
        assert board.stack.bus.events[-1]["top"] == [{"rank": 1, "member": "ann", "score": 1}]
        board.assert_the_story_is_whole()
