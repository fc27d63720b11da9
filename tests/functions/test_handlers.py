"""The handlers: their answers to Lambda, where failures go, and what the log has of a bug of ours.

A bug does not stop other events. The log has its stack in one line, without the producer's data.
"""

import io
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, Final
from unittest import mock

import orjson
import pytest
from botocore.exceptions import ClientError

from standings.runtime.environment import required
from standings.runtime.logs import logger
from standings.wiring import building_blocks
from tests.support.aws.stack import Stack, http_event
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project
from tests.support.faults.faulty_client import cancelled

NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
ALL: Final = "/boards/b/points/all"
DONE: Final[dict[str, Any]] = {"batchItemFailures": []}
BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }'


def event(event_id: str, member: str = "m") -> dict[str, Any]:
    at = NOW.isoformat()
    return {"id": event_id, "board": "b", "member": member, "at": at, "metrics": {"points": 1}}


def messages(*bodies: Any) -> dict[str, Any]:
    texts = [body if isinstance(body, str) else orjson.dumps(body).decode() for body in bodies]
    return {"Records": [{"messageId": f"id-{n}", "body": text} for n, text in enumerate(texts)]}


def records(stack: Stack) -> list[Any]:
    """What the stream has of the table of scores, as JSON."""
    (shard,) = stack.dynamodb.stream("Scores")
    return [orjson.loads(orjson.dumps(record)) for record in shard]


def ranked(stack: Stack) -> set[str]:
    return {entry["member"] for entry in stack.entries(ALL)}


def failing(stack: Stack, error: Callable[[str, dict[str, Any]], Exception], only: str = "") -> Any:
    """Let calls of the database fail, those of one operation only if it is named."""

    def fail(operation: str, request: dict[str, Any]) -> None:
        if only in operation:
            raise error(operation, request)

    return mock.patch.object(stack.dynamodb, "before", [fail])


def refusal(code: str) -> Callable[[str, Any], ClientError]:
    return lambda operation, _: ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


SHORT: Final = Context(seconds=building_blocks.REPORTING_RESERVE + 1)


def test_what_could_not_be_written_is_reported_by_message(stack: Stack) -> None:
    def busy(_: str, request: dict[str, Any]) -> Exception:
        return cancelled(["TransactionConflict"] * len(request["TransactItems"]))

    with failing(stack, busy, "TransactWriteItems"):
        answer = stack.writer(messages(event("1"), "{"), SHORT)

    assert answer == {"batchItemFailures": [{"itemIdentifier": "id-0"}]}
    assert len(stack.dead_letters.messages) == 1


def test_a_refused_message_that_cannot_be_put_aside_comes_again(stack: Stack) -> None:
    refused = refusal("AccessDenied")("SendMessageBatch", None)
    with mock.patch.object(stack.dead_letters, "send_message_batch", side_effect=refused):
        answer = stack.writer(messages("{", event("1")), Context())

    assert answer == {"batchItemFailures": [{"itemIdentifier": "id-0"}]}
    project(stack)
    assert ranked(stack) == {"m"}


def test_an_unreadable_record_is_parked_whole_and_is_no_bug(stack: Stack, log: "Lines") -> None:
    stack.writer(messages(event("1"), event("2", "n")), Context())
    found = records(stack)
    bad = next(record for record in found if record["dynamodb"]["Keys"]["sk"]["S"] == "m")
    bad["dynamodb"]["NewImage"]["v"] = {"N": "not a number"}

    assert stack.projector({"Records": found}, Context()) == DONE
    assert ranked(stack) == {"n"}
    ((key, content),) = stack.bucket.objects.items()
    assert key == f"parked/2026-11-21/{bad['dynamodb']['SequenceNumber']}.json"
    assert orjson.loads(content)["record"] == bad
    assert "not a number" in orjson.loads(content)["reason"]
    damaged: list[Any] = [None, {}, {"dynamodb": {"Keys": {"pk": {"S": 1}, "sk": {"S": "m"}}, "NewImage": []}}]
    assert stack.projector({"Records": damaged}, Context()) == DONE
    assert [(line["message"], "exception" in line) for line in log()] == [("record parked", False)] * 4


def test_a_failed_batch_of_the_stream_names_where_to_begin_again(stack: Stack) -> None:
    stack.writer(messages(event("1")), Context())
    with failing(stack, refusal("InternalServerError"), "TransactWriteItems"):
        answer = stack.projector({"Records": records(stack)}, SHORT)

    member = next(record for record in records(stack) if record["dynamodb"]["Keys"]["sk"]["S"] == "m")
    assert answer == {"batchItemFailures": [{"itemIdentifier": member["dynamodb"]["SequenceNumber"]}]}
    project(stack)
    assert ranked(stack) == {"m"}


def test_a_store_that_does_not_answer_is_a_503_that_says_so(stack: Stack) -> None:
    with failing(stack, refusal("ThrottlingException")):
        refused = stack.query(http_event(ALL), None)

    assert (refused["statusCode"], refused["headers"]["Retry-After"]) == (503, "5")
    assert orjson.loads(refused["body"])["type"] == "urn:standings:unavailable"
    assert stack.get(ALL)[0] == 200


def test_what_the_environment_lacks_is_named() -> None:
    with pytest.raises(LookupError, match="SCORES_TABLE is not set"):
        required("SCORES_TABLE")


PRIVATE: Final = "somebody@example.org"
TEXT: Final = "a bug"
BUG: Final = "ZeroDivisionError('a bug')"
EVENTS: Final = [event("1", "m"), event("2", "poison"), event("3", "n")]
Lines = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def log() -> Iterator[Lines]:
    """Return the lines that were logged since the last call."""
    stream = io.StringIO()
    handler: Any = logger.registered_handler
    before = handler.setStream(stream)

    def lines() -> list[dict[str, Any]]:
        text = stream.getvalue()
        stream.truncate(0)
        stream.seek(0)
        return [json.loads(line) for line in text.splitlines()]

    yield lines
    handler.setStream(before)


def has_a_bug(name: str) -> Any:
    """Make a function of the product fail if an argument contains "poison"."""
    module, _, function = name.rpartition(".")
    real = getattr(__import__(module, fromlist=[function]), function)

    def buggy(*args: Any, **kwargs: Any) -> Any:
        if "poison" in str(args):
            try:
                raise ValueError(PRIVATE)
            except ValueError:
                raise ZeroDivisionError(TEXT)  # noqa: B904 - as in an error handler
        return real(*args, **kwargs)

    return mock.patch(name, buggy)


def the_bug_in(lines: list[dict[str, Any]], message: str) -> dict[str, Any]:
    """The only line of the log. It has the stack of the bug, and no message of an error but as its reason."""
    (line,) = lines
    assert (line["message"], line["level"]) == (message, "ERROR")
    assert "in buggy" in line["exception"]
    assert "ZeroDivisionError" in line["exception"]
    assert not any(text in json.dumps({**line, "reason": ""}) for text in (PRIVATE, TEXT))
    assert PRIVATE not in line.get("reason", "")
    return line


def test_a_bug_of_the_writer_refuses_the_event(stack: Stack, log: Lines) -> None:
    with has_a_bug("standings.write.writer.parse_event"):
        assert stack.writer(messages(*EVENTS), Context()) == DONE

    line = the_bug_in(log(), "event refused")
    assert (line["rule"], line["message_id"]) == ("internal", "id-1")
    assert stack.dead_letters.reasons() == [f"body: cannot be read: {BUG}"]
    project(stack)
    assert ranked(stack) == {"m", "n"}


def test_what_a_producer_did_wrong_is_no_bug(stack: Stack, log: Lines) -> None:
    assert stack.writer(messages("{"), Context()) == DONE

    (line,) = log()
    assert (line["level"], line["rule"], "exception" in line) == ("WARNING", "json", False)


@pytest.mark.parametrize(
    "function", ["standings.aws.dynamodb.scores.member_items.decode_image", "standings.project.projector.moves"]
)
def test_a_bug_of_the_projector_parks_the_record(stack: Stack, log: Lines, function: str) -> None:
    stack.writer(messages(*EVENTS), Context())
    with has_a_bug(function):
        project(stack)

    line = the_bug_in(log(), "record parked")
    ((key, content),) = stack.bucket.objects.items()
    assert line["sequence"] in key
    assert json.loads(content)["reason"].endswith(BUG)
    assert ranked(stack) == {"m", "n"}


def test_a_bug_of_a_replay_leaves_the_record(stack: Stack, log: Lines) -> None:
    stack.writer(messages(*EVENTS), Context())
    for number, record in enumerate(records(stack)):
        body = orjson.dumps({"reason": "as a test says", "record": record})
        stack.bucket.put_object("failures", f"parked/2026-11-21/{number}.json", body, "application/json")
    with has_a_bug("standings.aws.dynamodb.scores.member_items.member_key"):
        answer = stack.maintenance({"parked": {"replay": {}}}, Context(seconds=900))

    the_bug_in(log(), "parked record not read")
    assert (answer["done"], answer["placed"], answer["left"]) == (True, 2, 1)
    assert BUG in answer["problems"][0]["why"]
    assert ranked(stack) == {"m", "n"}


def test_a_bug_of_the_command_function_refuses_the_event(stack: Stack, log: Lines) -> None:
    with has_a_bug("standings.ingest.post_events.parse_event"):
        status, answer = stack.post("/events", EVENTS)

    assert the_bug_in(log(), "event refused")["rule"] == "internal"
    assert (status, [result["status"] for result in answer["results"]]) == (202, ["queued", "refused", "queued"])
    assert answer["results"][1]["detail"] == f"body: cannot be read: {BUG}"
