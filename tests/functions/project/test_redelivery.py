"""Rankings end up the same however records are delivered: again, late, cut anew, or not at all."""

import random
from collections import deque
from typing import Any

import pytest

from standings.domain.members.member_item import Image
from standings.project.projector import Record
from tests.support.builders.checks import entries
from tests.support.builders.stages.projectors import Subject, history, image, record
from tests.support.faults import faulty_client
from tests.support.thoroughness import seeds


def test_a_batch_again_changes_nothing(subject: Subject) -> None:
    batch = [*history("m", 10, 12), *history("n", 5)]
    subject.project(*batch)
    again = subject.project(*batch)

    assert (again.moves, again.stale_moves) == (0, 2)
    assert subject.scores() == {"m": 12, "n": 5}


def test_done_not_acknowledged_and_cut_anew(subject: Subject) -> None:
    one, two, three = history("m", 10, 12, 15, board="rolling")
    subject.project(one)
    # The attempt at two moves some rankings and dies.
    subject.client.steps = deque([faulty_client.passes, faulty_client.passes, *[faulty_client.conflict] * 100])
    died = subject.project(two, patience=0.5)
    assert died.failed == two.sequence
    subject.client.steps.clear()
    healed = subject.project(two, three)

    assert healed.gaps == 2
    assert subject.scores("rolling") == {"m": 15}
    assert {-o for placed in entries(subject.client).values() for o in placed.values()} == {15}


def test_a_late_hand_is_too_late(subject: Subject) -> None:
    one, two, three, four = history("m", 10, 11, 12, 13)
    subject.project(one, two)
    subject.project(four)
    assert subject.project(three).stale_moves == 1

    assert subject.scores() == {"m": 13}


def test_a_missing_record_is_healed_by_the_next(subject: Subject) -> None:
    one, _lost, three, four = history("m", 10, 400, 9, 8)
    subject.project(one)

    assert subject.project(three, four).gaps == 1
    assert subject.scores() == {"m": 8}


@pytest.mark.parametrize("late", [0, 1, 2])
def test_there_and_back(subject: Subject, late: int) -> None:
    one, two, three = history("m", 10, 12, 10)
    late_record = [one, two, three][late]
    subject.project(*[r for r in (one, two, three) if r is not late_record])
    subject.project(late_record)
    subject.project(two)

    assert subject.scores() == {"m": 10}
    assert subject.versions() == {3}


def test_there_and_back_within_a_batch_takes_the_newest_version(subject: Subject) -> None:
    one, two, three = history("m", 10, 12, 10)
    subject.project(one)
    subject.project(two, three)
    subject.project(two)

    assert subject.scores() == {"m": 10}
    assert subject.versions() == {3}


def test_a_lost_answer_counts_once(subject: Subject) -> None:
    subject.client.steps = deque([faulty_client.lost_answer])
    projected = subject.project(*history("m", 10), *history("n", 20))

    assert (projected.failed, projected.stale_moves) == (None, 2)
    assert subject.scores() == {"m": 10, "n": 20}


def test_the_lowest_unfinished_record_is_reported(subject: Subject) -> None:
    done = history("a", 1, board="b")
    first, second = history("m", 10, 12, board="c")
    (between,) = history("n", 7, board="d")
    subject.client.steps = deque([faulty_client.passes, *[faulty_client.conflict] * 100])
    projected = subject.project(*done, first, between, second, patience=1.0)

    assert projected.failed == first.sequence
    assert "TransactionConflict" in projected.why
    assert subject.scores("b") == {"a": 1}


def test_a_batch_too_wide_for_its_time_begins_further_on(subject: Subject, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standings.project.projector.MAX_MOVES", 20)

    def slow(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        subject.client.steps.append(slow)
        subject.time.sleep(1)
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([slow])
    batch = [one for n in range(12) for one in history(f"m{n}", n, board="rolling")]
    begins = [0]
    while True:
        projected = subject.project(*batch[begins[-1] :], patience=4)
        if projected.failed is None:
            break
        assert projected.why == "the function ran out of time"
        begins.append([one.sequence for one in batch].index(projected.failed))
        assert begins[-1] > begins[-2]
    assert len(begins) == 2
    assert subject.scores("rolling") == {f"m{n}": n for n in range(12)}


@pytest.mark.parametrize("seed", seeds(10, 60))
def test_random_histories_under_crashes_and_redelivery(engine: Any, seed: int) -> None:
    """Two shards; batches are cut anew at each attempt, die before or after any call, and come again."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    subject = Subject(engine)
    latest: dict[str, Image] = {}
    shards: list[list[Record]] = [[], []]
    for _ in range(120):
        member = f"m{rng.randrange(6)}"
        old = latest.get(member)
        version = old.version + 1 if old is not None else 1
        new = image(
            member, version, rng.choice([0, 1, 2, 127, 128, 300, -5]), board="rolling", hidden=rng.random() < 0.1
        )
        latest[member] = new
        shards[int(member[1:]) % 2].append(record(old, new))
    position = [0, 0]
    while any(position[n] < len(shards[n]) for n in (0, 1)):
        shard = rng.randrange(2)
        start = max(0, position[shard] - (rng.randrange(8) if rng.random() < 0.2 else 0))
        batch = shards[shard][start : start + rng.randint(1, 9)]
        if not batch:
            continue
        subject.client.steps = deque(
            rng.choices(
                [
                    faulty_client.passes,
                    faulty_client.conflict,
                    faulty_client.lost_answer,
                    faulty_client.error("InternalServerError"),
                ],
                [8, 1, 1, 1],
                k=40,
            )
        )
        projected = subject.project(*batch, patience=rng.choice([0.0, 0.05, 30.0]))
        if projected.failed is None:
            position[shard] = max(position[shard], start + len(batch))
        else:
            position[shard] = start + [one.sequence for one in batch].index(projected.failed)

    subject.client.steps.clear()
    expected = {member: new.values[next(iter(new.values))] for member, new in latest.items() if not new.hidden}
    assert subject.scores("rolling") == expected
    placed = entries(engine)
    assert all({m: -o for m, o in members.items()} == expected for members in placed.values())
