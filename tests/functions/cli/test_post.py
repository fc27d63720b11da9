"""`standings post`: what reaches the queue, what is remembered, what is told, and the exit status."""

import gzip
import io
import json
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from botocore.exceptions import ClientError

from standings.aws.sqs.sender import size
from standings.runtime.environment import BOARDS_FILE
from standings_cli.__main__ import main
from standings_cli.post import outbox
from standings_cli.terminal.exit_status import DIFFERS, OK, UNREACHABLE, WRONG
from tests.support.aws.stack import ManualClock, Stack, check_batch, delivered, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.streaming import project

DAY_MS = 86_400_000
NOW = 1_795_256_100_000
HEADER = "member,points\n"


class Queue:
    """Keeps what it is sent; `refuses` says why it does not take a body, and whether that is the sender's fault."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.requests = 0
        self.refuses: Callable[[str], tuple[str, bool] | None] = lambda _: None
        self._lock = threading.Lock()

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl.startswith("https://queue.invalid/")
        check_batch(Entries)
        failed = []
        with self._lock:
            self.requests += 1
            for entry in Entries:
                refused = self.refuses(entry["MessageBody"])
                if refused:
                    failed.append({"Id": entry["Id"], "Code": refused[0], "SenderFault": refused[1]})
                else:
                    self.entries.append(entry)
        return {"Failed": failed} if failed else {}

    def take(self) -> list[dict[str, Any]]:
        """The events that came since the last look, in the order of their members."""
        entries, self.entries = self.entries, []
        return sorted((json.loads(entry["MessageBody"]) for entry in entries), key=lambda event: event["member"])

    def members(self) -> list[str]:
        return [event["member"] for event in self.take()]


@pytest.fixture
def queue() -> Queue:
    return Queue()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> ManualClock:
    clock = ManualClock(NOW)
    monkeypatch.setattr("time.time_ns", lambda: clock() * 1_000_000)
    return clock


@pytest.fixture(autouse=True)
def in_a_folder(clock: ManualClock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert clock() == NOW
    monkeypatch.chdir(tmp_path)


def post(queue: Queue, *arguments: str, to: str = "activity") -> int:
    connection = SimpleNamespace(queue_url=f"https://queue.invalid/{to}", client=lambda _: queue)
    return main(["post", *arguments], lambda _: connection)


def post_csv(queue: Queue, *arguments: str, to: str = "activity") -> int:
    return post(queue, "--csv", "rows.csv", "--board", "b", *arguments, to=to)


def write(*rows: str, header: str = HEADER) -> Path:
    file = Path("rows.csv")
    file.write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return file


def remembered(file: str = "rows.csv.posted") -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(file).read_text())
    return found


def test_one_event(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    assert post(queue, "b", "用户", "points=3", "distance=-11.20") == OK
    event_id = capsys.readouterr().out.strip()
    (entry,) = queue.entries
    assert entry["MessageBody"] == (
        f'{{"at":"2026-11-21T10:15:00.000Z","id":"{event_id}","board":"b","member":"用户",'
        '"metrics":{"distance":-11.20,"points":3}}'
    )
    assert entry["MessageAttributes"] == {"at_filled_in": {"DataType": "String", "StringValue": "true"}}

    assert post(queue, "--json", "b", "m", "points=3", "--id", "x", "--at", "2026-11-21T10:00:00Z") == OK
    assert json.loads(capsys.readouterr().out) == {"id": "x", "posted": 1}
    assert queue.entries[1]["MessageAttributes"] == {}


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ([], "expected BOARD MEMBER METRIC=AMOUNT, --csv FILE or --jsonl FILE"),
        (["b", "m"], "expected BOARD MEMBER METRIC=AMOUNT"),
        (["b", "m", "3"], "expected NAME=VALUE, got '3'"),
        (["b", "m", "points=1e3"], "metrics.points: expected a plain number"),
        (
            ["b", "m", "Points=1"],
            "metrics: expected a metric's name (a-z, then a-z, 0-9 and _, at most 64), got 'Points'",
        ),
        (["b", "m", "points=1", "points=2"], "expected each metric once, got points=1 points=2"),
        (["a b", "m", "points=1"], "board: expected 1 to 128 of"),
        (["b", "", "points=1"], "member: expected 1 to 256 bytes of UTF-8, got 0"),
        (["b", "m\udcff", "points=1"], "not valid UTF-8"),
        (["b", "m", "points=1", "--at", "now"], "at: expected an RFC 3339 instant"),
        (["b", "m", "points=1", "--id", ""], "id: expected text of 1 to 128 characters, got ''"),
        (["b", "m", "points=1", "--source", "x"], "--source does not apply to one event"),
        (["b", "m", "points=1.5", "--boards", str(BOARDS_FILE)], "expected at most 0 decimals"),
        (["b", "m", "points=1", "--boards", "nowhere.toml"], "nowhere.toml: "),
        (["--csv", "nowhere.csv", "--board", "b"], "nowhere.csv cannot be read: "),
        (["--csv", "rows.csv", "--id", "x"], "--id does not apply to a file"),
        (["--csv", "-", "--state", "x"], "--state does not apply to standard input"),
        (["--jsonl", "rows.csv", "--column", "a=b"], "--column does not apply to --jsonl"),
        (["--jsonl", "rows.csv", "points=1"], "BOARD MEMBER METRIC=AMOUNT does not apply to --jsonl"),
        (["--csv", "rows.csv"], "expected a column 'board', got 'member', 'points'"),
        (["--csv", "rows.csv", "--board", "b", "x=1e3"], "metrics.x: expected a plain number"),
        (["--csv", "rows.csv", "--board", "b", "--state", "no/folder"], "cannot record what is posted"),
    ],
)
def test_mistakes_of_the_command(
    queue: Queue, arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("m,1")
    assert post(queue, *arguments) == WRONG
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("standings: ")
    assert why in said.err
    assert queue.requests == 0
    assert [file.name for file in Path().iterdir()] == ["rows.csv"]


def test_files_exclude_each_other(queue: Queue) -> None:
    with pytest.raises(SystemExit) as wrong:
        post(queue, "--csv", "a", "--jsonl", "b")
    assert wrong.value.code == WRONG


def test_a_file_is_posted_once_and_what_is_appended_alone(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(*(f"m{n:02},{n}" for n in range(25)))
    assert post_csv(queue) == OK
    said = capsys.readouterr()
    assert said.out.startswith("posted 25 events of rows.csv in ")
    assert "standings dlq list" in said.err
    assert queue.members() == [f"m{n:02}" for n in range(25)]
    assert queue.requests == 3

    assert post_csv(queue) == OK
    said = capsys.readouterr()
    assert (said.out, said.err) == ("all 25 events of rows.csv were posted before\n", "")
    with file.open("a") as opened:
        opened.write("m00,0\nlast,7\n")
    assert post_csv(queue, "--json") == OK
    summary = json.loads(capsys.readouterr().out)
    del summary["seconds"]
    assert summary == {"source": "rows.csv", "posted": 2, "before": 25, "wrong": 0, "finished": True}
    again = queue.take()
    assert [event["member"] for event in again] == ["last", "m00"]

    assert post_csv(queue, "--again") == OK
    ids = {event["id"] for event in queue.take()}
    assert len(ids) == 27
    assert {event["id"] for event in again} < ids


def test_a_file_that_changed_is_posted_from_the_start(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    write("a,1", "b,2")
    post_csv(queue)
    before = queue.take()
    write("a,1", "b,3", "c,4")
    capsys.readouterr()
    assert post_csv(queue) == OK
    assert "rows.csv or the options have changed since its first 3 lines were posted" in capsys.readouterr().err
    after = queue.take()
    assert [(event["member"], event["metrics"]["points"]) for event in after] == [("a", 1), ("b", 3), ("c", 4)]
    assert [event["id"] for event in after[:1]] == [event["id"] for event in before[:1]]
    assert after[1]["id"] != before[1]["id"]

    write("a,1")
    assert post_csv(queue) == OK
    assert queue.members() == ["a"]
    assert post_csv(queue, "bonus=1") == OK
    assert queue.members() == ["a"]


def test_a_last_line_without_an_end_is_a_row_once(queue: Queue) -> None:
    Path("rows.csv").write_text("member,points\na,1\nb,3")
    post_csv(queue)
    queue.take()
    Path("rows.csv").write_text("member,points\na,1\nb,3\nc,1")
    post_csv(queue)
    assert queue.members() == ["c"]
    Path("rows.csv").write_text("member,points\na,1\nb,3\nc,15")
    post_csv(queue)
    assert [event["metrics"]["points"] for event in queue.take()] == [1, 3, 15]


def test_rows_that_are_no_events_are_named_and_the_rest_goes_on(
    queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a,1", 'b,"3,5"', "c,3", "d")
    assert post_csv(queue) == DIFFERS
    said = capsys.readouterr()
    assert "rows.csv:3: metrics.points: expected a plain number such as 3, -2 or 11.25, got '3,5'\n" in said.err
    assert "rows.csv:5: expected 2 columns as in the header, got 1\n" in said.err
    assert said.out.endswith("; rows skipped: 2\n")
    assert queue.members() == ["a", "c"]

    assert post_csv(queue, "--json") == DIFFERS
    assert json.loads(capsys.readouterr().out)["wrong"] == 2
    write("a,1", "b,3.5", "c,3", "d,4")
    assert post_csv(queue) == OK
    assert queue.members() == ["a", "b", "c", "d"]


def test_what_the_queue_never_takes_is_named_and_passed(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    queue.refuses = lambda body: ("InvalidMessageContents", True) if '"b"' in body.partition("member")[2] else None
    write("a,1", "b,2", "c,3")
    assert post_csv(queue) == DIFFERS
    assert "rows.csv:3: the queue refuses it: InvalidMessageContents" in capsys.readouterr().err
    assert queue.members() == ["a", "c"]
    assert post_csv(queue) == DIFFERS
    assert queue.requests == 1


def test_what_the_queue_does_not_take_now_is_gone_on_with(
    queue: Queue, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_MAX_RETRY_S", 0.0)
    queue.refuses = lambda body: ("InternalError", False) if '"m17"' in body else None
    write(*(f"m{n:02},{n}" for n in range(30)))
    assert post_csv(queue, "--json") == UNREACHABLE
    said = capsys.readouterr()
    assert "the queue did not accept all rows after line 11 of rows.csv: InternalError: ; run the same" in said.err
    assert json.loads(said.out)["finished"] is False
    assert remembered()["mark"]["rows"] == 10

    queue.refuses = lambda _: None
    queue.take()
    assert post_csv(queue) == OK
    assert "10 rows were posted before; continuing after line 11" in capsys.readouterr().err
    assert queue.members() == [f"m{n:02}" for n in range(10, 30)]

    queue.refuses = lambda _: ("InternalError", False)
    assert post(queue, "b", "m", "points=1", "--id", "x") == UNREACHABLE
    assert "run the same command again with --id x: the event counts once" in capsys.readouterr().err


def test_a_queue_that_is_closed_ends_it(
    queue: Queue, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def denied(**_: Any) -> Any:
        raise ClientError({"Error": {"Code": "AccessDenied", "Message": "no"}}, "SendMessageBatch")

    monkeypatch.setattr(queue, "send_message_batch", denied)
    write("a,1")
    assert post_csv(queue) == UNREACHABLE
    assert "AccessDenied" in capsys.readouterr().err
    assert remembered()["finished"] is False


def test_receipts_that_may_be_gone(
    queue: Queue, clock: ManualClock, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbox, "_MAX_RETRY_S", 0.0)
    write("a,1", "b,2")
    queue.refuses = lambda _: ("InternalError", False)
    assert post_csv(queue) == UNREACHABLE
    queue.refuses = lambda _: None
    clock.milliseconds += 30 * DAY_MS
    assert post_csv(queue) == WRONG
    assert "some rows after line 0 may have been sent 30 days ago" in capsys.readouterr().err
    assert queue.members() == []
    assert post_csv(queue, "--anyway") == OK
    assert queue.members() == ["a", "b"]

    clock.milliseconds += 400 * DAY_MS
    write("a,1", "b,2", "c,3")
    assert post_csv(queue) == OK, "what was finished can be appended to at any time"
    assert queue.members() == ["c"]
    write("a,1", "c,3")
    assert post_csv(queue) == WRONG
    assert "rows.csv has changed, and rows of it may have been sent 430 days ago" in capsys.readouterr().err
    assert post_csv(queue, "--again") == OK
    assert queue.members() == ["a", "c"]
    write("a,1", "d,3")
    assert post_csv(queue) == OK
    clock.milliseconds += 20 * DAY_MS
    assert post_csv(queue, "--again") == OK
    clock.milliseconds += 20 * DAY_MS
    write("a,1", "e,3")
    assert post_csv(queue) == WRONG, "its first rows were counted 40 days ago, however often they were posted since"


def test_a_state_that_is_of_something_else(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    write("a,1")
    assert post_csv(queue) == OK
    assert post_csv(queue, to="other") == WRONG
    assert (
        "rows.csv.posted: expected the queue https://queue.invalid/other, got https://queue.invalid/activity"
        in capsys.readouterr().err
    )
    assert post_csv(queue, "--state", "other", to="other") == OK
    assert remembered("other")["queue"] == "https://queue.invalid/other"
    for content in ("{", "[]", '{"queue": "x"}'):
        Path("rows.csv.posted").write_text(content)
        assert post_csv(queue) == WRONG
        assert "rows.csv.posted: expected a record of posted rows, got " in capsys.readouterr().err
    assert post_csv(queue, "--again") == OK


def test_packed_files(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    write(*(f"m{n},{n}" for n in range(500)))
    plain = Path("rows.csv").read_bytes()
    Path("rows.csv.gz").write_bytes(gzip.compress(plain))
    arguments = ("--csv", "rows.csv.gz", "--board", "b")
    assert post(queue, *arguments) == OK
    packed = {event["id"] for event in queue.take()}
    assert post_csv(queue) == OK
    assert {event["id"] for event in queue.take()} == packed, "packed or not, it is the same source"
    assert len(packed) == 500

    Path("rows.csv.gz").write_bytes(gzip.compress(plain)[:-200])
    assert post(queue, *arguments, "--again") == WRONG
    assert "rows.csv.gz cannot be read: " in capsys.readouterr().err
    Path("rows.csv.gz").write_bytes(plain)
    assert post(queue, *arguments, "--again") == WRONG


def test_standard_input(
    queue: Queue, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def given(text: str) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))

    line = '{"member":"m","metrics":{"points":1}}\n'
    given(line * 2)
    assert post(queue, "--jsonl", "-", "--board", "b") == WRONG
    assert "use --source NAME" in capsys.readouterr().err
    ids = []
    for _ in range(2):
        given(line * 2)
        assert post(queue, "--jsonl", "-", "--board", "b", "--source", "x") == OK
        ids.append({event["id"] for event in queue.take()})
    assert len(ids[0]) == 2
    assert ids[0] == ids[1]
    assert list(tmp_path.iterdir()) == []


def test_a_dry_run_sends_and_remembers_nothing(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    write("a,1", "b,x")
    assert post_csv(queue, "--dry-run") == DIFFERS
    said = capsys.readouterr()
    assert json.loads(said.out)["member"] == "a"
    assert said.err.endswith("events: 1; rows skipped: 1\n")
    assert post(queue, "b", "m", "points=1", "--dry-run") == OK
    assert json.loads(capsys.readouterr().out)["member"] == "m"
    assert (queue.requests, Path("rows.csv.posted").exists()) == (0, False)


def test_batches_stay_within_what_a_queue_takes(queue: Queue) -> None:
    updates = [{"board": f"{'b' * 100}{n}", "member": "用" * 80, "metrics": {"points": 1}} for n in range(20)]
    line = json.dumps({"updates": updates}, ensure_ascii=False)
    padded = line[:-1] + " " * (300_000 - len(line.encode())) + "}"
    Path("rows.jsonl").write_text("\n".join([padded] * 7), encoding="utf-8")
    assert post(queue, "--jsonl", "rows.jsonl") == OK
    assert queue.requests == 3
    assert len({json.loads(entry["MessageBody"])["id"] for entry in queue.entries}) == 7
    assert size(queue.entries[0]["MessageBody"], {}) > 300_000


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock) as deployed:
        yield deployed


def test_a_file_that_is_posted_again_a_day_later_counts_once(queue: Queue, clock: ManualClock, stack: Stack) -> None:
    write("a,1", "a,1", "b,2")
    for arguments in ([], ["--again"]):
        assert post_csv(queue, *arguments) == OK
        clock.milliseconds += DAY_MS
    records = [delivered(number, entry) for number, entry in enumerate(queue.entries)]
    assert len(records) == 6
    assert stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}
    project(stack)
    assert stack.dead_letters.reasons() == []
    found = stack.entries("/boards/b/points/all")
    assert {entry["member"]: entry["score"] for entry in found} == {"a": 2, "b": 2}
