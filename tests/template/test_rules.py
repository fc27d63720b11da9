"""The template keeps our rules with any parameters, and every rule can fail: each has a template that breaks it."""

from copy import deepcopy
from dataclasses import replace
from typing import Any, Final, NamedTuple

import pytest

from tests.template import rules
from tests.template.expansion import KEY, TOKENS, Expanded, deployed
from tests.template.rules import RULES, Rule, complaints

AUDITING: Final = {"AuditSchedule": "rate(1 hour)"}
SETTLING: Final = {"Settlements": "true", "SettleSchedule": "rate(1 hour)"}
ANNOUNCING: Final = {"Announcements": "true"}
KEYED: Final = {"KmsKeyArn": KEY}
PROVISIONED: Final = {"TableCapacity": "provisioned"}
OWN: Final = {**TOKENS, "JwtMemberClaim": "sub"}


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        TOKENS,
        OWN,
        {"AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:ops"},
        {"WarmWriteUnits": "8000"},
        {"WriterMaximumConcurrency": "0", "WriterBatchingWindow": "60", "ProjectorBatchingWindow": "300"},
        {"LogRetentionDays": "1"},
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
def test_it_keeps_to_the_rules(parameters: dict[str, str]) -> None:
    assert complaints(deployed(**parameters)) == []


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
    resources = deepcopy(dict(stack.resources))
    node: Any = resources
    *way, last = edit.where.split(".")
    for key in way:
        node = _below(node, key)
    if "Properties" in node and last not in node:
        node = node["Properties"]
    if edit.instead is GONE:
        del node[last]
    else:
        node[last] = edit.instead
    return replace(stack, resources=resources)


def _below(node: Any, key: str) -> Any:
    """What is below a node: in a list an element by its number, or a statement by its Sid."""
    if isinstance(node, list):
        return node[int(key)] if key.isdigit() else next(one for one in node if one.get("Sid") == key)
    return node[key] if key in node else node["Properties"][key]


BROKEN: Final[dict[Rule, Edit]] = {
    rules.a_message_stays_hidden_for_six_timeouts: Edit("ActivityQueue.VisibilityTimeout", 360, "360 is less than 6"),
    rules.attempts_end_in_time: Edit("ProjectorFunction.Timeout", 61, "expected a Timeout of at most 60 s, got 61"),
    rules.nothing_is_kept_too_long_to_replay: Edit(
        "FailureBucket.LifecycleConfiguration.Rules.0.ExpirationInDays", 60, "may be parked for 62 days"
    ),
    rules.buckets_of_others_are_out_of_reach: Edit(of("Maintenance", "WhatThereIs", "Condition"), {}, "the condition"),
    rules.events_are_put_in_our_name_alone: Edit(
        of("Maintenance", "Prizes", "Condition"), GONE, "expected the condition events:source", SETTLING
    ),
    rules.the_query_function_cannot_write: Edit(of("Query", "Rankings", "Action"), "dynamodb:PutItem", "only reads"),
    rules.roles_may_use_the_key_and_no_other: Edit(of("Query", "Key", "Action"), [], "['kms:Decrypt'], got []", KEYED),
    rules.alarms_say_what_to_do: Edit(
        "DriftAlarm.AlarmDescription", "Drift", "expected a description of two sentences"
    ),
    rules.sources_that_nobody_polls_have_alarms: Edit("StreamNotPolledAlarm.TreatMissingData", "missing", "an alarm"),
    rules.failures_have_alarms: Edit("PlacesWriteThrottlesAlarm", GONE, "RankingsTable/places: has no alarm on Write"),
    rules.what_functions_report_has_alarms: Edit("EventsFailedAlarm", GONE, "writer: has no alarm on EventsFailed"),
    rules.nobody_calls_queues_and_buckets_without_tls: Edit("FailureBucketOverTlsOnly", GONE, "does not require TLS"),
    rules.a_function_may_call_itself_by_its_queue: Edit(
        "AnnouncerFunction.RecursiveLoop", GONE, "expected RecursiveLoop Allow", ANNOUNCING
    ),
    rules.queues_have_dead_letter_queues: Edit(
        "LooksQueue.RedrivePolicy", GONE, "expected a RedrivePolicy", ANNOUNCING
    ),
    rules.roles_write_to_log_groups_that_are_there: Edit(
        "QueryFunctionRole.ManagedPolicyArns", ["arn:aws:iam::aws:policy/any"], "expected no policy of AWS"
    ),
    rules.alarms_watch_metrics_that_functions_emit: Edit("DriftAlarm.MetricName", "Drifts", "no function emits Drifts"),
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
