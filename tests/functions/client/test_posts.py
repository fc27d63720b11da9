"""The client's posts: each event once on the queue, or named in the error."""

import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from importlib import import_module
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import orjson
import pytest
from botocore.exceptions import ClientError, EndpointConnectionError

from standings.client import BadArgument, Batch, PostError, Standings
from tests.functions.client.conftest import Clients, Connect
from tests.support.aws.fakes import Queue
from tests.support.aws.gateway import serving
from tests.support.aws.stack import Stack, count

# Neither has types for strict checks.
numpy, pandas = (import_module(name) for name in ("numpy", "pandas"))
BOARDS: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", precision = 2, windows = ["all"] }
[boards."daily"]
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
[boards."fine"]
metrics.points = { aggregate = "sum", precision = 7 }
[boards."noted"]
metrics.points = { aggregate = "last", notes = true, windows = ["all"] }
"""
ALL: Final = "/boards/b/points/all"
AT: Final = datetime(2026, 11, 20, 10, 15, tzinfo=UTC)
NAIVE: Final = AT.replace(tzinfo=None)
LATER: Final = datetime(2026, 11, 21, 10, 20, 1, tzinfo=UTC)
"""Five minutes and a second after the stack's clock."""


def counted(stack: Stack) -> dict[str, float]:
    """The scores, once the functions have counted what is on the queue."""
    count(stack)
    return {entry["member"]: entry["score"] for entry in stack.entries(ALL)}


def sent(stack: Stack) -> list[dict[str, Any]]:
    return [orjson.loads(message["MessageBody"]) for message in stack.activity.messages]


class Failing:
    """A queue whose calls fail, each as the next of `failures` says; then it works."""

    def __init__(self, queue: Queue, *failures: Any) -> None:
        self.queue = queue
        self.failures = [*failures]
        self.sizes: list[int] = []

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        self.sizes.append(len(Entries))
        failure = self.failures.pop(0) if self.failures else None
        if isinstance(failure, BaseException):
            raise failure
        if failure is None:
            return self.queue.send_message_batch(QueueUrl, Entries)
        code, is_fault = failure
        answer = self.queue.send_message_batch(QueueUrl, Entries[1:]) if Entries[1:] else {}
        return {**answer, "Failed": [{"Id": Entries[0]["Id"], "Code": code, "SenderFault": is_fault}]}


def error(code: str, status: int = 400) -> ClientError:
    response: Any = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    return ClientError(response, "SendMessageBatch")


def test_an_event_counts_once_with_all_its_fields(stack: Stack, connected: Connect) -> None:
    client = connected()
    assert client.post("b", "u1", points=3) == "made-1"
    assert client.post("b", "u1", points=3, id="made-1") == "made-1"
    at = datetime(2026, 11, 20, tzinfo=UTC)
    client.post("b", "u2", id="2", at=at, metrics={"points": Decimal("0.10")})
    client.post("noted", "u2", id="7", points=1, note={"run": 7})
    client.post(["b", "c"], "u3", id="3", at="2026-11-20T10:00:00+01:00", points=0.5)
    client.post(id="4", updates=[{"board": "b", "member": "u4", "metrics": {"points": Decimal("1e1")}}])
    client.post("b", "u2", id="5", points=7, set=True)
    client.post_event(MappingProxyType({"id": "6", "board": "b", "member": "u6", "metrics": {"points": 1}}))

    about = {"id": "2", "board": "b", "member": "u2", "at": "2026-11-20T00:00:00+00:00"}
    assert sent(stack)[2] == {**about, "metrics": {"points": 0.10}}
    assert {message["MessageGroupId"] for message in stack.activity.messages} == {"b", "noted"}
    assert sent(stack)[3]["note"] == {"run": 7}
    assert counted(stack) == {"u1": 3, "u2": 7, "u3": 0.5, "u4": 10, "u6": 1}
    assert stack.dead_letters.reasons() == []
    status = client.event("6")
    assert status is not None
    assert status["status"] == "counted"


def test_it_makes_the_messages_that_the_api_makes(stack: Stack, connected: Connect) -> None:
    connected().post("b", "u1", id="1", points=3)
    assert stack.post("/events", {"id": "1", "board": "b", "member": "u1", "metrics": {"points": 3}})[0] == 202

    own, of_api = ({**message, "Id": "", "MessageId": ""} for message in stack.activity.messages)
    assert own == of_api


@pytest.mark.parametrize(
    ("post", "expected"),
    [
        (lambda client: client.post("b", "u", points=float("nan")), "metrics.points: expected a number such as 3"),
        (lambda client: client.post("b", "u", points=True), "metrics.points: expected a number"),
        (lambda client: client.post("b", "u", metrics={"points": "3"}), "metrics.points: expected a number"),
        (lambda client: client.post("b", "u", points=10**400), "metrics.points: expected a number"),
        (lambda client: client.post("b", "u", points=0.1 + 0.2), "metrics.points: expected at most"),
        (lambda client: client.post("b", "u", metrics={"points": 1}, points=2), "metrics.points: is given twice"),
        (lambda client: client.post("b", "u", metrics={"Points": 1}), "metrics: "),
        (lambda client: client.post(updates=[{"metrics": {"x": float("inf")}}]), r"updates\[0\].metrics.x: expected a"),
        (lambda client: client.post_event({}), "board: is missing"),
        (lambda client: client.post("b", 5, points=1), "member: expected text, got 5"),
        (lambda client: client.post("b", "u", at="2026-11-21T10:15:00", points=1), "at: expected an RFC 3339 instant"),
        (lambda client: client.post("b", "u", at=LATER, points=1), "at: expected an instant at most 5 minutes ahead"),
        (lambda client: client.post("b", "u", at=NAIVE, points=1), "at: expected a time with its offset"),
        (lambda client: client.post("b", "u", points=1, note={"x": object()}), "what JSON can hold, got object"),
        (lambda client: client.post("b", "\ud800", points=1), "member: expected text that UTF-8 can hold"),
        (lambda client: client.post("b", "u", points=1, note={"x": "y" * 2**20}), "body: expected at most 1048554 b"),
    ],
)
def test_a_wrong_event_is_refused_before_it_is_sent(
    stack: Stack, connected: Connect, monkeypatch: pytest.MonkeyPatch, post: Callable[[Any], Any], expected: str
) -> None:
    # In this repository the package stands beside a `boards.toml`, as in the layer.
    monkeypatch.setattr("standings.client.stack.BOARDS_FILE", Path("none"))
    for client in (connected(), connected(boards=None)):
        with pytest.raises(BadArgument, match=expected):
            post(client)
        with pytest.raises(BadArgument, match=expected), client.batch() as batch:  # noqa: PT012 - its end matters
            batch.post("b", "good", points=1)
            post(batch)
    assert [event["member"] for event in sent(stack)] == ["good", "good"]


NUMBERS: Final[list[tuple[Any, str]]] = [
    *((0.1, "0.1"), (1e-7, "1e-7"), (10**6, "1000000"), (Decimal("0.10"), "0.10"), (Decimal("1E2"), "1E+2")),
    *((one, "0.1") for one in (numpy.float64(0.1), numpy.float32(0.1), numpy.float16(0.1), numpy.longdouble("0.1"))),
    (numpy.int64(3), "3"),
]
INSTANTS: Final[list[tuple[Any, str]]] = [
    (AT.astimezone(timezone(timedelta(seconds=3723))), ""),
    (pandas.Timestamp(AT).tz_convert("Asia/Kathmandu") + pandas.Timedelta(1, "ns"), ".000000001"),
]


@pytest.mark.parametrize(
    ("given", "text"),
    [
        *(({"points": amount}, f'"points":{text}}}') for amount, text in NUMBERS),
        *(({"points": 1, "at": at}, f'"at":"2026-11-20T10:15:00{text}+00:00"') for at, text in INSTANTS),
    ],
)
def test_numbers_and_times_go_as_they_print(stack: Stack, connected: Connect, given: dict[str, Any], text: str) -> None:
    connected().post("fine", "u", **given)
    assert text in stack.activity.messages[0]["MessageBody"]
    count(stack)
    assert stack.dead_letters.reasons() == []


def test_where_definitions_are_known_what_they_do_not_allow_is_refused(stack: Stack, connected: Connect) -> None:
    with pytest.raises(BadArgument, match="metrics: board 'b' has no metric 'km'"):
        connected().post("b", "u", km=1)
    assert sent(stack) == []


ROUNDED: Final[list[tuple[Any, float]]] = [
    *((0.1 + 0.2, 0.3), (2.675, 2.68), (-0.125, -0.13), (Decimal("1E-999999999"), 0), (Decimal("0." + "4" * 99), 0.44)),
    *(
        (numpy.float64(0.1) * 3, 0.3),
        (numpy.float32(0.126), 0.13),
        (numpy.int64(7), 7),
        (pandas.Series([0.1] * 3).sum(), 0.3),
    ),
]


@pytest.mark.parametrize(("number", "score"), ROUNDED)
def test_numbers_are_rounded_to_the_decimals_of_their_metric(
    stack: Stack, connected: Connect, monkeypatch: pytest.MonkeyPatch, number: Any, score: float
) -> None:
    """Also where only the API knows the definitions. Boards that keep different decimals get the fewest."""
    monkeypatch.setattr("standings.client.stack.BOARDS_FILE", Path("none"))
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    connected().post("b", "tables", id="1", points=number, round=True)
    with serving(stack) as gateway:
        client = connected(boards=None, reads="api", api_url=gateway.address)
        client.post(["b", "fine"], "api", id="2", points=number, round=True)
        with client.batch() as batch:
            update = {"board": "b", "member": "batch", "metrics": {"points": number}}
            batch.post(id="3", updates=[update], round=True)
    assert counted(stack) == dict.fromkeys(("api", "batch", "tables"), score)
    assert stack.dead_letters.reasons() == []


def test_what_cannot_be_rounded_or_has_to_be_is_named(
    stack: Stack, connected: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(BadArgument, match=r"^metrics\.points: expected at most 15 .*; round=True rounds it to the dec"):
        connected().post("b", "u", points=0.1 + 0.2)
    with pytest.raises(BadArgument, match=r"^metrics\.points: expected a number such as 3 .*, got nan$"):
        connected().post("b", "u", points=float("nan"), round=True)
    with pytest.raises(BadArgument, match=r"^metrics: board 'b' has no metric 'km'"):
        connected().post("b", "u", km=0.1 + 0.2, round=True)
    monkeypatch.setattr("standings.client.stack.BOARDS_FILE", Path("none"))
    with pytest.raises(BadArgument, match=r"^round: api_url: is missing: give it to connect"):
        connected(boards=None, reads="api").post("b", "u", points=1.5, round=True)
    assert sent(stack) == []


def test_a_batch_sends_ten_at_a_time_and_the_later_call_has_the_later_time(stack: Stack, connected: Connect) -> None:
    queue = Failing(stack.activity)
    client = connected(sqs=queue)
    with client.batch() as batch:
        ids = [batch.post("b", f"u{number}", points=1) for number in range(25)]
    assert sorted(queue.sizes) == [5, 10, 10]
    times = {event["id"]: event["at"] for event in sent(stack)}
    assert len({*times.values()}) == 25
    assert [times[each] for each in ids] == sorted(times.values())
    assert len(counted(stack)) == 25


def test_what_the_queue_does_not_take_yet_is_sent_again_with_the_same_id(stack: Stack, connected: Connect) -> None:
    failed = [("ThrottlingException", True), ("OverLimit", True), ("ServiceUnavailable", False)]
    lost = [error("ThrottlingException"), error("x", 429), error("x", 503), EndpointConnectionError(endpoint_url="x")]
    queue = Failing(stack.activity, *failed, *lost)
    with connected(sqs=queue).batch() as batch:
        for member in "abc":
            batch.post("b", member, points=1)
    assert queue.sizes == [3, *[1] * 7]
    assert sorted(event["id"] for event in sent(stack)) == ["made-1", "made-2", "made-3"]
    assert counted(stack) == {"a": 1, "b": 1, "c": 1}


@pytest.mark.parametrize(
    ("failure", "reason"),
    [
        (("InvalidMessageContents", True), "InvalidMessageContents"),
        (error("AccessDenied", 403), "AccessDenied"),
        (EndpointConnectionError(endpoint_url="https://sqs"), "Could not connect"),
    ],
)
def test_what_it_never_takes_is_named(stack: Stack, connected: Connect, failure: Any, reason: str) -> None:
    queue = Failing(stack.activity, *[failure] * (1000 if isinstance(failure, EndpointConnectionError) else 1))
    client = connected(sqs=queue)
    began = stack.clock()
    expected = f"[13] of 3 events were not sent; the first is 'made-1': .*{reason}"
    with pytest.raises(PostError, match=expected) as raised, client.batch() as batch:  # noqa: PT012 - as above
        for member in "abc":
            batch.post("b", member, points=1)
    assert stack.clock() - began <= 5_000
    ids = {one.event["id"] for one in raised.value.unsent} | {event["id"] for event in sent(stack)}
    assert ids == {"made-1", "made-2", "made-3"}
    queue.failures = []
    for one in raised.value.unsent:
        assert client.post_event(one.event) == one.event["id"]
    assert counted(stack) == {"a": 1, "b": 1, "c": 1}


def test_whatever_ends_the_with_what_was_posted_is_sent(stack: Stack, connected: Connect) -> None:
    for ending in (SystemExit(1), KeyboardInterrupt(), ValueError("a bug of the caller")):
        with pytest.raises(type(ending)), connected().batch() as batch:  # noqa: PT012 - as above
            batch.post("b", "u", id=repr(ending), points=1)
            raise ending
    # Interrupted while it sends: what may not have been sent is sent again.
    client = connected(sqs=Failing(stack.activity, KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt), client.batch() as batch:  # noqa: PT012 - as above
        batch.post("b", "u", id="4", points=1)
        batch.flush()
    assert counted(stack) == {"u": 4}


def test_a_thread_inside_its_with_loses_nothing_when_the_interpreter_exits(tmp_path: Path) -> None:
    file = tmp_path / "sent"
    program = f"""
import threading, time
from types import SimpleNamespace
from standings.client import connect

def send(QueueUrl, Entries):
    with open({str(file)!r}, "a") as sent:
        sent.write("".join(entry["MessageBody"] + "\\n" for entry in Entries))
    return {{}}

session = SimpleNamespace(create_client=lambda service, config: SimpleNamespace(send_message_batch=send))
client = connect(queue_url="q", session=session)
posted = threading.Event()

def work():
    with client.batch() as batch:
        batch.post("walk", "u", id="1", points=1)
        posted.set()
        time.sleep(60)

threading.Thread(target=work, daemon=True).start()
posted.wait()
"""
    subprocess.run([sys.executable, "-c", program], env=os.environ, check=True, timeout=60)
    assert [orjson.loads(line)["id"] for line in file.read_text(encoding="utf-8").splitlines()] == ["1"]


def test_threads_share_a_client_and_a_batch(stack: Stack, connected: Connect) -> None:
    client = connected()

    def work(poster: Standings | Batch) -> None:
        for _ in range(50):
            poster.post("b", "u", points=1)

    usual = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)  # so that threads come between any two statements of each other
    try:
        with client.batch() as batch, ThreadPoolExecutor(4) as pool:
            assert [*pool.map(work, [client, batch, client, batch])] == [None] * 4
    finally:
        sys.setswitchinterval(usual)
    assert counted(stack) == {"u": 200}


def test_a_post_that_waits_has_the_ranks_that_follow(clients: Clients, stack: Stack) -> None:
    for number, client in enumerate((clients.tables, clients.api)):
        assert client.post("b", "u1", id=f"w{number}", points=Decimal(3), wait=1) == (f"w{number}", None)
        count(stack)
        found = client.post("b", "u1", id=f"w{number}", points=Decimal(3), wait=10)
        assert found.members is not None
        assert found.members[0]["metrics"][0]["windows"][0]["rank"] == 1
        with pytest.raises(BadArgument, match="other content"):
            client.post("b", "u1", id=f"w{number}", points=4, wait=1)
        with pytest.raises(BadArgument, match="wait: expected from 1 to 10, got 11"):
            client.post("b", "u1", points=4, wait=11)
        with client.batch() as batch, pytest.raises(BadArgument, match="wait: a batch cannot wait"):
            batch.post("b", "u1", points=4, wait=1)
        stack.activity.refusal = lambda _: "ServiceUnavailable"
        with pytest.raises(PostError, match="1 of 1 events were not sent; the first is 'made-") as raised:
            client.post("b", "u1", points=4, wait=1)
        stack.activity.refusal = lambda _: ""
        assert client.post_event(raised.value.unsent[0].event) == raised.value.unsent[0].event["id"]


def test_history_counts_in_periods_that_have_closed(stack: Stack, connected: Connect) -> None:
    """By a client, and by a batch. Without it an event of long ago counts in `all` alone."""
    client, long_ago = connected(), AT - timedelta(days=20)
    client.post("daily", "late", at=long_ago, points=1)
    client.post("daily", "one", at=long_ago, points=1, history=True)
    with client.batch() as batch:
        batch.post("daily", "many", at=long_ago, points=1, history=True)
    count(stack)
    day = client.board("daily").top(window="day", period=long_ago.date())["entries"]
    assert {one["member"] for one in day} == {"one", "many"}
    assert client.board("daily").top(window="all")["total"] == 3


def test_an_event_is_corrected_and_taken_back(stack: Stack, connected: Connect) -> None:
    """By a client, and by a batch, in the order of the calls."""
    client = connected()
    first = client.post("b", "ada", points=12)
    other = client.post("b", "bo", points=5)
    own = client.correct(first, "b", "ada", points=8)
    assert counted(stack) == {"ada": 8, "bo": 5}
    status = client.event(first)
    assert status is not None
    assert status["corrected"] == {"at": "2026-11-21T10:15:00.000Z", "by": own}
    with client.batch() as batch:
        batch.correct(first, updates=[{"board": "b", "member": "cy", "metrics": {"points": 1}}], id="c2", at=AT)
        batch.retract(other, id="r1")
    assert counted(stack) == {"ada": 0, "bo": 0, "cy": 1}
    with pytest.raises(BadArgument, match="event_id: expected"):
        client.correct("", "b", "ada", points=1)
