"""The complaints that the rules must make of each weakened template."""

from collections.abc import Callable

from tests.template import weakenings
from tests.template.weakenings import Template

Weakening = Callable[[Template], None]
WEAKENED: dict[Weakening, dict[str, str]] = {
    weakenings.visible_too_soon: {
        "a_message_stays_hidden_for_six_timeouts": "VisibilityTimeout 60 is less than 6 × 60 + 1",
        "an_outage_of_a_day_costs_nothing": "an outage of 300 minutes",
    },
    weakenings.a_longer_timeout: {
        "a_message_stays_hidden_for_six_timeouts": "420 is less than 6 × 120 + 1 s",
        "attempts_end_in_time": "WriterFunction: expected a Timeout of at most 60 s, got 120",
    },
    weakenings.a_projector_that_takes_longer: {
        "attempts_end_in_time": "ProjectorFunction: expected a Timeout of at most 60 s, got 61"
    },
    weakenings.a_command_that_takes_longer: {
        "attempts_end_in_time": "CommandFunction: expected a Timeout of at most 60 s, got 90"
    },
    weakenings.retried_for_ever: {"retries_are_finite": "records expire in the stream before Lambda gives them up"},
    weakenings.received_for_ever: {"retries_are_finite": "expected a maxReceiveCount of at most 1000, got None"},
    weakenings.given_up_after_a_hundred_tries: {"an_outage_of_a_day_costs_nothing": "gives records up after 100 tries"},
    weakenings.dead_letters_after_ten_tries: {"an_outage_of_a_day_costs_nothing": "an outage of 70 minutes"},
    weakenings.a_source_that_stops_in_silence: {"sources_that_nobody_polls_have_alarms": "ProjectorFunctionScores: "},
    weakenings.an_end_of_damage_announced: {"damage_is_not_called_mended": "ParkedRecordsAlarm: expected no OKActions"},
    weakenings.any_account_s_bucket: {"buckets_of_others_are_out_of_reach": "RefusedMessagesTooLargeForTheQueue: "},
    weakenings.roles_by_sam: {"statements_name_what_they_allow": "AWSLambdaSQSQueueExecutionRole"},
    weakenings.good_records_given_up_with_bad_ones: {"retries_are_finite": "BisectBatchOnFunctionError is not set"},
    weakenings.whole_batches_retried: {"batches_fail_in_part": "WriterFunctionActivity: "},
    weakenings.failures_not_kept: {"failures_are_kept_whole": "expected a bucket as OnFailure destination"},
    weakenings.only_positions_of_failures: {"failures_are_kept_whole": "keeps only the position"},
    weakenings.dead_letters_expire_too_soon: {"failures_are_kept_whole": "no longer than ActivityQueue"},
    weakenings.parked_records_outlive_versions: {
        "nothing_is_kept_too_long_to_replay": "FailureBucket: a record may be parked"
    },
    weakenings.any_action: {
        "statements_name_what_they_allow": "WriterFunctionRole, Scores: allows the action dynamodb:*"
    },
    weakenings.any_resource: {
        "statements_name_what_they_allow": "ProjectorFunctionRole, ParkedRecords: allows it on *"
    },
    weakenings.any_table: {"statements_name_what_they_allow": "CommandFunctionRole, Members: allows it on arn:"},
    weakenings.a_broad_managed_policy: {"statements_name_what_they_allow": "AmazonDynamoDBFullAccess"},
    weakenings.a_reader_that_writes: {"the_query_function_cannot_write": "dynamodb:PutItem"},
    weakenings.no_point_in_time_recovery: {"tables_are_protected": "ScoresTable: has no point-in-time recovery"},
    weakenings.not_encrypted: {"tables_are_protected": "ReceiptsTable: is not encrypted"},
    weakenings.deleted_with_the_stack: {"tables_are_protected": "ScoresTable: is deleted with the stack"},
    weakenings.locked_from_the_start: {"a_first_deployment_can_be_rolled_back": "RankingsTable: is locked by default"},
    weakenings.a_bucket_that_may_be_public: {"buckets_are_closed_and_encrypted": "may be made public"},
    weakenings.a_queue_without_tls: {"queues_are_encrypted_and_require_tls": "ActivityQueue: does not require TLS"},
    weakenings.an_open_route: {"routes_authenticate": "DELETE /boards/{board}/member needs no authentication"},
    weakenings.no_throttling: {"the_api_is_throttled_and_logged": "has no throttling of its own"},
    weakenings.no_access_log: {"the_api_is_throttled_and_logged": "has no access log"},
    weakenings.logs_that_never_expire: {"logs_expire": "QueryLogGroup: never expires"},
    weakenings.a_function_that_makes_its_own_log_group: {"logs_expire": "CommandFunction: expected a log group"},
    weakenings.no_alarm_on_dead_letters: {"dead_letters_have_an_alarm": "ActivityDeadLetterQueue: has no alarm"},
    weakenings.no_alarm_on_throttles_of_the_index: {"failures_have_alarms": "RankingsTable/places: has no alarm"},
    weakenings.no_alarm_on_parked_records: {"failures_have_alarms": "has no alarm on RecordsParked"},
    weakenings.an_alarm_without_advice: {"alarms_say_what_to_do": "DriftAlarm: "},
    weakenings.dropped_events_not_counted: {"sources_count_their_events": "ProjectorFunctionScores: "},
    weakenings.a_metric_that_nobody_emits: {
        "metrics_exist": "DriftAlarm: no function emits Drifts as upkeep",
        "failures_have_alarms": "maintenance: has no alarm on Drift",
    },
    weakenings.stacks_that_mix: {"metrics_exist": "two stacks mix their metrics"},
    weakenings.a_rule_without_a_schedule: {"schedules_start_tasks_that_end": "exists without a schedule"},
    weakenings.a_schedule_of_another_function: {
        "schedules_start_tasks_that_end": "expected MaintenanceFunction as its target"
    },
    weakenings.an_audit_without_a_budget: {"schedules_start_tasks_that_end": "expected the task audits.next"},
    weakenings.any_rule_may_audit: {
        "only_a_rule_of_the_stack_may_start_a_task": "lets any rule of any account start MaintenanceFunction"
    },
    weakenings.a_schedule_without_permission: {
        "only_a_rule_of_the_stack_may_start_a_task": "AuditRule: may not start its function"
    },
    weakenings.failed_audits_repeated: {"scheduled_runs_are_not_repeated": "repeats a run that fails"},
    weakenings.audits_held_back_for_a_day: {"scheduled_runs_are_not_repeated": "expected a MaximumEventAgeInSeconds"},
    weakenings.not_traced: {"functions_can_be_traced": "WriterFunction: cannot be traced"},
    weakenings.traces_that_nobody_may_send: {"functions_can_be_traced": "ProjectorFunction: may not send its traces"},
    weakenings.an_output_missing: {"outputs_exist": "ActivityQueueUrl: "},
}
