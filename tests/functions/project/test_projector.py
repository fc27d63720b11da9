"""The projector: entries and tiers end up as the items are, and a record that cannot be applied is parked."""

import random
from collections import deque
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from standings.project.projector import Record
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, rows
from tests.support.builders.stages.projectors import Subject, history, image, record
from tests.support.faults import faulty_client


def test_entries_and_tiers_move_together(subject: Subject) -> None:
    projected = subject.project(*history("m", 10, 300), *history("n", 10))

    assert projected.failed is None
    assert projected.moves == 2
    assert subject.scores() == {"m": 300, "n": 10}
    assert len(subject.client.transactions) == 1


def test_a_rolling_window_is_moved_ahead(subject: Subject) -> None:
    projected = subject.project(*history("m", 10, board="rolling"))

    assert projected.moves == 3
    assert len(subject.client.transactions) == 3
    assert subject.scores("rolling") == {"m": 10}
    assert len(entries(subject.client)) == 5


def test_conflicts_are_tried_again(subject: Subject) -> None:
    subject.client.steps = deque([faulty_client.conflict, faulty_client.error("ThrottlingException")])

    assert subject.project(*history("m", 10)).failed is None
    assert subject.scores() == {"m": 10}


def test_a_conflict_and_a_condition_in_one_cancellation(subject: Subject, engine: Any) -> None:
    one, two = history("m", 10, 12)
    (other,) = history("n", 5)
    subject.project(one)
    subject.project(two)

    def both(_: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        from botocore.exceptions import ClientError  # noqa: PLC0415

        with pytest.raises(ClientError) as caught:
            engine.transact_write_items(**request)
        reasons = caught.value.response["CancellationReasons"]
        assert [reason["Code"] for reason in reasons[:2]].count("ConditionalCheckFailed") == 1
        for reason in reasons:
            if reason["Code"] == "None":
                reason["Code"] = "TransactionConflict"
        raise caught.value

    subject.client.steps = deque([both])
    projected = subject.project(two, other)

    assert (projected.failed, projected.stale_moves, projected.conflicts) == (None, 1, 1)
    assert subject.scores() == {"m": 12, "n": 5}


def test_hidden_and_back(subject: Subject) -> None:
    shown, hidden, back = (image("m", 1, 10), image("m", 2, 10, hidden=True), image("m", 3, 10))
    subject.project(record(None, shown), *history("n", 5))
    subject.project(record(shown, hidden))
    assert subject.scores() == {"n": 5}
    subject.project(record(None, shown))
    assert subject.scores() == {"n": 5}
    subject.project(record(hidden, back))

    assert subject.scores() == {"m": 10, "n": 5}


def test_a_deleted_item_leaves_its_rankings(subject: Subject) -> None:
    (one,) = history("m", 10, board="rolling")
    subject.project(one)
    seen = image("m", 1, 10, board="rolling")
    subject.project(record(seen, seen.without_scores()))

    assert entries(subject.client) == {}
    assert_tiers_count_the_entries(subject.client)


def test_an_unreadable_record_is_parked_and_the_rest_goes_on(subject: Subject) -> None:
    bad = Record("bad", None, "no image")
    projected = subject.project(*history("m", 10), bad, *history("n", 5))

    assert (projected.failed, projected.parked) == (None, 1)
    assert subject.parking.parked == [("bad", "no image")]
    assert subject.scores() == {"m": 10, "n": 5}


@pytest.mark.parametrize("damage", ["", "~", "P0", "OO", "MzzzzzzzzzzzP5m", "MTn"])
def test_a_member_whose_row_is_damaged_is_parked_and_holds_up_nobody(subject: Subject, damage: str) -> None:
    first, second = history("m", 10, 20)
    assert subject.project(first).failed is None
    (row,) = [row for row in rows(subject.client, "Rankings") if row["pk"]["S"].endswith("#m")]
    damaged = {**row, "s": {"S": damage}} if damage else {name: row[name] for name in row if name != "v"}
    subject.client.put_item(TableName="Rankings", Item=damaged)

    projected = subject.project(second, *history("n", 7))

    assert (projected.failed, projected.parked) == (None, 1)
    assert "damaged" in subject.parking.parked[0][1]
    assert any(row["pk"]["S"].endswith("#n") for row in rows(subject.client, "Rankings"))


def test_what_cannot_be_parked_is_delivered_again(subject: Subject) -> None:
    subject.parking.broken = True
    projected = subject.project(*history("m", 10), Record("bad", None, "no image"), *history("n", 5))

    assert projected.failed == "bad"
    assert subject.scores() == {"m": 10, "n": 5}


def test_what_the_store_refuses_is_parked_alone(subject: Subject) -> None:
    def refuses_poison(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        subject.client.steps.append(refuses_poison)
        items = [action["Put"]["Item"]["pk"]["S"] for action in request["TransactItems"] if "Put" in action]
        if any(key.endswith("#m7") for key in items):
            return faulty_client.error("ValidationException")(client, request)
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([refuses_poison])
    batch = [one for n in range(20) for one in history(f"m{n}", n, n + 1)]
    projected = subject.project(*batch)

    assert projected.failed is None
    assert [sequence for sequence, _ in subject.parking.parked] == [batch[14].sequence, batch[15].sequence]
    assert subject.scores() == {f"m{n}": n + 1 for n in range(20) if n != 7}


def test_a_large_batch_is_cut_into_transactions_that_fit(subject: Subject) -> None:
    rng = random.Random(3)
    scores = {f"m{n}": rng.randrange(10**6) for n in range(700)}
    projected = subject.project(*[one for member, points in scores.items() for one in history(member, points)])

    assert projected.moves == 700
    assert subject.scores() == scores
    assert all(len(actions) <= 100 for actions in subject.client.transactions)


def test_a_refused_move_beside_a_busy_one_is_no_failure_of_the_batch(subject: Subject) -> None:
    def one_refused_one_busy(_: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        subject.client.steps.append(one_refused_one_busy)
        codes = ["None"] * len(request["TransactItems"])
        ranking = request["TransactItems"][0]["Put"]["Item"]["pk"]["S"]
        codes[0] = "ValidationError" if "a#" in ranking else "TransactionConflict"
        raise faulty_client.cancelled(codes)

    subject.client.steps = deque([one_refused_one_busy])
    projected = subject.project(*history("m", 1, board="rolling"), patience=1)

    assert (projected.failed, projected.parked) == (None, 1)


def test_rankings_go_side_by_side(engine: Any) -> None:
    subject = Subject(engine)
    pool = ThreadPoolExecutor(8)
    subject.projector.run_parallel = lambda jobs: pool.map(lambda job: job(), jobs)
    rng = random.Random(5)
    latest: dict[str, tuple[int, int]] = {}
    for _ in range(15):
        batch = []
        for member in {f"m{rng.randrange(40)}" for _ in range(30)}:
            before, version = latest.get(member, (0, 0))
            points = rng.randrange(1000)
            old = image(member, version, before, board="rolling") if version else None
            batch.append(record(old, image(member, version + 1, points, board="rolling")))
            latest[member] = (points, version + 1)
        assert subject.project(*batch).failed is None
        assert subject.project(*batch).stale_moves > 0

    assert subject.scores("rolling") == {member: points for member, (points, _) in latest.items()}


def test_items_of_no_member_are_passed_over(subject: Subject) -> None:
    assert subject.project(Record("1", None)).failed is None
    assert subject.project().failed is None
    assert rows(subject.client, "Rankings") == []
