"""What capacity, protection, tracing and a key of one's own are set by; by default they cost nothing."""

from typing import Any

import pytest

from tests.template.expansion import Expanded, deployed, template
from tests.template.optional_weakenings import KEY

_RESERVED = "ReservedConcurrentExecutions"


def test_functions_are_traced_as_it_is_asked_for() -> None:
    def modes(stack: Expanded) -> set[str]:
        return {function["TracingConfig"]["Mode"] for _, function in stack.of("Lambda::Function")}

    assert modes(deployed()) == {"PassThrough"}
    assert modes(deployed(Tracing="Active")) == {"Active"}


def test_a_key_encrypts_where_it_is_given() -> None:
    default, keyed = deployed(), deployed(KmsKeyArn=KEY)

    assert [table["SSESpecification"] for _, table in default.of("DynamoDB::Table")] == [{"SSEEnabled": True}] * 4
    assert [table["SSESpecification"] for _, table in keyed.of("DynamoDB::Table")] == [
        {"SSEEnabled": True, "SSEType": "KMS", "KMSMasterKeyId": KEY}
    ] * 4
    for _, queue in default.of("SQS::Queue"):
        assert queue["SqsManagedSseEnabled"] is True
        assert "KmsMasterKeyId" not in queue
    # SQS refuses both kinds of encryption together.
    for _, queue in keyed.of("SQS::Queue"):
        assert "SqsManagedSseEnabled" not in queue
        assert queue["KmsMasterKeyId"] == KEY
    rules = [
        stack.properties("FailureBucket")["BucketEncryption"]["ServerSideEncryptionConfiguration"]
        for stack in (default, keyed)
    ]
    assert rules == [
        [{"ServerSideEncryptionByDefault": {"SSEAlgorithm": "AES256"}}],
        [
            {
                "ServerSideEncryptionByDefault": {"SSEAlgorithm": "aws:kms", "KMSMasterKeyID": KEY},
                "BucketKeyEnabled": True,
            }
        ],
    ]


def test_tables_are_provisioned_where_it_is_asked_for() -> None:
    default = deployed()
    stack = deployed(
        TableCapacity="provisioned",
        ProvisionedMinimumUnits="10",
        ProvisionedMaximumUnits="500",
        TargetUtilization="50",
    )

    assert {table["BillingMode"] for _, table in default.of("DynamoDB::Table")} == {"PAY_PER_REQUEST"}
    assert not list(default.of("ApplicationAutoScaling::ScalableTarget"))
    tables = dict(stack.of("DynamoDB::Table"))
    # Profiles are read and written now and then: provisioned units would stand idle.
    assert tables.pop("ProfilesTable")["BillingMode"] == "PAY_PER_REQUEST"
    assert {table["BillingMode"] for table in tables.values()} == {"PROVISIONED"}
    for part in (*tables.values(), *tables["RankingsTable"]["GlobalSecondaryIndexes"]):
        assert part["ProvisionedThroughput"] == {"ReadCapacityUnits": "10", "WriteCapacityUnits": "10"}
    targets = [target for _, target in stack.of("ApplicationAutoScaling::ScalableTarget")]
    assert [(target["MinCapacity"], target["MaxCapacity"]) for target in targets] == [("10", "500")] * 8
    for _, policy in stack.of("ApplicationAutoScaling::ScalingPolicy"):
        assert policy["TargetTrackingScalingPolicyConfiguration"]["TargetValue"] == "50"


def test_provisioned_tables_need_auto_scaling() -> None:
    rule = template()["Rules"]["ProvisionedTablesNeedAutoScaling"]
    (assertion,) = rule["Assertions"]

    assert rule["RuleCondition"] == {"Fn::Equals": [{"Ref": "TableCapacity"}, "provisioned"]}
    assert assertion["Assert"] == {"Fn::Equals": [{"Ref": "EndpointUrl"}, ""]}


def test_tables_and_the_index_are_warm_where_it_is_asked_for() -> None:
    def warm(stack: Expanded) -> list[Any]:
        tables = dict(stack.of("DynamoDB::Table"))
        # Nothing waits for profiles, and a stack without any would pay for their warmth.
        profiles = tables.pop("ProfilesTable")
        assert "Warm" not in str(profiles)
        return [
            one.get("WarmThroughput") for one in (*tables.values(), *tables["RankingsTable"]["GlobalSecondaryIndexes"])
        ]

    assert warm(deployed()) == [None] * 4
    # Warm throughput cannot be lowered, so a side that nobody asked for is left as it is.
    assert warm(deployed(WarmWriteUnits="8000")) == [{"WriteUnitsPerSecond": "8000"}] * 4
    assert warm(deployed(WarmReadUnits="50000")) == [{"ReadUnitsPerSecond": "50000"}] * 4
    both = {"WriteUnitsPerSecond": "8000", "ReadUnitsPerSecond": "50000"}
    assert warm(deployed(WarmWriteUnits="8000", WarmReadUnits="50000")) == [both] * 4


@pytest.mark.parametrize(
    ("parameters", "locked"),
    [
        ({}, False),
        ({"DeletionProtection": "true"}, True),
        ({"DeletionProtection": "true", "DataDeletionPolicy": "Delete"}, False),
    ],
)
def test_tables_are_locked_where_it_is_asked_for(parameters: dict[str, str], *, locked: bool) -> None:
    tables = dict(deployed(**parameters).of("DynamoDB::Table"))

    assert {name: table["DeletionProtectionEnabled"] for name, table in tables.items()} == dict.fromkeys(tables, locked)


def test_functions_have_reserved_concurrency_where_it_is_asked_for() -> None:
    def reserved(stack: Expanded) -> dict[str, Any]:
        functions = dict(stack.of("Lambda::Function"))
        return {name: one[_RESERVED] for name, one in functions.items() if _RESERVED in one}

    assert reserved(deployed()) == {}
    for name in ("Writer", "Projector", "Query"):
        assert reserved(deployed(**{f"{name}ReservedConcurrency": "7"})) == {f"{name}Function": "7"}
