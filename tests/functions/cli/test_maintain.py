"""Tasks of the real maintenance function by the command line: `audit`, `rebuild`, `parked`, `settle`, `results`.

What `dlq` and `delete` print, and what all print where there is nothing to be done, is in `sessions/tasks.txt`.
"""

import io
import json
import re
import sys
from threading import Event
from types import SimpleNamespace
from typing import Any
from unittest import mock

import orjson
import pytest

from standings.client.errors import StackError
from standings.maintain import failures, settlements
from standings_cli import terminal
from standings_cli.__main__ import parser
from standings_cli.post import counted
from standings_cli.stack import maintenance
from standings_cli.stack.connection import Connection
from standings_cli.terminal import DIFFERS, OK, UNREACHABLE, WRONG
from tests.support.aws.stack import Stack, apply, deliver, event, running
from tests.support.builders.checks import rows
from tests.support.builders.settling import leagues
from tests.support.builders.settling.leagues import DAY, FINAL, lose_a_row, play, winners, won
from tests.support.cli.command_line import Run, runner

BOARDS = leagues.BOARDS


@pytest.fixture
def members(stack: Stack) -> None:
    apply(stack, [event(f"m{n}", n) for n in range(20)])


@pytest.mark.usefixtures("members")
def test_an_audit_a_rebuild_and_an_audit(stack: Stack, run: Run) -> None:
    stack.clock.milliseconds += 3_600_000
    assert run("audit") == (OK, "b: no difference (40 rows, 40 entries)\n", "")

    gone = next(row for row in rows(stack.dynamodb, "Rankings") if row["pk"]["S"].endswith("a#m7"))
    stack.dynamodb.delete_item(TableName="Rankings", Key={"pk": gone["pk"]})
    ran = run("audit b")
    assert ran.status == DIFFERS
    assert "b: 1 missing, 1 counter (40 rows, 39 entries)\n" in ran.out
    assert '"member": "m7"' in ran.out
    assert ran.out.endswith("\n2 differences: repair a board with `standings rebuild BOARD`\n")

    ran = run("rebuild b")
    assert ran == (OK, "b: rebuild done\n", "")
    assert run("audit b --grace 60").status == OK


@pytest.mark.usefixtures("members")
def test_a_person_sees_that_a_command_works_from_two_seconds_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a pipe nobody does: sessions show all that commands print there."""
    commands = {
        "audit": "audit: ",
        "rebuild b": "rebuild b: announced, waiting 180 s, ",
        "dlq list": "list dead letters: ",
        "member list b": "members b: ",
        "member erase m1 --yes": "erase: ",
        "top b --limit 3": "top b: 0 members, ",
        "post b m2 points=5 --wait": "waiting: the event is not counted yet: ",
        "rank b m2": "waiting for the stack: ",
        "delete b --yes": "delete b: leaving, waiting 120 s, ",
    }
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert run("audit").err == ""
    monkeypatch.setattr(terminal, "_SHOWN_AFTER_S", 0.0)
    monkeypatch.setattr(counted, "TIMEOUT_S", 0.0)
    for command, seen in commands.items():
        ran = run(command)
        assert f"\r{seen}" in ran.err, ran
        assert " s\x1b[K\r\x1b[K" in ran.err, ran
        assert ran.status == (UNREACHABLE if "--wait" in command else OK), ran


def test_a_person_sees_how_far_a_rebuild_is_while_a_call_goes_on(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn = Event()
    job = {"task": "rebuild", "phase": "placing", "members": 495, "part": 20, "parts": 64}

    def invoke(Payload: bytes, **_: str) -> dict[str, Any]:  # noqa: N803
        asked = json.loads(Payload)
        if "boards" in asked:
            assert asked == {"boards": {"show": {"boards": ["b"]}}}
            return {"Payload": io.BytesIO(json.dumps({"boards": [{"board": "b", "job": job}]}).encode())}
        assert drawn.wait(60)
        return {"Payload": io.BytesIO(json.dumps({"done": True}).encode())}

    def draw(working: Any) -> None:
        if working.text == "placing, 495 members, 20 of 64 parts":
            drawn.set()

    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setattr(maintenance, "_LOOK_EVERY_S", 0.001)
    monkeypatch.setattr(terminal, "_BETWEEN_S", 0.001)
    monkeypatch.setattr(terminal, "_SHOWN_AFTER_S", 0.0)
    monkeypatch.setattr(terminal.Working, "_draw", draw)
    there = SimpleNamespace(maintenance=maintenance.Maintenance(SimpleNamespace(invoke=invoke), "maintenance"))  # type: ignore[arg-type]
    assert runner(there, capsys)("rebuild b").out == "b: rebuild done\n"


@pytest.mark.usefixtures("members")
def test_parked_records(stack: Stack, run: Run) -> None:
    (record,) = stack.dynamodb.stream("Scores")[0][1:2]
    parked = orjson.dumps({"reason": "no bucket", "record": record})
    stack.bucket.put_object(
        Bucket="failures", Key="parked/2026-11-21/1.json", Body=parked, ContentType="application/json"
    )

    assert "no bucket\n    1 records: b m0" in run("parked list").out
    assert run("parked replay") == (OK, "1 placed, 1 removed, 0 left\n", "")
    assert stack.bucket.objects == {}


def test_a_drop_that_did_not_look_at_every_message_says_so(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(failures, "MAX_HELD", 0)
    ran = run("dlq drop x --yes")
    assert (ran.status, ran.out) == (DIFFERS, "0 deleted\n")
    assert ran.err == "not every message was looked at: run the same command again later\n"


def test_a_drop_by_reason_or_board_deletes_those_that_it_counted(
    stack: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more is refused while each question is on the screen."""
    for number, metric in enumerate(("steps=1", "steps=2", "runs=1")):
        assert run(f"post b ada {metric} --id {number}").status == OK
    for typed, count, status, said in (("no", 2, DIFFERS, "nothing was deleted\n"), ("drop", 3, OK, "")):

        def typing(question: str, typed: str = typed) -> str:
            print(question)
            stack.clock.milliseconds += 1
            deliver(stack, [{**event("ada", typed), "metrics": {"steps": 1}}])
            return typed

        monkeypatch.setattr("builtins.input", typing)
        ran = run("dlq drop --reason steps --board b")
        assert (ran.status, ran.err) == (
            status,
            f"{count} × metrics: board 'b' has no metric 'steps'; there are: points\n{said}",
        )
        assert ran.out.startswith(f"Delete {count} refused messages for good? Type drop: ")
    assert ran.out.endswith("\n3 deleted\n")
    assert run("dlq list --board b").out.count("×") == 2


@pytest.mark.parametrize(
    ("kind", "told"),
    [
        ("StoreUnavailableError", "Rankings is throttled"),
        ("Sandbox.Timedout", "RequestId: 7 Error: Task timed out after 900.00 seconds"),
        ("Runtime.ExitError", "RequestId: 7 Error: Runtime exited with error: signal: killed"),
        ("Runtime.HandlerError", "Worker process died"),
        ("Runtime.HandlerError", "the function ran out of time"),
    ],
)
@pytest.mark.usefixtures("members")
def test_a_call_that_ends_in_its_midst_does_not_end_a_rebuild(run: Run, connection: Any, kind: str, told: str) -> None:
    connection.function.unavailable = {0, 2, 3}
    connection.function.failure = {"errorType": kind, "errorMessage": told}
    ran = run("rebuild b")

    begun, continued = {"rebuild": {"board": "b"}}, {"rebuild": {"board": "b", "begin": False}}
    payloads = connection.function.payloads
    assert payloads == [begun, begun] + [continued] * (len(payloads) - 2)
    # 1 s for the first failure; after an answer 1 s and 2 s for two in a row; beside them the waits of the rebuild.
    assert [nap for nap in connection.naps if 0 < nap < 20] == [1.0, 1.0, 2.0]
    assert ran.out == "b: rebuild done\n"
    assert f"{kind}: {told}; trying again in 1.0 s (attempt 2 of 6)\n" in ran.err
    assert "trying again in 2.0 s (attempt 3 of 6)\n" in ran.err


@pytest.mark.usefixtures("members")
def test_a_store_that_stays_unavailable_ends_it_with_what_to_do(run: Run, connection: Any) -> None:
    connection.function.unavailable = range(100)
    ran = run("rebuild b")

    assert (ran.status, len(connection.function.payloads)) == (UNREACHABLE, 6)
    assert connection.naps == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert ran.err.splitlines()[-1] == (
        "standings: StoreUnavailableError: Rankings is throttled; the function failed 6 times in a row: "
        "run the same command again later, and the rebuild goes on"
    )


@pytest.mark.usefixtures("members")
def test_any_other_error_of_the_function_ends_it_at_once(stack: Stack, run: Run, connection: Any) -> None:
    assert run("rebuild nobody").status == WRONG
    assert len(connection.function.payloads) == 1

    stack.maintenance = mock.Mock(side_effect=RuntimeError("out of order"))
    assert run("audit") == (UNREACHABLE, "", "standings: RuntimeError: out of order\n")
    assert len(connection.function.payloads) == 2
    with running(stack.dynamodb, stack.clock, '[boards."c"]\nmetrics.points = { aggregate = "sum" }') as other:
        stack.maintenance = other.maintenance
        for command in ("audit", "rebuild"):
            ran = run(f"{command} b")
            assert (ran.status, "no family in boards.toml matches 'b'" in ran.err) == (WRONG, True)


def test_a_stack_that_is_none_of_ours(monkeypatch: pytest.MonkeyPatch) -> None:
    formation = SimpleNamespace(describe_stacks=lambda **_: {"Stacks": [{"Outputs": []}]})
    monkeypatch.setattr(Connection, "client", lambda _self, _service: formation)
    with pytest.raises(StackError, match="'mine' has no output MaintenanceFunctionName"):
        Connection(parser().parse_args(["--stack", "mine", "audit"])).maintenance  # noqa: B018


def test_a_day_is_settled_and_listed(stack: Stack, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(settlements, "MAX_LISTED", 1)
    scores = play(stack, 1)
    stack.clock.milliseconds = FINAL
    silver = sum(prize == "silver" for prize, *_ in winners(scores))

    told = run("settle league-1 --window day")
    assert told.status == OK
    gold = {member for prize, member, _ in winners(scores) if prize == "gold"}
    ((count, named),) = re.findall(rf"points · day · {DAY}: settled, 41 members, gold (\d+) \((.*?)\), ", told.out)
    assert (int(count), set(named.split(", "))) == (len(gold), gold)
    assert f"s3://results/results/league-1/points/day/{DAY}/\n" in told.out
    assert won(stack) == winners(scores)
    assert run(f"settle league-1 --window day --metric points --period {DAY} --again").status == OK
    assert len(stack.bus.ids("Prize Won")) == len(winners(scores))

    assert run("settle league-1 --window day --period 2026-11-19 --yes").status == OK
    lines = run("results league-1").out.splitlines()
    assert f": 41 members, gold {count} ({named}), " in lines[1]
    listed = [line.split(",")[0] for line in lines]
    assert listed == ["points · day · 2026-11-19: 0 members", f"points · day · {DAY}: 41 members"]
    answers = [json.loads(line)["results"] for line in run("--json results league-1").out.splitlines()]
    (result,) = answers[1]
    assert [prize["winners"] for prize in result["prizes"] if prize["name"] == "silver"] == [silver]


def test_an_empty_period_is_sealed_once_somebody_says_so(
    stack: Stack, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    play(stack, 1)
    stack.clock.milliseconds = FINAL
    command = "settle league-1 --window day --period 2026-11-19"
    for typed, status in (("no\n", DIFFERS), ("", DIFFERS), ("2026-11-19\n", OK)):
        monkeypatch.setattr("sys.stdin", io.StringIO(typed))
        ran = run(command)
        assert ran.status == status, ran
        assert "not settled: nobody is ranked in this period, though the board has members" in ran.out
        assert ("it was not settled" in ran.err) == (status == DIFFERS)
    assert "settled, 0 members" in ran.out
    assert "was settled before, 0 members" in run(command).out  # Nothing is asked


def test_a_mistake_is_one_of_the_command_where_errors_have_no_names(stack: Stack, run: Run, connection: Any) -> None:
    play(stack, 2)
    connection.function.names_errors = False
    for command, said in (
        ("settle league-1 --window day --metric runs", "metric: expected one that is ranked in 'day' (points)"),
        ("settle other-1 --window day", "board 'other-1' has had no event"),
    ):
        ran = run(command)
        assert (ran.status, said in ran.err) == (WRONG, True), ran


def test_what_is_not_settled_is_said_with_its_reason(stack: Stack, run: Run) -> None:
    play(stack, 2)
    early = run(f"settle league-1 --window day --period {DAY}")
    assert early.status == DIFFERS
    assert "not settled: the period is final at 2026-11-22T00:05:00.000Z" in early.out
    assert run("results league-1") == (OK, "no period of board 'league-1' is settled yet\n", "")

    lose_a_row(stack)
    stack.clock.milliseconds = FINAL
    ran = run("settle league-1 --window day")
    assert ran.status == DIFFERS
    assert "not settled: the audit found 1 missing" in ran.out
    assert '"member": "m003"' in ran.out
    assert stack.bucket.results == {}
