"""Rules for logs, alarms and metrics."""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from tests.template.expansion import Expanded, named
from tests.template.rules.access import listed, statements

FUNCTIONS: Final = Path(__file__).parents[3] / "functions"
POLLED: Final = "PolledEventCount"
DAMAGE: Final = {"OnFailureDestinationDeliveredEventCount", "DroppedEventCount", "RecordsParked", "Drift"}


def logs_expire(template: Expanded) -> Iterator[str]:
    groups = dict(template.of("Logs::LogGroup"))
    for name, group in groups.items():
        if not group.get("RetentionInDays"):
            yield f"{name}: never expires"
    for name, function in template.of("Lambda::Function"):
        if named(function.get("LoggingConfig", {}).get("LogGroup")) not in groups:
            yield f"{name}: expected a log group of the stack: the group that Lambda creates never expires"


def alarms_say_what_to_do(template: Expanded) -> Iterator[str]:
    for name, alarm in template.of("CloudWatch::Alarm"):
        meaning, _, to_do = str(alarm.get("AlarmDescription", "")).partition(". ")
        if not (meaning and to_do):
            yield f"{name}: expected a description of two sentences: what happened, and what to do"
        if alarm["MetricName"] != POLLED and alarm.get("TreatMissingData") != "notBreaching":
            yield f"{name}: expected TreatMissingData notBreaching: otherwise it fires when idle"


def sources_that_nobody_polls_have_alarms(template: Expanded) -> Iterator[str]:
    """Lambda counts polls without messages as well, so only a source that is not polled has no data."""
    silent = {
        named(alarm["Dimensions"][0]["Value"])
        for _, alarm in template.of("CloudWatch::Alarm")
        if alarm["MetricName"] == POLLED and alarm.get("TreatMissingData") == "breaching"
    }
    for name, _ in template.of("Lambda::EventSourceMapping"):
        if name not in silent:
            yield f"{name}: expected an alarm on {POLLED} that rings where there is no data"


def damage_is_not_called_mended(template: Expanded) -> Iterator[str]:
    """A count of damage falls to 0 as soon as no more is done."""
    for name, alarm in template.of("CloudWatch::Alarm"):
        if alarm["MetricName"] in DAMAGE and alarm.get("OKActions"):
            yield f"{name}: expected no OKActions: the damage is still there when {alarm['MetricName']} is 0 again"


def dead_letters_have_an_alarm(template: Expanded) -> Iterator[str]:
    watched = _watched(template)
    for name, _ in template.of("SQS::Queue"):
        if "DeadLetter" in name and ("AWS/SQS", "ApproximateNumberOfMessagesVisible", name) not in watched:
            yield f"{name}: has no alarm on its messages"


def failures_have_alarms(template: Expanded) -> Iterator[str]:
    """Throttles of a table that only people ask for need none of their own: they get 5xx, which has an alarm."""
    metrics = [
        ("AWS/Lambda", metric, name)
        for name, _ in template.of("Lambda::Function")
        for metric in ("Errors", "Throttles")
    ]
    for name, table in _tables_behind_sources(template):
        indexes = [f"{name}/{index['IndexName']}" for index in table.get("GlobalSecondaryIndexes", [])]
        for metric in ("ReadThrottleEvents", "WriteThrottleEvents"):
            metrics += [("AWS/DynamoDB", metric, measured) for measured in (name, *indexes)]
    for _, _, queue in template.mappings("SQS::Queue"):
        metrics.append(("AWS/SQS", "ApproximateAgeOfOldestMessage", queue))
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        metrics.append(("AWS/Lambda", "IteratorAge", named(mapping["FunctionName"])))
        for metric in ("DroppedEventCount", "OnFailureDestinationDeliveredEventCount"):
            metrics.append(("AWS/Lambda", metric, name))
    metrics += [("AWS/ApiGateway", "5xx", name) for name, _ in template.of("ApiGatewayV2::Api")]
    watched = _watched(template)
    own = {(metric, service) for namespace, metric, service in watched if not namespace.startswith("AWS/")}
    for namespace, metric, measured in metrics:
        if (namespace, metric, measured) not in watched:
            yield f"{measured}: has no alarm on {metric}"
    for metric, service in (("RecordsParked", "projector"), ("Drift", "maintenance")):
        if (metric, service) not in own:
            yield f"{service}: has no alarm on {metric}"


def _tables_behind_sources(template: Expanded) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the tables of the functions that a queue or a stream invokes."""
    invoked = {named(mapping["FunctionName"]) for _, mapping in template.of("Lambda::EventSourceMapping")}
    roles = {named(function["Role"]) for name, function in template.of("Lambda::Function") if name in invoked}
    used = {named(one) for role, each in statements(template) if role in roles for one in listed(each["Resource"])}
    yield from ((name, table) for name, table in template.of("DynamoDB::Table") if name in used)


def _watched(template: Expanded) -> set[tuple[str, str, str]]:
    """Return the metrics that have an alarm: namespace, name, and the resource (for an index also its name)."""
    return {
        (
            str(alarm["Namespace"]),
            str(alarm["MetricName"]),
            "/".join(named(one["Value"]) or str(one["Value"]) for one in alarm.get("Dimensions", [])),
        )
        for _, alarm in template.of("CloudWatch::Alarm")
    }


def sources_count_their_events(template: Expanded) -> Iterator[str]:
    """Only then does Lambda emit the metrics of dropped events, and can their alarms fire."""
    for name, mapping in template.of("Lambda::EventSourceMapping"):
        if "EventCount" not in mapping.get("MetricsConfig", {}).get("Metrics", []):
            yield f"{name}: expected EventCount in its MetricsConfig"


def metrics_exist(template: Expanded) -> Iterator[str]:
    """Functions emit the metrics of ours that alarms and dashboards use, in the same namespace."""
    namespaces = {
        function["Environment"]["Variables"].get("POWERTOOLS_METRICS_NAMESPACE")
        for _, function in template.of("Lambda::Function")
    }
    by_service = emitted()
    for where, namespace, metric, service in _shown(template):
        if namespace not in namespaces:
            yield f"{where}: no function emits metrics in {namespace}"
        elif metric not in by_service.get(service, set()):
            yield f"{where}: no function emits {metric} as {service}"
    for namespace in namespaces:
        if "standings" not in str(namespace).split("/")[1:]:
            yield f"{namespace}: expected the stack's name in the namespace: otherwise two stacks mix their metrics"


def _shown(template: Expanded) -> Iterator[tuple[str, str, str, str]]:
    """Yield our metrics that alarms and dashboards use: where, namespace, name, service."""
    for name, alarm in template.of("CloudWatch::Alarm"):
        if not alarm["Namespace"].startswith("AWS/"):
            yield name, alarm["Namespace"], alarm["MetricName"], alarm["Dimensions"][0]["Value"]
    for name, dashboard in template.of("CloudWatch::Dashboard"):
        for widget in json.loads(dashboard["DashboardBody"])["widgets"]:
            for namespace, metric, _, measured, *_ in widget["properties"]["metrics"]:
                if not namespace.startswith("AWS/"):
                    yield f"{name}, {widget['properties']['title']}", namespace, metric, measured


def emitted() -> dict[str, set[str]]:
    """Return the names of the metrics in the functions' code, by service, which is the function's folder."""
    return {app.parent.name: set(_metrics(ast.parse(app.read_text("utf-8")))) for app in FUNCTIONS.glob("*/app.py")}


def _metrics(code: ast.AST) -> Iterator[str]:
    for call in ast.walk(code):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_metric":
            name = call.args[0]
            assert isinstance(name, ast.Constant), "expected the metric's name as a literal"
            yield str(name.value)


def functions_can_be_traced(template: Expanded) -> Iterator[str]:
    """Also with PassThrough: Lambda then sends the traces that a caller asks for."""
    for name, function in template.of("Lambda::Function"):
        if "Mode" not in function.get("TracingConfig", {}):
            yield f"{name}: cannot be traced, whatever Tracing says"
        managed = template.properties(named(function["Role"])).get("ManagedPolicyArns", [])
        if not any(str(policy).endswith("/AWSXrayWriteOnlyAccess") for policy in managed):
            yield f"{name}: may not send its traces"
