"""What functions log: nothing for an answer that went well, one line of metrics for a batch, and what LogLevel says."""

import os
import re
import sys
from collections.abc import Callable
from typing import Any, Final

import orjson
import pytest

from benchmarks.models import assumed
from standings.runtime.logs import metrics
from tests.support.aws.stack import Stack, apply, event, project
from tests.support.awslambda.pollers import Context
from tests.support.programs import ended
from tests.template import exercise
from tests.template.expansion import deployed
from tests.template.rules import emitted

BOARDS: Final = exercise.BOARDS


@pytest.fixture
def printed(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[], list[str]]:
    """The lines that were printed since the last call, metrics among them."""
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "false")
    metrics.clear_metrics()
    capfd.readouterr()
    return lambda: "".join(capfd.readouterr()).splitlines()


def test_an_answer_that_went_well_writes_nothing(
    stack: Stack, printed: Callable[[], list[str]], caplog: pytest.LogCaptureFixture
) -> None:
    apply(stack, [event(f"m{number}", number) for number in range(1, 10)])
    stack.put("/members", {"name": "Ada"}, id="m6")
    caplog.clear()
    printed()

    for path, arguments in exercise.READS:
        if not path.startswith("/events"):  # the command function answers those
            assert stack.get(path, **arguments)[0] == 200, path
    assert stack.post(f"{exercise.RANKING}/ranks", {"members": ["m6", "m7"]})[0] == 200

    assert caplog.records == []
    assert printed() == []


@pytest.mark.parametrize("run", ["writer", "projector"])
def test_a_batch_writes_one_line_of_metrics_as_long_as_the_cost_model_says(
    stack: Stack, printed: Callable[[], list[str]], run: str
) -> None:
    """Lambda passes on a line that is a JSON object, and CloudWatch takes metrics from it."""
    lines: dict[str, list[str]] = {}
    record = {"messageId": "1", "body": orjson.dumps(event("m1", 300)).decode(), "messageAttributes": {}}
    record["attributes"] = {"SentTimestamp": str(stack.clock() - 700)}
    assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}
    lines["writer"] = printed()
    project(stack)
    lines["projector"] = printed()

    (line,) = lines[run]
    (declared,) = orjson.loads(line)["_aws"]["CloudWatchMetrics"]
    assert {one["Name"] for one in declared["Metrics"]} <= emitted()[run]
    assert len(line) + assumed.LOG_EVENT == pytest.approx(assumed.METRICS_LOGGED[run], rel=0.05)


def test_a_request_is_logged_in_as_many_bytes_as_the_cost_model_says() -> None:
    """The values are those of AWS's documentation where it has some; `-` stands for what a request has not."""
    typical = {
        "requestTime": "21/Nov/2026:10:15:00 +0000",
        "requestId": "JKJaXmPLvHcESHA=",
        "identity.sourceIp": "203.0.113.123",
        "identity.userArn": "arn:aws:sts::123456789012:assumed-role/backend/i-0123456789abcdef0",
        "httpMethod": "GET",
        "path": "/boards/berlin-2026/points/all/rank",
        "routeKey": "$default",
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


@pytest.mark.parametrize(
    ("level", "logged"),
    [
        ("DEBUG", ["debug", "info", "warning", "error"]),
        ("INFO", ["info", "warning", "error"]),
        ("WARNING", ["warning", "error"]),
        ("ERROR", ["error"]),
    ],
)
def test_lambda_and_the_functions_agree_on_the_level(level: str, logged: list[str]) -> None:
    """Lambda sets the first two variables from LoggingConfig. Its level must let lines without one pass: metrics."""
    stack = deployed(LogLevel=level)
    (config,) = stack.values("QueryFunction/LoggingConfig")
    (variables,) = stack.values("QueryFunction/Environment.Variables")
    environment: dict[str, Any] = {
        "AWS_LAMBDA_LOG_FORMAT": config["LogFormat"],
        "AWS_LAMBDA_LOG_LEVEL": config["ApplicationLogLevel"],
        **{name: value for name, value in variables.items() if name.startswith("POWERTOOLS_")},
    }
    ran = ended([sys.executable, "-c", PROGRAM], env={**os.environ, **environment})

    assert config["ApplicationLogLevel"] in {"DEBUG", "INFO"}
    assert [orjson.loads(line)["message"] for line in ran.stdout.splitlines()] == logged
    assert ran.stderr == ""
