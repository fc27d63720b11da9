"""Schedules written by hand, for safeguards that chance seldom puts to the test: each fails where its own is gone."""

from __future__ import annotations

import json
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from itertools import count
from typing import TYPE_CHECKING, Any, Final
from unittest import mock

import pytest

from standings.domain.windows import DAY, SECOND
from standings.dynamodb.boards import DynamoBoards
from standings.services.pruning import prune
from standings.services.store import Lane, Lanes
from tests.checks import assert_tiers_count_the_entries, entries
from tests.engine.dynamodb import Engine
from tests.engine.lambdas import Context
from tests.engine.tables import create_tables
from tests.faulty import Faulty, Time, error, passes
from tests.properties.test_redefinitions import live
from tests.services.test_pruning import RANKING, Worker, _out_of_reach, moved, tier_conflict
from tests.stack import Clock, Stack, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

NOW: Final = 1_795_256_100_000
"""2026-11-21T10:15:00Z."""
POINTS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all", "day"] }\n'
BEST: Final = '[boards."*"]\nmetrics.points = { aggregate = "max", windows = ["all"] }\n'
SHARDED: Final = POINTS.replace("\n", "\nshards = 9\n", 1)
LATE: Final = POINTS.replace("\n", '\nlate = "1 day"\nkeep = "1 day"\n', 1)


@dataclass
class Rig:
    """The functions over one engine, where each step is done by hand. Time passes only by waiting."""

    stacks: ExitStack = field(default_factory=ExitStack)
    clock: Clock = field(default_factory=lambda: Clock(NOW))
    engine: Any = field(default_factory=Engine)
    client: Faulty = field(init=False)
    numbers: Iterator[int] = field(default_factory=count)
    taken: int = 0

    def __post_init__(self) -> None:
        create_tables(self.engine)
        self.client = Faulty(self.engine)
        self.stacks.enter_context(mock.patch("time.monotonic", self._monotonic))
        self.stacks.enter_context(mock.patch("time.sleep", self._sleep))

    def _monotonic(self) -> float:
        return self.clock() / 1000

    def _sleep(self, seconds: float) -> None:
        self.clock.milliseconds += round(seconds * 1000) + 1

    def functions(self, boards: str = POINTS, client: Any = None, clock: Clock | None = None) -> Stack:
        """Functions of their own, warm from now on."""
        return self.stacks.enter_context(running(client or self.client, clock or self.clock, boards))

    def send(self, stack: Stack, member: str, points: int, **more: Any) -> None:
        """An event through the writer; `received` is what its message says of when that was."""
        number = next(self.numbers)
        at = more.get("at", stack.clock())
        event = {"id": more.get("id", f"e{number}"), "board": "b", "member": member, "metrics": {"points": points}}
        said = {}
        if "received" in more:
            said["first_received"] = {"dataType": "String", "stringValue": str(more["received"])}
        body = json.dumps({**event, "at": f"2026-11-{21 + (at - NOW) // DAY:02}T10:00:00Z"})
        record = {"messageId": str(number), "body": body, "messageAttributes": said}
        assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}

    def records(self) -> list[Any]:
        """The stream's records of members since this was asked last."""
        (shard,) = self.engine.stream("Scores")
        new, self.taken = shard[self.taken :], len(shard)
        return [record for record in new if record["dynamodb"]["Keys"]["pk"]["S"] != "#boards"]

    def project(self, stack: Stack, *records: Any, down: bool = False) -> None:
        """A batch through the projector, and again from where it says, until it is done; `down` at the first try."""
        left = list(records)
        while left:
            self.client.steps.extend([error("ThrottlingException")] * 1000 * down)
            failed = stack.projector({"Records": left}, Context())["batchItemFailures"]
            self.client.steps.clear()
            down = False
            if not failed:
                return
            numbers = [record["dynamodb"]["SequenceNumber"] for record in left]
            left = left[min(numbers.index(one["itemIdentifier"]) for one in failed) :]

    def park(self, stack: Stack, record: Any) -> None:
        body = json.dumps({"reason": "by hand", "record": record}).encode()
        stack.bucket.put_object("failures", "parked/2026-11-21/1.json", body, "application/json")

    def replay(self, stack: Stack) -> None:
        assert stack.maintenance({"parked": {"replay": {}}}, Context())["done"]

    def rebuild(self, stack: Stack, until: str = "", task: str = "rebuild") -> None:
        """A rebuild of the board, begun or gone on with, up to a phase or its end."""
        record = self.engine.get_item(TableName="Scores", Key={"pk": {"S": "#boards"}, "sk": {"S": "b"}})["Item"]
        begin = json.loads(record["d"]["S"])["job"] is None
        while True:
            answer = stack.maintenance({task: {"board": "b", "begin": begin}}, Context())
            begin = False
            if answer["done"] or answer["phase"] == until:
                return
            self.clock.milliseconds += round(answer["wait"] * 1000)

    def scores(self, stack: Stack, window: str = "all", period: str | None = None) -> dict[str, int]:
        return {entry["member"]: entry["score"] for entry in stack.entries(f"/boards/b/points/{window}", period=period)}


@contextmanager
def rig() -> Iterator[Rig]:
    with ExitStack() as stacks:
        yield Rig(stacks)


# ---- the writer


def other_content() -> None:
    """Two contents of one id: the second is refused, and somebody hears of it."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 5, id="same")
        all_.send(stack, "a", 6, id="same")
        assert len(stack.dead_letters.reasons()) == 1


def received_long_ago() -> None:
    """A message that is a month old: its receipt is gone, so it might count twice."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 5, id="same")
        all_.clock.milliseconds += 31 * DAY
        all_.engine.expire("Receipts", goes=lambda: True)
        all_.engine.delete_item(TableName="Receipts", Key={"pk": {"S": "same"}})
        all_.send(stack, "a", 5, id="same", at=NOW, received=NOW)
        all_.project(stack, *all_.records())
        assert all_.scores(stack) == {"a": 5}


def best_of_somebody_removed() -> None:
    """An event is no better than the best; before that is certain the member is removed and has none."""
    with rig() as all_:
        stack, other = all_.functions(BEST), all_.functions(BEST, all_.engine)
        all_.send(stack, "a", 10)

        def removed(client: Faulty, request: dict[str, Any]) -> Any:
            assert other.delete("/boards/b/member", id="a")[0] == 204
            return passes(client, request)

        all_.client.steps.append(removed)
        all_.send(stack, "a", 8)
        all_.project(stack, *all_.records())
        assert all_.scores(stack) == {"a": 8}


def read_by_a_slower_clock() -> None:
    """For one clock a day can no longer be read and its accumulator goes, for another it still can."""
    with rig() as all_:
        fast = Clock(NOW)
        ahead, stack = all_.functions(LATE, clock=fast), all_.functions(LATE)
        all_.send(stack, "a", 5)
        all_.project(stack, *all_.records())
        # The 21st can be read until the 22nd has taken its last event: the end of the 23rd.
        all_.clock.milliseconds = NOW - NOW % DAY + 3 * DAY - 30 * SECOND
        fast.milliseconds = all_.clock.milliseconds + 60 * SECOND
        all_.send(ahead, "a", 1)
        all_.project(ahead, *all_.records())
        assert all_.scores(stack, "day", "2026-11-21") == {"a": 5}


# ---- the projector


def late_on_newer() -> None:
    """10, then 12 and 10 in one batch, then the change to 12 alone."""
    with rig() as all_:
        stack = all_.functions()
        for points in (10, 2, -2):
            all_.send(stack, "a", points)
        first, second, third = all_.records()
        all_.project(stack, first)
        all_.project(stack, second, third)
        all_.project(stack, second)
        assert all_.scores(stack) == {"a": 10}


def in_and_out_in_a_batch() -> None:
    """A member comes and is hidden in one batch; then its coming comes alone."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        first, second = all_.records()
        all_.project(stack, first, second)
        all_.project(stack, first)
        assert all_.scores(stack) == {}


def hidden_and_late() -> None:
    """A member comes, and is hidden; then its coming comes again."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 10)
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        first, second = all_.records()
        all_.project(stack, first)
        all_.project(stack, second)
        all_.project(stack, first)
        assert all_.scores(stack) == {}


def equal_after_a_gap() -> None:
    """10, 12, 10, of which the 12 is missing; then it comes."""
    with rig() as all_:
        stack = all_.functions()
        for points in (10, 2, -2):
            all_.send(stack, "a", points)
        first, second, third = all_.records()
        all_.project(stack, first)
        all_.project(stack, third)
        all_.project(stack, second)
        assert all_.scores(stack) == {"a": 10}


def nothing_done() -> None:
    """A batch of two members of whom none is done."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 1)
        all_.send(stack, "b", 2)
        all_.project(stack, *all_.records(), down=True)
        assert all_.scores(stack) == {"a": 1, "b": 2}


def nothing_done_of_two_days() -> None:
    """The same, where the first record alone is of yesterday."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 1, at=NOW - DAY)
        all_.send(stack, "b", 2)
        all_.send(stack, "a", 1)
        all_.project(stack, *all_.records(), down=True)
        assert all_.scores(stack, "day", "2026-11-20") == {"a": 1}


def deleted_by_hand() -> None:
    """Somebody deletes an item: its record carries the version that was."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 10)
        (first,) = all_.records()
        all_.project(stack, first)
        all_.engine.delete_item(TableName="Scores", Key=first["dynamodb"]["Keys"])
        all_.project(stack, *all_.records())
        assert all_.scores(stack) == {}


def shards_of_another_definition() -> None:
    """A reader that knows of one shard reads what a newer projector spreads over nine."""
    with rig() as all_:
        stack, newer = all_.functions(), all_.functions(SHARDED)
        for number in range(20):
            all_.send(newer, f"m{number}", number)
        all_.project(newer, *all_.records())
        assert len(all_.scores(stack)) == 20


# ---- replays


def parked_and_hidden() -> None:
    """What was parked is that somebody is hidden: no place is what it has to be brought to."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 10)
        all_.project(stack, *all_.records())
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        (second,) = all_.records()
        all_.park(stack, second)
        all_.replay(stack)
        assert all_.scores(stack) == {}


def parked_a_moment_ago() -> None:
    """A replay right after the change: an eventually consistent read does not see it yet."""

    class Behind(Faulty):
        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803 - as the client has it
            asked = RequestItems.get("Scores", {})
            answer = self.client.batch_get_item(RequestItems=RequestItems)
            if asked.get("Keys") == [first["dynamodb"]["Keys"]] and not asked.get("ConsistentRead"):
                answer["Responses"]["Scores"] = [first["dynamodb"]["NewImage"]]
            return answer

    with rig() as all_:
        writer = all_.functions()
        stack = all_.functions(client=Behind(all_.engine))
        all_.send(writer, "a", 10)
        (first,) = all_.records()
        all_.project(stack, first)
        all_.send(writer, "a", 2)
        (second,) = all_.records()
        all_.park(stack, second)
        all_.replay(stack)
        assert all_.scores(stack) == {"a": 12}


def parked_beside_a_rebuild() -> None:
    """What is parked when a rebuild has placed everyone is placed in the old generation and in the new."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 10)
        all_.project(stack, *all_.records())
        all_.rebuild(stack, until="switched")
        all_.clock.milliseconds += 61 * SECOND
        all_.send(stack, "a", 2)
        all_.park(stack, *all_.records())
        all_.replay(stack)
        assert all_.scores(stack) == {"a": 12}


# ---- boards


def projected_by_who_knows_the_old() -> None:
    """A rebuild begins a moment after a projector has asked which generations there are."""
    with rig() as all_:
        stack, other = all_.functions(), all_.functions()
        all_.send(stack, "a", 10)
        all_.project(other, *all_.records())
        all_.rebuild(stack, until="switched")
        all_.send(stack, "a", 2)
        all_.project(other, *all_.records())
        all_.rebuild(stack)
        assert all_.scores(stack) == {"a": 12}


def read_by_who_knows_the_old() -> None:
    """A rebuild switches a moment after a reader has asked which generation is read."""
    with rig() as all_:
        stack, other = all_.functions(), all_.functions()
        all_.send(stack, "a", 10)
        all_.project(stack, *all_.records())
        all_.rebuild(stack, until="announced")
        all_.clock.milliseconds += 181 * SECOND
        assert all_.scores(other) == {"a": 10}
        all_.rebuild(stack, until="retired")
        all_.send(stack, "a", 2)
        all_.project(all_.functions(), *all_.records())
        assert all_.scores(other) == {"a": 12}


def written_by_who_knows_the_old() -> None:
    """A rebuild retires the old generation a moment after a projector has asked which are written."""
    with rig() as all_:
        stack, other = all_.functions(), all_.functions()
        all_.send(stack, "a", 10)
        all_.project(stack, *all_.records())
        all_.rebuild(stack, until="switched")
        all_.clock.milliseconds += 181 * SECOND
        all_.send(stack, "a", 2)
        all_.project(other, *all_.records())
        all_.rebuild(stack, until="retired")
        all_.send(stack, "a", 2)
        all_.project(other, *all_.records())
        all_.rebuild(stack)
        assert all(key.endswith("~1") for key in entries(all_.engine))
        assert all_.scores(stack) == {"a": 14}


def counted_while_a_board_goes() -> None:
    """A board is deleted a moment after a writer has asked about it; when its members are gone, the writer has more."""
    with rig() as all_:
        stack, other = all_.functions(), all_.functions()
        all_.send(other, "a", 10)
        all_.project(stack, *all_.records())
        all_.rebuild(stack, until="announced", task="delete")
        all_.send(other, "a", 2)
        all_.project(stack, *all_.records())
        all_.rebuild(stack, task="delete")
        assert stack.get("/boards")[1]["boards"] == [{"board": "b"}]
        assert all_.scores(stack) == {"a": 2}


def two_at_one_record() -> None:
    """Two have read a board's record, and both change it."""
    with rig() as all_:
        all_.send(all_.functions(), "a", 1)
        records = DynamoBoards(all_.engine, "Scores", Time(NOW).pacing())
        record = records.records(["b"])["b"]
        assert records.put(replace(record, version=record.version + 1, again=True), record.version)
        assert not records.put(replace(record, version=record.version + 1), record.version)
        assert not records.put(record, None)


def definitions(seed: int) -> Callable[[], None]:
    """A history of definitions of `tests/properties/test_redefinitions.py`."""

    def schedule() -> None:
        with pytest.MonkeyPatch.context() as patches:
            live(seed, patches)

    return schedule


# ---- cleaning


@dataclass
class Seen:
    """Trees as a cleaner has seen them: reads of one look are of more than one moment."""

    worker: Worker
    seen: Mapping[Any, Lanes]
    then: Callable[[], None] = lambda: None

    def lanes(self, _: Any, paths: Sequence[Any]) -> dict[Any, Lanes]:
        return {path: self.seen[path] for path in paths if path in self.seen}

    def remove(self, *arguments: Any) -> Any:
        self.then()
        return self.worker.trees.remove(*arguments)


@dataclass
class Tree:
    """A tree with a leaf that everyone has left, (66, 2), and its neighbour (66, 3), where somebody is."""

    engine: Any = field(default_factory=Engine)
    first: Worker = field(init=False)
    second: Worker = field(init=False)

    def __post_init__(self) -> None:
        create_tables(self.engine)
        self.first = Worker(self.engine, chance=0)
        self.second = Worker(self.engine, seed=5, chance=0)
        self.first.move(moved("z", None, 400, 1))

    def come(self) -> None:
        self.first.move(moved("b", None, 300, 1))

    def come_and_go(self) -> None:
        self.first.move(moved("a", None, 300, 1))
        self.first.move(moved("a", 300, 5, 2))

    def seen(self) -> dict[Any, Lanes]:
        return self.first.trees.lanes(RANKING, [(), (66,), (66, 2)])

    def through_another_lane(self) -> None:
        """Somebody comes, moves within the leaf in another lane, and goes: sums of a lane alone are not 0."""
        self.first.move(moved("b", None, 300, 1))
        self.second.client.steps.extend([tier_conflict] * 2)
        self.second.move(moved("b", 300, 301, 2))
        assert (lane := self.second.rankings._lanes.get(RANKING.key)) is not None
        assert lane.number == 1
        self.first.move(moved("b", 301, None, 3))

    def clean(self, seen: Mapping[Any, Lanes], then: Callable[[], None] = lambda: None) -> None:
        prune(Seen(self.first, seen, then), RANKING, [(66, 2)])
        assert_tiers_count_the_entries(self.engine)
        assert _out_of_reach(self.engine) == set()


def a_node_that_was_in_use() -> None:
    """Between reading and removing somebody was there, in two lanes of which one was read: all values are as before."""
    tree = Tree()
    tree.come_and_go()
    tree.clean(tree.seen(), tree.through_another_lane)


def a_node_made_anew() -> None:
    """The same, with a node that others had removed before: it has been written as often as the one that was read."""
    tree = Tree()
    tree.come_and_go()
    seen = tree.seen()

    def then() -> None:
        tree.clean(tree.seen())
        tree.first.time.milliseconds += 5
        tree.second.time.milliseconds += 5
        tree.through_another_lane()

    tree.clean(seen, then)


def a_counter_in_use_again() -> None:
    """The leaf was read before it was there and the counter after everyone had left; then somebody comes."""
    tree = Tree()
    tree.come_and_go()
    seen = {path: lanes for path, lanes in tree.seen().items() if path != (66, 2)}
    tree.clean(seen, tree.come)


def a_counter_of_a_later_moment() -> None:
    """A node was read before somebody came, and the counter that leads to it afterwards."""
    engine = Engine()
    create_tables(engine)
    worker = Worker(engine, chance=0)
    worker.move(moved("a", None, 300, 1))
    prune(Seen(worker, worker.trees.lanes(RANKING, [()])), RANKING, [(66, 2)])
    assert_tiers_count_the_entries(engine)


def a_node_with_something_below() -> None:
    """A node counts nobody, and below it was read when somebody was there: what is there has to be within reach."""
    engine = Engine()
    create_tables(engine)
    worker = Worker(engine, chance=0)
    worker.move(moved("a", None, 300, 1))
    before = worker.trees.lanes(RANKING, [(66, 2)])
    worker.move(moved("a", 300, 5, 2))
    after = worker.trees.lanes(RANKING, [(), (66,)])
    assert isinstance(before[66, 2][0], Lane)
    prune(Seen(worker, {**after, **before}), RANKING, [(66, 2)])
    assert_tiers_count_the_entries(engine)
    assert _out_of_reach(engine) == set()


WRITTEN: Final[Mapping[str, Callable[[], None]]] = {
    schedule.__name__: schedule
    for schedule in (
        other_content,
        received_long_ago,
        best_of_somebody_removed,
        read_by_a_slower_clock,
        late_on_newer,
        in_and_out_in_a_batch,
        hidden_and_late,
        equal_after_a_gap,
        nothing_done,
        nothing_done_of_two_days,
        deleted_by_hand,
        shards_of_another_definition,
        parked_and_hidden,
        parked_a_moment_ago,
        parked_beside_a_rebuild,
        projected_by_who_knows_the_old,
        read_by_who_knows_the_old,
        written_by_who_knows_the_old,
        counted_while_a_board_goes,
        two_at_one_record,
        a_node_that_was_in_use,
        a_node_made_anew,
        a_counter_in_use_again,
        a_counter_of_a_later_moment,
        a_node_with_something_below,
    )
} | {f"definitions_{seed}": definitions(seed) for seed in (0, 7)}
