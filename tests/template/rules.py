"""Our own rules for the template: what must hold between its resources, and for all that somebody adds.

A rule takes an expanded template and yields a sentence for each mistake. `test_parameters.py` has the values of single
resources.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from standings.aws.dynamodb.scores import RECEIPT_LIFETIME, REMOVED_LIFETIME
from standings.domain.coverage import MAX_ATTEMPT_S
from standings.domain.windows import DAY, SECOND
from tests.template.expansion import Expanded, named

FUNCTIONS: Final = Path(__file__).parents[2] / "functions"
Rule = Callable[[Expanded], Iterator[str]]
RULES: Final[list[Rule]] = []
NAMESPACE: Final = "Standings/standings"
"""That of the functions' metrics has the stack's name in it: otherwise two stacks would mix theirs."""


def rule(checks: Rule) -> Rule:
    """Add a function to the rules."""
    RULES.append(checks)
    return checks


def complaints(template: Expanded) -> list[tuple[str, str]]:
    """Return each mistake, with the name of the rule that it breaks."""
    return [(one.__name__, wrong) for one in RULES for wrong in one(template)]


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def statements(template: Expanded) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the statements of all roles' policies, each with its role."""
    for name, role in template.of("IAM::Role"):
        for policy in role.get("Policies", []):
            for statement in policy["PolicyDocument"]["Statement"]:
                yield name, statement
    for _, policy in template.of("IAM::Policy"):
        for role in policy["Roles"]:
            yield from ((named(role), statement) for statement in policy["PolicyDocument"]["Statement"])


def shared(template: Expanded) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the statements of the stack's managed policies, each with every role that has the policy."""
    policies = {name: policy["PolicyDocument"]["Statement"] for name, policy in template.of("IAM::ManagedPolicy")}
    for name, role in template.of("IAM::Role"):
        for policy in role["ManagedPolicyArns"]:
            yield from ((name, statement) for statement in policies.get(named(policy), []))


@rule
def a_message_stays_hidden_for_six_timeouts(template: Expanded) -> Iterator[str]:
    for name, mapping, queue in template.mappings("SQS::Queue"):
        timeout = int(template.properties(named(mapping["FunctionName"]))["Timeout"])
        window = int(mapping.get("MaximumBatchingWindowInSeconds", 0))
        hidden = int(template.properties(queue).get("VisibilityTimeout", 30))
        if hidden < 6 * timeout + window:
            yield f"{queue}: VisibilityTimeout {hidden} is less than 6 × {timeout} + {window} s, as {name} may need"


@rule
def attempts_end_in_time(template: Expanded) -> Iterator[str]:
    """A rebuild waits until no function uses an older record of the board: at most this long.

    The maintenance function may run longer, because it bounds its attempts (`maintain.failures.ATTEMPT`).
    """
    for name, function in template.of("Lambda::Function"):
        timeout = int(function.get("Timeout", 3))
        if name != "MaintenanceFunction" and timeout > MAX_ATTEMPT_S:
            yield f"{name}: expected a Timeout of at most {MAX_ATTEMPT_S} s, got {timeout}: a rebuild waits no longer"


@rule
def nothing_is_kept_too_long_to_replay(template: Expanded) -> Iterator[str]:
    """Parked records expire before the versions of removed members, messages before the receipts of their events."""
    (stream,) = (mapping for _, mapping, _ in template.mappings("DynamoDB::Table"))
    (expires,) = template.properties("FailureBucket")["LifecycleConfiguration"]["Rules"]
    # S3 rounds up to midnight, and deletes objects some time later: allow a day for each.
    latest = int(stream["MaximumRecordAgeInSeconds"]) * SECOND + (int(expires["ExpirationInDays"]) + 2) * DAY
    if latest >= REMOVED_LIFETIME or expires["Status"] != "Enabled":
        yield f"a record may be parked for {latest // DAY} days: removed members last {REMOVED_LIFETIME // DAY}"
    queues = [template.properties(name) for name in ("ActivityQueue", "ActivityDeadLetterQueue")]
    if (waits := sum(int(queue["MessageRetentionPeriod"]) * SECOND for queue in queues)) >= RECEIPT_LIFETIME:
        yield f"a message may wait for {waits // DAY} days: receipts last {RECEIPT_LIFETIME // DAY}"


@rule
def nobody_calls_queues_and_buckets_without_tls(template: Expanded) -> Iterator[str]:
    guarded = {
        named(resource)
        for kind in ("S3::BucketPolicy", "SQS::QueuePolicy")
        for _, policy in template.of(kind)
        for statement in policy["PolicyDocument"]["Statement"]
        if (statement["Effect"], statement.get("Principal")) == ("Deny", "*")
        and statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
        for resource in listed(statement["Resource"])
        if named(resource) in {named(name) for name in (policy.get("Bucket"), *policy.get("Queues", []))}
    }
    for name in {name for kind in ("S3::Bucket", "SQS::Queue") for name, _ in template.of(kind)} - guarded:
        yield f"{name}: does not require TLS"


CONDITIONS: Final = {"s3": {"s3:ResourceAccount": "123456789012"}, "events": {"events:source": "standings"}}


@rule
def what_others_may_own_or_hear_has_a_condition(template: Expanded) -> Iterator[str]:
    """The name of a bucket that was deleted may be given to another account.

    And whoever grants prizes by events must be able to tell who put them.
    """
    for role, statement in statements(template):
        services = {str(action).partition(":")[0] for action in listed(statement["Action"])}
        for service in services & CONDITIONS.keys():
            if statement.get("Condition") != {"StringEquals": CONDITIONS[service]}:
                yield f"{role}, {statement['Sid']}: expected the condition {CONDITIONS[service]}"


POLLED: Final = "PolledEventCount"
"""Lambda counts polls without messages as well, so only a source that is not polled has no data."""
FAILURES: Final = {
    *(("RecordsParked", "projector"), ("Drift", "maintenance")),
    # A function that names the messages that failed ends without an error of its own.
    *(("EventsFailed", "writer"), ("LooksFailed", "announcer")),
}
DAMAGE: Final = {"OnFailureDestinationDeliveredEventCount", "DroppedEventCount", "RecordsParked", "Drift"}


@rule
def alarms_say_what_to_do(template: Expanded) -> Iterator[str]:
    for name, alarm in template.of("CloudWatch::Alarm"):
        meaning, _, to_do = str(alarm.get("AlarmDescription", "")).partition(". ")
        if not (meaning and to_do):
            yield f"{name}: expected a description of two sentences: what happened, and what to do"
        silence = "breaching" if alarm["MetricName"] == POLLED else "notBreaching"
        if alarm.get("TreatMissingData") != silence:
            yield f"{name}: expected TreatMissingData {silence}: it fires when idle, or not where nobody polls"


@rule
def failures_have_alarms(template: Expanded) -> Iterator[str]:
    """What a throttle keeps waiting, or fails, has an alarm: the stream's age, 5xx, failed events, failed tasks.

    A throttle has an alarm of its own where no other would tell. SQS leaves out of a queue's age what a throttled
    function was given three times, and nobody waits for a scheduled task. And writes have one, since they outgrow a
    table first: it begins with three times as many read units.
    """
    functions = {name for name, _ in template.of("Lambda::Function")}
    metrics = [("AWS/Lambda", "Errors", name) for name in functions]
    metrics += [("AWS/Lambda", "Throttles", name) for name in functions - _waited_for(template)]
    for name, table in _tables_behind_sources(template):
        indexes = [f"{name}/{index['IndexName']}" for index in table.get("GlobalSecondaryIndexes", [])]
        metrics += [("AWS/DynamoDB", "WriteThrottleEvents", measured) for measured in (name, *indexes)]
    for _, _, queue in template.mappings("SQS::Queue"):
        metrics.append(("AWS/SQS", "ApproximateAgeOfOldestMessage", queue))
    for _, one in template.of("SQS::Queue"):
        if redrive := one.get("RedrivePolicy"):
            metrics.append(("AWS/SQS", "ApproximateNumberOfMessagesVisible", named(redrive["deadLetterTargetArn"])))
    metrics += [("AWS/Events", "FailedInvocations", name) for name, _ in template.of("Events::Rule")]
    metrics += [("AWS/Lambda", POLLED, name) for name, _ in template.of("Lambda::EventSourceMapping")]
    loops = [name for name, function in template.of("Lambda::Function") if function.get("RecursiveLoop") == "Allow"]
    metrics += [("AWS/Lambda", "RecursiveInvocationsDropped", name) for name in loops]
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        metrics.append(("AWS/Lambda", "IteratorAge", named(mapping["FunctionName"])))
        for metric in ("DroppedEventCount", "OnFailureDestinationDeliveredEventCount"):
            metrics.append(("AWS/Lambda", metric, name))
    metrics += [("AWS/ApiGateway", "5xx", name) for name, _ in template.of("ApiGatewayV2::Api")]
    for _, url in template.of("Lambda::Url"):
        # Callers of a function URL get 429 for a throttle.
        metrics += [("AWS/Lambda", name, named(url["TargetFunctionArn"])) for name in ("Url5xxCount", "Throttles")]
    watched = _watched(template)
    for namespace, metric, measured in metrics:
        if (namespace, metric, measured) not in watched:
            yield f"{measured}: has no alarm on {metric}"


@rule
def what_functions_report_has_alarms(template: Expanded) -> Iterator[str]:
    own = {one for one in _watched(template) if not one[0].startswith("AWS/")}
    for metric, service in FAILURES:
        if f"{service.title()}Function" in template.resources and (NAMESPACE, metric, service) not in own:
            yield f"{service}: has no alarm on {metric}"
    for namespace, metric, service in own:
        if namespace != NAMESPACE or metric not in emitted().get(service, set()):
            yield f"{service}: expected an alarm on what it emits in {NAMESPACE}, got {metric} in {namespace}"


def _waited_for(template: Expanded) -> set[str]:
    """Return the functions whose throttles callers get as 5xx, or the stream as its age."""
    answering = {named(one["IntegrationUri"]) for _, one in template.of("ApiGatewayV2::Integration")}
    return answering | {named(one["FunctionName"]) for _, one, _ in template.mappings("DynamoDB::Table")}


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


def emitted() -> dict[str, set[str]]:
    """Return the names of the metrics in the functions' code, by service, which is the function's folder."""
    return {app.parent.name: set(_metrics(ast.parse(app.read_text("utf-8")))) for app in FUNCTIONS.glob("*/app.py")}


def _metrics(code: ast.AST) -> Iterator[str]:
    for call in ast.walk(code):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_metric":
            name = call.args[0]
            assert isinstance(name, ast.Constant), "expected the metric's name as a literal"
            yield str(name.value)
