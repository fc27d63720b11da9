"""The writer when the store is busy, slow or refuses: each failure costs only its own message."""

from collections import deque
from typing import Any
from unittest import mock

import pytest

from standings.domain.events.event_rules import parse_event
from tests.support.builders.stages.writers import Subject, event
from tests.support.faults import faulty_client


def test_a_conflict_is_tried_again_after_a_random_wait(subject: Subject) -> None:
    subject.client.steps = deque([faulty_client.conflict, faulty_client.conflict])
    written = subject.write(event("1"))

    assert (written.applied, written.conflicts, subject.total()) == (1, 2, 1)
    assert subject.time.slept == [0.01, 0.02]


@pytest.mark.parametrize(
    "code", ["ProvisionedThroughputExceededException", "ThrottlingException", "InternalServerError"]
)
def test_a_throttle_is_tried_again(subject: Subject, code: str) -> None:
    subject.client.steps = deque([faulty_client.error(code)])

    assert subject.write(event("1")).applied == 1
    assert subject.total() == 1


def test_what_stays_busy_fails_alone_and_in_time(subject: Subject) -> None:
    events = [event(str(n), 1, f"m{n:03}") for n in range(60)]
    subject.client.steps = deque([faulty_client.passes, *[faulty_client.conflict] * 500])
    written = subject.write(*events, patience=10.0)

    assert written.applied == 50
    assert len(written.failed) == 10
    assert all("TransactionConflict" in reason for reason in written.failed.values())
    assert sum(subject.time.slept) < 10
    assert len(subject.receipts()) == 50


def test_what_there_is_no_time_for_is_reported_and_the_rest_stays_done(subject: Subject) -> None:
    def slow(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        subject.client.steps.append(slow)
        subject.time.sleep(3)
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([slow])
    events = [event(str(n), 1, f"m{n:03}") for n in range(250)]
    written = subject.write(*events, patience=7)

    assert (written.applied, len(written.failed), written.refused) == (150, 100, [])
    again = subject.write(*events, patience=100)
    assert (again.applied, again.duplicates) == (100, 150)


def test_a_parser_that_breaks_costs_the_neighbours_nothing(subject: Subject) -> None:
    def breaks(body: str, *given: Any, **said: Any) -> Any:
        if "poison" in body:
            raise ZeroDivisionError("a bug")
        return parse_event(body, *given, **said)

    with mock.patch("standings.write.writer.parse_event", breaks):
        written = subject.write(event("1"), event("poison"), event("2"))

    assert written.applied == 2
    assert [(m.id, r.rule, str(r)) for m, r in written.refused] == [
        ("message-1", "internal", "body: cannot be read: ZeroDivisionError('a bug')")
    ]


def test_an_action_that_is_invalid_takes_no_other_event_along(subject: Subject) -> None:
    def invalid(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        subject.client.steps.append(invalid)
        codes = ["None"] * len(request["TransactItems"])
        for number, action in enumerate(request["TransactItems"]):
            if action.get("Put", {}).get("Item", {}).get("pk") == {"S": "2"}:
                codes[-1] = "ValidationError"  # of the item that all of them share
                assert number < len(codes)
        if "ValidationError" in codes:
            raise faulty_client.cancelled(codes)
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([invalid])
    written = subject.write(*[event(str(n)) for n in range(5)])

    assert written.applied == 4
    assert [(message.id, refusal.rule) for message, refusal in written.refused] == [("message-2", "store")]
    assert subject.total() == 4


def test_a_lost_answer_counts_once(subject: Subject) -> None:
    subject.client.steps = deque([faulty_client.lost_answer])
    written = subject.write(event("1", 3), event("2", 4))

    assert (written.applied, written.duplicates, written.failed) == (0, 2, {})
    assert subject.total() == 7


def test_a_transaction_still_going_on_is_waited_for(subject: Subject) -> None:
    subject.client.steps = deque([faulty_client.error("TransactionInProgressException")])

    assert subject.write(event("1")).applied == 1
    assert subject.time.slept[0] >= 5


def test_what_the_store_refuses_is_found_and_put_aside(subject: Subject, engine: Any) -> None:
    def refuses_poison(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        subject.client.steps.append(refuses_poison)
        if any(action.get("Put", {}).get("Item", {}).get("pk") == {"S": "13"} for action in request["TransactItems"]):
            return faulty_client.error("ValidationException")(client, request)
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([refuses_poison])
    written = subject.write(*[event(str(n), 1, f"m{n}") for n in range(30)])

    assert written.applied == 29
    assert [(message.id, refusal.rule) for message, refusal in written.refused] == [("message-13", "store")]
    assert engine.get_item(TableName="Receipts", Key={"pk": {"S": "13"}}).get("Item") is None
