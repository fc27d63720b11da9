"""The writer where it has to read items first: bests, lasts, ties by time, and boards of registered members."""

import random
from typing import Any

import pytest

from standings.domain.members.member_item import Image
from standings.ports.scores import MemberKey
from tests.support.builders.stages.read_first import BOARDS, event
from tests.support.builders.stages.writers import Subject
from tests.support.faults import faulty_client


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


@pytest.mark.parametrize("seed", range(20))
def test_the_order_of_arrival_does_not_matter(engine: Any, seed: int) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    events = [
        event(
            f"e{n}",
            rng.randrange(4),
            latest=n,
            best=rng.randrange(4),
            least=rng.randrange(3),
            dated=rng.randrange(3),
        )
        for n in range(12)
    ]
    last = max(events, key=lambda one: (one["at"], one["id"]))["metrics"]["latest"]
    subject = Subject(engine, BOARDS)
    subject.write(*events)
    in_order = subject.image()
    assert in_order is not None
    rng.shuffle(events)
    for part in range(0, 12, 3):
        subject.write(*({**one, "id": f"again-{one['id']}", "member": "n"} for one in events[part : part + 3]))
    shuffled = subject.scores.image(("b", "n"))

    assert shuffled is not None
    assert shuffled.values == in_order.values
    assert {name: mark.replace("again-", "") for name, mark in shuffled.tie_keys.items()} == in_order.tie_keys
    assert subject.total(metric="latest") == last


def test_an_item_that_was_seen_too_early_is_looked_at_again(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    subject.write(event("1", best=5))
    stale = subject.scores.images([("b", "m")])
    subject.write(event("2", best=9))
    monkeypatch.setattr(subject.scores, "images", lambda _: stale)
    written = subject.write(event("3", best=7))

    assert (written.applied, subject.total(metric="best")) == (1, 9)


def test_a_best_that_was_removed_meanwhile_is_not_taken_for_better(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject.write(event("1", best=9))
    stale = subject.scores.images([("b", "m")])
    subject.admin.remove("b", "m")
    monkeypatch.setattr(subject.scores, "images", lambda _: stale)
    written = subject.write(event("2", best=7))

    assert (written.applied, subject.total(metric="best")) == (1, 7)


def test_a_lost_answer_counts_once(subject: Subject) -> None:
    subject.client.steps.append(faulty_client.lost_answer)
    written = subject.write(event("1", dated=3, best=3))

    assert (written.applied + written.duplicates, subject.total(metric="dated")) == (1, 3)


def test_bounds_hold_where_it_is_looked_first(subject: Subject) -> None:
    most = 2**53 - 1
    for number in range(1, 10):
        subject.write(event(f"e{number}", dated=10**15 - 1))
    written = subject.write(event("over", dated=10**15 - 1), event("fits", latest=1))

    assert [(message.id, refusal.rule) for message, refusal in written.refused] == [("message-0", "bounds")]
    assert written.applied == 1
    assert subject.total(metric="dated") == 9 * (10**15 - 1) < most
    assert "over" not in subject.receipts()


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


@pytest.mark.parametrize("board", ["club-1", "plain-1"])
def test_what_was_counted_is_a_duplicate_also_after_its_member_has_gone(subject: Subject, board: str) -> None:
    subject.admin.put(board, "m", None)
    subject.write(event("1", board=board, points=1))
    subject.admin.remove(board, "m")
    written = subject.write(event("1", board=board, points=1), event("2", board=board, points=1))

    assert (written.duplicates, [refusal.rule for _, refusal in written.refused]) == (1, ["unregistered"])


def test_whoever_is_just_registered_is_not_refused_by_an_old_look(
    subject: Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    subject.admin.put("club-1", "m", None)
    nobody: dict[MemberKey, Image] = {}
    monkeypatch.setattr(subject.scores, "images", lambda _: nobody)

    assert subject.write(event("1", board="club-1", best=1)).applied == 1
