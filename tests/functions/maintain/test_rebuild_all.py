"""All boards whose names match a glob are rebuilt side by side."""

from typing import Any

import pytest
from botocore.exceptions import ClientError

from standings.maintain.rebuild.rebuild import PROPAGATION_WAIT
from standings.wiring import building_blocks
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import entries
from tests.support.builders.stages.streaming import project

NOW = 1_795_256_100_000


@pytest.fixture(autouse=True)
def _time(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """The monotonic clock follows the stack's clock."""
    del request
    monkeypatch.setattr("time.monotonic", lambda: building_blocks.now() / 1000)


def test_all_boards_that_match_are_rebuilt_side_by_side(engine: Any) -> None:
    boards = '[boards."b-*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
    with running(engine, ManualClock(NOW), boards + boards.replace("b-*", "c")) as stack:
        for number, board in enumerate(("b-1", "b-2", "b-3", "c")):
            event = {"id": board, "board": board, "member": "m", "metrics": {"points": number}}
            assert stack.post("/events", event)[0] == 202
        stack.writer({"Records": stack.activity.records()}, Context())
        project(stack)
        answers: list[dict[str, Any]] = []
        cursor = None
        while not answers or not answers[-1]["done"]:
            answers.append(stack.maintenance({"rebuild": {"board": "b-*", "cursor": cursor}}, Context()))
            cursor = answers[-1]["cursor"]
            stack.clock.milliseconds += round(answers[-1]["wait"] * 1000)
        again = stack.maintenance({"rebuild": {"board": "b-*", "cursor": cursor}}, Context())

    assert [answer["wait"] for answer in answers] == [180.0, 180.0, 180.0, 0.0]
    assert [answer["boards_done"] for answer in answers] == [0, 0, 0, 3]
    assert (again["done"], again["boards"]) == (True, 3)
    assert sorted(entries(engine)) == ["b-1#G0Pa~1", "b-2#G0Pa~1", "b-3#G0Pa~1", "c#G0Pa"]


def test_a_board_that_cannot_be_written_holds_up_no_other(engine: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = ManualClock(NOW)
    monkeypatch.setattr("time.sleep", lambda seconds: setattr(clock, "milliseconds", clock() + round(seconds * 1000)))
    boards = '[boards."b-*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'

    def throttled(operation: str, request: dict[str, Any]) -> None:
        if operation == "PutItem" and request["Item"].get("sk") == {"S": "b-1"}:
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "no"}}, operation)

    with running(engine, clock, boards) as stack:
        for board in ("b-1", "b-2", "b-3"):
            event = {"id": board, "board": board, "member": "m", "metrics": {"points": 1}}
            assert stack.post("/events", event)[0] == 202
        stack.writer({"Records": stack.activity.records()}, Context())
        project(stack)
        engine.before.append(throttled)
        answers = [stack.maintenance({"rebuild": {"board": "b-*"}}, Context())]
        for _ in range(4):
            clock.milliseconds += PROPAGATION_WAIT
            task = {"rebuild": {"board": "b-*", "cursor": answers[-1]["cursor"]}}
            answers.append(stack.maintenance(task, Context()))

    assert [(answer["done"], answer["boards_done"]) for answer in answers[-2:]] == [(False, 2), (False, 2)]
    (problem,) = answers[-1]["problems"]
    assert problem["board"] == "b-1"
    assert "ThrottlingException" in problem["why"]
