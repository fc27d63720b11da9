"""`standings post`: what reaches the queue, and the exit status."""

import gzip
import io
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from standings.aws.sqs.messages import size
from standings.runtime.environment import BOARDS_FILE
from standings_cli.terminal.exit_status import DIFFERS, OK, WRONG
from tests.support.aws.fakes.queues import delivered
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project
from tests.support.cli.posting import DAY_MS, Queue, post, post_csv, write


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
        (["--csv", "rows.csv", "--board", "b", "--at", "yesterday"], "at: expected an RFC 3339 instant"),
        (["--csv", "rows.csv", "--id", "x"], "--id does not apply to a file"),
        (["--csv", "-", "--state", "x"], "--state does not apply to standard input"),
        (["--jsonl", "rows.csv", "--column", "a=b"], "--column does not apply to --jsonl"),
        (["--jsonl", "rows.csv", "points=1"], "BOARD MEMBER METRIC=AMOUNT does not apply to --jsonl"),
        (["--csv", "rows.csv"], "expected a column 'board', got 'member', 'points'"),
        (["--csv", "rows.csv", "--board", "b", "x=1e3"], "metrics.x: expected a plain number"),
        (
            ["--csv", "rows.csv", "--board", "b", "--at", "2026-11-21T10:00:00Z", "--state", "no/folder"],
            "cannot record",
        ),
    ],
)
def test_mistakes_of_the_command(
    queue: Queue, arguments: list[str], why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write("m,1")
    assert post(queue, *arguments) == WRONG
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("standings: ")
    assert why in printed.err
    assert queue.requests == 0
    assert [file.name for file in Path().iterdir()] == ["rows.csv"]


def test_files_exclude_each_other(queue: Queue) -> None:
    with pytest.raises(SystemExit) as wrong:
        post(queue, "--csv", "a", "--jsonl", "b")
    assert wrong.value.code == WRONG


def test_a_file_is_posted_once_and_what_is_appended_alone(queue: Queue, capsys: pytest.CaptureFixture[str]) -> None:
    file = write(*(f"m{n:02},{n}" for n in range(25)))
    assert post_csv(queue) == OK
    printed = capsys.readouterr()
    assert printed.out.startswith("posted 25 events of rows.csv in ")
    assert "standings dlq list" in printed.err
    assert queue.members() == [f"m{n:02}" for n in range(25)]
    assert queue.requests == 3

    assert post_csv(queue) == OK
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("all 25 events of rows.csv were posted before\n", "")
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
    printed = capsys.readouterr()
    assert json.loads(printed.out)["member"] == "a"
    assert printed.err.endswith("events: 1; rows skipped: 1\n")
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
    entries = stack.entries("/boards/b/points/all")
    assert {entry["member"]: entry["score"] for entry in entries} == {"a": 2, "b": 2}
