"""Our own rules for the template. A rule takes an expanded template and yields a sentence for each mistake."""

import ast
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

from standings.aws.dynamodb.scores.member_items import REMOVED_LIFETIME
from standings.aws.dynamodb.scores.scores import RECEIPT_LIFETIME
from standings.domain.windows.calendar import DAY
from standings.ports.board_records import MAX_ATTEMPT_S
from tests.template.expansion import Expanded, named

FUNCTIONS: Final = Path(__file__).parents[2] / "functions"
Rule = Callable[[Expanded], Iterator[str]]
RULES: Final[list[Rule]] = []


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


@rule
def outputs_exist(template: Expanded) -> Iterator[str]:
    functions = (f"{name}FunctionName" for name in ("Writer", "Projector", "Query", "Command", "Maintenance"))
    for name in sorted({"ActivityQueueUrl", "ApiUrl", *functions} - template.outputs.keys()):
        yield f"{name}: expected an output of this name"


# The queue, the stream, and their failures.

_MAX_RECEIVES: Final = 1000
_LOOKS: Final = "LooksQueue"
"""Its messages are tried until they succeed or expire: they carry nothing that could be lost or be bad."""
_DAY_SECONDS: Final = 86400
"""How long a stream keeps its records, and how long an outage may last that dead-letters nothing."""


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

    The maintenance function may run longer, because it bounds its attempts (`maintain.failures.parked.ATTEMPT`).
    """
    for name, function in template.of("Lambda::Function"):
        timeout = int(function.get("Timeout", 3))
        if name != "MaintenanceFunction" and timeout > MAX_ATTEMPT_S:
            yield f"{name}: expected a Timeout of at most {MAX_ATTEMPT_S} s, got {timeout}: a rebuild waits no longer"


@rule
def retries_are_finite(template: Expanded) -> Iterator[str]:
    for name, _, queue in _queues_of_events(template):
        receives = template.properties(queue).get("RedrivePolicy", {}).get("maxReceiveCount")
        if receives is None or int(receives) > _MAX_RECEIVES:
            yield f"{queue}: {name} expected a maxReceiveCount of at most {_MAX_RECEIVES}, got {receives}"
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        if not 0 <= int(mapping.get("MaximumRecordAgeInSeconds", -1)) < _DAY_SECONDS:
            yield f"{name}: records expire in the stream before Lambda gives them up"
        if not mapping.get("BisectBatchOnFunctionError"):
            yield f"{name}: BisectBatchOnFunctionError is not set: good records would be given up with a bad one"


@rule
def an_outage_of_a_day_costs_nothing(template: Expanded) -> Iterator[str]:
    """Tries alone never end what another try could still save: age does."""
    for _, _, queue in template.mappings("SQS::Queue"):
        if _retention(template.properties(queue)) <= _DAY_SECONDS:
            yield f"{queue}: keeps messages for a day or less"
    for _, _, queue in _queues_of_events(template):
        properties = template.properties(queue)
        receives = int(properties.get("RedrivePolicy", {}).get("maxReceiveCount", 0))
        lasts = receives * int(properties.get("VisibilityTimeout", 30))
        if receives and lasts < _DAY_SECONDS:
            yield f"{queue}: an outage of {lasts // 60} minutes dead-letters every message: raise maxReceiveCount"
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        if (tries := int(mapping.get("MaximumRetryAttempts", -1))) >= 0:
            yield f"{name}: gives records up after {tries} tries, whatever their age: expected -1"


@rule
def batches_fail_in_part(template: Expanded) -> Iterator[str]:
    for name, mapping in template.of("Lambda::EventSourceMapping"):
        if "ReportBatchItemFailures" not in mapping.get("FunctionResponseTypes", []):
            yield f"{name}: expected ReportBatchItemFailures: otherwise one failure repeats the whole batch"


@rule
def failures_are_kept_whole(template: Expanded) -> Iterator[str]:
    buckets = {name for name, _ in template.of("S3::Bucket")}
    queues = dict(template.of("SQS::Queue"))
    for name, mapping, _ in template.mappings("DynamoDB::Table"):
        destination = named(mapping.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination"))
        if destination not in buckets:
            yield f"{name}: expected a bucket as OnFailure destination: any other keeps only the position of records"
    for _, _, queue in _queues_of_events(template):
        dead = named(queues[queue].get("RedrivePolicy", {}).get("deadLetterTargetArn"))
        if dead not in queues:
            yield f"{queue}: has no dead-letter queue"
        elif _retention(queues[dead]) <= _retention(queues[queue]):
            yield f"{dead}: keeps messages no longer than {queue}"


@rule
def nothing_is_kept_too_long_to_replay(template: Expanded) -> Iterator[str]:
    """Parked records expire before the versions of removed members, messages before the receipts of their events."""
    for name, bucket in template.of("S3::Bucket"):
        if name == "ResultsBucket":  # nothing in it is replayed
            continue
        rules = bucket.get("LifecycleConfiguration", {}).get("Rules", [])
        days = [int(rule["ExpirationInDays"]) for rule in rules if rule["Status"] == "Enabled"]
        if not days:
            yield f"{name}: parked records never expire, but the versions of removed members do"
            continue
        ages = [
            int(mapping.get("MaximumRecordAgeInSeconds", _DAY_SECONDS)) * 1000
            for _, mapping, _ in template.mappings("DynamoDB::Table")
        ]
        # S3 rounds up to midnight, and deletes objects some time later: allow a day for each.
        if (latest := min(days) * DAY + max(ages) + 2 * DAY) >= REMOVED_LIFETIME:
            yield (
                f"{name}: a record may be parked until {latest // DAY} days after it was written, "
                f"but the versions of removed members last {REMOVED_LIFETIME // DAY}"
            )
    for _, _, queue in _queues_of_events(template):
        dead = named(template.properties(queue).get("RedrivePolicy", {}).get("deadLetterTargetArn"))
        waits = sum(_retention(template.properties(name)) for name in (queue, dead) if name)
        if waits * 1000 >= RECEIPT_LIFETIME:
            yield f"{queue}: a message may wait longer than receipts last, {RECEIPT_LIFETIME // DAY} days"


@rule
def looks_are_tried_until_they_succeed(template: Expanded) -> Iterator[str]:
    """A look that was given up would leave a top unannounced until it changes again."""
    for _, _, queue in template.mappings("SQS::Queue"):
        if queue == _LOOKS and "RedrivePolicy" in template.properties(queue):
            yield f"{queue}: expected no RedrivePolicy: looks are tried until they succeed"


def _queues_of_events(template: Expanded) -> Iterator[tuple[str, dict[str, Any], str]]:
    return (mapping for mapping in template.mappings("SQS::Queue") if mapping[2] != _LOOKS)


def _retention(queue: dict[str, Any]) -> int:
    return int(queue.get("MessageRetentionPeriod", 345600))


# Permissions, encryption and the protection of data.

READS: Final = {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "kms:Decrypt"}
MANAGED: Final = {"AWSLambdaBasicExecutionRole", "AWSXrayWriteOnlyAccess"}
"""Every function needs the first for its log, and the second for traces, which have no ARN."""
_BLOCKS: Final = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")


@rule
def statements_name_what_they_allow(template: Expanded) -> Iterator[str]:
    """A statement has no wildcard, except the one that stands for all objects of a bucket."""
    buckets = {name for name, _ in template.of("S3::Bucket")}
    for role, statement in statements(template):
        where = f"{role}, {statement.get('Sid', 'a statement')}"
        if statement.keys() & {"NotAction", "NotResource"}:
            yield f"{where}: expected Action and Resource, got NotAction or NotResource"
        for action in listed(statement.get("Action", [])):
            if "*" in str(action):
                yield f"{where}: allows the action {action}"
        for resource in listed(statement.get("Resource", [])):
            objects = str(resource).endswith("/*") and named(resource) in buckets
            if "*" in str(resource).removesuffix("/*" if objects else ""):
                yield f"{where}: allows it on {resource}"
    for name, properties in template.of("IAM::Role"):
        for policy in properties.get("ManagedPolicyArns", []):
            if str(policy).rpartition("/")[2] not in MANAGED:
                yield f"{name}: has the managed policy {policy}"


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
    for role, statement in statements(template):
        if role == own and (more := {str(action) for action in listed(statement["Action"])} - READS):
            yield f"{role}: expected only reads, got {', '.join(sorted(more))}"


@rule
def tables_are_protected(template: Expanded) -> Iterator[str]:
    for name, table in template.of("DynamoDB::Table"):
        if not table.get("SSESpecification", {}).get("SSEEnabled"):
            yield f"{name}: is not encrypted with a KMS key"
        if not str(template.resources[name].get("DeletionPolicy")).startswith("Retain"):
            yield f"{name}: is deleted with the stack"
        # Rankings can be rebuilt from Scores.
        if name == "RankingsTable":
            continue
        if not table.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled"):
            yield f"{name}: has no point-in-time recovery"
        if template.resources[name].get("UpdateReplacePolicy") != "Retain":
            yield f"{name}: is deleted if an update replaces it"


@rule
def a_first_deployment_can_be_rolled_back(template: Expanded) -> Iterator[str]:
    """A rollback deletes the tables that the deployment made, unless they are locked."""
    for name, table in template.of("DynamoDB::Table"):
        if table.get("DeletionProtectionEnabled") and template.resources[name].get("DeletionPolicy") != "Retain":
            yield f"{name}: is locked by default: a first deployment that fails would end in ROLLBACK_FAILED"


@rule
def buckets_are_closed_and_encrypted(template: Expanded) -> Iterator[str]:
    for name, bucket in template.of("S3::Bucket"):
        if not bucket.get("BucketEncryption"):
            yield f"{name}: is not encrypted"
        blocked = bucket.get("PublicAccessBlockConfiguration", {})
        if not all(blocked.get(block) for block in _BLOCKS):
            yield f"{name}: may be made public"
        if not str(template.resources[name].get("DeletionPolicy")).startswith("Retain"):
            yield f"{name}: is deleted with the stack"
    yield from _over_tls_only(template, "S3::Bucket", "S3::BucketPolicy", "Bucket")


@rule
def queues_are_encrypted_and_require_tls(template: Expanded) -> Iterator[str]:
    for name, queue in template.of("SQS::Queue"):
        if not queue.get("SqsManagedSseEnabled") and not queue.get("KmsMasterKeyId"):
            yield f"{name}: is not encrypted"
    yield from _over_tls_only(template, "SQS::Queue", "SQS::QueuePolicy", "Queues")


def _over_tls_only(template: Expanded, kind: str, policies: str, names: str) -> Iterator[str]:
    guarded = {
        named(resource)
        for _, policy in template.of(policies)
        for statement in policy["PolicyDocument"]["Statement"]
        if (statement["Effect"], statement.get("Principal")) == ("Deny", "*")
        and statement.get("Condition") == {"Bool": {"aws:SecureTransport": "false"}}
        for resource in listed(statement["Resource"])
        if named(resource) in {named(name) for name in listed(policy[names])}
    }
    for name, _ in template.of(kind):
        if name not in guarded:
            yield f"{name}: does not require TLS"


@rule
def routes_authenticate(template: Expanded) -> Iterator[str]:
    for name, route in template.of("ApiGatewayV2::Route"):
        kind = route.get("AuthorizationType", "NONE")
        if kind not in {"AWS_IAM", "JWT"}:
            yield f"{name}: {route['RouteKey']} needs no authentication"
        if kind == "JWT" and not (route.get("AuthorizerId") and route.get("AuthorizationScopes")):
            yield f"{name}: {route['RouteKey']} needs no token of an authorizer, or no scope"


@rule
def whoever_may_post_writes_for_their_member_alone(template: Expanded) -> Iterator[str]:
    """A claim counts where the gateway has checked the token, and opens no call but those that look at the claim."""
    claim = template.properties("CommandFunction")["Environment"]["Variables"]["JWT_MEMBER_CLAIM"]
    own = {"POST /events", *(["PUT /members"] if claim else [])}
    for name, route in template.of("ApiGatewayV2::Route"):
        if "standings/write" in route.get("AuthorizationScopes", []) and route["RouteKey"] not in own:
            yield f"{name}: {route['RouteKey']} is open to tokens that may only post"
        if claim and route["RouteKey"] in own and route["AuthorizationType"] != "JWT" and not template.refusals:
            yield f"{name}: {route['RouteKey']} takes requests without a token, so nothing checks the claim {claim}"


@rule
def the_api_is_throttled_and_logged(template: Expanded) -> Iterator[str]:
    for name, stage in template.of("ApiGatewayV2::Stage"):
        limits = stage.get("DefaultRouteSettings", {})
        if not (limits.get("ThrottlingRateLimit") and limits.get("ThrottlingBurstLimit")):
            yield f"{name}: has no throttling of its own"
        settings = stage.get("AccessLogSettings", {})
        if named(settings.get("DestinationArn")) not in dict(template.of("Logs::LogGroup")):
            yield f"{name}: has no access log in a log group of the stack"


# A key of the operator's own. Where none is given, AWS's keys encrypt and roles need nothing.

_ENCRYPTING: Final = {"sqs:SendMessage", "s3:PutObject"}
"""Actions for which the caller makes a data key. DynamoDB makes those of tables by a grant."""


@rule
def one_key_encrypts_all(template: Expanded) -> Iterator[str]:
    keys = dict(_keys(template))
    for name, key in keys.items():
        if key not in (given := set(keys.values()) - {""}) and given:
            yield f"{name}: is not encrypted with the key that encrypts the others"


def _keys(template: Expanded) -> Iterator[tuple[str, str]]:
    """Yield the key of each store; '' where it is AWS's."""
    for name, table in template.of("DynamoDB::Table"):
        yield name, table.get("SSESpecification", {}).get("KMSMasterKeyId", "")
    for name, queue in template.of("SQS::Queue"):
        yield name, queue.get("KmsMasterKeyId", "")
    for name, bucket in template.of("S3::Bucket"):
        (encryption,) = bucket.get("BucketEncryption", {}).get("ServerSideEncryptionConfiguration", [{}])
        yield name, encryption.get("ServerSideEncryptionByDefault", {}).get("KMSMasterKeyID", "")


@rule
def roles_may_use_the_key_and_no_other(template: Expanded) -> Iterator[str]:
    """Tables, queues and buckets use a customer's key with the permissions of whoever calls them."""
    given = set(dict(_keys(template)).values()) - {""}
    for name, function in template.of("Lambda::Function"):
        own = [statement for role, statement in statements(template) if role == named(function["Role"])]
        actions = {str(action) for one in own for action in listed(one["Action"])}
        wanted = {"kms:Decrypt", *(["kms:GenerateDataKey"] if actions & _ENCRYPTING else [])} if given else set()
        granted = {action for action in actions if action.startswith("kms:")}
        if granted != wanted:
            yield f"{name}: expected {_said(wanted)}, got {_said(granted)}"
        for one in own:
            uses = any(str(action).startswith("kms:") for action in listed(one["Action"]))
            if uses and not {str(resource) for resource in listed(one["Resource"])} <= given:
                yield f"{name}: may use a key that encrypts nothing of the stack"


def _said(actions: set[str]) -> str:
    return " and ".join(sorted(actions)) or "no permission for keys"


# Tables whose capacity is provisioned. Tables on demand have nothing to scale.

_TARGETS: Final = "ApplicationAutoScaling::ScalableTarget"
_POLICIES: Final = "ApplicationAutoScaling::ScalingPolicy"


@rule
def provisioned_capacity_is_scaled(template: Expanded) -> Iterator[str]:
    """Reads and writes of each table and index: what is not scaled stays at the minimum and throttles."""
    targets = {(target["ResourceId"], target["ScalableDimension"]): name for name, target in template.of(_TARGETS)}
    for where, kind, part, resource in _provisioned(template):
        if not part.get("ProvisionedThroughput"):
            yield f"{where}: expected a ProvisionedThroughput, got none"
        for side in ("Read", "Write"):
            target = targets.pop((resource, f"dynamodb:{kind}:{side}CapacityUnits"), None)
            if target is None:
                yield f"{where}: expected a scalable target for {side}CapacityUnits, got none"
            else:
                yield from _target(template, target, side)
    for (resource, dimension), name in targets.items():
        yield f"{name}: scales {dimension} of {resource}, which no provisioned table or index has"


def _provisioned(template: Expanded) -> Iterator[tuple[str, str, dict[str, Any], str]]:
    """Yield provisioned tables and their indexes: name, kind, properties, the resource's name in auto scaling."""
    for name, table in template.of("DynamoDB::Table"):
        if table.get("BillingMode") != "PAY_PER_REQUEST":
            resource = f"table/${{{name}}}"
            yield name, "table", table, resource
            for index in table.get("GlobalSecondaryIndexes", []):
                yield f"{name}/{index['IndexName']}", "index", index, f"{resource}/index/{index['IndexName']}"


def _target(template: Expanded, name: str, side: str) -> Iterator[str]:
    target = template.properties(name)
    if int(target["MinCapacity"]) > int(target["MaxCapacity"]):
        yield f"{name}: its minimum is more than its maximum"
    tracked = [
        policy["TargetTrackingScalingPolicyConfiguration"]["PredefinedMetricSpecification"]["PredefinedMetricType"]
        for _, policy in template.of(_POLICIES)
        if named(policy["ScalingTargetId"]) == name and policy["PolicyType"] == "TargetTrackingScaling"
    ]
    if tracked != [f"DynamoDB{side}CapacityUtilization"]:
        yield f"{name}: expected a policy that tracks DynamoDB{side}CapacityUtilization, got {tracked or 'none'}"


# Logs, alarms and metrics.

POLLED: Final = "PolledEventCount"
DAMAGE: Final = {"OnFailureDestinationDeliveredEventCount", "DroppedEventCount", "RecordsParked", "Drift"}


@rule
def logs_expire(template: Expanded) -> Iterator[str]:
    groups = dict(template.of("Logs::LogGroup"))
    for name, group in groups.items():
        if not group.get("RetentionInDays"):
            yield f"{name}: never expires"
    for name, function in template.of("Lambda::Function"):
        if named(function.get("LoggingConfig", {}).get("LogGroup")) not in groups:
            yield f"{name}: expected a log group of the stack: the group that Lambda creates never expires"


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
def damage_is_not_called_mended(template: Expanded) -> Iterator[str]:
    """A count of damage falls to 0 as soon as no more is done."""
    for name, alarm in template.of("CloudWatch::Alarm"):
        if alarm["MetricName"] in DAMAGE and alarm.get("OKActions"):
            yield f"{name}: expected no OKActions: the damage is still there when {alarm['MetricName']} is 0 again"


@rule
def dead_letters_have_an_alarm(template: Expanded) -> Iterator[str]:
    watched = _watched(template)
    for name, _ in template.of("SQS::Queue"):
        if "DeadLetter" in name and ("AWS/SQS", "ApproximateNumberOfMessagesVisible", name) not in watched:
            yield f"{name}: has no alarm on its messages"


@rule
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


@rule
def sources_count_their_events(template: Expanded) -> Iterator[str]:
    """Only then does Lambda emit the metrics of dropped events, and can their alarms fire."""
    for name, mapping in template.of("Lambda::EventSourceMapping"):
        if "EventCount" not in mapping.get("MetricsConfig", {}).get("Metrics", []):
            yield f"{name}: expected EventCount in its MetricsConfig"


@rule
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


@rule
def functions_can_be_traced(template: Expanded) -> Iterator[str]:
    """Also with PassThrough: Lambda then sends the traces that a caller asks for."""
    for name, function in template.of("Lambda::Function"):
        if "Mode" not in function.get("TracingConfig", {}):
            yield f"{name}: cannot be traced, whatever Tracing says"
        managed = template.properties(named(function["Role"])).get("ManagedPolicyArns", [])
        if not any(str(policy).endswith("/AWSXrayWriteOnlyAccess") for policy in managed):
            yield f"{name}: may not send its traces"


# What starts by itself.

_STARTED: Final = "MaintenanceFunction"
_AGE_SECONDS: Final = 3600


@rule
def schedules_start_tasks_that_end(template: Expanded) -> Iterator[str]:
    for name, rule in template.of("Events::Rule"):
        if not rule.get("ScheduleExpression"):
            yield f"{name}: exists without a schedule"
        for target in rule["Targets"]:
            if named(target["Arn"]) != _STARTED:
                yield f"{name}: expected {_STARTED} as its target, got {target['Arn']}"
            if not _is_bounded(target.get("Input")):
                expected = "the task audits.next with read_units, or settlements.next"
                yield f"{name}: expected {expected}, got {target.get('Input')}"


def _is_bounded(text: Any) -> bool:
    match json.loads(text or "null"):
        case {"settlements": {"next": {**others}}}:
            return not others
        case {"audits": {"next": {"read_units": int(units), **others}}}:
            return units > 0 and not others
    return False


@rule
def only_a_rule_of_the_stack_may_start_a_task(template: Expanded) -> Iterator[str]:
    rules = dict(template.of("Events::Rule"))
    started = set()
    for name, permission in template.of("Lambda::Permission"):
        if permission["Principal"] == "apigateway.amazonaws.com":
            continue
        source, function = named(permission.get("SourceArn")), named(permission["FunctionName"])
        if (permission["Principal"], permission["Action"]) != ("events.amazonaws.com", "lambda:InvokeFunction"):
            yield f"{name}: lets {permission['Principal']} do {permission['Action']}"
        elif source not in rules or function != _STARTED:
            yield f"{name}: lets {source or 'any rule of any account'} start {function}"
        else:
            started.add(source)
    for name in sorted(rules.keys() - started):
        yield f"{name}: may not start its function"


@rule
def scheduled_runs_are_not_repeated(template: Expanded) -> Iterator[str]:
    """The next run goes on from where a failed one was; what cannot start is held back for an hour at most."""
    bounded = {
        named(config["FunctionName"])
        for _, config in template.of("Lambda::EventInvokeConfig")
        if config.get("MaximumRetryAttempts") == 0
        and int(config.get("MaximumEventAgeInSeconds", 21600)) <= _AGE_SECONDS
    }
    for name, rule in template.of("Events::Rule"):
        for target in rule["Targets"]:
            if int(target.get("RetryPolicy", {}).get("MaximumEventAgeInSeconds", 86400)) > _AGE_SECONDS:
                yield f"{name}: expected a MaximumEventAgeInSeconds of at most {_AGE_SECONDS}"
            if named(target["Arn"]) not in bounded:
                yield f"{name}: Lambda repeats a run that fails: expected an EventInvokeConfig without retries"
