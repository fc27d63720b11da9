"""The writer counts every event once."""

from typing import Any

from standings.domain.boards.coverage import coverage_of
from tests.support.builders.checks import rows
from tests.support.builders.stages.writers import BOARDS, NOW, Subject, event


def test_events_of_one_member_cost_one_write_and_a_receipt_each(subject: Subject) -> None:
    written = subject.write(event("1", 3), event("2", 4), event("3", -2), event("4", 5, "n"))

    assert (written.applied, written.duplicates, written.refused, written.failed) == (4, 0, [], {})
    assert (subject.total("m"), subject.total("n")) == (5, 5)
    assert subject.receipts() == {"1", "2", "3", "4"}
    assert [len(actions) for actions in subject.client.transactions] == [6]


def test_a_duplicate_is_dropped_and_its_neighbours_are_applied(subject: Subject) -> None:
    subject.write(event("1", 3))
    written = subject.write(event("1", 3), event("2", 4), event("3", 5, "n"))

    assert (written.applied, written.duplicates, written.refused, written.failed) == (2, 1, [], {})
    assert (subject.total("m"), subject.total("n")) == (7, 5)


def test_a_batch_of_nothing_but_duplicates(subject: Subject) -> None:
    subject.write(event("1"), event("2"))
    written = subject.write(event("2"), event("1"))

    assert (written.applied, written.duplicates) == (0, 2)
    assert subject.total() == 2


def test_the_same_event_twice_in_a_batch(subject: Subject) -> None:
    written = subject.write(event("1", 3), event("1", 3.0))

    assert (written.applied, written.duplicates, subject.total()) == (1, 1, 3)


def test_the_same_id_with_another_body_is_refused(subject: Subject) -> None:
    subject.write(event("1", 3))
    later = subject.write(event("1", 4), event("2", 1))
    beside = subject.write(event("3", 1), event("3", 2))

    for written in (later, beside):
        (message, refusal) = written.refused[0]
        assert refusal.rule == "id"
        assert "used before, for an event with other content" in str(refusal)
        assert written.applied == 1
        assert message.id in {"message-0", "message-1"}
    assert subject.total() == 5


def test_a_list_of_boards_counts_on_each(subject: Subject) -> None:
    subject.write(event("1", 3, board=["b", "c"]), event("1", 3, board=["b", "c"]))

    assert (subject.total(board="b"), subject.total(board="c")) == (3, 3)


def test_malformed_messages_cost_their_neighbours_nothing(subject: Subject) -> None:
    written = subject.write("{", event("1"), event("2", True), event("3"))

    assert written.applied == 2
    assert [(m.id, r.rule) for m, r in written.refused] == [("message-0", "json"), ("message-2", "amount")]


def test_the_first_event_puts_a_board_on_the_list(subject: Subject, engine: Any) -> None:
    subject.write(event("1"), event("2"))
    subject.write(event("3", board="demo-x"))
    listed = {row["sk"]["S"] for row in rows(engine, "Scores") if row["pk"]["S"] == "#boards"}

    family = BOARDS.family("b")
    assert family is not None
    assert listed == {"b", "demo-x"}
    assert subject.writer.catalog.records.records(["b"])["b"].coverage == coverage_of(family, NOW)


def test_receipts_live_for_thirty_days(subject: Subject, engine: Any) -> None:
    subject.write(event("1"))

    receipt = engine.get_item(TableName="Receipts", Key={"pk": {"S": "1"}})["Item"]
    assert int(receipt["e"]["N"]) == NOW // 1000 + 30 * 86_400


def test_a_thousand_messages(subject: Subject) -> None:
    events = [event(str(n % 900), 1, f"m{n % 900 % 170}") for n in range(1000)]
    written = subject.write(*events)

    assert (written.applied, written.duplicates, written.failed, written.refused) == (900, 100, {}, [])
    assert sum(subject.total(f"m{n}") or 0 for n in range(170)) == 900
    assert all(len(actions) <= 100 for actions in subject.client.transactions)
    assert sum(len(actions) for actions in subject.client.transactions) == 900 + 170
