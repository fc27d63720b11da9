"""Each check of a stack fails where it should, and says what to do."""

from collections.abc import Callable

import pytest

from standings_cli.doctor.finding import Verdict

from . import breakages
from .healthy import Stack

FAILED, NOTE, OK = Verdict.FAILED, Verdict.NOTE, Verdict.OK


Break = Callable[[Stack], None]
BROKEN: list[tuple[Break, Verdict, str, str]] = [
    (breakages.no_mapping, FAILED, "ProjectorFunction reads its source", "got nothing: deploy again"),
    (
        breakages.a_mapping_of_an_older_stream,
        FAILED,
        "ProjectorFunction reads its source",
        "expected a mapping of arn:newer",
    ),
    (
        breakages.a_disabled_mapping,
        FAILED,
        "WriterFunction reads its source",
        "update-event-source-mapping --uuid w --enabled",
    ),
    (breakages.a_disabled_announcer, FAILED, "AnnouncerFunction reads its source", "--uuid a --enabled"),
    (
        breakages.a_mapping_without_permission,
        FAILED,
        "ProjectorFunction reads its source",
        "PROBLEM: Cannot access stream",
    ),
    (breakages.an_api_that_does_not_answer, FAILED, "signatures", "could not look: Could not connect"),
    (breakages.no_stream, FAILED, "the stream of Scores", "no stream"),
    (breakages.half_a_stream, FAILED, "the stream of Scores", "got NEW_IMAGE"),
    (breakages.no_expiry, FAILED, "expiry of ReceiptsTable", "got e DISABLED"),
    (breakages.expiry_by_another_attribute, FAILED, "expiry of RankingsTable", "got ttl ENABLED"),
    (breakages.no_backups, FAILED, "point-in-time recovery of ReceiptsTable", "got DISABLED"),
    (
        breakages.unprotected_against_the_parameter,
        FAILED,
        "protection of the tables against deletion",
        "ScoresTable can be",
    ),
    (breakages.unprotected, NOTE, "protection of the tables against deletion", "DeletionProtection=true"),
    (breakages.no_index, FAILED, "the sorted index of Rankings", "got none"),
    (breakages.an_index_that_is_not_ready, FAILED, "the sorted index of Rankings", "got CREATING"),
    (breakages.a_cold_index, FAILED, "warm throughput", "0 WriteUnitsPerSecond of places, expected 8,000"),
    (breakages.nothing_warm, NOTE, "warm throughput", "WarmWriteUnits"),
    (
        breakages.another_runtime,
        FAILED,
        "runtime of QueryFunction",
        "python3.12 on arm64, but the layer was built for",
    ),
    (
        breakages.another_processor,
        FAILED,
        "runtime of WriterFunction",
        "python3.13 on arm64, but the layer was built for",
    ),
    (breakages.no_layer, FAILED, "runtime of CommandFunction", "got none"),
    (breakages.an_old_botocore, FAILED, "botocore of the runtime", "expected 1.31 or later, got 1.30.99"),
    (breakages.a_small_account, FAILED, "functions that may run at once", "the account allows 10, expected 24"),
    (breakages.writers_without_a_limit, NOTE, "functions that may run at once", "WriterMaximumConcurrency is 0"),
    (breakages.reads_without_a_signature, FAILED, "unsigned reads", "expected 401 or 403, got 200"),
    (breakages.writes_without_a_signature, FAILED, "unsigned writes", "expected 401 or 403, got 400"),
    (breakages.open_reads, NOTE, "unsigned reads", "OpenReads is true"),
    (breakages.a_ringing_alarm, FAILED, "alarms", "ringing: DriftAlarm"),
    (breakages.no_topic, NOTE, "topic of the alarms", "AlarmTopicArn"),
    (breakages.an_alarm_that_nobody_hears, FAILED, "topic of the alarms", "without an action: DriftAlarm"),
    (breakages.a_dead_letter, FAILED, "refused messages", "standings dlq list"),
    (breakages.a_parked_record, FAILED, "parked records", "standings parked list"),
    (breakages.no_scheduled_audits, NOTE, "scheduled audits", "deploy with AuditSchedule"),
    (breakages.audits_that_never_ran, NOTE, "scheduled audits", "none has run yet"),
    (breakages.drift_in_the_last_turn, FAILED, "scheduled audits", "3 differences since 2026-11-21T10:15:00.000Z"),
    (breakages.a_board_that_audits_left_out, FAILED, "scheduled audits", "left out berlin-2026"),
    (breakages.settlements_on_a_stack_that_cannot, FAILED, "settled periods", "league-*, but the stack cannot"),
    (breakages.announcements_on_a_stack_that_cannot, FAILED, "announced tops", "race-*, but the stack cannot"),
    (breakages.settlements_on_demand_alone, NOTE, "settled periods", "SettleSchedule"),
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
    if broken is not breakages.another_processor:  # the layer is that of every function
        assert others.keys() == {about}


def test_what_is_reserved_is_not_asked_of_the_rest_of_the_account() -> None:
    stack = Stack()
    breakages.a_small_account(stack)
    stack.parameters |= {"WriterReservedConcurrency": "10", "ProjectorReservedConcurrency": "4"}

    assert stack.found()["functions that may run at once"].verdict == OK


def test_a_service_that_refuses_to_answer_is_a_failure_on_aws_and_a_note_on_a_local_one() -> None:
    stack = Stack()
    stack.denied = {"get_account_settings"}

    assert stack.found()["concurrency"].verdict == FAILED
    assert "not authorized" in stack.found()["concurrency"].detail
    assert stack.found(is_local=True)["concurrency"].verdict == NOTE


def test_a_stack_without_an_announcer_lacks_nothing() -> None:
    stack = Stack()
    announcer = {name for name in stack.found() if "AnnouncerFunction" in name}
    for name in ("AnnouncerFunction", "LooksQueue"):
        del stack.resources[name]

    assert announcer == {"AnnouncerFunction reads its source", "runtime of AnnouncerFunction"}
    assert all(finding.verdict == OK for finding in stack.found().values())
    assert not announcer & stack.found().keys()


def test_a_stack_that_lacks_a_resource_is_told() -> None:
    stack = Stack()
    del stack.resources["ActivityQueue"]

    assert stack.found()["mappings"].verdict == FAILED
    assert "'ActivityQueue'" in stack.found()["mappings"].detail


def test_what_a_local_aws_leaves_out_is_noted() -> None:
    stack = Stack()
    stack.statuses = {"GET": 200, "POST": 400}
    breakages.no_expiry(stack)
    breakages.no_backups(stack)
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
