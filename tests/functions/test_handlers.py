"""The handlers: their answers to Lambda, tasks, where failures go, what the log has of a bug of ours, and metrics.

A bug does not stop other events. The log has its stack in one line, without the producer's data, and nothing of an
answer that went well. Metrics are in lines that CloudWatch accepts, without unbounded dimensions.
"""

import io
import json
import os
import platform
import re
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final
from unittest import mock

import botocore
import orjson
import pytest
import tzdata
import urllib3
from botocore.exceptions import ClientError

from benchmarks.models import assumed
from standings.domain.zones import of_system
from standings.rankings.calendar import pruning
from standings.rankings.calendar.pruning import Pruning
from standings.runtime.bytecode import is_compiled
from standings.runtime.environment import required
from standings.runtime.logs import logger, metrics
from standings.wiring import building_blocks
from tests.support.aws.stack import Stack, apply, http_event, project
from tests.support.awslambda.pollers import Context
from tests.support.builders.maintenance import before, park, throttle, unprojected
from tests.support.faults.faulty_client import cancelled
from tests.support.programs import ended
from tests.template import rules, test_permissions
from tests.template.expansion import deployed

NOW: Final = int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000)
ALL: Final = "/boards/b/points/all"
DONE: Final[dict[str, Any]] = {"batchItemFailures": []}
BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }'


def message(number: int, body: Any, waited: int = 0) -> dict[str, Any]:
    text = body if isinstance(body, str) else orjson.dumps(body).decode()
    return {"messageId": f"id-{number}", "body": text, "attributes": {"SentTimestamp": str(NOW - waited)}}


def event(event_id: str, member: str = "m", points: Any = 1, **other: Any) -> dict[str, Any]:
    at = "2026-11-21T10:15:00Z"
    return {"id": event_id, "board": "b", "member": member, "at": at, "metrics": {"points": points}, **other}


def messages(*bodies: Any) -> dict[str, Any]:
    return {"Records": [message(number, body) for number, body in enumerate(bodies)]}


def ranked(stack: Stack) -> set[str]:
    return {entry["member"] for entry in stack.entries(ALL)}


def refusal(code: str) -> Callable[[str, Any], ClientError]:
    return lambda operation, _: ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


def test_what_could_not_be_written_is_reported_by_message(stack: Stack) -> None:
    with before(stack.dynamodb, throttle, "TransactWriteItems"):
        answer = stack.writer(messages(event("1"), "{"), Context(seconds=building_blocks.REPORTING_RESERVE + 1))

    assert answer == {"batchItemFailures": [{"itemIdentifier": "id-0"}]}
    assert len(stack.dead_letters.messages) == 1


def test_a_refused_message_that_cannot_be_put_aside_comes_again(stack: Stack) -> None:
    refused = refusal("AccessDenied")("SendMessageBatch", None)
    with mock.patch.object(stack.dead_letters, "send_message_batch", side_effect=refused):
        answer = stack.writer(messages(event("1"), "{"), Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "id-1"}]}
    # A body for which the queue has no room goes to the bucket first.
    with mock.patch.object(stack.bucket, "put_object", side_effect=refusal("SlowDown")("PutObject", None)):
        answer = stack.writer(messages("{", "x" * 1_048_576, "["), Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "id-1"}]}
    assert [one["MessageBody"] for one in stack.dead_letters.messages] == ["{", "["]

    failed = {"Failed": [{"Id": "1", "Code": "InternalError"}]}
    with mock.patch.object(stack.dead_letters, "send_message_batch", return_value=failed):
        answer = stack.writer(messages(event("1"), "{", "["), Context())
    assert answer == {"batchItemFailures": [{"itemIdentifier": "id-2"}]}
    project(stack)
    assert ranked(stack) == {"m"}


def test_an_unreadable_record_is_parked_whole_and_is_no_bug(stack: Stack, log: "Lines") -> None:
    stack.writer(messages(event("1"), event("2", "n")), Context())
    found = unprojected(stack)
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


def test_a_store_that_does_not_answer_is_a_503_that_says_so(stack: Stack) -> None:
    with before(stack.dynamodb, throttle):
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
def log(monkeypatch: pytest.MonkeyPatch) -> Lines:
    """Return the lines that were logged since the last call."""
    stream = io.StringIO()
    monkeypatch.setattr(logger.registered_handler, "stream", stream)

    def lines() -> list[dict[str, Any]]:
        text = stream.getvalue()
        stream.truncate(0)
        stream.seek(0)
        return [json.loads(line) for line in text.splitlines()]

    return lines


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
    # What a producer did wrong is no bug.
    assert stack.writer(messages("{"), Context()) == DONE
    (line,) = log()
    assert (line["level"], line["rule"], "exception" in line) == ("WARNING", "json", False)


@pytest.mark.parametrize(
    "function", ["standings.aws.dynamodb.scores.decode_image", "standings.project.projector.placements"]
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
    park(stack, *unprojected(stack))
    with has_a_bug("standings.aws.dynamodb.tables.member_key"):
        answer = stack.maintenance({"parked": {"replay": {}}}, Context(seconds=900))

    the_bug_in(log(), "parked record not read")
    assert (answer["done"], answer["placed"], answer["left"]) == (True, 2, 1)
    assert BUG in answer["problems"][0]["why"]
    assert ranked(stack) == {"m", "n"}


def test_a_bug_of_the_command_function_refuses_the_event(stack: Stack, log: Lines) -> None:
    with has_a_bug("standings.ingest.parse_event"):
        status, answer = stack.post("/events", EVENTS)

    assert the_bug_in(log(), "event refused")["rule"] == "internal"
    assert (status, [result["status"] for result in answer["results"]]) == (202, ["queued", "refused", "queued"])
    assert answer["results"][1]["detail"] == f"body: cannot be read: {BUG}"


def test_it_says_what_it_runs_on(stack: Stack) -> None:
    answer = stack.maintenance({"runtime": {}}, Context())
    assert answer == {
        "python": platform.python_version(),
        "botocore": botocore.__version__,
        "urllib3": urllib3.__version__,  # type: ignore[attr-defined]
        "sdk_compiled": is_compiled("botocore"),
        "dynamodb_client": building_blocks.dynamodb_client(),
        "time_zones": tzdata.IANA_VERSION,
        "system_zones": of_system(),
        "done": True,
    }


@pytest.mark.parametrize(
    ("event", "why"),
    [
        (None, "settle, settlements, announcements, boards, runtime, dead_letters, parked, got None"),
        ({}, "expected an object with one of"),
        ({"rebuild": {"board": "b"}, "delete": {"board": "b"}}, "expected an object with one of"),
        ({"purge": {}}, "expected one of audit, .*, got 'purge'"),
        ({"audits": {"next": {}}}, "next: read_units is missing"),
        ({"audits": {"next": {"read_units": 0}}}, "next: read_units: expected at least 1, got 0"),
        ({"rebuild": {}}, "rebuild: board is missing"),
        ({"delete": {"board": None}}, "delete: board is missing"),
        ({"erase": {}}, "erase: member is missing"),
        ({"members": {"hidden": True}}, "members: board is missing"),
        ({"settle": {}}, "settle: board is missing"),
        ({"settlements": {"list": {}}}, "list: board is missing"),
        ({"rebuild": "b"}, "rebuild: expected an object of arguments, got 'b'"),
        ({"rebuild": {"board": 5}}, "rebuild: board: expected a value of type str, got 5"),
        ({"rebuild": {"board": "b", "fast": True}}, "rebuild: expected arguments board, begin, cursor, got 'fast'"),
        ({"rebuild": {"board": "nobody"}}, "board 'nobody' has had no event"),
        ({"dead_letters": {}}, "dead_letters: expected an object with one of list, replay, delete"),
        ({"dead_letters": {"list": {"limit": True}}}, "list: limit: expected a value of type int, got True"),
        ({"dead_letters": {"replay": {"ids": [1]}}}, r"replay: ids: expected a list of texts, got \[1\]"),
        ({"parked": {"delete": {}}}, "parked: expected one of list, replay, got 'delete'"),
    ],
)
def test_an_event_that_names_no_task_is_an_error_that_says_why(stack: Stack, event: Any, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        stack.maintenance(event, Context())


# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
OF_WRITER: Final = {"EventsApplied", "EventsDuplicate", "EventsFailed", "EventsRefused", "WriterConflicts"}
OF_PROJECTOR: Final = {"GapsHealed", "Moves", "MovesKnown", "ProjectorConflicts", "RecordsParked", "TiersRemoved"}
UNITS: Final = {
    **dict.fromkeys(OF_WRITER | OF_PROJECTOR, "Count"),
    **dict.fromkeys(("QueueToScore", "WriteToRank"), "Milliseconds"),
}
Printed = Callable[[], list[str]]
Emitted = Callable[[], tuple[dict[str, float], dict[str, dict[str, float]]]]


@pytest.fixture
def printed(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Printed:
    """Return the lines that were printed since the last call, metrics among them."""
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "false")
    metrics.clear_metrics()  # Other tests have metrics disabled, so theirs are still here.
    capfd.readouterr()
    return lambda: "".join(capfd.readouterr()).splitlines()


@pytest.fixture
def emitted(printed: Printed) -> Emitted:
    """Return what was emitted since the last call: the service's metrics, and those of each rule."""

    def read() -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        found = [metrics_of(line) for line in printed() if '"_aws"' in line]
        service = [values for dimensions, values in found if dimensions == {"service": "standings"}]
        by_rule = {dimensions["rule"]: values for dimensions, values in found if "rule" in dimensions}
        assert all(dimensions.keys() <= {"service", "rule"} for dimensions, _ in found)
        assert len(service) == 1
        assert len(found) == 1 + len(by_rule), "emitted twice"
        return service[0], by_rule

    return read


def metrics_of(line: str) -> tuple[dict[str, str], dict[str, float]]:
    """The dimensions and metrics of a line, after checking it against the specification."""
    root = json.loads(line)
    assert isinstance(root["_aws"]["Timestamp"], int)
    (directive,) = root["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Standings"
    (names,) = directive["Dimensions"]
    assert all(isinstance(root[name], str) and 1 <= len(root[name]) <= 1024 for name in names)
    values: dict[str, float] = {}
    for metric in directive["Metrics"]:
        value = root[metric["Name"]]
        # One number for each metric: CloudWatch accepts at most a hundred in a line.
        (values[metric["Name"]],) = value if isinstance(value, list) else [value]
        assert UNITS[metric["Name"]] == metric["Unit"]
    return {name: root[name] for name in names}, values


def test_the_writer_emits_what_became_of_events_and_the_lag(stack: Stack, emitted: Emitted) -> None:
    busy_once = mock.Mock(side_effect=[cancelled(["None", "TransactionConflict"] * 2), None])
    bodies = [event("1"), event("1"), event("2", "n"), event("3", points="3"), event("4", colour=1), "{", "["]
    with before(stack.dynamodb, busy_once, "TransactWriteItems"):
        stack.writer({"Records": [message(n, body, waited=100 * n) for n, body in enumerate(bodies)]}, Context())

    # The lag is that of event 2: refused events and duplicates do not count. It includes the retry. Nothing failed, and
    # a count of 0 is left out.
    counted = {"EventsApplied": 2, "EventsDuplicate": 1, "EventsRefused": 4, "WriterConflicts": 1}
    by_rule = {"amount": {"EventsRefused": 1}, "unknown": {"EventsRefused": 1}, "json": {"EventsRefused": 2}}
    assert emitted() == ({**counted, "QueueToScore": 200 + stack.clock() - NOW}, by_rule)
    # A batch that counted nothing has no lag.
    stack.writer({"Records": [message(0, event("1"), waited=500), message(1, "{", waited=500)]}, Context())
    assert emitted()[0] == {"EventsApplied": 0, "EventsDuplicate": 1, "EventsRefused": 1}


def test_the_projector_tells_moves_what_it_parked_and_the_lag(stack: Stack, emitted: Emitted) -> None:
    for member in "mno":
        stack.writer(messages(event(member, member)), Context())
        emitted()
        stack.clock.milliseconds += 100
    found = unprojected(stack)
    bad = next(record for record in found if record["dynamodb"]["Keys"]["sk"]["S"] == "m")
    bad["dynamodb"]["NewImage"]["v"] = {"N": "not a number"}
    stack.clock.milliseconds += 700
    stack.projector({"Records": found}, Context())
    told = emitted()[0]

    assert told.keys() == {"Moves", "RecordsParked", "WriteToRank"}
    assert (told["RecordsParked"], told["WriteToRank"]) == (1, 900)  # of `n`
    assert told["Moves"] > 0
    stack.projector({"Records": [record for record in found if record is not bad]}, Context())
    assert emitted()[0].items() >= {"Moves": 0, "MovesKnown": told["Moves"]}.items()


@pytest.fixture
def cleaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make projectors prune after every move."""
    monkeypatch.setattr(pruning, "Pruning", partial(Pruning, chance=1, worth=0))


@pytest.mark.usefixtures("cleaning")
def test_tiers_removed_on_several_boards_all_count(stack: Stack, printed: Printed, emitted: Emitted) -> None:
    for points in (300, 20_000):
        bodies = [event(f"{points} {board}", points=points, board=board) for board in ("a", "b", "c")]
        stack.writer({"Records": [message(number, body) for number, body in enumerate(bodies)]}, Context())
        printed()
        project(stack)

    found, _ = emitted()
    assert (found["Moves"], found["TiersRemoved"]) == (3, 2 * 3)


def test_a_good_answer_writes_nothing(stack: Stack, printed: Printed, caplog: pytest.LogCaptureFixture) -> None:
    apply(stack, [event(str(number), f"m{number}", number) for number in range(1, 10)])
    stack.put("/members", {"name": "Ada"}, id="m6")
    caplog.clear()
    printed()

    for path, arguments in test_permissions.READS:
        if not path.startswith("/events"):  # the command function answers those
            assert stack.get(path, **arguments)[0] == 200, path
    assert stack.post(f"{test_permissions.RANKING}/ranks", {"members": ["m6", "m7"]})[0] == 200

    assert caplog.records == []
    assert printed() == []


@pytest.mark.parametrize("run", ["writer", "projector"])
def test_a_batch_writes_one_line_of_metrics_as_long_as_the_model_says(stack: Stack, printed: Printed, run: str) -> None:
    """Lambda passes on a line that is a JSON object, and CloudWatch takes metrics from it."""
    assert stack.writer({"Records": [message(0, event("1", points=300), waited=700)]}, Context()) == DONE
    lines = {"writer": printed()}
    project(stack)
    lines["projector"] = printed()

    (line,) = lines[run]
    (declared,) = orjson.loads(line)["_aws"]["CloudWatchMetrics"]
    assert {one["Name"] for one in declared["Metrics"]} <= rules.emitted()[run]
    assert len(line) + assumed.LOG_EVENT == pytest.approx(assumed.METRICS_LOGGED[run], rel=0.05)


def test_a_request_is_logged_in_as_many_bytes_as_the_cost_model_says() -> None:
    """The values are those of AWS's documentation where it has some; `-` stands for what a request has not."""
    typical = {
        "requestTime": "21/Nov/2026:10:15:00 +0000",
        "requestId": "JKJaXmPLvHcESHA=",
        "routeKey": "$default",
        "identity.userArn": "arn:aws:sts::123456789012:assumed-role/backend/i-0123456789abcdef0",
        "identity.sourceIp": "203.0.113.123",
        "httpMethod": "GET",
        "path": "/boards/berlin-2026/points/all/rank",
        "status": "200",
        "responseLength": "180",
        "responseLatency": "18",
    }
    (form,) = deployed().values("ApiStage/AccessLogSettings.Format")
    line = re.sub(r"\$context\.([\w.]+)", lambda name: typical.get(name[1], "-"), form)

    assert orjson.loads(line)["status"] == "200"
    assert len(line) + assumed.LOG_EVENT == pytest.approx(assumed.ACCESS_LOGGED, rel=0.05)


PROGRAM: Final = """
from standings.runtime.logs import logger
for level in ("debug", "info", "warning", "error"):
    getattr(logger, level)(level)
"""


@pytest.mark.parametrize("level", ["debug", "info", "warning", "error"])
def test_lambda_and_the_functions_agree_on_the_level(level: str) -> None:
    """Lambda sets two variables from LoggingConfig. Its level must let lines without one pass: metrics."""
    levels = ["debug", "info", "warning", "error"]
    stack = deployed(LogLevel=level.upper())
    (config,) = stack.values("QueryFunction/LoggingConfig")
    (variables,) = stack.values("QueryFunction/Environment.Variables")
    environment = {name: value for name, value in variables.items() if name.startswith("POWERTOOLS_")}
    lambdas = {"AWS_LAMBDA_LOG_FORMAT": config["LogFormat"], "AWS_LAMBDA_LOG_LEVEL": config["ApplicationLogLevel"]}
    ran = ended([sys.executable, "-c", PROGRAM], env={**os.environ, **environment, **lambdas})

    assert config["ApplicationLogLevel"] in {"DEBUG", "INFO"}
    assert [orjson.loads(line)["message"] for line in ran.stdout.splitlines()] == levels[levels.index(level) :]
    assert ran.stderr == ""
