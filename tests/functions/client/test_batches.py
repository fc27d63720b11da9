"""Many events: several requests at a time, each member's in order, each event once on the queue or named in an error.

How often the queue is asked, and what becomes of single events, is in `test_posts.py`.
"""

import re
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import StringIO
from random import Random
from time import sleep
from typing import Any, Final

import orjson
import pytest
from botocore.exceptions import EndpointConnectionError

from standings.aws.sqs import OutgoingMessage
from standings.client import BadArgument, PostError
from standings.client import posts as module
from standings.client.progress import Progress
from standings.client.sending import MOST_HELD, SENDERS, Sending
from standings.wiring.building_blocks import CONNECTIONS
from tests.functions.client.conftest import Connect
from tests.support.aws.fakes import INVALID
from tests.support.aws.stack import Stack

BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
UNREACHABLE: Final = EndpointConnectionError(endpoint_url="https://sqs")
WAIT_S: Final = 60.0
"""Longer than anything takes; a test that waits so long fails."""
Event = dict[str, Any]


class Observed:
    """A queue that takes whole requests. It notes what it took, and how many requests were under way at most.

    `before` is called with the events of a request, in its thread: it may wait, or raise. It returns the code with
    which an event is refused, by its id.
    """

    def __init__(self, before: Callable[[Sequence[Event]], dict[str, str] | None] = lambda _: None) -> None:
        self.taken: list[Event] = []
        self.requests = 0
        self.most = 0
        self.together: list[set[str]] = []
        self.before = before
        self._under_way: list[set[str]] = []
        self._lock = threading.Lock()

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: ARG002, N803
        events = [orjson.loads(entry["MessageBody"]) for entry in Entries]
        members = {member for event in events for member in members_of(event)}
        with self._lock:
            self.together += [both for other in self._under_way if (both := members & other)]
            self._under_way.append(members)
            self.requests += 1
            self.most = max(self.most, len(self._under_way))
        try:
            refused = self.before(events) or {}
            with self._lock:
                self.taken += [event for event in events if event["id"] not in refused]
        finally:
            with self._lock:
                self._under_way.remove(members)
        numbers = {event["id"]: entry["Id"] for event, entry in zip(events, Entries, strict=True)}
        return {
            "Failed": [{"Id": numbers[each], "Code": code, "SenderFault": True} for each, code in refused.items()],
        }

    def ids(self, member: str | None = None) -> list[str]:
        return [event["id"] for event in self.taken if member is None or member in members_of(event)]


def members_of(event: Event) -> set[str]:
    return {update["member"] for update in event.get("updates", [event])}


@contextmanager
def hasty() -> Iterator[None]:
    """Threads come between any two statements of each other."""
    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        yield
    finally:
        sys.setswitchinterval(usual)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """A shell starts what it runs in the background without the signal of Ctrl-C."""
    usual = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, usual)


@pytest.fixture(autouse=True)
def _ended() -> Iterator[None]:
    """No thread outlives its batch."""
    before = {*threading.enumerate()}
    yield
    assert {*threading.enumerate()} <= before


@pytest.mark.parametrize("members", [400, 10])
def test_eight_requests_are_under_way_at_a_time(connected: Connect, members: int) -> None:
    """Of few members, the first requests are held until many events wait. The others are held until there are eight."""
    many, eight = threading.Event(), threading.Event()

    def hold(_: Sequence[Event]) -> None:
        if queue.most == SENDERS:
            eight.set()
        assert (eight if members == 400 or many.is_set() else many).wait(WAIT_S)

    queue = Observed(hold)
    with connected(sqs=queue).batch() as batch:
        for number in range(400):
            if number == MOST_HELD:
                many.set()
            batch.post("b", f"u{number % members}", points=1)
    assert queue.most == SENDERS <= CONNECTIONS
    assert len({*queue.ids()}) == len(queue.taken) == 400


@pytest.mark.parametrize("members", [2, 15, 200])
def test_the_events_of_a_member_are_sent_in_their_order(connected: Connect, members: int) -> None:
    """Also those that have other members too, and whatever the queue does not take at once."""
    rng = Random(members)
    names = [f"u{number}" for number in range(members)]
    unsure = Random(members)

    def fail(_: Sequence[Event]) -> None:
        sleep(0.002)  # so that others are sent meanwhile
        if unsure.random() < 0.1:
            raise UNREACHABLE

    queue, posted = Observed(fail), list[Event]()
    with hasty(), connected(sqs=queue).batch() as batch:
        for number in range(600):
            some = {*rng.choices(names, k=rng.choice([1, 1, 1, 2, 3]))}
            updates = [{"board": "b", "member": member, "metrics": {"points": 1}} for member in sorted(some)]
            posted.append({"id": f"{number}", "updates": updates})
            batch.post_event(posted[-1])
    assert queue.together == []
    for name in names:
        assert queue.ids(name) == [event["id"] for event in posted if name in members_of(event)]
    assert queue.most > 1 or members < 200


def test_members_that_all_share_a_clan_still_go_ten_to_a_request(connected: Connect) -> None:
    queue = Observed()
    with connected(sqs=queue).batch() as batch:
        for number in range(100):
            pair = [{"board": "b", "member": name, "metrics": {"points": 1}} for name in (f"u{number}", "clan")]
            batch.post(updates=pair, id=f"{number}")
    assert queue.ids() == [f"{number}" for number in range(100)]
    assert queue.requests <= 11


def test_posting_waits_while_many_wait_for_the_queue(connected: Connect) -> None:
    answers, posted = threading.Event(), list[str]()

    def hold(_: Sequence[Event]) -> None:
        assert answers.wait(WAIT_S)

    queue = Observed(hold)

    def post() -> None:
        with connected(sqs=queue).batch() as batch:
            for number in range(3 * MOST_HELD):
                posted.append(batch.post("b", f"u{number}", points=1))

    thread = threading.Thread(target=post)
    thread.start()
    while len(posted) < MOST_HELD:
        assert thread.is_alive()
    thread.join(0.2)
    assert len(posted) == MOST_HELD
    answers.set()
    thread.join(WAIT_S)
    assert queue.ids() != []
    assert len({*queue.ids()}) == 3 * MOST_HELD


def test_posting_goes_on_where_all_that_waited_is_sent(connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standings.client.sending.MOST_HELD", 5)
    queue = Observed()
    with connected(sqs=queue).batch() as batch:
        for number in range(100):
            batch.post("b", f"u{number}", points=1)
    assert len({*queue.ids()}) == 100


def test_what_is_not_taken_is_named_in_the_order_of_the_calls_and_once(connected: Connect) -> None:
    """The queue refuses events of the second request at once, those of the first one later."""
    second_failed, wrong = threading.Event(), {"3", "7", "12", "31"}

    def refuse(events: Sequence[Event]) -> dict[str, str]:
        ids = [event["id"] for event in events]
        assert "3" not in ids or second_failed.wait(WAIT_S)
        if "12" in ids:
            second_failed.set()
        return dict.fromkeys([each for each in ids if each in wrong], INVALID)

    queue, named = Observed(refuse), list[list[str]]()
    with connected(sqs=queue).batch() as batch:
        for number in range(35):
            try:
                batch.post("b", f"u{number}", id=f"{number}", points=1)
            except PostError as error:
                named.append([one.event["id"] for one in error.unsent])
        try:
            batch.flush()
        except PostError as error:
            named.append([one.event["id"] for one in error.unsent])
    assert [each for ids in named for each in ids] == ["3", "7", "12", "31"]
    assert sorted(queue.ids(), key=int) == [f"{number}" for number in range(35) if f"{number}" not in wrong]


@pytest.mark.parametrize("members", [1, 1000])
def test_a_queue_that_takes_nothing_is_not_waited_for_again_and_again(
    stack: Stack, connected: Connect, members: int
) -> None:
    """Its first answers come when many events wait."""
    many = threading.Event()

    def fail(_: Sequence[Event]) -> None:
        assert many.wait(WAIT_S)
        raise UNREACHABLE

    queue, named, began = Observed(fail), list[str](), stack.clock()
    tried = 0
    try:
        with connected(sqs=queue).batch() as batch:
            for number in range(1_000):
                tried += 1
                if tried == MOST_HELD:
                    many.set()
                batch.post("b", f"u{number % members}", id=f"{number}", points=1)
    except PostError as error:
        for one in (error.__context__, error):
            named += [each.event["id"] for each in one.unsent] if isinstance(one, PostError) else []
    assert named == [f"{number}" for number in range(tried)]
    assert tried <= MOST_HELD + 1
    assert stack.clock() - began <= 10_000


def test_what_ends_a_request_otherwise_is_raised_to_whoever_posts_and_nothing_is_lost(connected: Connect) -> None:
    with pytest.raises(BadArgument, match="queue_url: is missing"), connected(queue_url=None).batch() as batch:
        batch.post("b", "u", points=1)

    bugs = [RuntimeError("a bug of a handler")]

    def fail(events: Sequence[Event]) -> None:
        if events[0]["id"] == "0" and bugs:
            raise bugs.pop()

    queue = Observed(fail)
    with pytest.raises(RuntimeError, match="a bug"), connected(sqs=queue).batch() as batch:  # noqa: PT012 - its end matters
        for number in range(1_000):
            batch.post("b", f"u{number}", id=f"{number}", points=1)
    assert sorted(map(int, queue.ids())) == [*range(len(queue.taken))]
    assert len(queue.taken) >= 10


def test_an_error_waits_for_the_requests_before_its_own() -> None:
    def send(messages: Sequence[OutgoingMessage]) -> dict[int, str]:
        if messages[0].body == "10":
            raise RuntimeError("a bug")
        while sending._error is None:
            sleep(0.001)
        sleep(0.05)  # so that whoever waits could raise it
        return {}

    sending = Sending[int](send)
    for number in range(20):
        sending.put(number, OutgoingMessage(f"{number}", {}), frozenset({f"{number}"}))
    results = sending.results(until_sent=True)
    assert next(results) == [(number, None) for number in range(10)]
    with pytest.raises(RuntimeError, match="a bug"):
        next(results)
    for thread in sending._threads:
        thread.join()


def test_the_with_ends_after_its_threads(connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    work, before = Sending._work, {*threading.enumerate()}

    def last_longer(sending: Sending[Any]) -> None:
        work(sending)
        sleep(0.1)

    monkeypatch.setattr(Sending, "_work", last_longer)
    with connected(sqs=Observed()).batch() as batch:
        batch.post("b", "u", points=1)
    assert {*threading.enumerate()} <= before


@pytest.mark.usefixtures("interruptible")
@pytest.mark.parametrize("request_number", [1, 2, 3, 9, 20])
def test_an_interrupt_at_any_moment_loses_nothing(connected: Connect, request_number: int) -> None:
    def interrupt(_: Sequence[Event]) -> None:
        if queue.requests == request_number:
            signal.raise_signal(signal.SIGINT)

    queue, returned = Observed(interrupt), list[str]()
    with hasty(), pytest.raises(KeyboardInterrupt), connected(sqs=queue).batch() as batch:  # noqa: PT012 - as above
        for number in range(10_000):
            returned.append(batch.post("b", f"u{number}", points=1))
    assert {*returned} <= {*queue.ids()}
    assert len(returned) < 10_000


def test_where_no_thread_can_be_started_the_caller_sends(connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    """Python starts none while it exits."""

    def refuse(_: threading.Thread) -> None:
        raise RuntimeError("can't create new thread at interpreter shutdown")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    queue = Observed()
    with connected(sqs=queue).batch() as batch:
        for number in range(25):
            batch.post("b", f"u{number % 4}", id=f"{number}", points=1)
    assert (len({*queue.ids()}), queue.most) == (25, 1)


def test_events_without_a_time_are_never_far_ahead_of_the_clock(
    stack: Stack, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert module.MOST_AHEAD_MS <= 60_000, "the writer refuses what is five minutes ahead"
    monkeypatch.setattr(module, "MOST_AHEAD_MS", 30)
    began = stack.clock()
    with connected(sqs=Observed()).batch() as batch:
        for _ in range(100):
            batch.post("b", "u", at="2026-11-20T10:15:00Z", points=1)
            assert stack.clock() == began
        for number in range(100):
            batch.post("b", "u", points=1)
            assert number - 30 <= stack.clock() - began <= max(0, number - 28)


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


def test_a_person_sees_a_bar_on_long_work_and_a_pipe_gets_nothing(
    stack: Stack, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = stack.clock.monotonic
    for screen, total, expected in (
        (Terminal(), 40, r"\r\[#{15}-{15}\] 20 of 40 events sent\r *\r$"),
        (Terminal(), None, r"\r20 events sent\r *\r$"),
        (StringIO(), 40, "$"),
    ):
        progress = Progress(clock, total, screen)
        progress.more(10)
        assert screen.getvalue() == "", "short work shows nothing"
        stack.clock.sleep(2)
        progress.more(10)
        progress.more(10)
        progress.end()
        assert re.match(expected, screen.getvalue())

    for wanted in (True, False):
        monkeypatch.setattr("sys.stderr", screen := Terminal())
        with connected(sqs=Observed(lambda _: stack.clock.sleep(3))).batch(30, progress=wanted) as batch:
            for number in range(30):
                batch.post("b", f"u{number}", points=1)
        assert ("of 30 events sent" in screen.getvalue()) is wanted
