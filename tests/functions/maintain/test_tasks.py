"""The events of the maintenance function: tasks, their arguments, and errors."""

import platform
from typing import Any

import botocore
import pytest

from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context

BOARDS = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'


def test_it_says_what_it_runs_on(stack: Stack) -> None:
    answer = stack.maintenance({"runtime": {}}, Context())

    assert answer == {"python": platform.python_version(), "botocore": botocore.__version__, "done": True}


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (None, "settle, settlements, announcements, runtime, dead_letters, parked, got None"),
        ({}, "expected an object with one of"),
        ({"rebuild": {"board": "b"}, "delete": {"board": "b"}}, "expected an object with one of"),
        ({"purge": {}}, "expected one of audit, .*, got 'purge'"),
        ({"audits": {"next": {}}}, "next: read_units is missing"),
        ({"audits": {"next": {"read_units": 0}}}, "next: read_units: expected at least 1, got 0"),
        ({"rebuild": {}}, "rebuild: board is missing"),
        ({"delete": {"board": None}}, "delete: board is missing"),
        ({"erase": {}}, "erase: member is missing"),
        ({"settle": {}}, "settle: board is missing"),
        ({"settlements": {"list": {}}}, "list: board is missing"),
        ({"rebuild": "b"}, "rebuild: expected an object of arguments, got 'b'"),
        ({"rebuild": {"board": 5}}, "rebuild: board: expected a value of type str, got 5"),
        ({"rebuild": {"board": "b", "fast": True}}, "rebuild: expected arguments board, begin, cursor, got 'fast'"),
        ({"rebuild": {"board": "nobody"}}, "board 'nobody' has had no event"),
        ({"dead_letters": {}}, "dead_letters: expected an object with one of list, replay, delete"),
        ({"dead_letters": {"list": {"limit": True}}}, "list: limit: expected a value of type int, got True"),
        ({"dead_letters": {"replay": {"ids": [1]}}}, r"replay: ids: expected a list of texts, got \[1\]"),
        ({"dead_letters": {"delete": {}}}, "delete: ids is missing"),
        ({"parked": {"delete": {}}}, "parked: expected one of list, replay, got 'delete'"),
    ],
)
def test_an_event_that_names_no_task_is_an_error_that_says_why(stack: Stack, event: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        stack.maintenance(event, Context())
