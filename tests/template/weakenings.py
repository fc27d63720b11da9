"""Templates with one mistake each, and the complaints that the rules must make of them."""

from collections.abc import Callable
from typing import Any

Template = dict[str, Any]


def properties(template: Template, name: str) -> Any:
    return template["Resources"][name]["Properties"]


def event(template: Template, function: str, name: str) -> Any:
    return properties(template, function)["Events"][name]["Properties"]


def statement(template: Template, function: str, sid: str) -> Any:
    return next(one for one in properties(template, function)["Policies"][0]["Statement"] if one["Sid"] == sid)


def visible_too_soon(template: Template) -> None:
    properties(template, "ActivityQueue")["VisibilityTimeout"] = 60


def a_longer_timeout(template: Template) -> None:
    properties(template, "WriterFunction")["Timeout"] = 120


def a_projector_that_takes_longer(template: Template) -> None:
    properties(template, "ProjectorFunction")["Timeout"] = 61


def a_command_that_takes_longer(template: Template) -> None:
    properties(template, "CommandFunction")["Timeout"] = 90


def retried_for_ever(template: Template) -> None:
    event(template, "ProjectorFunction", "Scores")["MaximumRetryAttempts"] = -1


def good_records_given_up_with_bad_ones(template: Template) -> None:
    event(template, "ProjectorFunction", "Scores")["BisectBatchOnFunctionError"] = False


def whole_batches_retried(template: Template) -> None:
    del event(template, "WriterFunction", "Activity")["FunctionResponseTypes"]


def failures_not_kept(template: Template) -> None:
    del event(template, "ProjectorFunction", "Scores")["DestinationConfig"]


def only_positions_of_failures(template: Template) -> None:
    queue = {"Fn::GetAtt": ["ActivityDeadLetterQueue", "Arn"]}
    event(template, "ProjectorFunction", "Scores")["DestinationConfig"]["OnFailure"]["Destination"] = queue


def dead_letters_expire_too_soon(template: Template) -> None:
    properties(template, "ActivityDeadLetterQueue")["MessageRetentionPeriod"] = 345600


def parked_records_outlive_versions(template: Template) -> None:
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


def no_point_in_time_recovery(template: Template) -> None:
    del properties(template, "ScoresTable")["PointInTimeRecoverySpecification"]


def not_encrypted(template: Template) -> None:
    del properties(template, "ReceiptsTable")["SSESpecification"]


def deleted_with_the_stack(template: Template) -> None:
    template["Resources"]["ScoresTable"]["DeletionPolicy"] = "Delete"


def no_deletion_protection(template: Template) -> None:
    del properties(template, "RankingsTable")["DeletionProtectionEnabled"]


def a_bucket_that_may_be_public(template: Template) -> None:
    properties(template, "FailureBucket")["PublicAccessBlockConfiguration"]["BlockPublicPolicy"] = False


def a_queue_without_tls(template: Template) -> None:
    del template["Resources"]["QueuesOverTlsOnly"]


def an_open_route(template: Template) -> None:
    properties(template, "DeleteMemberRoute")["AuthorizationType"] = "NONE"


def no_throttling(template: Template) -> None:
    del properties(template, "ApiStage")["DefaultRouteSettings"]


def no_access_log(template: Template) -> None:
    del properties(template, "ApiStage")["AccessLogSettings"]


def logs_that_never_expire(template: Template) -> None:
    del properties(template, "QueryLogGroup")["RetentionInDays"]


def a_function_that_makes_its_own_log_group(template: Template) -> None:
    del properties(template, "CommandFunction")["LoggingConfig"]


def no_alarm_on_dead_letters(template: Template) -> None:
    del template["Resources"]["DeadLettersAlarm"]


def no_alarm_on_throttles_of_the_index(template: Template) -> None:
    del template["Resources"]["PlacesWriteThrottlesAlarm"]


def no_alarm_on_parked_records(template: Template) -> None:
    del template["Resources"]["ParkedRecordsAlarm"]


def an_alarm_without_advice(template: Template) -> None:
    properties(template, "DriftAlarm")["AlarmDescription"] = "Drift"


def dropped_events_not_counted(template: Template) -> None:
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


def an_output_missing(template: Template) -> None:
    del template["Outputs"]["ActivityQueueUrl"]


Weakening = Callable[[Template], None]
WEAKENED: dict[Weakening, dict[str, str]] = {
    visible_too_soon: {"a_message_stays_hidden_for_six_timeouts": "VisibilityTimeout 60 is less than 6 × 60 + 1"},
    a_longer_timeout: {
        "a_message_stays_hidden_for_six_timeouts": "420 is less than 6 × 120 + 1 s",
        "attempts_end_in_time": "WriterFunction: expected a Timeout of at most 60 s, got 120",
    },
    a_projector_that_takes_longer: {
        "attempts_end_in_time": "ProjectorFunction: expected a Timeout of at most 60 s, got 61"
    },
    a_command_that_takes_longer: {
        "attempts_end_in_time": "CommandFunction: expected a Timeout of at most 60 s, got 90"
    },
    retried_for_ever: {"retries_are_finite": "MaximumRetryAttempts is not set"},
    good_records_given_up_with_bad_ones: {"retries_are_finite": "BisectBatchOnFunctionError is not set"},
    whole_batches_retried: {"batches_fail_in_part": "WriterFunctionActivity: "},
    failures_not_kept: {"failures_are_kept_whole": "expected a bucket as OnFailure destination"},
    only_positions_of_failures: {"failures_are_kept_whole": "keeps only the position"},
    dead_letters_expire_too_soon: {"failures_are_kept_whole": "no longer than ActivityQueue"},
    parked_records_outlive_versions: {"nothing_is_kept_too_long_to_replay": "FailureBucket: a record may be parked"},
    any_action: {"statements_name_what_they_allow": "WriterFunctionRole, Scores: allows the action dynamodb:*"},
    any_resource: {"statements_name_what_they_allow": "ProjectorFunctionRole, ParkedRecords: allows it on *"},
    any_table: {"statements_name_what_they_allow": "CommandFunctionRole, Members: allows it on arn:"},
    a_broad_managed_policy: {"statements_name_what_they_allow": "AmazonDynamoDBFullAccess"},
    a_reader_that_writes: {"the_query_function_cannot_write": "dynamodb:PutItem"},
    no_point_in_time_recovery: {"tables_are_protected": "ScoresTable: has no point-in-time recovery"},
    not_encrypted: {"tables_are_protected": "ReceiptsTable: is not encrypted"},
    deleted_with_the_stack: {"tables_are_protected": "ScoresTable: is deleted with the stack"},
    no_deletion_protection: {"tables_are_protected": "RankingsTable: has no deletion protection"},
    a_bucket_that_may_be_public: {"buckets_are_closed_and_encrypted": "may be made public"},
    a_queue_without_tls: {"queues_are_encrypted_and_require_tls": "ActivityQueue: does not require TLS"},
    an_open_route: {"routes_authenticate": "DELETE /boards/{board}/member needs no authentication"},
    no_throttling: {"the_api_is_throttled_and_logged": "has no throttling of its own"},
    no_access_log: {"the_api_is_throttled_and_logged": "has no access log"},
    logs_that_never_expire: {"logs_expire": "QueryLogGroup: never expires"},
    a_function_that_makes_its_own_log_group: {"logs_expire": "CommandFunction: expected a log group"},
    no_alarm_on_dead_letters: {"dead_letters_have_an_alarm": "ActivityDeadLetterQueue: has no alarm"},
    no_alarm_on_throttles_of_the_index: {"failures_have_alarms": "RankingsTable/places: has no alarm"},
    no_alarm_on_parked_records: {"failures_have_alarms": "has no alarm on RecordsParked"},
    an_alarm_without_advice: {"alarms_say_what_to_do": "DriftAlarm: "},
    dropped_events_not_counted: {"sources_count_their_events": "ProjectorFunctionScores: "},
    a_metric_that_nobody_emits: {
        "metrics_exist": "DriftAlarm: no function emits Drifts as upkeep",
        "failures_have_alarms": "maintenance: has no alarm on Drift",
    },
    stacks_that_mix: {"metrics_exist": "two stacks mix their metrics"},
    not_traced: {"functions_are_traced": "WriterFunction: is not traced"},
    an_output_missing: {"outputs_exist": "ActivityQueueUrl: "},
}
