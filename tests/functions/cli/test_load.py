"""`standings load`: what it sends and when, its summary, and that the writer counts a run once."""

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import count, pairwise
from types import SimpleNamespace
from typing import Any

import pytest

from standings_cli.__main__ import main
from standings_cli.load.schedule import Schedule
from standings_cli.post import outbox
from standings_cli.terminal.exit_status import DIFFERS, INTERRUPTED, OK, UNREACHABLE, WRONG
from tests.support.aws.fakes.queues import check_batch, delivered
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project

NOW = 1_795_256_100_000


@dataclass
class Time:
    """A clock that only sleeping moves."""

    now: float = 100.0
    naps: list[float] = field(default_factory=list)

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.naps.append(seconds)
        self.now += seconds


@dataclass
class Queue:
    entries: list[dict[str, Any]] = field(default_factory=list)
    failed: list[dict[str, Any]] = field(default_factory=list)

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl == "queue"
        check_batch(Entries)
        self.entries += Entries
        return {"Failed": self.failed} if self.failed else {}

    def events(self) -> list[dict[str, Any]]:
        return sorted((json.loads(entry["MessageBody"]) for entry in self.entries), key=lambda event: event["at"])


@pytest.fixture(autouse=True)
def _own_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """The command's time passes only when it sleeps, however slow the machine is."""
    time = Time()
    monkeypatch.setattr("standings_cli.commands.load.Schedule", partial(Schedule, clock=time, sleep=time.sleep))
    monkeypatch.setattr("time.monotonic", time)


def load(queue: Queue, *arguments: str) -> int:
    connection = SimpleNamespace(queue_url="queue", client=lambda _: queue)
    return main(["load", *arguments], lambda _: connection)


def test_events_are_sent_when_they_are_due() -> None:
    time = Time()
    schedule = Schedule(rate=30.0, events=100, seconds=math.inf, clock=time, sleep=time.sleep)
    numbers: list[int] = []
    for batch in schedule.batches(count()):
        assert 1 <= len(batch) <= 10
        for number, thing in batch:
            assert number == thing == len(numbers)
            assert (number + 1) / 30 <= time() - 100 + 1e-9 <= (number + 1) / 30 + 0.1
            numbers.append(number)
    assert len(numbers) == 100
    assert schedule.most_behind < 0.1


def test_a_low_rate_waits_from_event_to_event() -> None:
    time = Time()
    schedule = Schedule(rate=0.5, events=4, seconds=8.0, clock=time, sleep=time.sleep)
    sent = [time() for batch in schedule.batches(count()) for _ in batch]
    assert [later - earlier for earlier, later in pairwise(sent)] == pytest.approx([2.0, 2.0, 2.0], abs=0.1)
    assert len(time.naps) <= 8


def test_a_queue_that_is_too_slow_is_not_waited_for_without_end() -> None:
    time = Time()
    schedule = Schedule(rate=100.0, events=1000, seconds=10.0, clock=time, sleep=time.sleep)
    sent = 0
    for batch in schedule.batches(count()):
        sent += len(batch)
        time.now += len(batch) / 50
    assert 500 <= sent <= 560
    assert time() - 100 <= 11.3
    assert 4.5 <= schedule.most_behind <= 6


def test_a_load_and_what_it_says(capsys: pytest.CaptureFixture[str]) -> None:
    queue = Queue()
    shape = ["--rate", "5000", "--events", "500", "--members", "20", "--duplicates", "0.2", "--late", "0.1"]
    assert load(queue, "--json", "b", *shape, "--late-by", "2 hours", "--amounts=-5:5", "--run", "r") == OK
    printed = json.loads(capsys.readouterr().out)

    ids = [event["id"] for event in queue.events()]
    assert (printed["run"], printed["sent"], printed["due"], printed["kept_up"]) == ("r", 500, 500, True)
    assert printed["distinct"] == len(set(ids)) == 500 - printed["duplicates"]
    assert 60 < printed["duplicates"] < 140
    assert 20 < printed["late"] < 80
    assert printed["rate"] > 0
    assert all(entry["MessageAttributes"]["at_filled_in"]["StringValue"] == "true" for entry in queue.entries)
    assert {event["metrics"]["points"] for event in queue.events()} == set(range(-5, 6))

    again = Queue()
    assert load(again, "b", *shape, "--late-by", "2 hours", "--amounts=-5:5", "--run", "r") == OK
    assert capsys.readouterr().out.startswith("sent 500 events in ")
    posted = [sorted((e["id"], e["member"], e["metrics"]["points"]) for e in each.events()) for each in (queue, again)]
    assert posted[0] == posted[1]
    other = Queue()
    assert load(other, "b", *shape, "--boards", "3", "--metric", "runs") == OK
    assert not {event["id"] for event in other.events()} & set(ids)
    assert {event["board"] for event in other.events()} == {"b-1", "b-2", "b-3"}
    assert {*other.events()[0]["metrics"]} == {"runs"}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["a b"], "board: expected 1 to 128 of"),
        (["b" * 127, "--boards", "100"], "board: expected 1 to 128 of"),
        (["b", "--metric", "Points"], "metrics: expected a metric's name"),
        (["b", "--run", "a b"], "--run: expected 1 to 64 of"),
        (
            ["b", "--duplicates", "0.6", "--late", "0.6"],
            "expected --duplicates and --late to be at most 1 together, got 1.2",
        ),
        (["b", "--rate", "1", "--seconds", "0.5"], "no event is due in 0.5 seconds"),
    ],
)
def test_options_that_cannot_be(arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]) -> None:
    queue = Queue()
    assert load(queue, *arguments) == WRONG
    assert why in capsys.readouterr().err
    assert queue.entries == []


@pytest.mark.parametrize(
    "option",
    [
        "--rate=0",
        "--rate=x",
        "--late=1.1",
        "--late-by=soon",
        "--amounts=5:1",
        "--amounts=x",
        "--members=0",
        "--skew=-1",
        "--members=1.5",
        "--rate=inf",
        "--late=nan",
    ],
)
def test_an_option_that_cannot_be(option: str) -> None:
    with pytest.raises(SystemExit) as wrong:
        load(Queue(), "b", option)
    assert wrong.value.code == WRONG


def test_a_queue_that_does_not_take_it(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outbox, "_MAX_RETRY_S", 0.0)
    queue = Queue(failed=[{"Id": "0", "Code": "InternalError", "SenderFault": False}])
    assert load(queue, "b", "--events", "1", "--rate", "100") == UNREACHABLE
    printed = capsys.readouterr()
    assert "the queue did not accept all events: InternalError" in printed.err
    assert "the rate of 100 events/s was not reached" in printed.out


def test_ctrl_c_says_what_was_sent(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(**_: Any) -> Any:
        raise KeyboardInterrupt

    queue = Queue()
    monkeypatch.setattr(queue, "send_message_batch", interrupted)
    assert load(queue, "b", "--events", "5") == INTERRUPTED
    printed = capsys.readouterr()
    assert printed.err == "stopped\n"
    assert printed.out.startswith("sent 0 events in ")


def test_a_load_that_is_not_kept_up(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standings_cli.commands.load.TOLERANCE_S", -1.0)
    monkeypatch.setattr("standings_cli.load.schedule.TOLERANCE_S", -1.0)
    assert load(Queue(), "b", "--events", "200", "--rate", "1000") == DIFFERS
    printed = capsys.readouterr()
    assert printed.err == "the queue accepts less than 1000 events/s\n"
    assert "the rate of 1000 events/s was not reached: events were sent up to " in printed.out


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(NOW)) as deployed:
        yield deployed


def test_a_run_counts_once_however_often_it_is_repeated(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    queue = Queue()
    for hours in range(2):
        monkeypatch.setattr("time.time_ns", lambda hours=hours: (NOW + (hours - 2) * 3_600_000) * 1_000_000)
        arguments = ("--events", "60", "--rate", "10000", "--members", "5", "--duplicates", "0.3", "--late", "0.3")
        assert load(queue, "b", *arguments, "--run", "r") == OK
    records = [delivered(number, entry) for number, entry in enumerate(queue.entries)]
    assert stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}
    project(stack)
    assert stack.dead_letters.reasons() == []
    distinct = {event["id"] for event in queue.events()}
    assert len(distinct) < 60
    assert sum(entry["score"] for entry in stack.entries("/boards/b/points/all")) == len(distinct)
