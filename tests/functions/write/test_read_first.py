"""The writer where it reads items first (bests, lasts, ties by time, registered members), and members' registration."""

from typing import Any

import pytest

from standings.domain.boards_toml import parse_boards
from standings.domain.members import Image
from tests.support.builders.stages.writers import Subject
from tests.support.faults import faulty_client

BOARDS = parse_boards("""
[boards."*"]
metrics.best = { aggregate = "max", windows = ["all", "day"] }
metrics.least = { aggregate = "min", order = "ascending", ties = "first", windows = ["all"] }
metrics.latest = { aggregate = "last", windows = ["all"] }
metrics.points = { aggregate = "sum", windows = ["all"] }
metrics.dated = { aggregate = "sum", ties = "first", windows = ["all"] }
[boards."club-*"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
metrics.best = { aggregate = "max", windows = ["all"] }
[boards."plain-*"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
""")


@pytest.fixture
def subject(engine: Any) -> Subject:
    return Subject(engine, BOARDS)


def event(event_id: str, board: str = "b", **metrics: int) -> dict[str, Any]:
    return {"id": event_id, "board": board, "member": "m", "at": "2026-11-21T10:14:00Z", "metrics": metrics}


def member(subject: Subject) -> Image:
    """The item of the member, which is there."""
    image = subject.image()
    assert image is not None
    return image


def test_a_best_improves_and_what_does_not_changes_nothing_but_is_known(subject: Subject) -> None:
    subject.write(event("1", best=5))
    before = subject.image()
    written = subject.write(event("2", best=4), event("3", best=5))

    assert (written.applied, subject.total(metric="best")) == (2, 5)
    assert subject.image() == before
    assert [next(iter(action)) for action in subject.client.transactions[-1]] == ["Put", "Put", "ConditionCheck"]
    assert subject.receipts() == {"1", "2", "3"}
    assert subject.write(event("2", best=4)).duplicates == 1
    assert subject.write(event("4", best=6)).applied == 1
    assert subject.total(metric="best") == 6


def test_several_events_on_one_item_are_one_write(subject: Subject) -> None:
    written = subject.write(event("1", best=5, points=1), event("2", best=9, latest=3), event("3", best=7, points=2))

    assert (written.applied, len(subject.client.transactions[0])) == (3, 4)
    assert [subject.total(metric=name) for name in ("best", "latest", "points")] == [9, 3, 3]


@pytest.mark.parametrize("board", ["club-1", "plain-1"])
def test_a_stranger_is_refused_and_costs_nobody_else_anything(subject: Subject, board: str) -> None:
    both = {**event("2", points=1), "board": [board, "b"]}
    written = subject.write(event("1", board=board, points=1), both, event("3", points=5))

    assert [refusal.rule for _, refusal in written.refused] == ["unregistered", "unregistered"]
    assert str(written.refused[0][1]) == f"member: 'm' is not registered on board '{board}'"
    assert (written.applied, subject.receipts(), subject.total()) == (1, {"3"}, 5)
    subject.admin.put(board, "m", None)
    assert subject.write(event("1", board=board, points=1), both).applied == 2
    assert subject.total(board=board) == 2


def test_to_hide_a_hidden_member_writes_nothing(subject: Subject) -> None:
    subject.write(event("1", points=5, best=1, dated=1))
    assert subject.admin.put("b", "m", hidden=True) == {"board": "b", "member": "m", "hidden": True}
    hidden = member(subject)
    for again in (None, True):
        assert subject.admin.put("b", "m", hidden=again)["hidden"] is True
    assert (subject.image(), hidden.hidden) == (hidden, True)


def test_a_change_survives_conflicts_and_lost_answers(subject: Subject) -> None:
    subject.write(event("1", points=5))
    subject.client.steps.extend(
        [faulty_client.conflict, faulty_client.error("ThrottlingException"), faulty_client.lost_answer]
    )
    subject.admin.put("b", "m", hidden=True)
    hidden = member(subject)
    assert hidden.hidden
    subject.client.steps.append(faulty_client.lost_answer)
    subject.admin.remove("b", "m")  # it was removed by this very call: no 404

    assert (member(subject).removed, member(subject).version) == (True, hidden.version + 1)
