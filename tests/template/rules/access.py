"""Rules for permissions, encryption and the protection of data."""

from collections.abc import Iterator
from typing import Any, Final

from tests.template.expansion import Expanded, named

READS: Final = {"dynamodb:BatchGetItem", "dynamodb:GetItem", "dynamodb:Query", "kms:Decrypt"}
MANAGED: Final = {
    "AWSLambdaBasicExecutionRole": "every function needs it for its log",
    "AWSXrayWriteOnlyAccess": "tracing needs it; traces have no ARN",
}
_BLOCKS: Final = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")


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


def buckets_of_others_are_out_of_reach(template: Expanded) -> Iterator[str]:
    """The name of a bucket that was deleted may be given to another account."""
    for role, statement in statements(template):
        touches = any(str(action).startswith("s3:") for action in listed(statement.get("Action", [])))
        if touches and "s3:ResourceAccount" not in statement.get("Condition", {}).get("StringEquals", {}):
            yield f"{role}, {statement.get('Sid', 'a statement')}: expected the condition s3:ResourceAccount"


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


def the_query_function_cannot_write(template: Expanded) -> Iterator[str]:
    own = named(template.properties("QueryFunction")["Role"])
    for role, statement in statements(template):
        if role == own and (more := {str(action) for action in listed(statement["Action"])} - READS):
            yield f"{role}: expected only reads, got {', '.join(sorted(more))}"


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


def a_first_deployment_can_be_rolled_back(template: Expanded) -> Iterator[str]:
    """A rollback deletes the tables that the deployment made, unless they are locked."""
    for name, table in template.of("DynamoDB::Table"):
        if table.get("DeletionProtectionEnabled") and template.resources[name].get("DeletionPolicy") != "Retain":
            yield f"{name}: is locked by default: a first deployment that fails would end in ROLLBACK_FAILED"


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


def routes_authenticate(template: Expanded) -> Iterator[str]:
    for name, route in template.of("ApiGatewayV2::Route"):
        kind = route.get("AuthorizationType", "NONE")
        if kind not in {"AWS_IAM", "JWT"}:
            yield f"{name}: {route['RouteKey']} needs no authentication"
        if kind == "JWT" and not (route.get("AuthorizerId") and route.get("AuthorizationScopes")):
            yield f"{name}: {route['RouteKey']} needs no token of an authorizer, or no scope"


def whoever_may_post_writes_for_their_member_alone(template: Expanded) -> Iterator[str]:
    """A claim counts where the gateway has checked the token, and opens no call but those that look at the claim."""
    claim = template.properties("CommandFunction")["Environment"]["Variables"]["JWT_MEMBER_CLAIM"]
    own = {"POST /events", *(["PUT /members"] if claim else [])}
    for name, route in template.of("ApiGatewayV2::Route"):
        if "standings/write" in route.get("AuthorizationScopes", []) and route["RouteKey"] not in own:
            yield f"{name}: {route['RouteKey']} is open to tokens that may only post"
        if claim and route["RouteKey"] in own and route["AuthorizationType"] != "JWT" and not template.refusals:
            yield f"{name}: {route['RouteKey']} takes requests without a token, so nothing checks the claim {claim}"


def the_api_is_throttled_and_logged(template: Expanded) -> Iterator[str]:
    for name, stage in template.of("ApiGatewayV2::Stage"):
        limits = stage.get("DefaultRouteSettings", {})
        if not (limits.get("ThrottlingRateLimit") and limits.get("ThrottlingBurstLimit")):
            yield f"{name}: has no throttling of its own"
        settings = stage.get("AccessLogSettings", {})
        if named(settings.get("DestinationArn")) not in dict(template.of("Logs::LogGroup")):
            yield f"{name}: has no access log in a log group of the stack"


def statements(template: Expanded) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, role in template.of("IAM::Role"):
        for policy in role.get("Policies", []):
            for statement in policy["PolicyDocument"]["Statement"]:
                yield name, statement


def listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]
