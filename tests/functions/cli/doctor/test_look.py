"""Each check of a stack fails where it should, and says what to do."""

from collections.abc import Callable

import pytest

from standings_cli.doctor.finding import Verdict

from .healthy import Stack

FAILED, NOTE, OK = Verdict.FAILED, Verdict.NOTE, Verdict.OK


def no_mapping(stack: Stack) -> None:
    del stack.mappings["projectorfunction"]


def a_mapping_of_an_older_stream(stack: Stack) -> None:
    stack.tables["scorestable"]["LatestStreamArn"] = "arn:newer"


def a_disabled_mapping(stack: Stack) -> None:
    stack.mappings["writerfunction"]["State"] = "Disabled"


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


Break = Callable[[Stack], None]
BROKEN: list[tuple[Break, Verdict, str, str]] = [
    (no_mapping, FAILED, "ProjectorFunction reads its source", "got nothing: deploy again"),
    (a_mapping_of_an_older_stream, FAILED, "ProjectorFunction reads its source", "expected a mapping of arn:newer"),
    (a_disabled_mapping, FAILED, "WriterFunction reads its source", "update-event-source-mapping --uuid w --enabled"),
    (a_mapping_without_permission, FAILED, "ProjectorFunction reads its source", "PROBLEM: Cannot access stream"),
    (no_stream, FAILED, "the stream of Scores", "no stream"),
    (half_a_stream, FAILED, "the stream of Scores", "got NEW_IMAGE"),
    (no_expiry, FAILED, "expiry of ReceiptsTable", "got e DISABLED"),
    (expiry_by_another_attribute, FAILED, "expiry of RankingsTable", "got ttl ENABLED"),
    (no_backups, FAILED, "point-in-time recovery of ReceiptsTable", "got DISABLED"),
    (unprotected_against_the_parameter, FAILED, "protection of the tables against deletion", "ScoresTable can be"),
    (unprotected, NOTE, "protection of the tables against deletion", "DeletionProtection=true"),
    (no_index, FAILED, "the sorted index of Rankings", "got none"),
    (an_index_that_is_not_ready, FAILED, "the sorted index of Rankings", "got CREATING"),
    (a_cold_index, FAILED, "warm throughput", "0 WriteUnitsPerSecond of places, expected 8,000"),
    (nothing_warm, NOTE, "warm throughput", "WarmWriteUnits"),
    (
        another_runtime,
        FAILED,
        "runtime of QueryFunction",
        "python3.12 on arm64, but the layer was built for",
    ),
    (another_processor, FAILED, "runtime of WriterFunction", "python3.13 on arm64, but the layer was built for"),
    (no_layer, FAILED, "runtime of CommandFunction", "got none"),
    (an_old_botocore, FAILED, "botocore of the runtime", "expected 1.31 or later, got 1.30.99"),
    (a_small_account, FAILED, "functions that may run at once", "the account allows 10, expected 24"),
    (writers_without_a_limit, NOTE, "functions that may run at once", "WriterMaximumConcurrency is 0"),
    (reads_without_a_signature, FAILED, "unsigned reads", "expected 401 or 403, got 200"),
    (writes_without_a_signature, FAILED, "unsigned writes", "expected 401 or 403, got 400"),
    (open_reads, NOTE, "unsigned reads", "OpenReads is true"),
    (a_ringing_alarm, FAILED, "alarms", "ringing: DriftAlarm"),
    (no_topic, NOTE, "topic of the alarms", "AlarmTopicArn"),
    (an_alarm_that_nobody_hears, FAILED, "topic of the alarms", "without an action: DriftAlarm"),
    (a_dead_letter, FAILED, "refused messages", "standings dlq list"),
    (a_parked_record, FAILED, "parked records", "standings parked list"),
    (no_scheduled_audits, NOTE, "scheduled audits", "deploy with AuditSchedule"),
    (audits_that_never_ran, NOTE, "scheduled audits", "none has run yet"),
    (drift_in_the_last_turn, FAILED, "scheduled audits", "3 differences since 2026-11-21T10:15:00.000Z"),
    (a_board_that_audits_left_out, FAILED, "scheduled audits", "left out berlin-2026"),
]


def test_a_healthy_stack_has_no_failure_and_no_note() -> None:
    found = Stack().found()

    assert {finding.verdict for finding in found.values()} == {OK}
    assert len(found) >= 20


@pytest.mark.parametrize(("broken", "verdict", "about", "words"), BROKEN, ids=lambda one: getattr(one, "__name__", ""))
def test_one_thing_that_is_wrong_is_found_alone(broken: Break, verdict: Verdict, about: str, words: str) -> None:
    stack = Stack()
    broken(stack)

    others = {name: finding for name, finding in stack.found().items() if finding.verdict != OK}

    assert others[about].verdict == verdict
    assert words in others[about].detail
    if broken is not another_processor:  # the layer is that of every function
        assert others.keys() == {about}


def test_what_is_reserved_is_not_asked_of_the_rest_of_the_account() -> None:
    stack = Stack()
    a_small_account(stack)
    stack.parameters |= {"WriterReservedConcurrency": "10", "ProjectorReservedConcurrency": "4"}

    assert stack.found()["functions that may run at once"].verdict == OK


def test_a_service_that_refuses_to_answer_is_a_failure_on_aws_and_a_note_on_a_local_one() -> None:
    stack = Stack()
    stack.denied = {"get_account_settings"}

    assert stack.found()["concurrency"].verdict == FAILED
    assert "not authorized" in stack.found()["concurrency"].detail
    assert stack.found(is_local=True)["concurrency"].verdict == NOTE


def test_a_stack_that_lacks_a_resource_is_told() -> None:
    stack = Stack()
    del stack.resources["ActivityQueue"]

    assert stack.found()["mappings"].verdict == FAILED
    assert "'ActivityQueue'" in stack.found()["mappings"].detail


def test_what_a_local_aws_leaves_out_is_noted() -> None:
    stack = Stack()
    stack.statuses = {"GET": 200, "POST": 400}
    no_expiry(stack)
    no_backups(stack)
    for table in stack.tables.values():
        del table["WarmThroughput"]

    others = {name: finding for name, finding in stack.found(is_local=True).items() if finding.verdict != OK}

    assert {finding.verdict for finding in others.values()} == {NOTE}
    assert others.keys() == {
        "unsigned reads",
        "unsigned writes",
        "warm throughput",
        "expiry of ReceiptsTable",
        "point-in-time recovery of ReceiptsTable",
    }
