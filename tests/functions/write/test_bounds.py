"""No total goes beyond ±(2^53 - 1) units, and only an event that would take it there is refused."""

from collections import deque
from typing import Any
from unittest import mock

from standings.aws.dynamodb.keys import member_key
from standings.domain.boards.definitions import MAX_UNITS
from tests.support.builders.stages.writers import AT, Subject, event
from tests.support.faults import faulty_client


def test_an_event_beside_a_duplicate_has_the_room_that_there_is(subject: Subject) -> None:
    near = 9_007_000_000_000_000
    subject.write(event("0", near), event("a", 90_000_000_000))
    written = subject.write(event("a", 90_000_000_000), event("b", 40_000_000_000))

    assert (written.applied, written.duplicates, written.refused) == (1, 1, [])
    assert subject.total() == near + 130_000_000_000


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
    assert [refusal.rule for _, refusal in beyond.refused] == ["bounds"]
    assert (subject.total(), subject.total("clan#7", "clans")) == (7, near + 2)
    assert "2" not in subject.receipts()


def test_no_total_goes_beyond_its_bounds(subject: Subject) -> None:
    large = 900_000_000_000_000
    written = subject.write(*[event(str(n), large) for n in range(12)])

    assert written.applied == 10
    assert [refusal.rule for _, refusal in written.refused] == ["bounds", "bounds"]
    assert subject.total() == 10 * large
    assert subject.write(event("back", -large)).applied == 1
    assert subject.write(event("again", large)).applied == 1
    assert subject.total() == 10 * large


def test_a_duplicate_near_the_bounds_is_still_a_duplicate(subject: Subject) -> None:
    large = 900_000_000_000_000
    events = [event(str(n), large) for n in range(10)]
    subject.write(*events)
    again = subject.write(*events)

    assert (again.duplicates, again.refused, subject.total()) == (10, [], 10 * large)
    other = subject.write(event("3", large, at="2026-11-21T10:14:00Z"))
    assert [refusal.rule for _, refusal in other.refused] == ["id"]


def test_nothing_is_refused_by_an_image_from_before(subject: Subject, engine: Any) -> None:
    large = 900_000_000_000_000
    subject.write(*[event(str(n), large) for n in range(10)])
    pk, sk = member_key("b", "m")
    old = engine.batch_get_item(RequestItems={"Scores": {"Keys": [{"pk": {"S": pk}, "sk": {"S": sk}}]}})
    Subject(engine).write(event("down", -large))

    with mock.patch.object(engine, "batch_get_item", return_value=old):
        assert subject.write(event("up", large)).applied == 1
    assert subject.total() == 10 * large


def test_near_the_bounds_another_writer_is_noticed(subject: Subject, engine: Any) -> None:
    large = 900_000_000_000_000
    subject.write(*[event(str(n), large) for n in range(9)])

    def meanwhile(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        Subject(engine).write(event("other", large))
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([meanwhile])
    written = subject.write(event("mine", large))

    assert [refusal.rule for _, refusal in written.refused] == ["bounds"]
    assert subject.total() == 10 * large
