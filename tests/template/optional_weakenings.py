"""Templates with one mistake each, which shows with other parameters than the defaults; and the complaints due."""

from collections.abc import Callable
from typing import Any, Final

from tests.template.weakenings import Template, properties, statement

KEY: Final = "arn:aws:kms:us-east-1:123456789012:key/11111111-2222-3333-4444-555555555555"
KEYED: Final = {"KmsKeyArn": KEY}
PROVISIONED: Final = {"TableCapacity": "provisioned"}
TOKENS: Final = {"JwtIssuer": "https://issuer.example", "JwtAudience": "standings,other"}
OWN: Final = {**TOKENS, "JwtMemberClaim": "sub"}
Expected = tuple[dict[str, str], dict[str, str]]
"""The parameters, and words of the complaint by rule."""


def an_index_without_capacity(template: Template) -> None:
    del properties(template, "RankingsTable")["GlobalSecondaryIndexes"][0]["ProvisionedThroughput"]


def an_index_that_is_not_scaled(template: Template) -> None:
    for name in ("PlacesReadTarget", "PlacesReadScaling", "PlacesWriteTarget", "PlacesWriteScaling"):
        del template["Resources"][name]


def reads_that_are_not_scaled(template: Template) -> None:
    for name in ("ReceiptsReadTarget", "ReceiptsReadScaling"):
        del template["Resources"][name]


def a_target_without_a_policy(template: Template) -> None:
    del template["Resources"]["ScoresWriteScaling"]


def a_policy_that_tracks_the_other_side(template: Template) -> None:
    configuration = properties(template, "ScoresReadScaling")["TargetTrackingScalingPolicyConfiguration"]
    configuration["PredefinedMetricSpecification"]["PredefinedMetricType"] = "DynamoDBWriteCapacityUtilization"


def an_index_scaled_as_a_table(template: Template) -> None:
    properties(template, "PlacesWriteTarget")["ScalableDimension"] = "dynamodb:table:WriteCapacityUnits"


def a_target_of_a_table_on_demand(template: Template) -> None:
    del template["Resources"]["RankingsReadTarget"]["Condition"]


def a_minimum_above_the_maximum(template: Template) -> None:
    properties(template, "RankingsWriteTarget")["MinCapacity"] = 5000


def a_table_with_aws_s_key(template: Template) -> None:
    del properties(template, "ReceiptsTable")["SSESpecification"]["KMSMasterKeyId"]


def a_queue_with_aws_s_key(template: Template) -> None:
    queue = properties(template, "ActivityDeadLetterQueue")
    del queue["KmsMasterKeyId"]
    queue["SqsManagedSseEnabled"] = True


def a_bucket_with_aws_s_key(template: Template) -> None:
    (rule,) = properties(template, "FailureBucket")["BucketEncryption"]["ServerSideEncryptionConfiguration"]
    del rule["ServerSideEncryptionByDefault"]["KMSMasterKeyID"]


def a_reader_without_the_key(template: Template) -> None:
    properties(template, "QueryFunction")["Policies"][0]["Statement"].pop()


def a_sender_that_cannot_encrypt(template: Template) -> None:
    _of_the_key(properties(template, "CommandFunction")["Policies"][0])["Action"] = "kms:Decrypt"


def a_writer_that_may_use_any_key_of_the_account(template: Template) -> None:
    (policy,) = properties(template, "WriterFunctionRole")["Policies"]
    _of_the_key(policy["PolicyDocument"])["Resource"] = f"{KEY.rpartition('/')[0]}/another"


def keys_without_a_key(template: Template) -> None:
    statement(template, "QueryFunction", "Scores")["Action"].append("kms:Decrypt")


def a_projector_that_reads_profiles(template: Template) -> None:
    resources = statement(template, "ProjectorFunction", "Rankings")
    resources["Resource"] = [resources["Resource"], {"Fn::GetAtt": ["ProfilesTable", "Arn"]}]


def a_claim_without_tokens(template: Template) -> None:
    del template["Rules"]["MembersNeedTokens"]["Assertions"][0]


def a_claim_where_anyone_writes(template: Template) -> None:
    del template["Rules"]["MembersNeedTokens"]["Assertions"][1]


def posters_that_write_every_profile(template: Template) -> None:
    properties(template, "PutProfileRoute")["AuthorizationScopes"] = ["standings/admin", "standings/write"]


def members_that_remove_profiles(template: Template) -> None:
    scopes = properties(template, "PutProfileRoute")["AuthorizationScopes"]
    properties(template, "DeleteProfileRoute")["AuthorizationScopes"] = scopes


def events_in_any_name(template: Template) -> None:
    del _of_settlements(template, "Prizes")["Condition"]


def events_on_another_bus(template: Template) -> None:
    prizes = _of_settlements(template, "Prizes")
    prizes["Resource"] = {"Fn::Sub": prizes["Resource"]["Fn::Sub"].replace("default", "mine")}


def results_of_another_account(template: Template) -> None:
    del _of_settlements(template, "Results")["Condition"]


def results_that_may_be_public(template: Template) -> None:
    del properties(template, "ResultsBucket")["PublicAccessBlockConfiguration"]


def a_schedule_that_settles_one_board(template: Template) -> None:
    properties(template, "SettleRule")["Targets"][0]["Input"] = '{"settle":{"board":"b","window":"week"}}'


def scheduled_settlements_repeated(template: Template) -> None:
    template["Resources"]["AuditRetries"]["Condition"] = "AuditsAreScheduled"


def looks_that_are_given_up(template: Template) -> None:
    dead = {"Fn::GetAtt": ["ActivityDeadLetterQueue", "Arn"]}
    properties(template, "LooksQueue")["RedrivePolicy"] = {"deadLetterTargetArn": dead, "maxReceiveCount": 5}


def looks_in_silence(template: Template) -> None:
    del template["Resources"]["LooksNotPolledAlarm"]


def looks_that_wait_in_silence(template: Template) -> None:
    del template["Resources"]["OldestLookAlarm"]


def _of_settlements(template: Template, sid: str) -> Any:
    """A statement that settlements need."""
    statements = properties(template, "MaintenanceFunction")["Policies"][0]["Statement"]
    optional = (one["Fn::If"][1] for one in statements if "Fn::If" in one)
    return next(one for one in optional if one["Sid"] == sid)


def _of_the_key(policy: dict[str, Any]) -> Any:
    return policy["Statement"][-1]["Fn::If"][1]


SETTLING: Final = {"Settlements": "true", "SettleSchedule": "rate(1 hour)"}
ANNOUNCING: Final = {"Announcements": "true"}
_SCALED: Final = "provisioned_capacity_is_scaled"
_ENCRYPTED: Final = "one_key_encrypts_all"
_ALLOWED: Final = "roles_may_use_the_key_and_no_other"
_OWN: Final = "whoever_may_post_writes_for_their_member_alone"
OPTIONALLY_WEAKENED: Final[dict[Callable[[Template], None], Expected]] = {
    an_index_without_capacity: (PROVISIONED, {_SCALED: "RankingsTable/places: expected a ProvisionedThroughput"}),
    an_index_that_is_not_scaled: (PROVISIONED, {_SCALED: "RankingsTable/places: expected a scalable target for Read"}),
    reads_that_are_not_scaled: (PROVISIONED, {_SCALED: "ReceiptsTable: expected a scalable target for Read"}),
    a_target_without_a_policy: (PROVISIONED, {_SCALED: "ScoresWriteTarget: expected a policy"}),
    a_policy_that_tracks_the_other_side: (PROVISIONED, {_SCALED: "ScoresReadTarget: expected a policy"}),
    an_index_scaled_as_a_table: (PROVISIONED, {_SCALED: "PlacesWriteTarget: scales dynamodb:table"}),
    a_target_of_a_table_on_demand: ({}, {_SCALED: "RankingsReadTarget: scales"}),
    a_minimum_above_the_maximum: (PROVISIONED, {_SCALED: "RankingsWriteTarget: its minimum"}),
    a_table_with_aws_s_key: (KEYED, {_ENCRYPTED: "ReceiptsTable: is not encrypted"}),
    a_queue_with_aws_s_key: (KEYED, {_ENCRYPTED: "ActivityDeadLetterQueue: is not encrypted"}),
    a_bucket_with_aws_s_key: (KEYED, {_ENCRYPTED: "FailureBucket: is not encrypted"}),
    a_reader_without_the_key: (KEYED, {_ALLOWED: "QueryFunction: expected kms:Decrypt, got no permission"}),
    a_sender_that_cannot_encrypt: (KEYED, {_ALLOWED: "CommandFunction: expected kms:Decrypt and kms:GenerateDataKey"}),
    a_writer_that_may_use_any_key_of_the_account: (KEYED, {_ALLOWED: "WriterFunction: may use a key that"}),
    a_projector_that_reads_profiles: (
        {},
        {"failures_have_alarms": "ProfilesTable/names: has no alarm on ReadThrottle"},
    ),
    a_claim_without_tokens: ({"JwtMemberClaim": "sub"}, {_OWN: "PostEventsRoute: POST /events takes requests without"}),
    a_claim_where_anyone_writes: (
        {**OWN, "OpenWrites": "true"},
        {_OWN: "PutProfileRoute: PUT /members takes requests", "routes_authenticate": "PUT /members"},
    ),
    posters_that_write_every_profile: (TOKENS, {_OWN: "PutProfileRoute: PUT /members is open to tokens"}),
    members_that_remove_profiles: (OWN, {_OWN: "DeleteProfileRoute: DELETE /members is open to tokens"}),
    events_in_any_name: (SETTLING, {"events_are_put_in_our_name_alone": "expected the condition events:source"}),
    events_on_another_bus: (SETTLING, {"events_are_put_in_our_name_alone": "puts events on"}),
    results_of_another_account: (SETTLING, {"buckets_of_others_are_out_of_reach": "Results: expected the condition"}),
    results_that_may_be_public: (SETTLING, {"buckets_are_closed_and_encrypted": "ResultsBucket: may be made public"}),
    a_schedule_that_settles_one_board: (SETTLING, {"schedules_start_tasks_that_end": "SettleRule: expected the task"}),
    scheduled_settlements_repeated: (SETTLING, {"scheduled_runs_are_not_repeated": "SettleRule: Lambda repeats a run"}),
    looks_that_are_given_up: (ANNOUNCING, {"looks_are_tried_until_they_succeed": "LooksQueue: expected no Redrive"}),
    looks_in_silence: (ANNOUNCING, {"sources_that_nobody_polls_have_alarms": "AnnouncerFunctionLooks: expected"}),
    looks_that_wait_in_silence: (ANNOUNCING, {"failures_have_alarms": "LooksQueue: has no alarm on Approximate"}),
    keys_without_a_key: ({}, {_ALLOWED: "QueryFunction: expected no permission for keys"}),
}
