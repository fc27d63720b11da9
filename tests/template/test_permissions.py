"""Each function has exactly the permissions that its requests need. IAM itself is not tested."""

import random
import time
from datetime import UTC, datetime
from typing import Any, Final
from unittest import mock

import pytest

from standings.wiring import building_blocks
from tests.support.aws.fakes.queues import Sqs
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import running
from tests.support.builders.stages.streaming import project
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.template.exercise import BOARDS, everything, job
from tests.template.expansion import expanded, source
from tests.template.permissions import FUNCTIONS, Permission, Watch, allowed

BY_OTHERS: Final[dict[str, set[Permission]]] = {
    # Lambda reads the queue and the stream with the roles of the functions, and writes to the bucket.
    "writer": {
        (f"sqs:{action}", "ActivityQueue") for action in ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage")
    },
    "announcer": {
        (f"sqs:{action}", "LooksQueue") for action in ("DeleteMessage", "GetQueueAttributes", "ReceiveMessage")
    },
    "projector": {
        ("s3:ListBucket", "FailureBucket"),
        *(
            (f"dynamodb:{action}", "ScoresTable.StreamArn")
            for action in ("DescribeStream", "GetRecords", "GetShardIterator", "ListStreams")
        ),
    },
}


@pytest.fixture(scope="module")
def watch() -> Watch:
    seen = Watch()
    engine: Any = Engine()
    create_tables(engine)
    clock = ManualClock(int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000))

    def sleep(seconds: float) -> None:
        clock.milliseconds += round(seconds * 1000) + 1

    with (
        # With this random number the projector prunes trees. All clocks are the stack's, so nothing waits.
        mock.patch.object(random, "random", return_value=0.0),
        mock.patch.object(time, "monotonic", side_effect=lambda: clock() / 1000),
        mock.patch.object(time, "sleep", sleep),
        running(seen.client(engine), clock, BOARDS) as stack,
    ):
        clients = {
            "dynamodb": seen.client(engine),
            "sqs": seen.client(Sqs(stack.activity, stack.dead_letters, stack.looks)),
            "s3": seen.client(stack.bucket),
            "events": seen.client(stack.bus),
        }
        for name in FUNCTIONS:
            setattr(stack, name, seen.function(name, getattr(stack, name)))
        with mock.patch.object(building_blocks, "client", clients.__getitem__):
            everything(stack, engine)
        # A projector whose definition has fewer rankings writes the board's record.
        fewer = (
            BOARDS.replace('"all", "day"', '"all"')
            .replace('settle = ["day"]\n', "")
            .replace("announce.day = { top = 3 }\n", "")
        )
        with running(seen.client(engine), clock, fewer) as narrower:
            narrower.projector = seen.function("projector", narrower.projector)
            project(narrower)
        with mock.patch.object(building_blocks, "client", clients.__getitem__):
            job(stack, "delete")
    return seen


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_function_may_do_what_it_does_and_nothing_else(watch: Watch, function: str) -> None:
    may = allowed(expanded(source(), {"Settlements": "true", "Announcements": "true"}))[function] - BY_OTHERS.get(
        function, set()
    )

    assert watch.used[function] == may


def test_a_stack_that_settles_nothing_may_neither_write_results_nor_put_events() -> None:
    always, settling = (allowed(expanded(source(), {"Settlements": on})) for on in ("false", "true"))

    added = {function: more for function in FUNCTIONS if (more := settling[function] - always[function])}
    assert added == {
        "maintenance": {
            *((f"s3:{action}Object", "ResultsBucket/*") for action in ("Get", "Put", "Delete")),
            ("s3:ListBucket", "ResultsBucket"),
            ("events:PutEvents", "event-bus/default"),
        },
    }


def test_a_stack_that_announces_nothing_has_neither_the_function_nor_the_queue_nor_their_permissions() -> None:
    stacks = [expanded(source(), {"Announcements": on}) for on in ("false", "true")]
    always, announcing = (allowed(stack) for stack in stacks)

    added = {name for name in stacks[1].resources if name not in stacks[0].resources}
    assert {name for name in added if "Alarm" not in name} == {
        "LooksQueue",
        "LooksOverTlsOnly",
        "AnnouncerFunction",
        "AnnouncerFunctionLooks",
        "AnnouncerFunctionRole",
        "AnnouncerLogGroup",
    }
    assert always["announcer"] == set()
    for name in ("projector", "maintenance"):
        assert announcing[name] - always[name] == {("sqs:SendMessage", "LooksQueue")}
    assert {name for name in FUNCTIONS if announcing[name] != always[name]} == {"announcer", "projector", "maintenance"}
    assert "Looks" not in str(stacks[0].resources)


@pytest.mark.parametrize("function", ["projector", "announcer"])
def test_it_touches_records_of_boards_alone_among_scores(watch: Watch, function: str) -> None:
    """Its statement on Scores allows only keys that are `#boards`."""
    touched = [
        key["pk"]["S"]
        for acting, operation, request in watch.requests
        if acting == function
        for key in _keys_of_scores(operation, request)
    ]

    assert set(touched) == {"#boards"}


def _keys_of_scores(operation: str, request: dict[str, Any]) -> list[dict[str, Any]]:
    if operation == "batch_get_item":
        found: list[dict[str, Any]] = request["RequestItems"].get("Scores", {}).get("Keys", [])
        return found
    return [request["Item"]] if operation == "put_item" and request["TableName"] == "Scores" else []
