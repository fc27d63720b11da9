"""Templates with one mistake each."""

from typing import Any

Template = dict[str, Any]


def properties(template: Template, name: str) -> Any:
    return template["Resources"][name]["Properties"]


def event(template: Template, function: str, name: str) -> Any:
    return properties(template, function)["Events"][name]["Properties"]


def statement(template: Template, function: str, sid: str) -> Any:
    policies = properties(template, function).get("Policies")
    if policies is None:
        policies = [one["PolicyDocument"] for one in properties(template, f"{function}Role")["Policies"]]
    return next(one for one in policies[0]["Statement"] if one.get("Sid") == sid)


def visible_too_soon(template: Template) -> None:
    properties(template, "ActivityQueue")["VisibilityTimeout"] = 60


def a_longer_timeout(template: Template) -> None:
    properties(template, "WriterFunction")["Timeout"] = 120


def a_projector_that_takes_longer(template: Template) -> None:
    properties(template, "ProjectorFunction")["Timeout"] = 61


def a_command_that_takes_longer(template: Template) -> None:
    properties(template, "CommandFunction")["Timeout"] = 90


def retried_for_ever(template: Template) -> None:
    event(template, "ProjectorFunction", "Scores")["MaximumRecordAgeInSeconds"] = -1


def given_up_after_a_hundred_tries(template: Template) -> None:
    event(template, "ProjectorFunction", "Scores")["MaximumRetryAttempts"] = 100


def dead_letters_after_ten_tries(template: Template) -> None:
    properties(template, "ActivityQueue")["RedrivePolicy"]["maxReceiveCount"] = 10


def received_for_ever(template: Template) -> None:
    del properties(template, "ActivityQueue")["RedrivePolicy"]["maxReceiveCount"]


def a_source_that_stops_in_silence(template: Template) -> None:
    properties(template, "StreamNotPolledAlarm")["TreatMissingData"] = "missing"


def an_end_of_damage_announced(template: Template) -> None:
    properties(template, "ParkedRecordsAlarm")["OKActions"] = ["arn:aws:sns:us-east-1:123456789012:ops"]


def any_account_s_bucket(template: Template) -> None:
    del statement(template, "WriterFunction", "RefusedMessagesTooLargeForTheQueue")["Condition"]


def roles_by_sam(template: Template) -> None:
    """SAM gives the role of a function with a queue a policy for all queues."""
    role = template["Resources"].pop("WriterFunctionRole")
    function = properties(template, "WriterFunction")
    del function["Role"]
    function["Policies"] = [one["PolicyDocument"] for one in role["Properties"]["Policies"]]


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


def locked_from_the_start(template: Template) -> None:
    properties(template, "RankingsTable")["DeletionProtectionEnabled"] = True


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
    body["Fn::Sub"][0] = body["Fn::Sub"][0].replace("Standings/${AWS::StackName}", "Standings")
    template["Globals"]["Function"]["Environment"]["Variables"]["POWERTOOLS_METRICS_NAMESPACE"] = "Standings"


def not_traced(template: Template) -> None:
    del template["Globals"]["Function"]["Tracing"]


def traces_that_nobody_may_send(template: Template) -> None:
    properties(template, "ProjectorFunctionRole")["ManagedPolicyArns"].pop()


def an_output_missing(template: Template) -> None:
    del template["Outputs"]["ActivityQueueUrl"]


def _with_a_schedule(template: Template) -> Any:
    """Schedule audits, and return the rule's target."""
    template["Parameters"]["AuditSchedule"]["Default"] = "rate(1 hour)"
    return properties(template, "AuditRule")["Targets"][0]


def a_rule_without_a_schedule(template: Template) -> None:
    for name in ("AuditRule", "AuditInvokePermission", "AuditRetries"):
        del template["Resources"][name]["Condition"]


def a_schedule_of_another_function(template: Template) -> None:
    _with_a_schedule(template)["Arn"] = {"Fn::GetAtt": ["WriterFunction", "Arn"]}
    properties(template, "AuditRetries")["FunctionName"] = {"Ref": "WriterFunction"}


def an_audit_without_a_budget(template: Template) -> None:
    _with_a_schedule(template)["Input"] = '{"audit":{}}'


def any_rule_may_audit(template: Template) -> None:
    _with_a_schedule(template)
    del properties(template, "AuditInvokePermission")["SourceArn"]


def a_schedule_without_permission(template: Template) -> None:
    _with_a_schedule(template)
    del template["Resources"]["AuditInvokePermission"]


def failed_audits_repeated(template: Template) -> None:
    _with_a_schedule(template)
    del template["Resources"]["AuditRetries"]


def audits_held_back_for_a_day(template: Template) -> None:
    del _with_a_schedule(template)["RetryPolicy"]
