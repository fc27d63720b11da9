"""The template keeps our rules with any parameters, and every rule can fail: each has a template that breaks it."""

from copy import deepcopy
from typing import Any, Final, NamedTuple

import pytest

from tests.template import rules
from tests.template.__main__ import main
from tests.template.expansion import KEY, TOKENS, Expanded, deployed
from tests.template.rules import RULES, Rule, complaints

AUDITING: Final = {"AuditSchedule": "rate(1 hour)"}
SETTLING: Final = {"Settlements": "true", "SettleSchedule": "rate(1 hour)"}
ANNOUNCING: Final = {"Announcements": "true"}
KEYED: Final = {"KmsKeyArn": KEY}
PROVISIONED: Final = {"TableCapacity": "provisioned"}
OWN: Final = {**TOKENS, "JwtMemberClaim": "sub"}


def test_it_keeps_to_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0, capsys.readouterr().out


@pytest.mark.parametrize(
    "parameters",
    [
        TOKENS,
        OWN,
        {"AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:ops"},
        {"WarmWriteUnits": "8000"},
        {"WriterMaximumConcurrency": "0", "WriterBatchingWindow": "60", "ProjectorBatchingWindow": "300"},
        {"DataDeletionPolicy": "Retain", "LogRetentionDays": "1"},
        AUDITING,
        SETTLING,
        ANNOUNCING,
        {**ANNOUNCING, **KEYED},
        {**SETTLING, **KEYED, **AUDITING},
        {"Tracing": "Active", **KEYED},
        {"WarmWriteUnits": "8000", **PROVISIONED},
        {**KEYED, **PROVISIONED},
    ],
    ids=",".join,
)
def test_it_keeps_to_them_with_other_parameters(parameters: dict[str, str]) -> None:
    assert complaints(deployed(**parameters)) == []


def test_what_parameters_open_is_seen() -> None:
    open_reads, open_writes, throw_away = (
        complaints(deployed(**parameters))
        for parameters in ({"OpenReads": "true"}, {"OpenWrites": "true", **TOKENS}, {"DataDeletionPolicy": "Delete"})
    )

    assert open_reads == [("routes_authenticate", "ReadRoute: $default needs no authentication")]
    assert [wrong.partition(" needs")[0] for _, wrong in open_writes] == [
        "PostEventsRoute: POST /events",
        "PutMemberRoute: PUT /boards/{board}/member",
        "DeleteMemberRoute: DELETE /boards/{board}/member",
        "PutProfileRoute: PUT /members",
        "DeleteProfileRoute: DELETE /members",
    ]
    assert {rule for rule, _ in throw_away} == {"tables_are_protected", "buckets_are_closed_and_encrypted"}


GONE: Final = object()


class Edit(NamedTuple):
    """A mistake in a template: what stands at a path instead, and words of the complaint."""

    where: str
    instead: Any
    words: str
    parameters: dict[str, str] = {}  # noqa: RUF012 - to read alone


def of(role: str, sid: str, key: str) -> str:
    """The path of a statement's key."""
    return f"{role}FunctionRole.Policies.0.PolicyDocument.Statement.{sid}.{key}"


def edited(edit: Edit) -> Expanded:
    """The template with a mistake. A path leads to a resource, to one of its attributes, or through its properties."""
    stack = deployed(**edit.parameters)
    tree: dict[str, Any] = {
        **deepcopy(dict(stack.resources)),
        "Outputs": dict(stack.outputs),
        "Refusals": stack.refusals,
    }
    node: Any = tree
    *way, last = edit.where.split(".")
    for key in way:
        node = _below(node, key)
    if "Properties" in node and last not in node:
        node = node["Properties"]
    if edit.instead is GONE:
        del node[last]
    else:
        node[last] = edit.instead
    return Expanded(refusals=tree.pop("Refusals"), outputs=tree.pop("Outputs"), resources=tree)


def _below(node: Any, key: str) -> Any:
    """What is below a node: in a list an element by its number, or a statement by its Sid."""
    if isinstance(node, list):
        return node[int(key)] if key.isdigit() else next(one for one in node if one.get("Sid") == key)
    return node[key] if key in node else node["Properties"][key]


BROKEN: Final[dict[Rule, Edit]] = {
    rules.outputs_exist: Edit("Outputs.ActivityQueueUrl", GONE, "ActivityQueueUrl: expected an output"),
    rules.a_message_stays_hidden_for_six_timeouts: Edit("ActivityQueue.VisibilityTimeout", 360, "360 is less than 6"),
    rules.attempts_end_in_time: Edit("ProjectorFunction.Timeout", 61, "expected a Timeout of at most 60 s, got 61"),
    rules.retries_are_finite: Edit("ActivityQueue.RedrivePolicy.maxReceiveCount", 1001, "at most 1000, got 1001"),
    rules.an_outage_of_a_day_costs_nothing: Edit("ActivityQueue.RedrivePolicy.maxReceiveCount", 10, "of 70 minutes"),
    rules.batches_fail_in_part: Edit("WriterFunctionActivity.FunctionResponseTypes", GONE, "WriterFunctionActivity"),
    rules.failures_are_kept_whole: Edit("ProjectorFunctionScores.DestinationConfig", GONE, "expected a bucket"),
    rules.nothing_is_kept_too_long_to_replay: Edit(
        "FailureBucket.LifecycleConfiguration.Rules.0.ExpirationInDays", 60, "may be parked until 62 days after"
    ),
    rules.looks_are_tried_until_they_succeed: Edit("LooksQueue.RedrivePolicy", {}, "LooksQueue: expected", ANNOUNCING),
    rules.statements_name_what_they_allow: Edit(of("Writer", "Scores", "Action"), "dynamodb:*", "Scores: allows the"),
    rules.buckets_of_others_are_out_of_reach: Edit(of("Maintenance", "WhatThereIs", "Condition"), {}, "the condition"),
    rules.events_are_put_in_our_name_alone: Edit(
        of("Maintenance", "Prizes", "Condition"), GONE, "expected the condition events:source", SETTLING
    ),
    rules.the_query_function_cannot_write: Edit(of("Query", "Rankings", "Action"), "dynamodb:PutItem", "only reads"),
    rules.tables_are_protected: Edit("ScoresTable.UpdateReplacePolicy", GONE, "is deleted if an update replaces it"),
    rules.a_first_deployment_can_be_rolled_back: Edit("RankingsTable.DeletionProtectionEnabled", True, "is locked by"),
    rules.buckets_are_closed_and_encrypted: Edit("FailureBucketOverTlsOnly", GONE, "does not require TLS"),
    rules.queues_are_encrypted_and_require_tls: Edit("ActivityQueue.SqsManagedSseEnabled", GONE, "is not encrypted"),
    rules.one_key_encrypts_all: Edit("ScoresTable.SSESpecification.KMSMasterKeyId", GONE, "is not encrypted", KEYED),
    rules.roles_may_use_the_key_and_no_other: Edit(of("Query", "Key", "Action"), [], "got no permission", KEYED),
    rules.provisioned_capacity_is_scaled: Edit("PlacesReadTarget", GONE, "expected a scalable target", PROVISIONED),
    rules.routes_authenticate: Edit("ReadRoute.AuthorizationScopes", GONE, "no token of an authorizer", TOKENS),
    rules.whoever_may_post_writes_for_their_member_alone: Edit(
        "Refusals", [], "POST /events takes requests without a token", {"JwtMemberClaim": "sub"}
    ),
    rules.the_api_is_throttled_and_logged: Edit("ApiStage.AccessLogSettings", GONE, "ApiStage: has no access log"),
    rules.logs_expire: Edit("CommandFunction.LoggingConfig", GONE, "CommandFunction: expected a log group"),
    rules.alarms_say_what_to_do: Edit(
        "DriftAlarm.AlarmDescription", "Drift", "expected a description of two sentences"
    ),
    rules.sources_that_nobody_polls_have_alarms: Edit("StreamNotPolledAlarm.TreatMissingData", "missing", "an alarm"),
    rules.damage_is_not_called_mended: Edit("DriftAlarm.OKActions", ["ops"], "DriftAlarm: expected no OKActions"),
    rules.dead_letters_have_an_alarm: Edit("DeadLettersAlarm", GONE, "ActivityDeadLetterQueue: has no alarm"),
    rules.failures_have_alarms: Edit("PlacesWriteThrottlesAlarm", GONE, "RankingsTable/places: has no alarm on Write"),
    rules.sources_count_their_events: Edit("ProjectorFunctionScores.MetricsConfig", GONE, "expected EventCount"),
    rules.metrics_exist: Edit("DriftAlarm.MetricName", "Drifts", "no function emits Drifts as maintenance"),
    rules.functions_can_be_traced: Edit("WriterFunction.TracingConfig", GONE, "WriterFunction: cannot be traced"),
    rules.schedules_start_tasks_that_end: Edit("AuditRule.Targets.0.Input", "{}", "the task audits.next", AUDITING),
    rules.only_a_rule_of_the_stack_may_start_a_task: Edit(
        "AuditInvokePermission.SourceArn", GONE, "lets any rule of any account start MaintenanceFunction", AUDITING
    ),
    rules.scheduled_runs_are_not_repeated: Edit("AuditRetries", GONE, "Lambda repeats a run that fails", AUDITING),
}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_every_rule_can_fail(rule: Rule) -> None:
    wrong = list(rule(edited(BROKEN[rule])))

    assert any(BROKEN[rule].words in one for one in wrong), wrong


def test_a_rebuild_that_waits_less_for_an_attempt_fails_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "MAX_ATTEMPT_S", 59)

    assert complaints(deployed()) == [
        ("attempts_end_in_time", f"{name}: expected a Timeout of at most 59 s, got 60: a rebuild waits no longer")
        for name in ("WriterFunction", "ProjectorFunction")
    ]
