"""A schedule: the real functions, several of each at once, in a world where everything goes wrong that can."""

from __future__ import annotations

import gc
import hashlib
import json
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlencode

from botocore.exceptions import ClientError

from standings.dynamodb.keys import BOARDS, board_of, member_key
from standings.runtime import wiring
from tests.comparing import compare_every_read
from tests.engine.errors import client_error
from tests.engine.values import encode_item
from tests.stack import ENVIRONMENT, ActivityQueue, Bucket, Clock, DeadLetterQueue, Stack, http_event

from .clockwork import DAY, HOUR, MINUTE, SECOND, Clockwork, Died, Process, StuckError
from .delivery import Batch, Poller, Queue
from .instances import Context, Instance, Instances, patched
from .judge import EPOCH, Care, Judge, Sent
from .script import Script
from .service import UNPROCESSED, Call, Sdk, Server
from .shapes import CLANS, LEAGUE, shape
from .store import EngineStore
from .traps import FAULTS, TRAPS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from tests.engine.sqs import Message

    from .service import Identity, Request
    from .store import Store, Write

MOST_STEPS: Final = 60_000
LIFETIME: Final = 60
"""Seconds that an invocation may take at most: the functions' timeout."""
POLLS: Final = 250_000
"""Microseconds between two looks of a poller."""
STALE: Final = 2 * SECOND
"""How far behind an eventually consistent read is at most."""


@dataclass(frozen=True)
class Options:
    """What a caller can have otherwise than by the seed's own choice."""

    events: int = 200
    trace: bool = False
    fault_rate: float | None = None
    store: Callable[[Callable[[], float]], Store] | None = None
    """Makes the tables, given the clock in seconds; the engine where None."""


@dataclass
class Outcome:
    """What a schedule came to."""

    seed: int
    differences: list[str]
    faults: Counter[str]
    traps: Counter[str]
    events: int
    workers: int
    calls: int
    compared: int
    digest: str
    trace: list[str] = field(default_factory=list)


def _go_on(given: dict[str, Any], answer: dict[str, Any]) -> None:
    """Have the next call go on where one has ended."""
    if "begin" in given:
        given["begin"] = False
    if "cursor" in answer:
        nested = [asked for name, asked in given.items() if isinstance(asked, dict) and name != "cursor"]
        (nested[0] if nested else given)["cursor"] = answer["cursor"]


def _records(document: Any) -> list[dict[str, Any]]:
    return document["payload"]["Records"] if "payload" in document else [document["record"]]


class World:
    """All there is in one schedule."""

    def __init__(self, seed: int, options: Options) -> None:
        self.rng = rng = Random(seed)
        self.options = options
        self.traps: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self.calls = 0
        self.workers = 0
        self.compared = 0
        self.live: list[Process] = []
        self.sent: dict[str, list[Sent]] = {}
        self.refused: dict[str, list[str]] = {}
        self.trace: list[str] = []
        self._digest = hashlib.blake2b(digest_size=16)
        self.bodies: dict[str, Sent] = {}
        self._names = 0
        self._heard: dict[Process, Callable[[Process, Any], None]] = {}
        self.objects: dict[str, tuple[bytes, int]] = {}
        """What is in the failure bucket, and since when."""
        self._was_parked = False
        self._replays = 0
        self._chores = 0
        self._expired: set[tuple[str, str]] = set()
        self._hands: dict[tuple[str, str], str] = {}
        self._stale: dict[tuple[str, str], tuple[int, Any]] = {}
        changed = rng.random() < 0.3
        self.shape = shape(rng, changed=changed)
        self.fault_rate = rng.choice([0.05, 0.1, 0.15]) if options.fault_rate is None else options.fault_rate
        self.seesaw = rng.random() < 0.3
        """Whether scores go up and down by so little that they are often what they were."""
        self._skew = rng.choice([0, 2, 2, 2, 60]) * SECOND
        self.deployed = 0
        self.script = Script(self)
        self.began = self.script.began
        self.clock = Clockwork(self.began, MOST_STEPS)
        self.busy = rng.random() < 0.35
        """Whether projectors crowd, and trees are cleaned whenever there is a chance."""
        self.rebuilt = rng.random() < 0.35
        """Whether a board is made anew while events go on."""
        self.lifetime = rng.choice([int(wiring.REPORTING_RESERVE) + 9, LIFETIME])
        """Seconds that an invocation may take."""
        shards, factor = rng.choice([(1, 3), (2, 2), (3, 1), (3, 2)] if not self.busy else [(2, 2), (2, 3), (3, 2)])
        if rng.random() < 0.05:
            factor = 10
        now = lambda: self.clock.now / 1_000_000  # noqa: E731
        self.store: Store = EngineStore(now, shards) if options.store is None else options.store(now)
        self.server = Server(self)
        self.sdk = Sdk(self)
        self.instances = Instances(self)
        self.queue = Queue(self, rng.choice([3, 10, 10]))
        self.poller = Poller(
            self,
            len(self.store.stream),
            factor=factor,
            longest_wait=700_000 if self.busy else 3_000_000,
            batch_size=rng.choice([2, 5] if self.seesaw else [5, 20, 100]),
            most_retries=rng.choice([0, 2, 100, 100]),
        )
        self.judge = Judge(self.shape, self.store, self.trap)

    # ---- what is seen

    def trap(self, name: str) -> None:
        """Count a trap that was seen to happen; one that has no name here is a mistake."""
        if name not in TRAPS:
            raise KeyError(name)
        self.traps[name] += 1

    def fault(self, name: str) -> None:
        """Count something that goes wrong; one that has no name here is a mistake."""
        if name not in FAULTS:
            raise KeyError(name)
        self.faults[name] += 1
        self.note(name)

    def note(self, *what: Any) -> None:
        line = f"{self.clock.now} {what}"
        self._digest.update(line.encode())
        if self.options.trace:
            self.trace.append(line)

    def round(self, delay: int) -> int:
        """An instant after a while, at which pollers look: several times a second, many of them at once."""
        return (self.clock.now + delay) // POLLS * POLLS + POLLS + self.rng.randint(0, 4_000)

    def skew(self) -> int:
        return self.rng.randint(-self._skew, self._skew) if self._skew else 0

    def met(self, call: Call, others: Sequence[Call]) -> None:
        """See whom a transaction was in conflict with."""
        kinds = {call.process.kind, *(other.process.kind for other in others)}
        if kinds == {"writer"}:
            self.trap("writers meet on an item")
        elif kinds == {"projector"}:
            self.trap("projectors meet on an item")

    # ---- the services

    def perform(self, call: Call, busy: Mapping[Identity, str]) -> Any:
        """Do what is asked, now: the answer, or the error."""
        if call.operation == "send_message_batch":
            return self._send(call)
        if call.operation.endswith(("_object", "_objects_v2")):
            return self._keep(call)
        if call.fault == UNPROCESSED:
            self.store.leave_undone(lambda: self.rng.random() < 0.5)
        answer = self.store.do(call.operation, call.request, busy)
        self.store.leave_undone(None)
        writes = self.store.writes()
        if writes:
            self._committed(call, writes)
        if isinstance(answer, ClientError):
            return answer
        if call.operation == "batch_get_item":
            if answer.get("UnprocessedKeys"):
                self.trap("unprocessed keys")
            if not call.request["RequestItems"].get("Scores", {}).get("ConsistentRead"):
                self._make_stale(answer)
        return answer

    def directly(self, operation: str, request: Request) -> Any:
        """The same for whoever asks outside of all processes: at once, and nothing goes wrong."""
        answer = self.store.do(operation, request, {})
        self.store.writes()
        if isinstance(answer, ClientError):
            raise answer
        return answer

    def _committed(self, call: Call, writes: Sequence[Write]) -> None:
        process = call.process
        self.judge.projected(writes)
        if process.kind == "writer":
            self.judge.committed(call, writes, process.detail.events)
        for table, old, new in writes:
            if table == "Rankings":
                self._look_at_row(process, new)
            elif table == "Scores" and (item := new or old) is not None and item["pk"] != BOARDS:
                self._cared(process, item, new)
                self._look(call, (item["pk"], item["sk"]), old, new)
        if any(table == "Scores" for table, _, _ in writes):
            self.poller.take(self.store.stream)

    def _cared(self, process: Process, item: Any, new: Any) -> None:
        """Tell the judge of what was done to a member by hand, or when a board was deleted."""
        if process.kind == "care":
            self.judge.cared(process.detail)
        elif process.kind == "maintenance" and new is not None and "x" in new:
            self.judge.cared(Care(board_of(item["pk"]), item["sk"], remove=True))

    def _look_at_row(self, process: Process, new: Any) -> None:
        """See which traps a write to Rankings is."""
        if isinstance(process.detail, Batch):
            process.detail.commits += 1
            if new is None:
                self.trap("cleaned")
        if new is not None and "+" in new["pk"] and "s" not in new:
            self.trap("another lane")

    def _look(self, call: Call, key: tuple[str, str], old: Any, new: Any) -> None:
        """See which traps a write of a member's item is."""
        process = call.process
        self._stale[key] = self.clock.now, old
        if new is None:
            return
        if old is not None:
            if new["t"] > call.reading:
                self.trap("clocks: the item's stamp is ahead of the writer's")
            if "x" not in new and not old.keys() <= new.keys() | {"x", "e", "h"}:
                self.trap("trimmed")
            if "x" in old and "x" not in new:
                self.trap("removed and back" + (" within seconds" if new["t"] - old["t"] < 60_000 else ""))
        elif key in self._expired:
            self._expired.discard(key)
            self.trap("removed and back after its item has expired")
        definition = process.name.partition("/")[2]
        if self._hands.setdefault(key, definition) != definition:
            self.trap("definition changed between two images")
        self._hands[key] = definition

    def _make_stale(self, answer: Any) -> None:
        """An eventually consistent read may see what was there a moment ago."""
        items = answer["Responses"].get("Scores")
        if not items:
            return
        fresh = []
        for item in items:
            at, old = self._stale.get((item["pk"]["S"], item["sk"]["S"]), (0, None))
            if self.clock.now - at < STALE and self.rng.random() < 0.3:
                self.trap("stale read")
                if old is not None:
                    fresh.append(encode_item(old))
            else:
                fresh.append(item)
        answer["Responses"]["Scores"] = fresh

    def _send(self, call: Call) -> Any:
        entries = call.request["Entries"]
        assert call.request["QueueUrl"] == ENVIRONMENT["DEAD_LETTER_QUEUE_URL"]
        failed = [e for e in entries if call.fault == UNPROCESSED and self.rng.random() < 0.5]
        for entry in entries:
            if entry not in failed:
                reason = entry["MessageAttributes"]["reason"]["StringValue"]
                self.refused.setdefault(entry["MessageBody"], []).append(reason)
        return {
            "Successful": [{"Id": entry["Id"]} for entry in entries if entry not in failed],
            "Failed": [{"Id": entry["Id"], "Code": "InternalError", "SenderFault": False} for entry in failed],
        }

    def _keep(self, call: Call) -> Any:
        """S3, as far as it is used."""
        request = call.request
        assert request["Bucket"] == ENVIRONMENT["FAILURE_BUCKET"]
        if call.operation == "put_object":
            assert request["Key"].startswith("parked/")
            self.trap("parked by the projector")
            self._put_object(request["Key"], request["Body"])
        elif call.operation == "delete_object":
            self.objects.pop(request["Key"], None)
        elif call.operation == "get_object":
            if request["Key"] not in self.objects:
                return client_error("GetObject", "NoSuchKey", "The specified key does not exist.")
            return {"Body": BytesIO(self.objects[request["Key"]][0])}
        else:
            keys = [
                key for key in sorted(self.objects) if key.startswith(request["Prefix"]) and key > request["StartAfter"]
            ]
            modified = {key: EPOCH + timedelta(microseconds=self.objects[key][1]) for key in keys}
            return {"Contents": [{"Key": key, "LastModified": modified[key]} for key in keys[: request["MaxKeys"]]]}
        return {}

    # ---- the functions

    def definition(self) -> str:
        """The `boards.toml` of the instance that takes an invocation now."""
        later = self.deployed == 2 or (self.deployed == 1 and self.rng.random() < 0.5)
        return self.shape.later_text if later else self.shape.text

    def invoke(
        self, function: str, event: Any, detail: Any, heard: Callable[[Process, Any], None], kind: str = ""
    ) -> Process:
        """Have an instance of a function take an event, from the next moment on."""
        instance = self.instances.take(function, self.definition())
        process = self.process(kind or function, instance, detail, heard)

        def run() -> None:
            try:
                answer = instance.handle(event, Context(self, self.lifetime))
            except Exception as error:  # noqa: BLE001 - as Lambda does, whatever it is
                self.note(process.name, repr(error))
                answer = error
            self.instances.give_back(instance)
            self.end(process, answer)

        self.clock.after(0, self.clock.start, process, run)
        return process

    def process(
        self, kind: str, instance: Instance | None, detail: Any, heard: Callable[[Process, Any], None]
    ) -> Process:
        self._names += 1
        later = instance is not None and instance.definition != self.shape.text
        name = f"{kind}-{self._names}/{'new' if later else 'old'}"
        definition = instance.definition if instance is not None else self.definition()
        skew = instance.skew if instance is not None else self.skew()
        process = Process(name, kind, self.clock.now, skew, definition, detail)
        process.deaths.append(lambda: self._gone(process))
        self._heard[process] = heard
        if {one.name.partition("/")[2] for one in self.live} | {name.partition("/")[2]} == {"old", "new"}:
            self.trap("two definitions at work")
        self.live.append(process)
        self.workers = max(self.workers, len(self.live))
        self.clock.after(self.lifetime * SECOND, self._time_out, process)
        return process

    def _time_out(self, process: Process) -> None:
        if process in self.live:
            self.fault("timed out")
            self.trap("timed out")
            self.clock.die(process)

    def _gone(self, process: Process) -> None:
        self.live.remove(process)
        self._tell(process, Died())

    def end(self, process: Process, answer: Any) -> None:
        process.done = True
        self.live.remove(process)
        self.clock.after(0, self._tell, process, answer)

    def _tell(self, process: Process, answer: Any) -> None:
        heard = self._heard.pop(process, None)
        if heard is not None:
            self.note(process.name, answer)
            heard(process, answer)

    def forget(self, process: Process) -> None:
        """Whoever has invoked a process hears nothing more of it."""
        if process in self.live:
            self.fault("given up, and goes on unseen")
            self.trap("given up, and goes on unseen")
            process.frozen_until = self.clock.now + int(50_000 * 600 ** self.rng.random())
            self._tell(process, TimeoutError())

    # ---- what people and producers do

    def post(self, sent: Sent) -> None:
        """A producer sends an event, perhaps not for the first time."""
        if sent.body not in self.bodies:
            self.sent.setdefault(sent.id, []).append(sent)
            self.bodies[sent.body] = sent
        elif self.clock.now // 1000 - (sent.at - EPOCH) / timedelta(milliseconds=1) > 14 * DAY // 1000:
            self.trap("sent again weeks later")
        self.queue.send(sent.body)

    def care(self, care: Care) -> None:
        query = urlencode({"id": care.member})
        path = f"/boards/{care.board}/member"
        body = None if care.hidden is None else {"hidden": care.hidden}
        event = http_event(path, query, "DELETE" if care.remove else "PUT", body)
        self.invoke("command", event, care, lambda *_: None, "care")

    def deploy(self) -> None:
        self.deployed += 1

    def delete_by_hand(self, board: str, member: str) -> None:
        """Somebody deletes a member's item, without a word to anyone."""
        partition, sort = member_key(board, member)
        if self.store.item("Scores", pk=partition, sk=sort) is None:
            return
        self.trap("deleted by hand")
        self.store.do("delete_item", {"TableName": "Scores", "Key": {"pk": {"S": partition}, "sk": {"S": sort}}}, {})
        self.store.writes()
        self.judge.cared(Care(board, member, remove=True))
        self.poller.take(self.store.stream)

    def rebuild(self) -> None:
        """A board is made anew, or in a few schedules deleted."""
        board = self.rng.choice([LEAGUE, LEAGUE, CLANS])
        task = "rebuild" if self.rng.random() < 0.85 else "delete"
        self.chore(task, {"board": board, "begin": True}, lambda _: self.trap(f"{task} beside events"))

    def expire(self) -> None:
        """The service deletes what has expired, some of it."""
        gone = []
        for table in ("Scores", "Receipts", "Rankings"):
            self.store.expire(table, lambda: self.rng.random() < 0.8)
            gone += self.store.writes()
        for table, old, _ in gone:
            if table == "Scores" and old is not None:
                self.trap("REMOVE record")
                self._expired.add((old["pk"], old["sk"]))
                if "x" not in old:
                    self.judge.differ(f"{old['sk']} has expired although it was not removed")
        self.poller.take(self.store.stream)

    # ---- what was given up, and is tried again later

    def dead_lettered(self, message: Message) -> None:
        self.trap("redriven")
        self.clock.after(self.rng.randint(HOUR, 3 * DAY), self.queue.send, message.body)

    def park(self, records: list[dict[str, Any]]) -> None:
        """Lambda gives a batch up, and keeps it whole."""
        self._names += 1
        content = {"requestContext": {"condition": "RetryAttemptsExhausted"}, "payload": {"Records": records}}
        self._put_object(f"aws/lambda/{self._names:06}.json", json.dumps(content).encode())

    def _put_object(self, key: str, body: bytes) -> None:
        self._was_parked = True
        if not self.objects and not self._replays:
            self._replay_later()
        self.objects[key] = body, self.clock.now

    def _replay_later(self) -> None:
        self._replays += 1
        self.clock.after(self.rng.randint(MINUTE, 2 * DAY), self._replay)

    def _replay(self) -> None:
        """Somebody has what is parked replayed."""
        for body, _ in self.objects.values():
            for record in _records(json.loads(body)):
                told = self.poller.told(record)
                high = self.poller.highest.get(told.key)
                newer = high is not None and high.version > told.version
                self.trap("parked, replayed after newer" if newer else "parked, replayed as the newest")

        def done(_: dict[str, Any]) -> None:
            self._replays -= 1
            if self.objects:
                self._replay_later()

        self.chore("parked", {"replay": {}}, done)

    def audit(self) -> None:
        """A board is audited while events go on: nothing is wrong, unless something was given up."""

        def seen(answer: dict[str, Any]) -> None:
            if answer["drift"] and not self._was_parked:
                self.judge.differ(f"false alarm: {answer['boards']}")

        self.chore("audit", {"board": LEAGUE}, lambda _: self.trap("audit beside events"), seen)

    def chore(
        self,
        task: str,
        given: dict[str, Any],
        done: Callable[[dict[str, Any]], None],
        seen: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        """Have the maintenance function do a task, call by call; `seen` is given each answer, `done` the last."""
        self._chores += 1

        def heard(_: Process, answer: Any) -> None:
            if isinstance(answer, BaseException):
                self.clock.after(self.rng.randint(SECOND, 10 * MINUTE), go)
                return
            seen(answer)
            if answer["done"]:
                self._chores -= 1
                done(answer)
            else:
                _go_on(given, answer)
                wait = round(answer.get("wait", 0) * SECOND)
                self.clock.after(wait + self.rng.randint(0, 30 * SECOND), go)

        def go() -> None:
            self.invoke("maintenance", {task: given}, None, heard)

        go()

    # ---- the end

    @property
    def is_quiet(self) -> bool:
        busy = self._replays or self._chores or self.objects or self.live
        return self.queue.is_empty and self.poller.is_drained and not busy

    def compare(self, tries: int = 0) -> None:
        """Have the judge look, once all is quiet."""
        if self.is_quiet:
            self.compared += 1
            self.judge.compare(self.clock.now // 1000, later=self.deployed > 0)
            if self.rng.random() < 0.03 and not self.shape.later and not self.judge.differences:
                self._read()
        elif tries:
            self.clock.after(10 * MINUTE, self.compare, tries - 1)

    def _read(self) -> None:
        """Compare what a client reads over HTTP: some rankings of each board, and its members."""
        self.trap("read over HTTP")
        query = self.instances.load("query", self.shape.text).handle
        now = Clock(self.clock.now // 1000)
        stack = Stack(now, self.sdk, query, query, query, query, query, ActivityQueue(), DeadLetterQueue(), Bucket())
        for board, model in self.judge.models.items():
            at = EPOCH + timedelta(milliseconds=now.milliseconds)
            if self.store.item("Scores", pk=BOARDS, sk=board) is not None:
                try:
                    compare_every_read(stack, model, board, at, self.rng, methods=("competition",), most=2)
                except AssertionError as error:
                    self.judge.differ(str(error))

    def run(self) -> None:
        self.script.begin()
        try:
            self.clock.run()
        except StuckError as error:
            self.judge.differ(str(error))
        self.compare()
        if not self.is_quiet:
            self.judge.differ("not everything is done in the end")
        for event_id, contents in self.sent.items():
            bad = [one.body for one in contents if one.body not in self.refused]
            if event_id not in self.judge.accepted and bad:
                self.judge.differ(f"event {event_id} is neither accepted nor refused")
            for one in contents:
                self.judge.refused(one, self.refused.get(one.body, []))
                if not one.good and one.body not in self.refused:
                    self.judge.differ(f"event {event_id} should have been refused")

    def digest(self) -> str:
        whole = sorted(
            repr(
                [
                    (name, sorted(value) if isinstance(value, frozenset) else value)
                    for name, value in sorted(item.items())
                ]
            )
            for table in ("Scores", "Rankings")
            for item in self.store.items(table)
        )
        self._digest.update("".join(whole).encode())
        return self._digest.hexdigest()


@contextmanager
def uncollected() -> Iterator[None]:
    """Within it no garbage is looked for, but once at the end: a schedule makes much that is soon gone."""
    before = gc.isenabled()
    gc.disable()
    if not gc.get_freeze_count():
        gc.freeze()  # what is there by now stays
    try:
        yield
    finally:
        gc.collect()
        if before:
            gc.enable()


def run(seed: int, options: Options | None = None) -> Outcome:
    """Run one schedule. Nothing of it depends on anything but the seed and the options."""
    world = World(seed, options or Options())
    with patched(world):
        world.run()
    return Outcome(
        seed,
        world.judge.differences,
        world.faults,
        world.traps,
        len(world.sent),
        world.workers,
        world.calls,
        world.compared,
        world.digest(),
        world.trace,
    )
