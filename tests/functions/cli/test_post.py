"""`standings post`: what reaches the queue, what it prints, and what it posts again after a refusal, an interruption or
a month."""

import gzip
import io
import json
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from standings.client.sending import SENDERS
from standings_cli.post import outbox
from standings_cli.terminal import DIFFERS, INTERRUPTED, OK, UNREACHABLE, WRONG
from tests.support.aws import fakes
from tests.support.aws.fakes import INVALID
from tests.support.aws.stack import ManualClock
from tests.support.builders.querying import NOW
from tests.support.cli.command_line import Run

DAY_MS = 86_400_000
CSV = "post --csv rows.csv --board b"


class Queue(fakes.Queue):
    def take(self) -> list[dict[str, Any]]:
        """Return and forget the events, in the order of their members."""
        events = [json.loads(message["MessageBody"]) for message in self.messages]
        self.messages.clear()
        return sorted(events, key=lambda event: event["member"])

    def members(self) -> list[str]:
        return [event["member"] for event in self.take()]


@pytest.fixture
def queue() -> Queue:
    return Queue("activity")


@pytest.fixture
def connection(queue: Queue, clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The queue, at an instant, in a folder of its own. The queue is never waited for."""
    assert clock() == int(NOW.timestamp() * 1000)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(outbox, "_MAX_RETRY_S", 0.0)
    return SimpleNamespace(queue_url="https://queue.invalid/activity", client=lambda _: queue, knows_api=False)


def write(*rows: str) -> Path:
    file = Path("rows.csv")
    file.write_text("member,points\n" + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return file


def remembered(file: str = "rows.csv.posted") -> dict[str, Any]:
    checkpoint: dict[str, Any] = json.loads(Path(file).read_text())
    return checkpoint


def test_an_event_that_the_queue_does_not_take_now_or_never(run: Run, queue: Queue) -> None:
    queue.refusal = lambda _: "InternalError"
    ran = run("post b m points=1 --id x")
    assert ran.status == UNREACHABLE
    assert "run the same command again with --id x: the event counts once" in ran.err
    queue.refusal = lambda _: INVALID
    refused = "standings: the queue refuses the event: InvalidMessageContents: \n"
    assert run("post b m points=1") == (WRONG, "", refused)


def test_a_last_line_without_an_end_waits_until_it_has_one(run: Run, queue: Queue) -> None:
    posted = []
    for more in ("", "\nc,1", "5", "\n"):
        with Path("rows.csv").open("a") as file:
            file.write(more or "member,points\na,1\nb,3")
        ran = run(CSV)
        assert (ran.status, "may be half-written" in ran.err) == ((OK, False) if more == "\n" else (DIFFERS, True))
        posted.append([event["metrics"]["points"] for event in queue.take()])
    assert posted == [[1], [3], [], [15]]


def test_packed_files(run: Run, queue: Queue) -> None:
    plain = write(*(f"m{n},{n}" for n in range(500))).read_bytes()
    packed = Path("rows.csv.gz")
    packed.write_bytes(gzip.compress(plain))
    assert run("post --csv rows.csv.gz --board b").status == OK
    ids = {event["id"] for event in queue.take()}
    assert run(CSV).status == OK
    assert {event["id"] for event in queue.take()} == ids, "packed or not, it is the same source"
    assert len(ids) == 500

    for broken in (gzip.compress(plain)[:-200], plain):
        packed.write_bytes(broken)
        ran = run("post --csv rows.csv.gz --board b --again")
        assert (ran.status, "rows.csv.gz cannot be read: " in ran.err) == (WRONG, True)


def test_standard_input(run: Run, queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    def given(options: str) -> set[str]:
        lines = io.BytesIO(b'{"member":"m","metrics":{"points":1}}\n' * 2)
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(lines))
        ran = run(f"post --jsonl - --board b {options}")
        assert ran.status == (OK if options else WRONG)
        assert options or "use --source NAME" in ran.err
        return {event["id"] for event in queue.take()}

    assert given("") == set()
    first = given("--source x")
    assert len(first) == 2
    assert given("--source x") == first
    assert list(Path().iterdir()) == []


def test_what_the_queue_never_takes_is_named_and_passed(run: Run, queue: Queue) -> None:
    queue.refusal = lambda body: INVALID if '"b"' in body.partition("member")[2] else ""
    write("a,1", "b,2", "c,3")
    ran = run(CSV)
    assert (ran.status, "rows.csv:3: the queue refuses it: InvalidMessageContents" in ran.err) == (DIFFERS, True)
    assert queue.members() == ["a", "c"]
    queue.refusal = lambda _: ""
    assert run(CSV).status == DIFFERS
    assert queue.messages == []


def test_what_the_queue_does_not_take_now_is_gone_on_with(run: Run, queue: Queue) -> None:
    queue.refusal = lambda body: "InternalError" if '"m08"' in body else ""
    write(*(f"m{n // 2:02},1" for n in range(30)))
    ran = run(f"{CSV} --json")
    assert "the queue did not accept all rows after line 11 of rows.csv: InternalError: ; run the same" in ran.err
    assert (ran.status, json.loads(ran.out)["finished"], remembered()["mark"]["rows"]) == (UNREACHABLE, False, 10)

    queue.refusal = lambda _: ""
    before = {event["id"] for event in queue.take()}
    ran = run(CSV)
    assert (ran.status, "10 rows were posted before; continuing after line 11" in ran.err) == (OK, True)
    posted = queue.take()
    assert [event["member"] for event in posted] == [f"m{n // 2:02}" for n in range(10, 30)]
    assert len(before | {event["id"] for event in posted}) == 30, "rows that are equal have the ids that they had"


def test_several_requests_are_under_way_and_the_rows_of_a_member_keep_their_order(run: Run, queue: Queue) -> None:
    """The queue holds its first requests until there are eight."""
    under_way, together, most, eight = list[set[str]](), list[set[str]](), [0], threading.Event()
    send = queue.send_message_batch

    def hold(QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803 - the SDK's names
        events = [json.loads(entry["MessageBody"]) for entry in Entries]
        members = {each["member"] for event in events for each in event.get("updates", [event])}
        together.extend(both for other in under_way if (both := members & other))
        under_way.append(members)
        most[0] = max(most[0], len(under_way))
        if len(under_way) == SENDERS:
            eight.set()
        assert eight.wait(60)
        under_way.remove(members)
        return send(QueueUrl, Entries)

    def line(number: int) -> str:
        pair = (f"m{number % 90}", f"c{number % 90 // 2}")
        updates = [{"board": "b", "member": member, "metrics": {"points": 1}} for member in pair]
        return json.dumps({"id": f"{number}", "updates": updates}) + "\n"

    Path("rows.jsonl").write_text("".join(map(line, range(400))), encoding="utf-8")
    with mock.patch.object(queue, "send_message_batch", hold):
        assert run("post --jsonl rows.jsonl --at 2026-11-20T10:00:00Z").status == OK
    assert (most, together) == ([SENDERS], [])
    ids = [json.loads(message["MessageBody"])["id"] for message in queue.messages]
    for clan in range(45):
        assert [one for one in ids if int(one) % 90 // 2 == clan] == [f"{n}" for n in range(400) if n % 90 // 2 == clan]


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_person_sees_a_bar_and_a_pipe_gets_none(
    run: Run, queue: Queue, monkeypatch: pytest.MonkeyPatch, is_terminal: bool
) -> None:
    write(*(f"m{n:02},1" for n in range(30)))
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal)
    ran = run(f"{CSV} --at 2026-11-20T10:00:00Z")
    assert (ran.status, len(queue.messages)) == (OK, 30)
    assert ("posting rows.csv: 30 events" in ran.err and "100%" in ran.err) is is_terminal
    assert ("\x1b[" in ran.err) is is_terminal


def test_what_ends_it_is_told_and_remembered(run: Run, queue: Queue) -> None:
    denied = ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "x")
    for ended, status, words in (
        (KeyboardInterrupt(), INTERRUPTED, "stopped after line 0; run the same command again to continue\n"),
        (denied, UNREACHABLE, "(AccessDenied)"),
    ):
        write("a,1")
        with mock.patch.object(queue, "send_message_batch", side_effect=ended):
            ran = run(CSV)
        assert (ran.status, words in ran.err, remembered()["finished"]) == (status, True, False)


def test_receipts_that_may_be_gone(run: Run, queue: Queue, clock: ManualClock) -> None:
    write("a,1", "b,2")
    queue.refusal = lambda _: "InternalError"
    assert run(CSV).status == UNREACHABLE
    queue.refusal = lambda _: ""
    clock.milliseconds += 29 * DAY_MS + 1
    ran = run(CSV)
    assert (ran.status, "some rows after line 0 may have been sent 29 days ago" in ran.err) == (WRONG, True)
    assert queue.members() == []
    assert run(f"{CSV} --anyway").status == OK
    assert queue.members() == ["a", "b"]

    clock.milliseconds += 400 * DAY_MS
    write("a,1", "b,2", "c,3")
    assert run(CSV).status == OK, "what was finished can be appended to at any time"
    assert queue.members() == ["c"]
    write("a,1", "c,3")
    ran = run(CSV)
    assert "rows.csv has changed, and rows of it may have been sent 429 days ago" in ran.err
    assert run(f"{CSV} --again").status == OK
    assert queue.members() == ["a", "c"]
    write("a,1", "d,3")
    assert run(CSV).status == OK
    clock.milliseconds += 20 * DAY_MS
    assert run(f"{CSV} --again").status == OK
    clock.milliseconds += 9 * DAY_MS
    write("a,1", "e,3")
    assert run(CSV).status == OK, "its first rows were counted 29 days ago"
    write("a,1", "f,3")
    clock.milliseconds += 1
    assert run(CSV).status == WRONG, "they were counted more than 29 days ago, however often they were posted since"


def test_a_record_of_version_0_2_is_gone_on_with(run: Run, queue: Queue) -> None:
    write("a,1")
    assert run(CSV).status == OK
    record = remembered()
    Path("rows.csv.posted").write_text(json.dumps({"queue": record.pop("target"), **record}))
    write("a,1", "b,2")
    assert run(CSV).status == OK
    assert queue.members() == ["a", "b"]


def test_an_interrupted_run_sets_each_total_once_a_new_run_again(run: Run, queue: Queue, clock: ManualClock) -> None:
    def ids(options: str = "") -> set[str]:
        clock.milliseconds += 1
        run(f"{CSV} --set {options}")
        return {event["id"] for event in queue.take()}

    write(*(f"m{n:02},1" for n in range(30)))
    dropped: list[str] = []
    queue.refusal = lambda body: "InternalError" if "m25" in body and not dropped.append(body) else ""  # type: ignore[func-returns-value]
    first = ids()
    lost = {json.loads(body)["id"] for body in dropped}
    assert remembered()["finished"] is False
    queue.refusal = lambda _: ""
    assert lost <= ids()
    with Path("rows.csv").open("a") as file:
        file.write("m30,1\n")
    assert len(first | ids() | lost) >= 30
    again = ids("--again")
    assert len(again) == 31
    assert not again & (first | lost)


def test_a_state_that_is_of_something_else(run: Run, queue: Queue, connection: Any) -> None:
    write("a,1")
    assert run(CSV).status == OK
    connection.queue_url, queue.name = "https://queue.invalid/other", "other"
    ran = run(CSV)
    other = "rows.csv.posted: expected a record of posted rows for https://queue.invalid/other, "
    assert (ran.status, ran.err.startswith(f"standings: {other}")) == (WRONG, True)
    assert run(f"{CSV} --state other").status == OK
    assert remembered("other")["target"] == "https://queue.invalid/other"
    Path("rows.csv.posted").write_text('{"queue": "x"}')
    assert run(CSV).status == WRONG
    assert run(f"{CSV} --again").status == OK
