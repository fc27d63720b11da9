"""`standings post` after a refusal, an interruption or a month: what is posted again, and what is printed."""

import json
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError

from standings_cli.post import outbox
from standings_cli.terminal.exit_status import DIFFERS, OK, UNREACHABLE, WRONG
from tests.support.aws.manual_clock import ManualClock
from tests.support.cli.posting import DAY_MS, Queue, post, post_csv, remembered, write


def test_rows_that_are_no_events_are_named_and_the_rest_goes_on(
    queue: Queue, capsys: pytest.CaptureFixture[str]
) -> None:
    write("a,1", 'b,"3,5"', "c,3", "d")
    assert post_csv(queue) == DIFFERS
    printed = capsys.readouterr()
    assert "rows.csv:3: metrics.points: expected a plain number such as 3, -2 or 11.25, got '3,5'\n" in printed.err
    assert "rows.csv:5: expected 2 columns as in the header, got 1\n" in printed.err
    assert printed.out.endswith("; rows skipped: 2\n")
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
    printed = capsys.readouterr()
    assert "the queue did not accept all rows after line 11 of rows.csv: InternalError: ; run the same" in printed.err
    assert json.loads(printed.out)["finished"] is False
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
