"""Our own rules for the template: what must hold between its resources, and for all that somebody adds.

A rule takes an expanded template and yields a sentence for each mistake. `test_parameters.py` has the values of single
resources.
"""

import ast
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from standings.aws.dynamodb.scores import RECEIPT_LIFETIME, REMOVED_LIFETIME
from standings.domain.boards import MAX_ATTEMPT_S
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


@rule
def buckets_of_others_are_out_of_reach(template: Expanded) -> Iterator[str]:
    """The name of a bucket that was deleted may be given to another account."""
    for role, statement in statements(template):
        touches = any(str(action).startswith("s3:") for action in listed(statement.get("Action", [])))
        if touches and "s3:ResourceAccount" not in statement.get("Condition", {}).get("StringEquals", {}):
            yield f"{role}, {statement.get('Sid', 'a statement')}: expected the condition s3:ResourceAccount"


@rule
def events_are_put_in_our_name_alone(template: Expanded) -> Iterator[str]:
    """Whoever grants prizes by events must be able to tell who put them."""
    for role, statement in statements(template):
        if "events:PutEvents" not in listed(statement.get("Action", [])):
            continue
        where = f"{role}, {statement.get('Sid', 'a statement')}"
        if statement.get("Condition", {}).get("StringEquals", {}).get("events:source") != "standings":
            yield f"{where}: expected the condition events:source"
        for resource in listed(statement.get("Resource", [])):
            if not str(resource).endswith(":event-bus/default"):
                yield f"{where}: puts events on {resource}"


@rule
def the_query_function_cannot_write(template: Expanded) -> Iterator[str]:
    own = named(template.properties("QueryFunction")["Role"])
    reads = {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "kms:Decrypt"}
    reads |= {"logs:CreateLogStream", "logs:PutLogEvents", "xray:PutTelemetryRecords", "xray:PutTraceSegments"}
    for role, statement in (*statements(template), *shared(template)):
        if role == own and (more := {str(action) for action in listed(statement["Action"])} - reads):
            yield f"{role}: expected only reads, got {', '.join(sorted(more))}"


@rule
def roles_may_use_the_key_and_no_other(template: Expanded) -> Iterator[str]:
    """Tables, queues and buckets use the operator's key with the permissions of whoever calls them.

    Where none is given, AWS's keys encrypt and roles need nothing. Whoever sends or puts makes a data key; DynamoDB
    makes those of tables by a grant.
    """
    tables = (table.get("SSESpecification", {}) for _, table in template.of("DynamoDB::Table"))
    given = {table["KMSMasterKeyId"] for table in tables if "KMSMasterKeyId" in table}
    for name, function in template.of("Lambda::Function"):
        every = (*statements(template), *shared(template))
        own = [statement for role, statement in every if role == named(function["Role"])]
        actions = {str(action) for one in own for action in listed(one["Action"])}
        makes_keys = actions & {"sqs:SendMessage", "s3:PutObject"}
        wanted = {"kms:Decrypt", *(["kms:GenerateDataKey"] if makes_keys else [])} if given else set()
        granted = {action for action in actions if action.startswith("kms:")}
        if granted != wanted:
            yield f"{name}: expected {sorted(wanted) or 'no permission for keys'}, got {sorted(granted)}"
        for one in own:
            uses = any(str(action).startswith("kms:") for action in listed(one["Action"]))
            if uses and not {str(resource) for resource in listed(one["Resource"])} <= given:
                yield f"{name}: may use a key that encrypts nothing of the stack"


# Logs, alarms and metrics.

POLLED: Final = "PolledEventCount"
DAMAGE: Final = {"OnFailureDestinationDeliveredEventCount", "DroppedEventCount", "RecordsParked", "Drift"}


@rule
def alarms_say_what_to_do(template: Expanded) -> Iterator[str]:
    for name, alarm in template.of("CloudWatch::Alarm"):
        meaning, _, to_do = str(alarm.get("AlarmDescription", "")).partition(". ")
        if not (meaning and to_do):
            yield f"{name}: expected a description of two sentences: what happened, and what to do"
        if alarm["MetricName"] != POLLED and alarm.get("TreatMissingData") != "notBreaching":
            yield f"{name}: expected TreatMissingData notBreaching: otherwise it fires when idle"


@rule
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
    metrics += [("AWS/Lambda", "RecursiveInvocationsDropped", name) for name in _loops(template)]
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        metrics.append(("AWS/Lambda", "IteratorAge", named(mapping["FunctionName"])))
        for metric in ("DroppedEventCount", "OnFailureDestinationDeliveredEventCount"):
            metrics.append(("AWS/Lambda", metric, name))
    metrics += [("AWS/ApiGateway", "5xx", name) for name, _ in template.of("ApiGatewayV2::Api")]
    watched = _watched(template)
    for namespace, metric, measured in metrics:
        if (namespace, metric, measured) not in watched:
            yield f"{measured}: has no alarm on {metric}"


@rule
def what_functions_report_has_alarms(template: Expanded) -> Iterator[str]:
    own = {(metric, service) for namespace, metric, service in _watched(template) if not namespace.startswith("AWS/")}
    # A function that names the messages that failed ends without an error of its own.
    services = {named(mapping["FunctionName"]) for _, mapping, _ in template.mappings("SQS::Queue")}
    failures = [("RecordsParked", "projector"), ("Drift", "maintenance"), ("EventsFailed", "writer")]
    failures += [("LooksFailed", "announcer")] if "AnnouncerFunction" in services else []
    for metric, service in failures:
        if (metric, service) not in own:
            yield f"{service}: has no alarm on {metric}"


def _loops(template: Expanded) -> Iterator[str]:
    """Yield the functions that may send to the queue that invokes them."""
    for _, mapping, queue in template.mappings("SQS::Queue"):
        name = named(mapping["FunctionName"])
        role = named(template.properties(name)["Role"])
        for holder, statement in statements(template):
            sends = "sqs:SendMessage" in listed(statement["Action"])
            if holder == role and sends and queue in {named(one) for one in listed(statement["Resource"])}:
                yield name


@rule
def a_function_may_call_itself_by_its_queue(template: Expanded) -> Iterator[str]:
    """Lambda drops the messages of a loop after 16 runs.

    docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
    """
    for name in _loops(template):
        if template.properties(name).get("RecursiveLoop") != "Allow":
            yield f"{name}: sends to the queue that invokes it: expected RecursiveLoop Allow"


@rule
def roles_write_to_log_groups_that_are_there(template: Expanded) -> Iterator[str]:
    """A line written after the stack's deletion would create the group again, without a retention."""
    policies = {name: policy["PolicyDocument"]["Statement"] for name, policy in template.of("IAM::ManagedPolicy")}
    for name, role in template.of("IAM::Role"):
        managed = [policies.get(named(one)) for one in role["ManagedPolicyArns"]]
        if None in managed:
            yield f"{name}: expected no policy of AWS, which may create log groups or be missing in other partitions"
    for name, every in policies.items():
        if any("logs:CreateLogGroup" in listed(statement["Action"]) for statement in every):
            yield f"{name}: may create log groups"


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


@rule
def alarms_watch_metrics_that_functions_emit(template: Expanded) -> Iterator[str]:
    for name, alarm in template.of("CloudWatch::Alarm"):
        if not alarm["Namespace"].startswith("AWS/"):
            (service,) = (one["Value"] for one in alarm["Dimensions"])
            if alarm["Namespace"] != NAMESPACE or alarm["MetricName"] not in emitted().get(service, set()):
                yield f"{name}: no function emits {alarm['MetricName']} as {service} in {alarm['Namespace']}"


def emitted() -> dict[str, set[str]]:
    """Return the names of the metrics in the functions' code, by service, which is the function's folder."""
    return {app.parent.name: set(_metrics(ast.parse(app.read_text("utf-8")))) for app in FUNCTIONS.glob("*/app.py")}


def _metrics(code: ast.AST) -> Iterator[str]:
    for call in ast.walk(code):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "add_metric":
            name = call.args[0]
            assert isinstance(name, ast.Constant), "expected the metric's name as a literal"
            yield str(name.value)
