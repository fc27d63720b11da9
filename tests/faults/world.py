"""Run a schedule, `run(seed)`: several instances of each real function at once, in a world full of faults."""

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from random import Random
from typing import Any, Final
from urllib.parse import urlencode

from botocore.exceptions import ClientError

from standings.aws.dynamodb.tables import BOARDS, DELETED_BOARDS, board_of, member_key
from standings.stores import StoreUnavailableError
from standings.wiring import building_blocks
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.fakes import Bucket
from tests.support.aws.fakes import Queue as MessageQueue
from tests.support.aws.stack import ManualClock, Stack, http_event
from tests.support.awslambda import settings
from tests.support.awslambda.context import Context
from tests.support.awslambda.failure_records import TOO_OLD, failure_key, failure_record
from tests.support.awslambda.pollers import Message
from tests.support.dynamodb.items import encode_item
from tests.support.dynamodb.request_checks import checked
from tests.support.dynamodb.table import Index
from tests.support.oracle.comparing import compare_every_read, compare_ranks, rankings
from tests.support.oracle.model import BoardModel

from .aws import Call, Sdk, Server, Services, Store, Write
from .clockwork import DAY, HOUR, MINUTE, SECOND, Clockwork, Died, Process, StuckError
from .ends import Ends
from .instances import Instance, Instances, patched
from .judge import EPOCH, Edit, Judge, Merge, Sent
from .pollers import Batch, Poller, Queue
from .script import CLANS, LEAGUE, Script, shape, with_ends, with_notes, with_ranked_from, with_tie_breaks
from .traps import FAULTS, OF_ENDS, OF_PEOPLE, TRAPS

# ---- what a schedule is

CHECKED: Final = 25
"""Of so many requests to the engine, botocore's checks look at one: they take long."""


@dataclass(frozen=True)
class Options:
    """Settings that the seed does not decide."""

    events: int = 200
    trace: bool = False
    """Whether to keep a line for each step."""
    notes: bool = False
    """Whether scores of the league keep notes, and some events set totals. The seed then makes another schedule."""
    bests: bool = False
    """Whether some of these events set bests too. The seed then makes another schedule."""
    ties: bool = False
    """Whether rankings of the league have tie-breaks. The seed then makes another schedule."""
    people: bool = False
    """Whether members are merged, and rankings of the league begin at a score. The seed then makes another schedule."""
    corrections: bool = False
    """Whether events are corrected and taken back. The seed then makes another schedule."""
    ends: bool = False
    """Whether boards end, and begin again under their names. The seed then makes another schedule."""


def run(seed: int, options: Options | None = None) -> "World":
    """Run one schedule, and return its world. It depends only on the seed and the options."""
    world = World(seed, options or Options())
    with patched(world), checked(CHECKED):
        world.run()
    return world


# ---- people


class People:
    """Sends events, changes members, deploys definitions, and runs maintenance tasks."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.chores = 0
        """The number of maintenance tasks that are not done."""
        self.rebuilt_at = 0
        """When a board was rebuilt or deleted, in microseconds; 0 if none was."""

    def post(self, sent: Sent) -> None:
        if sent.body not in self._world.bodies:
            self._world.sent.setdefault(sent.id, []).append(sent)
            self._world.bodies[sent.body] = sent
        elif self._world.clock.now // 1000 - (sent.at - EPOCH) / timedelta(milliseconds=1) > 14 * DAY // 1000:
            self._world.trap("sent again weeks later")
        self._world.queue.send(sent.body)

    def edit(self, edit: Edit) -> None:
        query = urlencode({"id": edit.member})
        path = f"/boards/{edit.board}/member"
        body = None if edit.hidden is None else {"hidden": edit.hidden}
        event = http_event(path, query, "DELETE" if edit.remove else "PUT", body)
        self._world.invoke("command", event, edit, lambda *_: None, "care")  # the digest has this name

    def merge(self, merge: Merge) -> None:
        """Merge a member into another one. Who gets no answer does it again."""

        def heard(_: Process, answer: Any) -> None:
            if isinstance(answer, StoreUnavailableError):
                self._world.clock.after(self._world.delays.rng.randint(SECOND, MINUTE), go)

        def go() -> None:
            event = {"merge": {"board": merge.board, "old": merge.old, "new": merge.new}}
            self._world.invoke("maintenance", event, merge, heard, "merge")

        go()

    def deploy(self) -> None:
        """Deploy the later definition: the first call to some instances, the second to all."""
        self._world.deployed += 1

    def delete_by_hand(self, board: str, member: str) -> None:
        partition, sort = member_key(board, member)
        if self._world.store.item("Scores", pk=partition, sk=sort) is None:
            return
        key = {"pk": {"S": partition}, "sk": {"S": sort}}
        if isinstance(self._world.store.do("delete_item", {"TableName": "Scores", "Key": key}, {}), ClientError):
            self._world.clock.after(SECOND, self.delete_by_hand, board, member)  # a transaction holds the item
            return
        self._world.trap("deleted by hand")
        self._world.store.writes()
        self._world.judge.edited(Edit(board, member, remove=True))
        self._world.poller.take(self._world.store.stream)

    def rebuild(self) -> None:
        """Rebuild or delete a board, some minutes after a member of the league was removed."""
        rng = self._world.delays.rng
        if rng.random() < 0.5:
            self.edit(Edit(LEAGUE, self._world.script.members[-1], remove=True))
            self._world.clock.after(rng.randint(SECOND, 5 * MINUTE), self._rebuild)
        else:
            self._rebuild()

    def _rebuild(self) -> None:
        board = self._world.rng.choice([LEAGUE, LEAGUE, CLANS])
        task = "rebuild" if self._world.rng.random() < 0.85 else "delete"

        def done(_: Any) -> None:
            self.rebuilt_at = self._world.clock.now
            self._world.trap(f"{task} beside events")
            for _ in range(3):
                rng = self._world.delays.rng
                self._world.clock.after(rng.randint(0, HOUR), self._world.poller.stray, rng)

        self.chore(task, {"board": board, "begin": True}, done)

    def expire(self, goes: Callable[[], bool] | None = None) -> None:
        """Let TTL delete the expired items for which `goes` says so: by default most."""
        deleted = []
        for table in ("Scores", "Receipts", "Rankings"):
            self._world.store.expire(table, goes or (lambda: self._world.rng.random() < 0.8))
            deleted += self._world.store.writes()
        for table, old, _ in deleted:
            if table == "Scores" and old is not None:
                self._world.watch.expired((old["pk"], old["sk"]))
                if "x" not in old and not self._world.ends.may_delete(old):
                    self._world.judge.differ(f"{old['sk']} has expired although it was not removed")
        self._world.poller.take(self._world.store.stream)

    def dead_lettered(self, message: Message) -> None:
        self._world.trap("redriven")
        self._world.clock.after(self._world.rng.randint(HOUR, 3 * DAY), self._world.queue.send, message.body)

    def audit(self, board: str = LEAGUE) -> None:
        """Audit a board while events arrive. A drift is a false alarm unless records were parked."""

        def seen(answer: dict[str, Any]) -> None:
            if answer["drift"] and not self._world.parked.was_used and not self._world.delays.are_long:
                self._world.judge.differ(f"false alarm: {answer['boards']}")

        # It reads much, and begins anew each time: where each hundredth call ends its function, it would never end.
        self.chore("audit", {"board": board}, lambda _: self._world.trap("audit beside events"), seen, deaths=100)

    def chore(
        self,
        task: str,
        payload: dict[str, Any],
        done: Callable[[dict[str, Any]], None],
        seen: Callable[[dict[str, Any]], None] = lambda _: None,
        deaths: int | None = None,
    ) -> None:
        """Invoke the maintenance function until a task is done. Pass each answer to `seen`, and the last to `done`.

        A task whose function has died so many times is left.
        """
        self.chores += 1
        died = 0

        def heard(_: Process, answer: Any) -> None:
            nonlocal died
            if isinstance(answer, ValueError) and self._world.ends.is_told(payload, answer):
                self.chores -= 1
                return
            if isinstance(answer, BaseException):
                died += 1
                if died == deaths:
                    self.chores -= 1
                    return
                self._world.clock.after(self._world.rng.randint(SECOND, 10 * MINUTE), go)
                return
            seen(answer)
            if answer["done"]:
                self.chores -= 1
                done(answer)
            else:
                _continue(payload, answer)
                wait = round(answer.get("wait", 0) * SECOND)
                self._world.clock.after(wait + self._world.rng.randint(0, 30 * SECOND), go)

        def go() -> None:
            self._world.invoke("maintenance", {task: payload}, None, heard)

        go()


def _continue(payload: dict[str, Any], answer: dict[str, Any]) -> None:
    """Change the payload so that the next call continues after an answer."""
    if "begin" in payload:
        payload["begin"] = False
    if "cursor" in answer:
        nested = [argument for name, argument in payload.items() if isinstance(argument, dict) and name != "cursor"]
        (nested[0] if nested else payload)["cursor"] = answer["cursor"]


# ---- the failure bucket


class Parked:
    """The failure bucket in S3, and somebody who replays its objects."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._bucket = Bucket(lambda: self._world.clock.now // 1000)
        self.objects, self.results = self._bucket.objects, self._bucket.results
        self.was_used = False
        self._replays = 0

    @property
    def is_empty(self) -> bool:
        return not self.objects and not self._replays

    def do(self, call: Call) -> Any:
        if call.operation == "put_object" and call.request["Bucket"] == ENVIRONMENT["FAILURE_BUCKET"]:
            assert call.request["Key"].startswith("parked/")
            self._world.trap("parked by the projector")
            self._put(call.request["Key"], call.request["Body"])
            return {}
        try:
            return getattr(self._bucket, call.operation)(**call.request) or {}
        except ClientError as error:
            return error

    def park(self, records: list[dict[str, Any]], tries: int) -> None:
        """Park records that Lambda has given up after some tries because of their age, as one object."""
        at = self._world.clock.now / SECOND
        key = failure_key("shardId-1", at, f"{self._world.number():06}")
        self._put(key, failure_record(records, TOO_OLD, at, "shardId-1", tries=tries))

    def _put(self, key: str, body: bytes) -> None:
        self.was_used = True
        if not self.objects and not self._replays:
            self._replay_later()
        self._bucket.put_object(ENVIRONMENT["FAILURE_BUCKET"], key, body, "application/json")

    def _replay_later(self) -> None:
        self._replays += 1
        self._world.clock.after(self._world.rng.randint(MINUTE, 2 * DAY), self._replay)

    def _replay(self) -> None:
        for document in map(json.loads, self.objects.values()):
            batch = json.loads(document["payload"])["Records"] if "payload" in document else [document["record"]]
            for parked in map(self._world.poller.record, batch):
                high = self._world.poller.highest.get(parked.key)
                newer = high is not None and high.version > parked.version
                self._world.trap("parked, replayed after newer" if newer else "parked, replayed as the newest")

        def done(_: dict[str, Any]) -> None:
            self._replays -= 1
            if self.objects:
                self._replay_later()

        self._world.people.chore("parked", {"replay": {}}, done)


# ---- delays

OUTAGES: Final = 0.1
"""The share of the schedules in which the store throttles everything for ten minutes, from the first events on."""


class Delays:
    """Draws the delays of a schedule. It has its own random numbers, so that the other draws stay as they are."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.rng = rng = Random(f"{world.seed} delays")
        self._disabled = rng.randint(HOUR, 23 * HOUR) if rng.random() < 0.12 else 0
        # A rebuild purges what the index lists after three minutes. What it lists later stays, and nobody reads it.
        longest = 60 if world.rebuilt else 6000
        self._behind = rng.randint(longest // 10, longest) if rng.random() < 0.2 else 0
        self._outages = Random(f"{world.seed} outages")

    @property
    def are_long(self) -> bool:
        """Whether an audit must take what is on its way for a difference."""
        return bool(self._disabled or self._behind)

    @property
    def index(self) -> Index:
        return self._world.store.engine._tables["Rankings"].indexes["places"]

    def begin(self) -> None:
        if self._disabled:
            self._world.clock.after(self.rng.randint(0, 3 * SECOND), self._disable)
        self.index.behind = self._behind
        if self._outages.random() < OUTAGES:
            after = self._outages.randint(2 * SECOND, 5 * SECOND)
            self._world.clock.after(after, self._world.server.throttle_all, 10 * MINUTE)

    def _disable(self) -> None:
        """Disable the mapping for hours, but less than the 24 for which the stream keeps its records."""
        self._world.trap("disabled for hours")
        self._world.poller.paused_until = self._world.clock.now + self._disabled


# ---- watching

STALE: Final = 2 * SECOND
"""How old an eventually consistent read can be at most, in microseconds."""


class Watch:
    """Passes commits to the judge and the poller, and records traps."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._expired: set[tuple[str, str]] = set()
        self._definitions: dict[tuple[str, str], str] = {}
        self._stale: dict[tuple[str, str], tuple[int, Any]] = {}

    def expired(self, key: tuple[str, str]) -> None:
        self._world.trap("REMOVE record")
        self._expired.add(key)

    def met(self, call: Call, others: Sequence[Call]) -> None:
        kind, *more = {call.process.kind, *(other.process.kind for other in others)}
        if not more and kind in ("writer", "projector"):
            self._world.trap(f"{kind}s meet on an item")

    def committed(self, call: Call, writes: Sequence[Write]) -> None:
        """Pass the writes of a call to the judge and the poller."""
        process = call.process
        self._world.ends.written(call, writes)
        self._world.judge.projected(writes)
        is_of_members = any(
            table == "Scores" and (new or {}).get("pk") not in (BOARDS, None) for table, _, new in writes
        )
        if process.kind == "merge" and is_of_members:
            self._world.judge.merged(process.detail)
        if process.kind == "writer":
            self._world.judge.committed(call, writes, process.detail.events)
        for table, old, new in writes:
            if table == "Rankings":
                self._record_ranking_traps(process, new)
            elif table == "Scores" and (item := new or old) is not None and item["pk"] not in (BOARDS, DELETED_BOARDS):
                self._edited(process, item, new)
                self._record_item_traps(call, (item["pk"], item["sk"]), old, new)
        if any(table == "Scores" for table, _, _ in writes):
            self._world.poller.take(self._world.store.stream)

    def _edited(self, process: Process, item: Any, new: Any) -> None:
        """Pass a member's change by an administrator or by the deletion of its board to the judge."""
        if process.kind == "care":
            self._world.judge.edited(process.detail)
        elif process.kind == "maintenance" and new is not None and "x" in new:
            self._world.judge.edited(Edit(board_of(item["pk"]), item["sk"], remove=True))

    def _record_ranking_traps(self, process: Process, new: Any) -> None:
        if isinstance(process.detail, Batch):
            process.detail.commits += 1
            if new is None:
                self._world.trap("cleaned")
        if new is not None and "+" in new["pk"] and "s" not in new:
            self._world.trap("another lane")

    def _record_item_traps(self, call: Call, key: tuple[str, str], old: Any, new: Any) -> None:
        """Record the traps that a write of a member's item meets."""
        process = call.process
        self._stale[key] = self._world.clock.now, old
        if new is None:
            return
        if old is not None:
            if new["t"] > call.reading:
                self._world.trap("clocks: the item's stamp is ahead of the writer's")
            if "x" not in new and not old.keys() <= new.keys() | {"x", "e", "h"}:
                self._world.trap("trimmed")
            if "x" in old and "x" not in new:
                self._world.trap("removed and back" + (" within seconds" if new["t"] - old["t"] < 60_000 else ""))
        elif key in self._expired:
            self._expired.discard(key)
            self._world.trap("removed and back after its item has expired")
        definition = process.name.partition("/")[2]
        if self._definitions.setdefault(key, definition) != definition:
            self._world.trap("definition changed between two images")
        self._definitions[key] = definition

    def make_stale(self, answer: Any) -> None:
        """Replace some items in the answer of an eventually consistent read by their old images."""
        items = answer["Responses"].get("Scores")
        if not items:
            return
        returned = []
        for item in items:
            at, old = self._stale.get((item["pk"]["S"], item["sk"]["S"]), (0, None))
            if self._world.clock.now - at < STALE and self._world.rng.random() < 0.3:
                self._world.trap("stale read")
                if old is not None:
                    returned.append(encode_item(old))
            else:
                returned.append(item)
        answer["Responses"]["Scores"] = returned


# ---- comparing

METHOD = "competition"


def _compare_ranks(stack: Stack, model: BoardModel, board: str, at: datetime, rng: Random) -> None:
    for ranking in rankings(stack, model, board, at, rng, most=2):
        compare_ranks(ranking, METHOD)


class Comparison:
    """Compares the tables, and sometimes the answers over HTTP."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.compared = 0
        """The number of comparisons so far."""

    @property
    def is_quiet(self) -> bool:
        """Whether no event, record, parked object, task, invocation or transaction is left."""
        busy = self._world.people.chores or self._world.live or not self._world.parked.is_empty
        idle = self._world.queue.is_empty and self._world.poller.is_drained and self._world.server.is_idle
        return idle and not busy

    def compare(self, tries: int = 0) -> None:
        """Compare now if all is quiet, else try again every ten minutes, at most `tries` times."""
        if self.is_quiet:
            self.compared += 1
            self._world.judge.compare(self._world.clock.now // 1000, later=self._world.deployed > 0)
            self._world.ends.compare()
            index = self._world.delays.index
            if not self._world.shape.later and index.is_behind:
                self._world.trap("ranks while the index is behind")
                self.over_http(_compare_ranks, self._world.delays.rng)
            often = 0.3 if self._world.options.ends else 0.03
            if self._world.rng.random() < often and not self._world.shape.later and not self._world.judge.differences:
                self._world.trap("read over HTTP")
                index.behind = 0.0
                self.over_http(partial(compare_every_read, methods=(METHOD,), most=2), self._world.rng)
        elif tries:
            self._world.clock.after(10 * MINUTE, self.compare, tries - 1)

    def reader(self) -> Stack:
        """Return a stack that reads over HTTP, at this instant and without faults."""
        query = self._world.instances.load("query", self._world.shape.text).handle
        queues = MessageQueue("activity"), MessageQueue("dead"), Bucket()
        now = ManualClock(self._world.clock.now // 1000)
        return Stack(now, self._world.sdk, query, query, query, query, query, *queues)

    def over_http(self, compare: Callable[..., None], rng: Random) -> None:
        """Compare answers over HTTP for some rankings and the members of each board."""
        stack = self.reader()
        for board, model in self._world.judge.models.items():
            at = EPOCH + timedelta(milliseconds=stack.clock.milliseconds)
            is_there = self._world.store.item("Scores", pk=BOARDS, sk=board) is not None
            if is_there and self._world.ends.is_open(board):
                try:
                    compare(stack, model, board, at, rng)
                except AssertionError as error:
                    self._world.judge.differ(str(error))


# ---- the world

MAX_STEPS: Final = 1_000_000
LIFETIME: Final = settings.timeout("ProjectorFunction")
"""The timeout of the functions, in seconds."""
POLLS: Final = 250_000  # Microseconds between two polls


MOST_CONFLICTS: Final = 32
"""The most conflicts that a writer meets: its waits grow, and a transaction of another is under way for seconds."""


def most_calls(kind: str, event: Any, *, ties: bool) -> int:
    """The most calls to AWS that an invocation may make, with the faults that it meets.

    A writer makes the same few for any batch, some more for faults, and one for each refusal, which a fault may repeat.
    A projector may have the longest log to fold, and where `ties` are broken a change moves 2.5 times as many nodes. A
    rebuild or a deletion looks at each period that there may be, and an audit at each list and node.
    """
    if kind == "writer":
        corrections = sum('"retract"' in record["body"] or '"correct"' in record["body"] for record in event["Records"])
        return 12 + len(event["Records"]) * 3 // 2 + 12 * corrections
    return {"projector": 2_500 if ties else 1_000, "care": 60, "merge": 60, "announcer": 60, "maintenance": 5_000}[kind]


class World:
    """Everything in one schedule."""

    def __init__(self, seed: int, options: Options) -> None:
        self.seed = seed
        self.rng = rng = Random(seed)
        self.options = options
        self.traps: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.calls = 0
        self.workers = 0
        """The most functions that ran at the same time."""
        self.live: list[Process] = []
        self.sent: dict[str, list[Sent]] = {}
        self.trace: list[str] = []
        self._digest = hashlib.blake2b(digest_size=16)
        self.bodies: dict[str, Sent] = {}
        self._number = 0
        self._heard: dict[Process, Callable[[Process, Any], None]] = {}
        self.people = People(self)
        self.watch = Watch(self)
        self.parked = Parked(self)
        self.services = Services(self)
        self.comparison = Comparison(self)
        self.ends = Ends(self)
        self._draw(rng)
        self._build(rng)

    def _draw(self, rng: Random) -> None:
        self.shape = shape(rng, changed=rng.random() < 0.3)
        self.fault_rate = rng.choice([0.05, 0.1, 0.15])
        self.shape = self.shape.wider(self.fault_rate) if not self.options.notes else with_notes(self.shape)
        if self.options.ties:
            self.shape = with_tie_breaks(self.shape, self.seed)
        if self.options.people:
            self.shape = with_ranked_from(self.shape, self.seed)
        if self.options.ends:
            self.shape = with_ends(self.shape, self.seed)
        self.seesaw = rng.random() < 0.3
        """Whether scores change by so little that they often return to an earlier value."""
        self.clocks_differ = rng.choice([0, 2, 2, 2, 60]) * SECOND
        """How far a clock is ahead of virtual time, or behind, at most: in microseconds."""
        self.deployed = 0
        self.script = Script(self)
        self.began = self.script.began
        self.clock = Clockwork(self.began, MAX_STEPS)
        self.busy = rng.random() < 0.35
        """Whether many projectors run at once and trees are pruned often."""
        self.rebuilt = rng.random() < 0.35
        """Whether a board is rebuilt or deleted while events arrive."""
        self.lifetime = rng.choice([int(building_blocks.REPORTING_RESERVE) + 9, LIFETIME])
        """The timeout of an invocation in this schedule, in seconds."""

    def _build(self, rng: Random) -> None:
        shards, factor = rng.choice([(1, 3), (2, 2), (3, 1), (3, 2)] if not self.busy else [(2, 2), (2, 3), (3, 2)])
        if rng.random() < 0.05:
            factor = 10
        self.store = Store(self.now, shards)
        self.server = Server(self)
        self.sdk = Sdk(self)
        self.instances = Instances(self)
        most_received = rng.choice([3, 10, settings.QUEUE.max_receive_count])
        # With fewer, a correction whose event never counts is redriven before it is refused, for ever.
        self.queue = Queue(self, settings.QUEUE.max_receive_count if self.options.corrections else most_received)
        self.poller = Poller(
            self,
            len(self.store.stream),
            factor=factor,
            longest_wait=700_000 if self.busy else 3_000_000,
            batch_size=rng.choice([2, 5] if self.seesaw else [5, 20, 100]),
            max_age=rng.choice([60, 600, *[settings.STREAM.max_record_age] * 2]) * SECOND,
        )
        self.judge = Judge(self.shape, self.store, self.trap, self.ends)
        self.delays = Delays(self)

    @property
    def differences(self) -> list[str]:
        """What is not as it should be: nothing if the schedule came out right."""
        return self.judge.differences

    def now(self) -> float:
        """The instant, in seconds."""
        return self.clock.now / SECOND

    # ---- traps, faults and the trace

    def trap(self, name: str) -> None:
        """Count a trap that has happened. Raise KeyError if its name is in no list of traps."""
        if name not in TRAPS | OF_PEOPLE | OF_ENDS:
            raise KeyError(name)
        self.traps[name] += 1

    def fault(self, name: str) -> None:
        """Count a fault, also if it is a trap. Raise KeyError if its name is not in FAULTS."""
        if name not in FAULTS:
            raise KeyError(name)
        self.faults[name] += 1
        self.note(name)
        self.traps.update({name} & TRAPS.keys())

    def note(self, *step: Any) -> None:
        """Add a step to the digest and, if wanted, to the trace."""
        line = f"{self.clock.now} {step}"
        self._digest.update(line.encode())
        if self.options.trace:
            self.trace.append(line)

    def number(self) -> int:
        """Return the next number for the name of a process or of a parked object."""
        self._number += 1
        return self._number

    def round(self, delay: int) -> int:
        """Return the instant of the next poll after a delay. Many pollers poll at the same instant."""
        return (self.clock.now + delay) // POLLS * POLLS + POLLS + self.rng.randint(0, 4_000)

    def skew(self) -> int:
        """Draw how far a clock is ahead of virtual time, in microseconds."""
        return self.rng.randint(-self.clocks_differ, self.clocks_differ) if self.clocks_differ else 0

    # ---- the functions

    def _definition(self) -> str:
        """Return the `boards.toml` for an invocation now. During a deployment it may be the old or the new one."""
        later = self.deployed == 2 or (self.deployed == 1 and self.rng.random() < 0.5)
        return self.shape.later_text if later else self.shape.text

    def invoke(
        self, function: str, event: Any, detail: Any, heard: Callable[[Process, Any], None], kind: str = ""
    ) -> Process:
        """Invoke a function with an event. `heard` gets the answer, or the error."""
        instance = self.instances.take(function, self._definition())
        process = self._process(kind or function, instance, detail, heard)
        # Of events that it refuses because of an end, a writer reads the receipts first.
        process.most_calls = most_calls(process.kind, event, ties=self.options.ties) + 6 * self.options.ends

        def run() -> None:
            try:
                answer = instance.handle(event, Context(seconds=self.lifetime, clock=self.now))
            except Exception as error:  # noqa: BLE001 - Lambda answers any error
                self.note(process.name, repr(error))
                answer = error
            self.instances.give_back(instance)
            if process.calls > process.most_calls:
                self.judge.differ(f"{process.name} made {process.calls} calls, of at most {process.most_calls}")
            if process.kind == "writer" and process.conflicts > MOST_CONFLICTS:
                self.judge.differ(f"{process.name} met {process.conflicts} conflicts, of at most {MOST_CONFLICTS}")
            self.end(process, answer)

        self.clock.after(0, self.clock.start, process, run)
        return process

    def _process(self, kind: str, instance: Instance, detail: Any, heard: Callable[[Process, Any], None]) -> Process:
        later = instance.definition != self.shape.text
        name = f"{kind}-{self.number()}/{'new' if later else 'old'}"
        process = Process(name, kind, self.clock.now, instance.skew, instance.definition, detail)
        process.tokens = instance.tokens
        process.deaths.append(lambda: self._died(process))
        self._heard[process] = heard
        if {other.name.partition("/")[2] for other in self.live} | {name.partition("/")[2]} == {"old", "new"}:
            self.trap("two definitions at work")
        self.live.append(process)
        self.workers = max(self.workers, len(self.live))
        self.clock.after(self.lifetime * SECOND, self._time_out, process)
        return process

    def _time_out(self, process: Process) -> None:
        if process in self.live:
            self.fault("timed out")
            self.clock.die(process)

    def _died(self, process: Process) -> None:
        self.live.remove(process)
        self._answer(process, Died())

    def end(self, process: Process, answer: Any) -> None:
        process.done = True
        process.deaths.clear()
        self.live.remove(process)
        self.clock.after(0, self._answer, process, answer)

    def _answer(self, process: Process, answer: Any) -> None:
        heard = self._heard.pop(process, None)
        if heard is not None:
            self.note(process.name, answer)
            heard(process, answer)

    def forget(self, process: Process) -> None:
        """Answer a process's invoker with a timeout while the process goes on."""
        if process in self.live:
            self.fault("given up, and goes on unseen")
            process.frozen_until = self.clock.now + int(50_000 * 600 ** self.rng.random())
            self._answer(process, TimeoutError())

    def run(self) -> None:
        self.script.begin()
        self.delays.begin()
        try:
            self.clock.run()
        except StuckError as error:
            self.judge.differ(str(error))
        self.comparison.compare()
        if not self.comparison.is_quiet:
            self.judge.differ("expected no work to be left at the end, but some is")
        self.ends.check_settled()
        for event_id, contents in self.sent.items():
            lost = [sent for sent in contents if sent.body not in self.services.refused]
            if event_id not in self.judge.accepted and lost:
                self.judge.differ(f"event {event_id} is neither accepted nor refused")
            elif lost == contents and len(contents) == 1 and self.judge.lost(contents[0], self.clocks_differ):
                self.judge.differ(f"event {event_id} was sent after its members were removed, and did not count again")
            for sent in contents:
                self.judge.refused(sent, self.services.refused.get(sent.body, []))
                if not sent.good and sent.body not in self.services.refused:
                    self.judge.differ(f"event {event_id} should have been refused")

    def digest(self) -> str:
        """Return a digest of all steps and of the tables at the end."""
        items = [item for table in ("Scores", "Rankings") for item in map(encode_item, self.store.items(table))]
        self._digest.update("".join(sorted(repr(sorted(item.items())) for item in items)).encode())
        return self._digest.hexdigest()
