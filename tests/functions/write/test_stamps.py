"""The latest stamp on an item decides what is late, and what can no longer be read is removed."""

import random
from collections import deque
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from standings.aws.dynamodb.keys import member_key
from tests.support.builders.stages.writers import BOARDS, NOW, Subject, event
from tests.support.dynamodb.items import item_size
from tests.support.faults import faulty_client


def test_the_newest_stamp_on_an_item_decides_what_is_late(subject: Subject, engine: Any) -> None:
    ahead = Subject(engine)
    ahead.time.milliseconds = NOW + 8 * 86_400_000
    ahead.write(event("1", 1))
    behind = subject.write(event("2", 2))

    assert behind.applied == 1
    image = subject.image()
    assert image is not None
    family = BOARDS.family("b")
    assert family is not None
    points = family.metrics["points"]
    day = family.timetable.index("d", NOW)
    assert image.values[points.total()] == 3
    assert points.bucket("d", day) not in image.values


def test_a_stamp_that_moved_on_meanwhile_is_taken(subject: Subject, engine: Any) -> None:
    subject.write(event("0", 1))

    def meanwhile(client: faulty_client.Faulty, request: dict[str, Any]) -> Any:
        other = Subject(engine)
        other.time.milliseconds = NOW + 8 * 86_400_000
        other.write(event("other", 1))
        return client.client.transact_write_items(**request)

    subject.client.steps = deque([meanwhile])

    assert subject.write(event("mine", 2)).applied == 1
    pk, sk = member_key("b", "m")
    item = engine.get_item(TableName="Scores", Key={"pk": {"S": pk}, "sk": {"S": sk}})["Item"]
    assert int(item["t"]["N"]) == NOW + 8 * 86_400_000
    assert subject.total() == 4


def test_what_can_no_longer_be_read_is_removed(subject: Subject) -> None:
    subject.write(event("1"))
    before = subject.image()
    subject.time.milliseconds += 60 * 86_400_000
    subject.write(event("2", at="2027-01-20T10:15:00Z"))
    after = subject.image()

    assert before is not None
    assert after is not None
    assert len(before.values) == len(after.values) == 2
    assert len(before.values.keys() & after.values.keys()) == 1
    assert subject.total() == 2


def days_of_activity(kind: str) -> Iterator[int]:
    """The days of three years on which a member is active."""
    rng = random.Random(7)
    day = 0
    while day < 3 * 365:
        yield day
        if kind == "daily":
            day += 1
        elif kind == "weekly":
            day += 7
        else:  # five weeks of every day, then nothing for a quarter
            day += 1 if day % 125 < 35 else 90
            day += rng.randrange(2)


@pytest.mark.parametrize("kind", ["daily", "weekly", "bursts"])
@pytest.mark.parametrize(("board", "limit"), [("berlin-2026", 1024), ("demo-berlin-2026", 2048)])
def test_an_item_stays_small_over_three_years(subject: Subject, kind: str, board: str, limit: int) -> None:
    member = "images/2026/berlin/0001.jpg"
    pk, sk = member_key(board, member)
    largest = count = 0
    for day in days_of_activity(kind):
        subject.time.milliseconds = NOW + day * 86_400_000
        at = datetime.fromtimestamp(subject.time.milliseconds / 1000, UTC).isoformat()
        assert subject.write(event(str(day), 87_654, member, board=board, at=at)).applied == 1
        count += 1
        item = subject.client.get_item(TableName="Scores", Key={"pk": {"S": pk}, "sk": {"S": sk}})["Item"]
        largest = max(largest, item_size(item))

    assert subject.total(member, board) == count * 87_654
    assert 100 < largest < limit
