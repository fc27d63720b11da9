"""The writer counts every event once: duplicates, refusals, a store that fails, and items near their bounds."""

from collections import deque
from typing import Any
from unittest import mock

import pytest

from standings.aws.dynamodb.tables import member_key
from standings.domain.boards import MAX_UNITS
from standings.domain.events import Event, Update
from standings.write.writer import transactions
from tests.support.builders.stages.writers import AT, Subject, event
from tests.support.faults import faulty_client

LARGE = 900_000_000_000_000
"""Ten of these are within the bounds, and eleven are not."""


@pytest.fixture
def subject(engine: Any) -> Subject:
    return Subject(engine)


def rules(written: Any) -> list[tuple[str, str]]:
    """The messages that were refused, each with its rule."""
    return [(message.id, refusal.rule) for message, refusal in written.refused]


def test_events_of_one_member_cost_one_write_and_a_receipt_each(subject: Subject) -> None:
    written = subject.write(event("1", 3), event("2", 4), event("1", 3.0), event("3", -2), event("4", 5, "n"))

    assert (written.applied, written.duplicates, written.refused, written.failed) == (4, 1, [], {})
    assert (subject.total("m"), subject.total("n")) == (5, 5)
    assert subject.receipts() == {"1", "2", "3", "4"}
    assert [len(actions) for actions in subject.client.transactions] == [6]


def test_events_of_one_member_are_in_as_few_transactions_as_can_be() -> None:
    cut = transactions(Event(f"e{n}", 0, (Update("b", f"m{n % 25}", {"points": 1}),), b"") for n in range(1000))

    assert sum(len({event.items[0] for event in events}) for events in cut) == 25
    assert len(cut) == 13


@pytest.mark.parametrize(
    ("batch", "refused", "applied"),
    [
        ([event("2", 1), event("2", 2)], [("message-1", "id")], 1),
        (["{", event("2"), event("3", True), event("4")], [("message-0", "json"), ("message-2", "amount")], 2),
    ],
    ids=["an id of this batch", "malformed"],
)
def test_what_is_refused_costs_its_neighbours_nothing(
    subject: Subject, batch: list[Any], refused: list[tuple[str, str]], applied: int
) -> None:
    subject.write(event("1", 3))
    written = subject.write(*batch)

    assert (written.applied, rules(written), subject.total()) == (applied, refused, 3 + applied)
    for _, refusal in written.refused:
        assert refusal.rule != "id" or "was used before, for an event with other content" in str(refusal)


def test_a_conflict_is_tried_again_after_a_random_wait(subject: Subject) -> None:
    subject.client.steps = deque([faulty_client.conflict, faulty_client.conflict])
    written = subject.write(event("1"))

    assert (written.applied, written.conflicts, subject.total()) == (1, 2, 1)
    assert subject.time.slept == [0.01, 0.02]


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
        subject.time.sleep(3)
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([slow] * 100)
    events = [event(str(n), 1, f"m{n:03}") for n in range(250)]
    written = subject.write(*events, patience=7)

    assert (written.applied, len(written.failed), written.refused) == (150, 100, [])
    again = subject.write(*events, patience=100)
    assert (again.applied, again.duplicates) == (100, 150)


def refusing(event_id: str, refused: faulty_client.Step) -> faulty_client.Step:
    """A store that refuses each transaction with the receipt of an event."""

    def step(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        receipts = [action["Put"]["Item"]["pk"]["S"] for action in request["TransactItems"] if "Put" in action]
        return (refused if event_id in receipts else faulty_client.passes)(client, request)

    return step


@pytest.mark.parametrize(
    ("member", "refused"),
    [
        ("m", faulty_client.refused_at_end),  # the item that all of them share
        ("m2", faulty_client.error("ValidationException")),
    ],
)
def test_what_the_store_refuses_is_found_and_takes_no_other_event_along(
    subject: Subject, member: str, refused: faulty_client.Step
) -> None:
    subject.client.steps = deque([refusing("13", refused)] * 1_000)
    written = subject.write(*[event(str(n), 1, member if n % 2 else "m") for n in range(30)])

    assert (written.applied, rules(written)) == (29, [("message-13", "store")])
    assert sum(subject.total(one) or 0 for one in {"m", member}) == 29
    assert "13" not in subject.receipts()


def test_a_transaction_still_going_on_is_waited_for(subject: Subject) -> None:
    subject.client.steps = deque([faulty_client.error("TransactionInProgressException")])

    assert subject.write(event("1")).applied == 1
    assert subject.time.slept[0] >= 5


def test_an_event_beside_a_duplicate_has_the_room_that_there_is(subject: Subject) -> None:
    near = 9_007_000_000_000_000
    subject.write(event("0", near), event("a", 90_000_000_000))
    written = subject.write(event("a", 90_000_000_000), event("b", 40_000_000_000))

    assert (written.applied, written.duplicates, written.refused) == (1, 1, [])
    assert subject.total() == near + 130_000_000_000


def test_a_period_has_the_bounds_that_a_total_has(subject: Subject) -> None:
    subject.write(event("1", -LARGE, at="2026-11-20T10:15:00Z"), event("2", 9 * LARGE))
    written = subject.write(event("3", 2 * LARGE), event("4", LARGE))

    assert [(message.id, str(refusal)) for message, refusal in written.refused] == [
        ("message-0", "metrics: points in one day would go beyond ±(2^53 - 1) units")
    ]
    assert subject.total() == 9 * LARGE


def test_several_updates_are_applied_together_or_not_at_all(subject: Subject) -> None:
    pairs = [
        {"board": "b", "member": "m", "metrics": {"points": 2}},
        {"board": "clans", "member": "clan#7", "metrics": {"points": 2}},
    ]
    near = 9_007_000_000_000_000
    assert subject.write(event("0", near, "clan#7", board="clans")).applied == 1
    good = subject.write({"id": "1", "at": AT, "updates": pairs})
    pairs[1]["metrics"] = {"points": MAX_UNITS // 10**12 * 10**12 - 9 * 10**15}
    beyond = subject.write({"id": "2", "at": AT, "updates": pairs}, event("3", 5))

    assert (good.applied, beyond.applied) == (1, 1)
    assert rules(beyond) == [("message-0", "bounds")]
    assert (subject.total(), subject.total("clan#7", "clans")) == (7, near + 2)
    assert "2" not in subject.receipts()


def test_nothing_is_refused_by_an_image_from_before(subject: Subject, engine: Any) -> None:
    subject.write(*[event(str(n), LARGE) for n in range(10)])
    pk, sk = member_key("b", "m")
    old = engine.batch_get_item(RequestItems={"Scores": {"Keys": [{"pk": {"S": pk}, "sk": {"S": sk}}]}})
    Subject(engine).write(event("down", -LARGE))

    real = engine.batch_get_item

    def older(RequestItems: Any) -> Any:  # noqa: N803 - the name of the SDK
        return old if "#boards" not in str(RequestItems) else real(RequestItems=RequestItems)

    with mock.patch.object(engine, "batch_get_item", older):
        assert subject.write(event("up", LARGE)).applied == 1
    assert subject.total() == 10 * LARGE


def test_near_the_bounds_another_writer_is_noticed(subject: Subject, engine: Any) -> None:
    subject.write(*[event(str(n), LARGE) for n in range(9)])

    def meanwhile(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        Subject(engine).write(event("other", LARGE))
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([meanwhile])
    written = subject.write(event("mine", LARGE))

    assert rules(written) == [("message-0", "bounds")]
    assert subject.total() == 10 * LARGE
