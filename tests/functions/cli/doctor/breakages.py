"""Things that can be wrong with a stack, one at a time."""

from .healthy import Stack


def no_mapping(stack: Stack) -> None:
    del stack.mappings["projectorfunction"]


def a_mapping_of_an_older_stream(stack: Stack) -> None:
    stack.tables["scorestable"]["LatestStreamArn"] = "arn:newer"


def a_disabled_mapping(stack: Stack) -> None:
    stack.mappings["writerfunction"]["State"] = "Disabled"


def a_disabled_announcer(stack: Stack) -> None:
    stack.mappings["announcerfunction"]["State"] = "Disabled"


def a_mapping_without_permission(stack: Stack) -> None:
    stack.mappings["projectorfunction"]["LastProcessingResult"] = "PROBLEM: Cannot access stream"


def no_stream(stack: Stack) -> None:
    stack.tables["scorestable"]["StreamSpecification"] = {"StreamEnabled": False}


def half_a_stream(stack: Stack) -> None:
    stack.tables["scorestable"]["StreamSpecification"]["StreamViewType"] = "NEW_IMAGE"


def no_expiry(stack: Stack) -> None:
    stack.expiry["receiptstable"]["TimeToLiveStatus"] = "DISABLED"


def expiry_by_another_attribute(stack: Stack) -> None:
    stack.expiry["rankingstable"]["AttributeName"] = "ttl"


def no_backups(stack: Stack) -> None:
    stack.backups["receiptstable"] = "DISABLED"


def unprotected_against_the_parameter(stack: Stack) -> None:
    stack.tables["scorestable"]["DeletionProtectionEnabled"] = False


def unprotected(stack: Stack) -> None:
    unprotected_against_the_parameter(stack)
    stack.parameters["DeletionProtection"] = "false"


def no_index(stack: Stack) -> None:
    stack.tables["rankingstable"]["GlobalSecondaryIndexes"] = []


def an_index_that_is_not_ready(stack: Stack) -> None:
    stack.tables["rankingstable"]["GlobalSecondaryIndexes"][0]["IndexStatus"] = "CREATING"


def a_cold_index(stack: Stack) -> None:
    del stack.tables["rankingstable"]["GlobalSecondaryIndexes"][0]["WarmThroughput"]


def nothing_warm(stack: Stack) -> None:
    stack.parameters["WarmWriteUnits"] = "0"


def another_runtime(stack: Stack) -> None:
    stack.functions["queryfunction"]["Runtime"] = "python3.12"


def another_processor(stack: Stack) -> None:
    stack.layer["CompatibleArchitectures"] = ["x86_64"]


def no_layer(stack: Stack) -> None:
    stack.functions["commandfunction"]["Layers"] = []


def a_small_account(stack: Stack) -> None:
    stack.concurrency = 10


def writers_without_a_limit(stack: Stack) -> None:
    stack.parameters["WriterMaximumConcurrency"] = "0"


def reads_without_a_signature(stack: Stack) -> None:
    stack.statuses["GET"] = 200


def writes_without_a_signature(stack: Stack) -> None:
    stack.statuses["POST"] = 400


def open_reads(stack: Stack) -> None:
    reads_without_a_signature(stack)
    stack.parameters["OpenReads"] = "true"


def a_ringing_alarm(stack: Stack) -> None:
    stack.alarms["driftalarm"]["StateValue"] = "ALARM"


def no_topic(stack: Stack) -> None:
    stack.parameters["AlarmTopicArn"] = ""


def an_alarm_that_nobody_hears(stack: Stack) -> None:
    stack.alarms["driftalarm"]["AlarmActions"] = []


def an_old_botocore(stack: Stack) -> None:
    stack.botocore = "1.30.99"


def a_dead_letter(stack: Stack) -> None:
    stack.left["dead_letters"] = [{"id": "1"}]


def a_parked_record(stack: Stack) -> None:
    stack.left["parked"] = [{"key": "parked/1"}]


def no_scheduled_audits(stack: Stack) -> None:
    stack.parameters["AuditSchedule"] = ""


def audits_that_never_ran(stack: Stack) -> None:
    stack.audits |= {"ran_at": None, "last": None}


def drift_in_the_last_turn(stack: Stack) -> None:
    stack.audits["last"]["drift"] = 3


def a_board_that_audits_left_out(stack: Stack) -> None:
    stack.audits["turn"] = {**stack.audits["last"], "failed": ["berlin-2026"]}


def settlements_on_a_stack_that_cannot(stack: Stack) -> None:
    stack.settlements["settles"] = False


def announcements_on_a_stack_that_cannot(stack: Stack) -> None:
    stack.announcements["announces"] = False


def settlements_on_demand_alone(stack: Stack) -> None:
    stack.parameters["SettleSchedule"] = ""


def an_api_that_does_not_answer(stack: Stack) -> None:
    stack.statuses["GET"] = 0
