"""The template's parameters do what they say: who may call, what is set, what is there at all, and what is refused.

The template keeps our rules with any parameters, and every rule can fail.
"""

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from standings.calls import CALLS
from tests.template.expansion import KEY, TEMPLATE, TOKENS, deployed, named, template
from tests.template.rules import DAMAGE, NAMESPACE, RULES, complaints, emitted

READ, EVENTS = "$default", ("POST /events", "GET /events", "HEAD /events")
ADMIN = (
    "DELETE /boards/{board}",
    *(f"{method} {path}" for method in ("PUT", "DELETE") for path in ("/boards/{board}/member", "/members")),
)
TOPIC = "arn:aws:sns:us-east-1:123456789012:ops"
KEYED: Final = {"KmsKeyArn": KEY}
EVERYTHING: Final = {
    "AuditSchedule": "rate(1 hour)",
    "Settlements": "true",
    "SettleSchedule": "rate(1 hour)",
    "Announcements": "true",
}
CLAIM: Final = {**TOKENS, "JwtMemberClaim": "sub"}
PUBLIC: Final = {"OpenReads": "true"}
BARE: Final = {**PUBLIC, "OpenWrites": "true"}
ADMINS: Final = {"AdminPage": "true"}
OPEN_URL: Final = {**PUBLIC, "FunctionUrl": "open", "QueryReservedConcurrency": "50"}
SIGNED: Final = ("AWS_IAM", None)
OPEN: Final = ("NONE", None)
BY_READ, BY_WRITE, BY_ADMIN = (("JWT", [f"standings/{scope}"]) for scope in ("read", "write", "admin"))


def routes(**parameters: str) -> dict[str, tuple[str, list[str] | None]]:
    return {
        route["RouteKey"]: (route["AuthorizationType"], route.get("AuthorizationScopes"))
        for _, route in deployed(**parameters).of("ApiGatewayV2::Route")
    }


def arn(name: str) -> dict[str, list[str]]:
    return {"Fn::GetAtt": [name, "Arn"]}


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({}, {READ: SIGNED, **dict.fromkeys(EVENTS, SIGNED), **dict.fromkeys(ADMIN, SIGNED)}),
        (TOKENS, {READ: BY_READ, **dict.fromkeys(EVENTS, BY_WRITE), **dict.fromkeys(ADMIN, BY_ADMIN)}),
        # Tokens that may post reach the profile of their member: see tests/functions/http/test_own_member.py.
        (CLAIM, {**routes(**TOKENS), "PUT /members": ("JWT", ["standings/admin", "standings/write"])}),
        ({"OpenReads": "true"}, {**routes(), READ: OPEN}),
        ({"OpenReads": "true", **TOKENS}, {**routes(**TOKENS), READ: OPEN}),
        ({"OpenWrites": "true"}, {READ: SIGNED, **dict.fromkeys(EVENTS, OPEN), **dict.fromkeys(ADMIN, OPEN)}),
        # The document of the page is for anyone: it has no data.
        ({**TOKENS, **ADMINS}, {**routes(**TOKENS), "GET /admin": OPEN, "POST /tasks": BY_ADMIN}),
        ({**ADMINS, **BARE}, {**routes(**BARE), "GET /admin": OPEN, "POST /tasks": OPEN}),
        # A preflight has no signature. Without a route of its own it would go to $default, which requires one.
        ({"CorsOrigins": "https://a.example"}, {**routes(), "OPTIONS /{proxy+}": OPEN}),
    ],
)
def test_who_may_call_which_route(parameters: dict[str, str], expected: dict[str, Any]) -> None:
    assert routes(**parameters) == expected


def test_the_scope_of_a_call_is_the_one_that_its_route_asks_for() -> None:
    required = routes(**TOKENS, **ADMINS)

    for call in CALLS.values():
        route = f"{call.method} {call.path}".replace("<", "{").replace(">", "}")
        assert required.get(route, required[READ])[1] == [call.scope], route


BUCKETS: Final = "S3::Bucket/BucketEncryption.ServerSideEncryptionConfiguration"
AWS_KEY: Final = {"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}
OWN_KEY: Final = {
    "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY},
    "BucketKeyEnabled": True,
}
TABLES: Final = ("ScoresTable", "ReceiptsTable", "RankingsTable")
PLACES: Final = "RankingsTable/GlobalSecondaryIndexes.0."
WARM: Final = {"WarmWriteUnits": "8"}
BETWEEN: Final = {"ProvisionedMinimumUnits": "10", "ProvisionedMaximumUnits": "500"}
SCALED: Final = {"TableCapacity": "provisioned", **BETWEEN, "TargetUtilization": "50"}
TEN: Final = {"ReadCapacityUnits": "10", "WriteCapacityUnits": "10"}
TARGET: Final = "ApplicationAutoScaling::ScalableTarget"
POLICY: Final = "ApplicationAutoScaling::ScalingPolicy/TargetTrackingScalingPolicyConfiguration"
LIMITS: Final = "ApiStage/DefaultRouteSettings"
CORS: Final = {"CorsOrigins": "https://a.example,https://b.example"}
SIGNATURE: Final = ("x-amz-content-sha256", "x-amz-date", "x-amz-security-token")
LOCKED: Final = {"DeletionProtection": "true"}
BLOCKS: Final = ("BlockPublicAcls", "BlockPublicPolicy", "IgnorePublicAcls", "RestrictPublicBuckets")
SIX: Final = ("Writer", "Projector", "Announcer", "Query", "Command", "Maintenance")
VARIABLES: Final = "QueryFunction/Environment.Variables"
SENDERS: Final = "QueuesOverTlsOnly/PolicyDocument.Statement.1"
OVER_TLS: Final = {
    "Sid": "OverTlsOnly",
    "Action": "sqs:*",
    "Resource": [arn("ActivityQueue"), arn("ActivityDeadLetterQueue")],
    "Condition": {"Bool": {"aws:SecureTransport": "false"}},
}
RULE: Final = "arn:aws:events:us-east-1:123456789012:rule/shop/finished"
CLAIMED: Final = "CommandFunction/Environment.Variables.JWT_MEMBER_CLAIM"


@pytest.mark.parametrize(
    ("parameters", "where", "expected"),
    [
        ({"Tracing": "Active"}, "Lambda::Function/TracingConfig.Mode", ["Active"]),
        (KEYED, "DynamoDB::Table/SSESpecification", [{"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}]),
        # SQS refuses both kinds of encryption together.
        ({}, "SQS::Queue/SqsManagedSseEnabled", [True]),
        ({}, "SQS::Queue/KmsMasterKeyId", [None]),
        (KEYED, "SQS::Queue/SqsManagedSseEnabled", [None]),
        (KEYED, "SQS::Queue/KmsMasterKeyId", [KEY]),
        ({"Settlements": "true"}, BUCKETS, [[AWS_KEY]]),
        ({"Settlements": "true", **KEYED}, BUCKETS, [[OWN_KEY]]),
        # Profiles are read and written now and then: provisioned units would stand idle.
        *((SCALED, f"{table}/BillingMode", ["PROVISIONED"]) for table in TABLES),
        (SCALED, "ProfilesTable/BillingMode", ["PAY_PER_REQUEST"]),
        *((SCALED, f"{one}ProvisionedThroughput", [TEN]) for one in (*(f"{table}/" for table in TABLES), PLACES)),
        (SCALED, f"{TARGET}/MinCapacity", ["10"]),
        (SCALED, f"{TARGET}/MaxCapacity", ["500"]),
        (SCALED, f"{POLICY}.TargetValue", ["50"]),
        # Warm throughput cannot be lowered, so reads are left as they are. Nothing waits for profiles, and a stack
        # without any would pay for their warmth.
        *((WARM, f"{table}/WarmThroughput", [{"WriteUnitsPerSecond": "8"}]) for table in TABLES),
        (WARM, f"{PLACES}WarmThroughput", [{"WriteUnitsPerSecond": "8"}]),
        (WARM, "ProfilesTable/WarmThroughput", [None]),
        (WARM, "ProfilesTable/GlobalSecondaryIndexes.0.WarmThroughput", [None]),
        (LOCKED, "DynamoDB::Table/DeletionProtectionEnabled", [True]),
        ({}, "Lambda::Function/ReservedConcurrentExecutions", [None]),
        *(
            ({f"{name}ReservedConcurrency": "7"}, f"{name}Function/ReservedConcurrentExecutions", ["7"])
            for name in ("Writer", "Projector", "Query")
        ),
        # Routes are throttled lower where anyone may read.
        *(
            (parameters, LIMITS, [dict.fromkeys(("ThrottlingRateLimit", "ThrottlingBurstLimit"), limit)])
            for parameters, limit in (({}, 1000), (PUBLIC, 200), ({**PUBLIC, "RequestsPerSecond": "3000"}, "3000"))
        ),
        ({}, "Api/CorsConfiguration", [None]),
        (CORS, "Api/CorsConfiguration.AllowOrigins", [["https://a.example", "https://b.example"]]),
        (CORS, "Api/CorsConfiguration.AllowMethods", [["GET", "POST", "PUT", "DELETE"]]),
        (CORS, "Api/CorsConfiguration.ExposeHeaders", [["etag"]]),
        (CORS, "Api/CorsConfiguration.AllowHeaders", [["authorization", "content-type", "if-none-match", *SIGNATURE]]),
        (CLAIM, CLAIMED, ["sub"]),
        ({"PictureOrigins": "a.example,b.example"}, f"{VARIABLES}.PICTURE_ORIGINS", ["a.example,b.example"]),
        (ADMINS, f"{VARIABLES}.ADMIN_PAGE", ["true"]),
        ({"EmbedOrigins": "https://a.example"}, f"{VARIABLES}.EMBED_ORIGINS", ["https://a.example"]),
        ({}, "QueuesOverTlsOnly/PolicyDocument.Statement", [[{**OVER_TLS, "Effect": "Deny", "Principal": "*"}]]),
        ({"SenderArns": f"{TOPIC},{RULE}"}, f"{SENDERS}.Effect", ["Allow"]),
        ({"SenderArns": f"{TOPIC},{RULE}"}, f"{SENDERS}.Action", ["sqs:SendMessage"]),
        ({"SenderArns": f"{TOPIC},{RULE}"}, f"{SENDERS}.Resource", [arn("ActivityQueue")]),
        ({"SenderArns": f"{TOPIC},{RULE}"}, f"{SENDERS}.Condition.ArnEquals.aws:SourceArn", [[TOPIC, RULE]]),
        ({"ReadsMaxAge": "30"}, f"{VARIABLES}.READS_MAX_AGE", ["30"]),
        ({}, "MaintenanceFunction/Environment.Variables.RESULTS_BUCKET", [None]),
        ({}, "MaintenanceFunction/Environment.Variables.STACK_NAME", [None]),
        ({**EVERYTHING, "AuditReadUnits": "7"}, "AuditRule/Targets.0.Input", ['{"audits":{"next":{"read_units":7}}}']),
        *(
            ({**PUBLIC, "FunctionUrl": url, "QueryReservedConcurrency": "5"}, "QueryFunctionUrl/AuthType", [who])
            for url, who in (("iam", "AWS_IAM"), ("open", "NONE"))
        ),
        ({"FunctionUrl": "iam"}, "QueryFunctionUrl/TargetFunctionArn", [arn("QueryFunction")]),
        ({"FunctionUrl": "iam"}, "QueryFunctionUrl/Cors", [None]),
        # A page that may call the API may call the address too: with the same headers, and for as long.
        ({"FunctionUrl": "iam", **CORS}, "QueryFunctionUrl/Cors", deployed(**CORS).values("Api/CorsConfiguration")),
        (TOKENS, "ApiGatewayV2::Route/AuthorizerId", [{"Ref": "JwtAuthorizer"}]),
        (TOKENS, "JwtAuthorizer/JwtConfiguration.Issuer", [TOKENS["JwtIssuer"]]),
        (TOKENS, "JwtAuthorizer/JwtConfiguration.Audience", [["standings", "other"]]),
        ({"LogRetentionDays": "1"}, "Logs::LogGroup/RetentionInDays", ["1"]),
        ({"DynamoDBClient": "botocore"}, "Lambda::Function/Environment.Variables.DYNAMODB_CLIENT", ["botocore"]),
        ({"SystemLogLevel": "INFO"}, "Lambda::Function/LoggingConfig.SystemLogLevel", ["INFO"]),
        # The group stays, with the lines that are in it.
        ({"AccessLog": "false"}, "ApiStage/AccessLogSettings", [None]),
        ({"AccessLog": "false"}, "ApiLogGroup/RetentionInDays", [30]),
    ],
)
def test_what_a_parameter_sets(parameters: dict[str, str], where: str, expected: list[Any]) -> None:
    assert deployed(**parameters).values(where) == expected


SAFE: Final[list[tuple[str, list[Any]]]] = [
    # A failure repeats the rest of its batch alone.
    ("Lambda::EventSourceMapping/FunctionResponseTypes", [["ReportBatchItemFailures"]]),
    # Lambda emits the metrics of dropped events only if it counts events.
    ("Lambda::EventSourceMapping/MetricsConfig.Metrics", [["EventCount"]]),
    # A message is received again for 35 hours, and a look for two days.
    ("ActivityQueue/RedrivePolicy", [{"deadLetterTargetArn": arn("ActivityDeadLetterQueue"), "maxReceiveCount": 300}]),
    ("ActivityQueue/MessageRetentionPeriod", [4 * 86_400]),
    ("ActivityDeadLetterQueue/MessageRetentionPeriod", [14 * 86_400]),
    ("LooksQueue/RedrivePolicy", [{"deadLetterTargetArn": arn("LooksDeadLetterQueue"), "maxReceiveCount": 1000}]),
    # A record is given up by its age alone, whole, without the others, and before it expires in the stream.
    ("ProjectorFunctionScores/MaximumRetryAttempts", [-1]),
    ("ProjectorFunctionScores/MaximumRecordAgeInSeconds", [12 * 3_600]),
    ("ProjectorFunctionScores/BisectBatchOnFunctionError", [True]),
    ("ProjectorFunctionScores/DestinationConfig.OnFailure.Destination", [arn("FailureBucket")]),
    # A rollback of the first deployment deletes tables, and nothing else does. Rankings can be built from Scores.
    ("DynamoDB::Table/DeletionPolicy", ["RetainExceptOnCreate"]),
    *((f"{table}Table/UpdateReplacePolicy", ["Retain"]) for table in ("Scores", "Receipts", "Profiles")),
    ("S3::Bucket/DeletionPolicy", ["RetainExceptOnCreate"]),
    ("S3::Bucket/PublicAccessBlockConfiguration", [dict.fromkeys(BLOCKS, True)]),
    # Lambda's own log groups never expire.
    ("Lambda::Function/LoggingConfig.LogGroup.Ref", [f"{name}LogGroup" for name in SIX]),
    ("Lambda::Function/LoggingConfig.LogFormat", ["JSON"]),
    ("Logs::LogGroup/RetentionInDays", [30]),
    ("Lambda::Function/Environment.Variables.POWERTOOLS_METRICS_NAMESPACE", [NAMESPACE]),
    (
        "IAM::Role/ManagedPolicyArns",
        [[{"Ref": "LogsAndTraces"}, *more] for more in ([], [{"Ref": "ReaderPolicy"}], [{"Ref": "ProducerPolicy"}])],
    ),
    # A line written after the stack's deletion would create its group again, without a retention.
    ("LogsAndTraces/PolicyDocument.Statement.0.Action", [["logs:CreateLogStream", "logs:PutLogEvents"]]),
    ("LogsAndTraces/PolicyDocument.Statement.1.Action", [["xray:PutTelemetryRecords", "xray:PutTraceSegments"]]),
    # Lambda drops the messages of a loop after 16 runs: docs.aws.amazon.com/lambda/latest/dg/invocation-recursion.html
    ("Lambda::Function/RecursiveLoop", [None, "Allow"]),
    ("AnnouncerFunction/RecursiveLoop", ["Allow"]),
    ("ApiStage/AccessLogSettings.DestinationArn", [arn("ApiLogGroup")]),
    # Only rules of the stack start tasks, which end by themselves. A run that fails is not repeated.
    ("Events::Rule/ScheduleExpression", ["rate(1 hour)"]),
    ("Events::Rule/Targets.0.Arn", [arn("MaintenanceFunction")]),
    ("Events::Rule/Targets.0.RetryPolicy.MaximumEventAgeInSeconds", [600]),
    ("AuditRule/Targets.0.Input", ['{"audits":{"next":{"read_units":10000}}}']),
    ("SettleRule/Targets.0.Input", ['{"settlements":{"next":{}}}']),
    ("Lambda::Permission/Principal", ["events.amazonaws.com", "apigateway.amazonaws.com"]),
    ("Lambda::Permission/Action", ["lambda:InvokeFunction"]),
    *(
        (f"{what}/FunctionName", [{"Ref": "MaintenanceFunction"}])
        for what in ("AuditInvokePermission", "SettleInvokePermission", "AuditRetries")
    ),
    ("AuditInvokePermission/SourceArn", [arn("AuditRule")]),
    ("SettleInvokePermission/SourceArn", [arn("SettleRule")]),
    ("AuditRetries/MaximumRetryAttempts", [0]),
    ("AuditRetries/MaximumEventAgeInSeconds", [600]),
]


@pytest.mark.parametrize(("where", "expected"), SAFE, ids=[where for where, _ in SAFE])
def test_what_is_set_whatever_the_parameters(where: str, expected: list[Any]) -> None:
    assert deployed(**EVERYTHING).values(where) == expected


def test_each_side_of_what_is_provisioned_is_scaled_by_its_use() -> None:
    """What is not scaled stays at the minimum and throttles."""
    stack = deployed(**SCALED)
    targets = {(target["ResourceId"], target["ScalableDimension"]): name for name, target in stack.of(TARGET)}
    tables = [("table", f"table/${{{name}Table}}") for name in ("Scores", "Receipts", "Rankings")]
    indexes = [
        ("index", f"table/${{{table}Table}}/index/{one}")
        for table, one in (("Scores", "boards"), ("Rankings", "places"))
    ]

    assert targets.keys() == {
        (resource, f"dynamodb:{kind}:{side}CapacityUnits")
        for kind, resource in (*tables, *indexes)
        for side in ("Read", "Write")
    }
    for (_, dimension), name in targets.items():
        tracked = [
            policy["TargetTrackingScalingPolicyConfiguration"]["PredefinedMetricSpecification"]["PredefinedMetricType"]
            for _, policy in stack.of("ApplicationAutoScaling::ScalingPolicy")
            if (named(policy["ScalingTargetId"]), policy["PolicyType"]) == (name, "TargetTrackingScaling")
        ]
        assert tracked == [f"DynamoDB{dimension.split(':')[2].removesuffix('Units')}Utilization"], name


def test_alarms_go_to_the_topic_if_there_is_one() -> None:
    silent, loud = deployed(), deployed(AlarmTopicArn=TOPIC)

    assert len(list(loud.of("CloudWatch::Alarm"))) > 20
    for name, alarm in loud.of("CloudWatch::Alarm"):
        assert alarm.get("AlarmActions") == [TOPIC], name
        assert alarm.get("OKActions") == (None if alarm["MetricName"] in DAMAGE else [TOPIC]), name
        assert not silent.properties(name).keys() & {"AlarmActions", "OKActions"}, name


@pytest.mark.parametrize(
    ("parameters", "added"),
    [
        ({"AuditSchedule": "rate(1 hour)"}, {"AuditRule", "AuditInvokePermission", "AuditRetries"}),
        ({"Settlements": "true"}, {"ResultsBucket", "ResultsBucketOverTlsOnly"}),
        (
            {"Settlements": "true", "SettleSchedule": "rate(1 hour)"},
            {"ResultsBucket", "ResultsBucketOverTlsOnly", "SettleRule", "SettleInvokePermission", "AuditRetries"},
        ),
        ({"FunctionUrl": "iam"}, {"QueryFunctionUrl", "FunctionUrlPolicy"}),
        (ADMINS, {"AdminPageRoute", "TasksRoute", "MaintenanceIntegration", "TasksInvokePermission"}),
        (OPEN_URL, {"QueryFunctionUrl", "OpenUrlPermission", "OpenUrlInvokePermission"}),
    ],
)
def test_what_is_there_only_where_it_is_asked_for(parameters: dict[str, str], added: set[str]) -> None:
    more = deployed(**parameters).resources.keys() - deployed().resources.keys()
    assert {name for name in more if "Alarm" not in name} == added
    outputs = {name: one["Condition"] for name, one in template()["Outputs"].items() if "Condition" in one}
    assert outputs == {
        "AnnouncerFunctionName": "TopsAreAnnounced",
        "FunctionUrlEndpoint": "HasFunctionUrl",
        "FunctionUrlPolicyArn": "FunctionUrlIsSigned",
        "ResultsBucketName": "PeriodsAreSettled",
    }


def test_a_default_deployment_has_the_listed_resources() -> None:
    """Whoever adds or takes out a resource changes the list, so that a reader of the change sees what users pay for."""
    listed = TEMPLATE.parent / "tests" / "template" / "default_deployment.txt"
    # SAM puts a digest of the layer's properties behind its name.
    names = {re.sub("^(StandingsLayer).*", r"\1", name): one["Type"] for name, one in deployed().resources.items()}

    assert listed.read_text(encoding="utf-8").splitlines() == sorted(f"{name} {kind}" for name, kind in names.items())


def test_sam_alone_transforms_the_template_and_retention_needs_no_transform() -> None:
    """AWS::LanguageExtensions refuses RetainExceptOnCreate: aws-cloudformation/cfn-language-discussion#139 and #124."""
    policies = ("DeletionPolicy", "UpdateReplacePolicy")

    assert template()["Transform"] == "AWS::Serverless-2016-10-31"
    assert "Fn::ForEach" not in TEMPLATE.read_text(encoding="utf-8")
    assert {one[name] for one in template()["Resources"].values() for name in policies if name in one} == {
        *("Delete", "Retain", "RetainExceptOnCreate")
    }


def test_the_template_of_trials_deletes_tables_and_buckets_with_the_stack(tmp_path: Path) -> None:
    shutil.copy(TEMPLATE.with_name("Makefile"), tmp_path)
    shutil.copy(TEMPLATE, tmp_path)
    subprocess.run(["make", "--silent", "trial.yaml"], cwd=tmp_path, check=True)
    trial = (tmp_path / "trial.yaml").read_text(encoding="utf-8")

    assert trial == TEMPLATE.read_text(encoding="utf-8").replace("RetainExceptOnCreate", "Delete")


@pytest.mark.parametrize(
    ("parameter", "good", "bad"),
    [
        ("WarmWriteUnits", ["0", "4000", "9999", "100000"], ["1", "3999", "-4000", "4e3", ""]),
        ("WriterMaximumConcurrency", ["0", "2", "1000"], ["1", "1001", ""]),
        ("RequestsPerSecond", ["0", "1", "10000"], ["-1", "1e3", ""]),
        ("QueryReservedConcurrency", ["0", "1", "1000"], ["-1", "01", ""]),
        ("ReadsMaxAge", [*map(str, range(3_601))], ["-1", "3601", "5000", "", "1.5", "1e2", "05", "30s", " 30"]),
        ("AuditReadUnits", ["1", "10000", "999999999"], ["0", "10.5", "-1", "1e4", "", "1000000000"]),
        ("AuditSchedule", ["", "rate(1 hour)", "cron(0 3 * * ? *)"], ["1 hour", "rate()", "at(2026-11-22T10:00:00)"]),
        ("SettleSchedule", ["", "rate(1 day)", "cron(0 3 * * ? *)"], ["1 day", "rate()"]),
        ("JwtIssuer", ["", "https://issuer.example/pool"], ["issuer.example", "https://a b"]),
        ("JwtAudience", ["", "a", "a,b"], ["a, b", ",", "a,"]),
        ("JwtMemberClaim", ["", "sub", "cognito:username", "https://a.example/member"], ["my claim", "sub,id"]),
        (
            "CorsOrigins",
            ["", "*", "https://a.example,http://localhost:8000"],
            ["a.example", "*,", "https://a.example/"],
        ),
        (
            "PictureOrigins",
            ["", "a.example", "a.example,b.example:8443"],
            # Each of these would allow more than pictures of one host, or end the directive.
            ["*", "*.example", "a.example b.example", "a.example;script-src *", "https://a.example", "'self'", "data:"],
        ),
        (
            "EmbedOrigins",
            ["", "https://club.example", "https://a.example:8443,http://localhost:8000", "http://127.0.0.1:8000"],
            # Each of these would let more pages show the live page than those of one origin, or end the directive.
            [
                *("*", "https:", "https://*.example", "https://a.example/", "https://a.example https://b.example"),
                *("https://a.example;script-src", "https://a.example,", "http://a.example", "a.example", "'self'"),
                "null",
            ],
        ),
        ("KmsKeyArn", ["", KEY, KEY.replace("1111", "mrk-")], ["alias/mine", KEY.replace(":key", ":alias"), f"{KEY}*"]),
        (
            "SenderArns",
            ["", TOPIC, f"{RULE},{TOPIC}"],
            ["*", f"{TOPIC}*", f"{TOPIC}, {RULE}", TOPIC.replace("sns", "sqs")],
        ),
        ("AlarmTopicArn", ["", TOPIC, TOPIC.replace("aws", "aws-cn")], ["ops", TOPIC.replace("sns", "sqs")]),
    ],
)
def test_parameters_are_checked(parameter: str, good: list[str], bad: list[str]) -> None:
    pattern = template()["Parameters"][parameter]["AllowedPattern"]

    assert [value for value in good if not re.fullmatch(pattern, value)] == []
    assert [value for value in bad if re.fullmatch(pattern, value)] == []


CLOSED: Final = "FunctionUrl is open without OpenReads, so anyone could read what the API keeps closed"
UNBOUND: Final = (
    "FunctionUrl is open without QueryReservedConcurrency, so reads could take all of the account's concurrency from "
    "writers and projectors"
)
WITHOUT_TOKENS: Final = "AdminPage is given without JwtIssuer, and a browser cannot sign requests for AWS IAM"
WITH_OPEN_WRITES: Final = "JwtMemberClaim is given together with OpenWrites"
LOCAL: Final = {"EndpointUrl": "http://localhost:4566"}


def test_every_parameter_is_described() -> None:
    parameters = template()["Parameters"]

    for name, parameter in parameters.items():
        assert parameter.get("Description"), name
        assert "AllowedPattern" not in parameter or "ConstraintDescription" in parameter, name


@pytest.mark.parametrize(
    ("parameters", "refused"),
    [
        ({}, []),
        (TOKENS, []),
        ({**CLAIM, "OpenReads": "true"}, []),
        ({"JwtIssuer": TOKENS["JwtIssuer"]}, ["JwtIssuer is given without JwtAudience"]),
        ({"JwtAudience": "standings"}, ["JwtAudience is given without JwtIssuer"]),
        ({"JwtMemberClaim": "sub"}, ["JwtMemberClaim is given without JwtIssuer"]),
        ({**CLAIM, "OpenWrites": "true"}, [f"{WITH_OPEN_WRITES}, which lets anyone write for any member"]),
        (ADMINS, [WITHOUT_TOKENS]),
        ({**ADMINS, **PUBLIC}, [WITHOUT_TOKENS]),
        ({**ADMINS, **BARE}, []),
        ({**ADMINS, **TOKENS}, []),
        ({"SettleSchedule": "rate(1 day)"}, ["SettleSchedule is given without Settlements"]),
        ({"SettleSchedule": "rate(1 day)", "Settlements": "true"}, []),
        ({"TableCapacity": "provisioned", **LOCAL}, ["TableCapacity is provisioned with an EndpointUrl"]),
        (LOCAL, []),
        # A function URL never opens what the API keeps closed, and nothing else bounds an open one.
        (OPEN_URL, []),
        ({**OPEN_URL, **TOKENS}, []),
        ({"FunctionUrl": "iam"}, []),
        ({"FunctionUrl": "iam", **TOKENS}, []),
        ({**OPEN_URL, "OpenReads": "false"}, [CLOSED]),
        ({**OPEN_URL, "OpenReads": "false", **TOKENS}, [CLOSED]),
        ({**OPEN_URL, "QueryReservedConcurrency": "0"}, [UNBOUND]),
        ({"FunctionUrl": "open"}, [CLOSED, UNBOUND]),
    ],
)
def test_parameters_that_do_not_fit_together_are_refused(parameters: dict[str, str], refused: list[str]) -> None:
    assert [refusal.partition(".")[0] for refusal in deployed(**parameters).refusals] == refused


def test_the_dashboard_shows_every_metric_of_ours_and_throttles_and_is_no_larger_than_its_grid() -> None:
    """Descriptions of alarms tell people to look there for throttles that have no alarm of their own."""
    stack = deployed(Announcements="true", FunctionUrl="iam")
    widgets = json.loads(stack.properties("Dashboard")["DashboardBody"])["widgets"]
    metrics = [metric for widget in widgets for metric in _written_out(widget["properties"]["metrics"])]
    shown = {(metric[0], metric[3], metric[1]) for metric in metrics if not metric[0].startswith("AWS/")}
    places = [(widget["x"], widget["y"]) for widget in widgets]

    assert shown == {(NAMESPACE, service, name) for service, names in emitted().items() for name in names}
    assert len(set(places)) == len(places)
    assert all(widget["x"] + widget["width"] <= 24 for widget in widgets)
    throttles, url = (
        {(metric[1], *map(named, metric[3::2])) for metric in _written_out(one["properties"]["metrics"])}
        for title in ("Throttles", "Reads at the function URL")
        for one in widgets
        if one["properties"]["title"] == title
    )

    for side in ("Read", "Write"):
        assert {(f"{side}ThrottleEvents", name) for name, _ in stack.of("DynamoDB::Table")} <= throttles
        assert (f"{side}ThrottleEvents", "RankingsTable", "") in throttles  # the index
    assert {("Throttles", name) for name, _ in stack.of("Lambda::Function") if name != "AnnouncerFunction"} <= throttles
    names = ("UrlRequestCount", "Url4xxCount", "Url5xxCount", "UrlRequestLatency", "Throttles")
    assert {metric[:2] for metric in url} == {(name, "QueryFunction") for name in names}
    assert "function URL" not in deployed().properties("Dashboard")["DashboardBody"]


def _written_out(metrics: list[list[Any]]) -> Iterator[list[Any]]:
    """Write what the metrics of a widget repeat, `.` in CloudWatch's format, from the metric before."""
    before: list[Any] = []
    for metric in metrics:
        before = [before[place] if part == "." else part for place, part in enumerate(metric)]
        yield before


def test_functions_have_folders_and_outputs_of_their_names() -> None:
    """Alarms find a metric by its service, and the rules find the service's code by its folder."""
    outputs = template()["Outputs"]
    for name in SIX:
        function = template()["Resources"][f"{name}Function"]["Properties"]
        service = function["Environment"]["Variables"]["POWERTOOLS_SERVICE_NAME"]
        assert Path(function["CodeUri"]).name == service == name.lower()
        assert name == "Announcer" or outputs[f"{name}FunctionName"]["Value"] == {"Ref": f"{name}Function"}
    assert {"ActivityQueueUrl", "ApiUrl"} <= outputs.keys()


AUDITING: Final = {"AuditSchedule": "rate(1 hour)"}
SETTLING: Final = {"Settlements": "true", "SettleSchedule": "rate(1 hour)"}
ANNOUNCING: Final = {"Announcements": "true"}
ALL_AT_ONCE: Final = {
    **AUDITING,
    **SETTLING,
    **ANNOUNCING,
    **TOKENS,
    **OPEN_URL,
    "KmsKeyArn": KEY,
    "TableCapacity": "provisioned",
}


WAITING: Final = {"WriterMaximumConcurrency": "0", "WriterBatchingWindow": "60", "ProjectorBatchingWindow": "300"}


@pytest.mark.parametrize(
    "parameters", [{}, WAITING, AUDITING, SETTLING, ANNOUNCING, OPEN_URL, ALL_AT_ONCE], ids=",".join
)
def test_it_keeps_to_the_rules(parameters: dict[str, str]) -> None:
    assert complaints(deployed(**parameters)) == []


MISTAKES: Final = {
    "ActivityQueue.Properties.VisibilityTimeout": 360,
    "ProjectorFunction.Properties.Timeout": 61,
    "FailureBucket.Properties.LifecycleConfiguration.Rules.0.ExpirationInDays": 60,
    "FailureBucketOverTlsOnly.Properties.Bucket": "another",
    "WriterFunctionRole.Properties.Policies.0.PolicyDocument.Statement.4.Condition": {},
    "PlacesWriteThrottlesAlarm.Properties.MetricName": "ReadThrottleEvents",
    "QueryThrottlesAlarm.Properties.MetricName": "ConcurrentExecutions",
    "DriftAlarm.Properties.AlarmDescription": "Drift",
    "DriftAlarm.Properties.MetricName": "Drifts",
}
"""What stands at a path instead, one for each rule."""


def test_every_rule_can_fail() -> None:
    stack = deployed(**ALL_AT_ONCE)
    resources = deepcopy(dict(stack.resources))
    for where, instead in MISTAKES.items():
        node: Any = resources
        *way, last = where.split(".")
        for key in way:
            node = node[int(key)] if isinstance(node, list) else node[key]
        node[last] = instead
    wrong = complaints(replace(stack, resources=resources))

    assert {name for name, _ in wrong} == {rule.__name__ for rule in RULES}, wrong
    assert ("failures_have_alarms", "RankingsTable/places: has no alarm on WriteThrottleEvents") in wrong
    assert ("failures_have_alarms", "QueryFunction: has no alarm on Throttles") in wrong
