"""`standings settle` and `standings results`."""

import io
import json
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from standings.maintain.settle import settlements
from standings_cli.__main__ import main
from standings_cli.stack.maintenance_function import Maintenance
from standings_cli.terminal.exit_status import DIFFERS, OK
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.settling.leagues import BOARDS, DAY, FINAL, lose_a_row, play, winners, won


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, BOARDS) as deployed:
        yield deployed


def run(stack: Stack, *arguments: str) -> int:
    def invoke(FunctionName: str, Payload: bytes) -> dict[str, Any]:  # noqa: ARG001, N803
        answer = stack.maintenance(json.loads(Payload), Context(seconds=900))
        return {"Payload": io.BytesIO(json.dumps(answer).encode())}

    client: Any = SimpleNamespace(invoke=invoke)
    return main(list(arguments), lambda _: SimpleNamespace(maintenance=Maintenance(client, "maintenance")))


def test_a_day_is_settled_and_listed(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    scores = play(stack, 1)
    stack.clock.milliseconds = FINAL
    silver = sum(prize == "silver" for prize, *_ in winners(scores))

    assert run(stack, "settle", "league-1", "--window", "day") == OK
    told = capsys.readouterr().out
    assert f"league-1 · points · day · {DAY}: settled, 41 members, gold" in told
    assert f"s3://results/results/league-1/points/day/{DAY}/\n" in told
    assert won(stack) == winners(scores)
    assert run(stack, "settle", "league-1", "--window", "day", "--period", DAY, "--again") == OK
    assert len(stack.bus.ids("Prize Won")) == len(winners(scores))
    capsys.readouterr()
    assert run(stack, "results", "league-1") == OK
    assert capsys.readouterr().out.startswith(f"points · day · {DAY}: 41 members, gold ")
    assert run(stack, "--json", "results", "league-1") == OK
    (listed,) = json.loads(capsys.readouterr().out)["results"]
    assert [prize["winners"] for prize in listed["prizes"] if prize["name"] == "silver"] == [silver]


def test_a_list_of_more_than_one_answer(
    stack: Stack, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settlements, "MAX_LISTED", 1)
    play(stack, 1)
    stack.clock.milliseconds = FINAL
    for day in ("2026-11-19", DAY):
        assert run(stack, "settle", "league-1", "--window", "day", "--period", day) == OK
    capsys.readouterr()
    assert run(stack, "results", "league-1") == OK
    listed = [line.split(",")[0] for line in capsys.readouterr().out.splitlines()]
    assert listed == ["points · day · 2026-11-19: 0 members", f"points · day · {DAY}: 41 members"]


def test_what_is_not_settled_is_said_with_its_reason(stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
    play(stack, 2)
    assert run(stack, "settle", "league-1", "--window", "day", "--period", DAY) == DIFFERS
    assert "not settled: the period is final at 2026-11-22T00:05:00.000Z" in capsys.readouterr().out
    assert run(stack, "results", "league-1") == OK
    assert capsys.readouterr().out == "no period of board 'league-1' is settled yet\n"
    lose_a_row(stack)
    stack.clock.milliseconds = FINAL
    assert run(stack, "settle", "league-1", "--window", "day") == DIFFERS
    told = capsys.readouterr().out
    assert "not settled: the audit found 1 missing" in told
    assert '"member": "m003"' in told
    assert stack.bucket.results == {}
