"""Registered, hidden, removed and back, faster than the projector looks: however the stream is cut and repeated."""

import random
from typing import Any

import pytest

from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.domain.members.rolling_sum import place
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, entries
from tests.support.faults import faulty_client
from tests.support.thoroughness import seeds

NOW = 1_795_256_100_000
BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", ties = "first", windows = ["all", "day", "last-2-days"] }
metrics.best = { aggregate = "max", windows = ["all", "day"] }
[boards."club"]
members = "registered"
shards = 3
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
metrics.best = { aggregate = "max", windows = ["all"] }
"""
MEMBERS = ("a", "b", "c")


def anything(stack: Stack, rng: random.Random, number: int) -> None:
    """An event, a ban, a return, a removal, or a registration; nothing is projected."""
    board, member = rng.choice(["b", "club"]), rng.choice(MEMBERS)
    stack.clock.milliseconds += rng.choice([0, 0, 1, 1_000])
    what = rng.random()
    if what < 0.6:
        metrics = {rng.choice(["points", "best"]): rng.choice([-1, 0, 1, 2, 127, 128])}
        event = {"id": f"e{number}", "board": board, "member": member, "metrics": metrics}
        assert stack.post("/events", event)[0] == 202
        assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}
    elif what < 0.8:
        hidden = rng.choice([None, True, False])
        body = None if hidden is None else {"hidden": hidden}
        assert stack.put(f"/boards/{board}/member", body, id=member)[0] == 200
    else:
        assert stack.delete(f"/boards/{board}/member", id=member)[0] in {204, 404}


def deliver(stack: Stack, rng: random.Random) -> None:
    """Hand the stream to the projector in batches of any size, some of them again, also long after."""
    (stream,) = stack.dynamodb.stream("Scores")
    position = 0
    while position < len(stream):
        size = rng.randint(1, 12)
        batch = stream[position : position + size]
        assert stack.projector({"Records": batch}, Context()) == {"batchItemFailures": []}
        if rng.random() < 0.3:
            start = rng.randrange(position + 1)
            again = stream[start : min(position + size, start + rng.randint(1, 12))]
            assert stack.projector({"Records": again}, Context()) == {"batchItemFailures": []}
        position += size


def expected(engine: Any) -> dict[str, dict[str, int]]:
    """The entries that follow from the items as they are."""
    boards = parse_boards(BOARDS)
    scores = DynamoScores(engine, "Scores", "Receipts", faulty_client.Time(NOW).clock())
    found: dict[str, dict[str, int]] = {}
    for board in ("b", "club"):
        family = boards.family(board)
        assert family is not None
        today = family.timetable.index("d", NOW)
        for member in MEMBERS:
            image = scores.image((board, member))
            for metric in family.metrics.values():
                for window in metric.windows:
                    periods = (0,) if window.unit is None else range(today, today + window.size)
                    for ranking in (Ranking(board, metric, window, period) for period in periods):
                        there = place(image, ranking)
                        if there is not None:
                            found.setdefault(ranking.key, {})[member] = there.sort_value
    return found


@pytest.mark.parametrize("seed", seeds(10, 40))
def test_entries_follow_from_the_items(engine: Any, seed: int) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    with running(engine, ManualClock(NOW), BOARDS) as stack:
        for number in range(40):
            anything(stack, rng, number)
        deliver(stack, rng)
        parked = stack.bucket.objects

    assert parked == {}
    assert entries(engine) == expected(engine)
    assert_tiers_count_the_entries(engine)


def test_removed_and_back_in_one_batch(engine: Any) -> None:
    with running(engine, ManualClock(NOW), BOARDS) as stack:
        for number, points in enumerate((5, 3)):
            event = {"id": str(number), "board": "b", "member": "a", "metrics": {"points": points}}
            assert stack.post("/events", event)[0] == 202
            stack.writer({"Records": stack.activity.records()}, Context())
            if number == 0:
                assert stack.delete("/boards/b/member", id="a")[0] == 204
        (stream,) = stack.dynamodb.stream("Scores")
        assert stack.projector({"Records": stream}, Context()) == {"batchItemFailures": []}
        for record in reversed(stream):
            assert stack.projector({"Records": [record]}, Context()) == {"batchItemFailures": []}
        page = stack.get("/boards/b/points/all")[1]

    assert [(entry["member"], entry["score"]) for entry in page["entries"]] == [("a", 3)]
    assert page["total"] == 1
