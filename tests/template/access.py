"""What must hold of who may do what, and of how data are kept."""

from collections.abc import Iterator
from typing import Any, Final

from tests.template.expansion import Expanded, named

READS: Final = {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query"}
MANAGED: Final = {
    "AWSLambdaBasicExecutionRole": "what every function needs for its log",
    "AWSLambdaSQSQueueExecutionRole": "SAM adds it for a queue's poller",
    "AWSLambdaDynamoDBExecutionRole": "SAM adds it for a stream's poller",
    "AWSXrayWriteOnlyAccess": "SAM adds it for tracing; a trace is no resource that could be named",
}
_WAYS_TO_OPEN: Final = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")


def statements_name_what_they_allow(template: Expanded) -> Iterator[str]:
    """No wildcard in a statement; all objects of a bucket are the one resource that has to be written with one."""
    buckets = {name for name, _ in template.of("S3::Bucket")}
    for role, statement in statements(template):
        where = f"{role}, {statement.get('Sid', 'a statement')}"
        if statement.keys() & {"NotAction", "NotResource"}:
            yield f"{where}: says what it does not allow"
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


def the_query_function_cannot_write(template: Expanded) -> Iterator[str]:
    own = named(template.properties("QueryFunction")["Role"])
    for role, statement in statements(template):
        if role == own and (more := {str(action) for action in listed(statement["Action"])} - READS):
            yield f"{role}: may do more than read: {', '.join(sorted(more))}"


def tables_are_kept(template: Expanded) -> Iterator[str]:
    for name, table in template.of("DynamoDB::Table"):
        if not table.get("SSESpecification", {}).get("SSEEnabled"):
            yield f"{name}: is not encrypted with a key of the account's"
        if not table.get("DeletionProtectionEnabled"):
            yield f"{name}: can be deleted by a slip"
        if not str(template.resources[name].get("DeletionPolicy")).startswith("Retain"):
            yield f"{name}: goes with the stack"
        # Rankings are made from Scores.
        if name == "RankingsTable":
            continue
        if not table.get("PointInTimeRecoverySpecification", {}).get("PointInTimeRecoveryEnabled"):
            yield f"{name}: cannot be brought back to a point in time"
        if template.resources[name].get("UpdateReplacePolicy") != "Retain":
            yield f"{name}: goes where an update replaces it"


def buckets_are_closed_and_encrypted(template: Expanded) -> Iterator[str]:
    for name, bucket in template.of("S3::Bucket"):
        if not bucket.get("BucketEncryption"):
            yield f"{name}: is not encrypted"
        blocked = bucket.get("PublicAccessBlockConfiguration", {})
        if not all(blocked.get(way) for way in _WAYS_TO_OPEN):
            yield f"{name}: could be opened to everyone"
        if not str(template.resources[name].get("DeletionPolicy")).startswith("Retain"):
            yield f"{name}: goes with the stack"
    yield from _over_tls_only(template, "S3::Bucket", "S3::BucketPolicy", "Bucket")


def queues_are_encrypted_and_take_tls_only(template: Expanded) -> Iterator[str]:
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
            yield f"{name}: may be called without TLS"


def routes_ask_who_calls(template: Expanded) -> Iterator[str]:
    for name, route in template.of("ApiGatewayV2::Route"):
        kind = route.get("AuthorizationType", "NONE")
        if kind not in {"AWS_IAM", "JWT"}:
            yield f"{name}: {route['RouteKey']} is open to everyone"
        if kind == "JWT" and not (route.get("AuthorizerId") and route.get("AuthorizationScopes")):
            yield f"{name}: {route['RouteKey']} asks for no authorizer's token, or for no scope"


def the_api_is_throttled_and_logged(template: Expanded) -> Iterator[str]:
    for name, stage in template.of("ApiGatewayV2::Stage"):
        limits = stage.get("DefaultRouteSettings", {})
        if not (limits.get("ThrottlingRateLimit") and limits.get("ThrottlingBurstLimit")):
            yield f"{name}: takes as many requests as the whole account may"
        settings = stage.get("AccessLogSettings", {})
        if named(settings.get("DestinationArn")) not in dict(template.of("Logs::LogGroup")):
            yield f"{name}: no log group of the stack has its access log"


def statements(template: Expanded) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, role in template.of("IAM::Role"):
        for policy in role.get("Policies", []):
            for statement in policy["PolicyDocument"]["Statement"]:
                yield name, statement


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
