"""The template keeps to the rules, whatever it is deployed with; and no rule is one that cannot fail."""

import json
from collections.abc import Callable
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.template.__main__ import main
from tests.template.expansion import expanded, source
from tests.template.rules import RULES, complaints

Template = dict[str, Any]


@cache
def read() -> Template:
    return source()


def test_it_keeps_to_the_rules(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0, capsys.readouterr().out


TOKENS = {"JwtIssuer": "https://issuer.example", "JwtAudience": "standings"}


@pytest.mark.parametrize(
    "parameters",
    [
        TOKENS,
        {"AlarmTopicArn": "arn:aws:sns:us-east-1:123456789012:ops"},
        {"WarmWriteUnits": "8000"},
        {"WriterMaximumConcurrency": "0", "WriterBatchingWindow": "60", "ProjectorBatchingWindow": "300"},
        {"DataDeletionPolicy": "Retain", "LogRetentionDays": "1"},
    ],
    ids=",".join,
)
def test_it_keeps_to_them_with_other_parameters(parameters: dict[str, str]) -> None:
    assert complaints(expanded(read(), parameters)) == []


def test_what_parameters_open_is_seen() -> None:
    open_reads = complaints(expanded(read(), {"OpenReads": "true"}))
    open_writes = complaints(expanded(read(), {"OpenWrites": "true", **TOKENS}))
    throw_away = complaints(expanded(read(), {"DataDeletionPolicy": "Delete"}))

    assert open_reads == [("routes_ask_who_calls", "ReadRoute: $default is open to everyone")]
    assert [wrong for _, wrong in open_writes] == [
        "PostEventsRoute: POST /events is open to everyone",
        "PutMemberRoute: PUT /boards/{board}/member is open to everyone",
        "DeleteMemberRoute: DELETE /boards/{board}/member is open to everyone",
    ]
    assert {rule for rule, _ in throw_away} == {"tables_are_kept", "buckets_are_closed_and_encrypted"}


def properties(template: Template, name: str) -> Any:
    return template["Resources"][name]["Properties"]


def event(template: Template, function: str, name: str) -> Any:
    return properties(template, function)["Events"][name]["Properties"]


def statement(template: Template, function: str, sid: str) -> Any:
    return next(one for one in properties(template, function)["Policies"][0]["Statement"] if one["Sid"] == sid)


def hidden_too_shortly(template: Template) -> None:
    properties(template, "ActivityQueue")["VisibilityTimeout"] = 60


def a_longer_timeout(template: Template) -> None:
    properties(template, "WriterFunction")["Timeout"] = 120


def a_projector_that_takes_longer(template: Template) -> None:
    properties(template, "ProjectorFunction")["Timeout"] = 61


def a_command_that_takes_longer(template: Template) -> None:
    properties(template, "CommandFunction")["Timeout"] = 90


def tried_for_ever(template: Template) -> None:
    event(template, "ProjectorFunction", "Scores")["MaximumRetryAttempts"] = -1


def good_records_given_up_with_bad_ones(template: Template) -> None:
    event(template, "ProjectorFunction", "Scores")["BisectBatchOnFunctionError"] = False


def whole_batches_again(template: Template) -> None:
    del event(template, "WriterFunction", "Activity")["FunctionResponseTypes"]


def failures_nowhere(template: Template) -> None:
    del event(template, "ProjectorFunction", "Scores")["DestinationConfig"]


def only_positions_of_failures(template: Template) -> None:
    queue = {"Fn::GetAtt": ["ActivityDeadLetterQueue", "Arn"]}
    event(template, "ProjectorFunction", "Scores")["DestinationConfig"]["OnFailure"]["Destination"] = queue


def dead_letters_gone_too_soon(template: Template) -> None:
    properties(template, "ActivityDeadLetterQueue")["MessageRetentionPeriod"] = 345600


def parked_longer_than_versions(template: Template) -> None:
    properties(template, "FailureBucket")["LifecycleConfiguration"]["Rules"][0]["ExpirationInDays"] = 60


def any_action(template: Template) -> None:
    statement(template, "WriterFunction", "Scores")["Action"] = ["dynamodb:*"]


def any_resource(template: Template) -> None:
    statement(template, "ProjectorFunction", "ParkedRecords")["Resource"] = "*"


def any_table(template: Template) -> None:
    statement(template, "CommandFunction", "Members")["Resource"] = {
        "Fn::Sub": "arn:aws:dynamodb:${AWS::Region}:${AWS::AccountId}:table/*"
    }


def a_broad_managed_policy(template: Template) -> None:
    properties(template, "MaintenanceFunction")["Policies"].append("arn:aws:iam::aws:policy/AmazonDynamoDBFullAccess")


def a_reader_that_writes(template: Template) -> None:
    statement(template, "QueryFunction", "Rankings")["Action"].append("dynamodb:PutItem")


def no_way_back_in_time(template: Template) -> None:
    del properties(template, "ScoresTable")["PointInTimeRecoverySpecification"]


def not_encrypted(template: Template) -> None:
    del properties(template, "ReceiptsTable")["SSESpecification"]


def deleted_with_the_stack(template: Template) -> None:
    template["Resources"]["ScoresTable"]["DeletionPolicy"] = "Delete"


def deleted_by_a_slip(template: Template) -> None:
    del properties(template, "RankingsTable")["DeletionProtectionEnabled"]


def a_bucket_to_be_opened(template: Template) -> None:
    properties(template, "FailureBucket")["PublicAccessBlockConfiguration"]["BlockPublicPolicy"] = False


def a_queue_in_the_clear(template: Template) -> None:
    del template["Resources"]["QueuesOverTlsOnly"]


def an_open_route(template: Template) -> None:
    properties(template, "DeleteMemberRoute")["AuthorizationType"] = "NONE"


def no_throttling(template: Template) -> None:
    del properties(template, "ApiStage")["DefaultRouteSettings"]


def no_access_log(template: Template) -> None:
    del properties(template, "ApiStage")["AccessLogSettings"]


def logs_for_ever(template: Template) -> None:
    del properties(template, "QueryLogGroup")["RetentionInDays"]


def a_function_that_makes_its_own_log_group(template: Template) -> None:
    del properties(template, "CommandFunction")["LoggingConfig"]


def nobody_told_of_dead_letters(template: Template) -> None:
    del template["Resources"]["DeadLettersAlarm"]


def nobody_told_of_throttles_of_the_index(template: Template) -> None:
    del template["Resources"]["PlacesWriteThrottlesAlarm"]


def nobody_told_of_parked_records(template: Template) -> None:
    del template["Resources"]["ParkedRecordsAlarm"]


def an_alarm_without_advice(template: Template) -> None:
    properties(template, "DriftAlarm")["AlarmDescription"] = "Drift"


def nothing_counted_of_what_is_dropped(template: Template) -> None:
    del event(template, "ProjectorFunction", "Scores")["MetricsConfig"]


def a_metric_that_nobody_emits(template: Template) -> None:
    properties(template, "DriftAlarm")["MetricName"] = "Drifts"
    properties(template, "DriftAlarm")["Dimensions"][0]["Value"] = "upkeep"


def stacks_that_mix(template: Template) -> None:
    for name in ("DriftAlarm", "ParkedRecordsAlarm"):
        properties(template, name)["Namespace"] = "Standings"
    body = properties(template, "Dashboard")["DashboardBody"]
    body["Fn::Sub"] = body["Fn::Sub"].replace("Standings/${AWS::StackName}", "Standings")
    template["Globals"]["Function"]["Environment"]["Variables"]["POWERTOOLS_METRICS_NAMESPACE"] = "Standings"


def not_traced(template: Template) -> None:
    del template["Globals"]["Function"]["Tracing"]


def an_output_less(template: Template) -> None:
    del template["Outputs"]["ActivityQueueUrl"]


Weakening = Callable[[Template], None]
WEAKENED: dict[Weakening, dict[str, str]] = {
    hidden_too_shortly: {"a_message_stays_hidden_for_six_timeouts": "VisibilityTimeout 60 is less than 6 × 60 + 1"},
    a_longer_timeout: {
        "a_message_stays_hidden_for_six_timeouts": "420 is less than 6 × 120 + 1",
        "attempts_end_in_time": "WriterFunction: expected a Timeout of at most 60 s, got 120",
    },
    a_projector_that_takes_longer: {
        "attempts_end_in_time": "ProjectorFunction: expected a Timeout of at most 60 s, got 61"
    },
    a_command_that_takes_longer: {
        "attempts_end_in_time": "CommandFunction: expected a Timeout of at most 60 s, got 90"
    },
    tried_for_ever: {"retries_are_finite": "MaximumRetryAttempts is not set"},
    good_records_given_up_with_bad_ones: {"retries_are_finite": "not halved"},
    whole_batches_again: {"batches_fail_in_part": "WriterFunctionActivity: "},
    failures_nowhere: {"what_fails_is_kept_whole": "no bucket keeps the records"},
    only_positions_of_failures: {"what_fails_is_kept_whole": "only their position"},
    dead_letters_gone_too_soon: {"what_fails_is_kept_whole": "no longer than ActivityQueue"},
    parked_longer_than_versions: {"what_is_kept_goes_while_it_can_be_weighed": "FailureBucket: a record may be parked"},
    any_action: {"statements_name_what_they_allow": "WriterFunctionRole, Scores: allows the action dynamodb:*"},
    any_resource: {"statements_name_what_they_allow": "ProjectorFunctionRole, ParkedRecords: allows it on *"},
    any_table: {"statements_name_what_they_allow": "CommandFunctionRole, Members: allows it on arn:"},
    a_broad_managed_policy: {"statements_name_what_they_allow": "AmazonDynamoDBFullAccess"},
    a_reader_that_writes: {"the_query_function_cannot_write": "dynamodb:PutItem"},
    no_way_back_in_time: {"tables_are_kept": "ScoresTable: cannot be brought back"},
    not_encrypted: {"tables_are_kept": "ReceiptsTable: is not encrypted"},
    deleted_with_the_stack: {"tables_are_kept": "ScoresTable: goes with the stack"},
    deleted_by_a_slip: {"tables_are_kept": "RankingsTable: can be deleted by a slip"},
    a_bucket_to_be_opened: {"buckets_are_closed_and_encrypted": "could be opened to everyone"},
    a_queue_in_the_clear: {"queues_are_encrypted_and_take_tls_only": "ActivityQueue: may be called without TLS"},
    an_open_route: {"routes_ask_who_calls": "DELETE /boards/{board}/member is open to everyone"},
    no_throttling: {"the_api_is_throttled_and_logged": "as many requests as the whole account may"},
    no_access_log: {"the_api_is_throttled_and_logged": "has its access log"},
    logs_for_ever: {"logs_end": "QueryLogGroup: is kept for ever"},
    a_function_that_makes_its_own_log_group: {"logs_end": "CommandFunction: logs into a group"},
    nobody_told_of_dead_letters: {"dead_letters_ring": "ActivityDeadLetterQueue: nobody hears"},
    nobody_told_of_throttles_of_the_index: {"what_can_go_wrong_rings": "RankingsTable/places: nobody hears"},
    nobody_told_of_parked_records: {"what_can_go_wrong_rings": "nobody hears of its RecordsParked"},
    an_alarm_without_advice: {"alarms_say_what_to_do": "DriftAlarm: "},
    nothing_counted_of_what_is_dropped: {"sources_count_their_events": "ProjectorFunctionScores: "},
    a_metric_that_nobody_emits: {
        "metrics_are_there": "DriftAlarm: no function emits Drifts as upkeep",
        "what_can_go_wrong_rings": "maintenance: nobody hears of its Drift",
    },
    stacks_that_mix: {"metrics_are_there": "stacks side by side would mix"},
    not_traced: {"functions_are_traced": "WriterFunction: is not traced"},
    an_output_less: {"outputs_are_there": "ActivityQueueUrl: "},
}


@pytest.mark.parametrize("weakening", WEAKENED, ids=lambda weakening: weakening.__name__)
def test_a_weakened_template_fails_by_its_own_rule(weakening: Weakening) -> None:
    template = deepcopy(read())
    weakening(template)

    found = complaints(expanded(template))

    expected = WEAKENED[weakening]
    assert {rule for rule, _ in found} == expected.keys(), found
    for rule, words in expected.items():
        assert any(words in wrong for by, wrong in found if by == rule), found


def test_a_rebuild_that_waits_less_for_an_attempt_fails_the_rule(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.template.pipeline.MAX_ATTEMPT_S", 59)

    assert complaints(expanded(read())) == [
        ("attempts_end_in_time", f"{name}: expected a Timeout of at most 59 s, got 60: a rebuild waits no longer")
        for name in ("WriterFunction", "ProjectorFunction")
    ]


def test_every_rule_can_fail() -> None:
    assert {rule for expected in WEAKENED.values() for rule in expected} == {rule.__name__ for rule in RULES}


def test_a_template_weakened_six_ways_fails_the_check_in_six_ways(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    six = [hidden_too_shortly, tried_for_ever, any_action, a_reader_that_writes, an_open_route, logs_for_ever]
    template = deepcopy(read())
    for weakening in six:
        weakening(template)
    path = tmp_path / "template.yaml"
    path.write_text(json.dumps(template), encoding="utf-8")

    assert main([str(path)]) == 1

    *said, closing = capsys.readouterr().out.splitlines()
    assert closing == f"template.yaml: 6 complaints by {len(RULES)} rules"
    for weakening in six:
        ((rule, words),) = WEAKENED[weakening].items()
        assert [line for line in said if line.startswith(f"{rule}: ") and words in line], said
