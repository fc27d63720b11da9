"""`POST /tasks`: what the admin's page does by the maintenance function, for administrators, and in the API's time."""

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Final
from unittest import mock

import orjson
import pytest

from standings.maintain.failures import HOLD_MARGIN
from standings.wiring.building_blocks import MAX_CALL_S
from tests.support.aws.stack import Stack, http_event, project
from tests.support.awslambda.pollers import Context
from tests.support.builders.maintenance import call
from tests.support.builders.querying import deployed, post

BOARDS: Final = """
[boards."b*"]
settle = ["day"]
late = "1 day"
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
"""


@pytest.fixture
def stack() -> Iterator[Stack]:
    with deployed(BOARDS) as stack:
        yield stack


def task(stack: Stack, body: Any) -> tuple[int, Any]:
    return stack.post("/tasks", body)


def test_the_api_does_what_the_command_line_does(stack: Stack) -> None:
    post(stack, {"u7": 5, "u8": 9})
    wrong = [{"id": f"e{n}", "board": "b", "member": f"u{n}", "metrics": {"goals": 1}} for n in (7, 8)]
    for one in wrong:
        stack.activity.put({"MessageBody": orjson.dumps(one).decode()})
    stack.writer({"Records": stack.activity.records()}, Context())

    merged = task(stack, {"merge": {"board": "b", "old": "u7", "new": "u8"}})
    project(stack)
    assert (merged[0], merged[1]["merged"], merged[1]["done"]) == (200, True, True)
    assert stack.get("/boards/b/points/all/rank", member="u8")[1]["score"] == 14
    found = task(stack, {"dead_letters": {"list": {"member": "u7"}}})[1]
    assert ([one["event"] for one in found["messages"]], found["seen"]) == (["e7"], 2)
    assert [one["event"] for one in call(stack, "dead_letters", "list", member="u8")["messages"]] == ["e8"]
    assert task(stack, {"dead_letters": {"replay": {"ids": ["e7"]}}})[1]["replayed"] == 1
    assert task(stack, {"dead_letters": {"delete": {"ids": ["e8"]}}})[1]["deleted"] == 1
    assert stack.dead_letters.messages == []
    assert task(stack, {"settlements": {"list": {"board": "b"}}})[1]["results"] == []


def test_it_says_how_boards_are(stack: Stack) -> None:
    for board in ("b", "b2", "b3"):
        post(stack, {"u7": 5}, board=board)
    began = stack.clock()
    call(stack, "audits", "next", read_units=1_000)
    stack.clock.sleep(60)
    post(stack, {"u7": 5}, board="b4")
    call(stack, "rebuild", board="b2", seconds=60.0)
    names = ["b", "b2", "b4", "b9", "c", ""]
    status, answer = task(stack, {"boards": {"show": {"boards": names}}})

    assert status == 200
    states = {one["board"]: one for one in answer["boards"]}
    assert {name: one["state"] for name, one in states.items()} == {
        "": "no-family", "b": "open", "b2": "rebuild", "b4": "open", "b9": "unused", "c": "no-family",
    }  # fmt: skip
    at = datetime.fromtimestamp(began / 1000, UTC)
    assert datetime.fromisoformat(states["b"]["audited"]["since"]) == at
    assert (states["b"]["audited"]["boards"], states["b"]["audited"]["drift"]) == (3, 0)
    assert states["b4"]["audited"] is None, "it began when the turn had ended"
    assert (states["b"]["settled"], states["b"]["job"]) == (0, None)
    assert states["b2"]["job"].keys() == {"task", "phase", "since", "members", "part", "parts"}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ("{", 400, "expected JSON"),
        ([], 400, "expected an object with one of boards, dead_letters, merge, settlements"),
        ({"rebuild": {"board": "b"}}, 400, "expected one of boards, dead_letters, merge, settlements, got 'rebuild'"),
        ({"erase": {"member": "u7"}}, 400, "got 'erase'"),
        ({"merge": {"board": 5}}, 400, "merge: board: expected a value of type str, got 5"),
        ({"boards": {"show": {}}}, 400, "show: boards is missing"),
        ({"dead_letters": {"delete": {"ids": []}}}, 400, "ids: are missing: give ids, or a reason, board or member"),
        ({"merge": {"all_boards": True}}, 400, "merge: expected arguments board, old, new, got 'all_boards'"),
        ({"merge": {"board": "b", "old": "x", "new": "y"}}, 404, "board 'b' has no member 'x'"),
        ({"merge": {"board": "c", "old": "x", "new": "y"}}, 404, "no family in boards.toml matches 'c'"),
        ({"settlements": {"list": {"board": "c/d"}}}, 404, "expected a board name"),
        ({"x" * 100_000: {}}, 400, "expected one of"),
    ],
)
def test_a_mistake_is_a_problem_that_says_what_was_expected(stack: Stack, body: Any, status: int, said: str) -> None:
    found, problem = task(stack, body)

    assert (found, said in problem["detail"], len(problem["detail"]) < 300) == (status, True, True), problem


@pytest.mark.parametrize("scope", ["", "standings/read standings/write"])
def test_a_route_without_a_scope_lets_nobody_but_administrators_do_a_task(stack: Stack, scope: str) -> None:
    request = http_event("/tasks", "", "POST", {"dead_letters": {"delete": {"ids": ["e1"]}}})
    request["requestContext"]["authorizer"] = {"jwt": {"claims": {"scope": scope}}}
    assert stack.maintenance(request, None)["statusCode"] == 403
    request["requestContext"]["authorizer"]["jwt"]["claims"]["scope"] = "standings/admin"
    assert stack.maintenance(request, None)["statusCode"] == 200


def test_a_task_ends_while_the_api_waits(stack: Stack) -> None:
    """It hides messages for as long as it may work, and 30 seconds."""
    holds = []
    receive = stack.dead_letters.receive_message

    def noted(**given: Any) -> Any:
        holds.append(given["VisibilityTimeout"] - HOLD_MARGIN)
        return receive(**given)

    with mock.patch.object(stack.dead_letters, "receive_message", noted):
        assert task(stack, {"dead_letters": {"list": {}}})[1]["done"] is True
    assert 15 < holds[0] <= 30 - MAX_CALL_S


def test_without_the_parameter_there_is_neither_the_page_nor_a_task(stack: Stack) -> None:
    for method, path, said in (("GET", "/admin", "there is nothing at /admin"), ("POST", "/tasks", "AdminPage=true")):
        answer = stack.query(http_event(path, "", method), None)
        assert (answer["statusCode"], said in answer["body"]) == (404, True)
