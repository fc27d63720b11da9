"""Parked records are listed with their reasons; a replay days later places members as their items are then."""

import json
from datetime import UTC, datetime
from typing import Any, Final
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from standings.aws.dynamodb.tables import member_item_key
from standings.domain.members import open_rankings
from standings.domain.windows import DAY
from standings.maintain.failures import ParkedRecords
from tests.support.aws.stack import Stack, project
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries, entries, rows
from tests.support.builders.maintenance import before, call, calls, give_up, park, throttle, unprojected, write
from tests.support.builders.points import family

NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
BOARDS: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-3-days"] }
"""
EVERYWHERE: Final = ("all 0", "day 0", "last-3-days 0", "last-3-days 1", "last-3-days 2")


def listed(stack: Stack, **chosen: Any) -> dict[str, Any]:
    return call(stack, "parked", "list", **chosen)


def replay(stack: Stack, **chosen: Any) -> dict[str, Any]:
    return call(stack, "parked", "replay", **chosen)


def scores(stack: Stack, board: str = "b") -> dict[str, dict[str, int]]:
    """The scores in every open ranking of a board, by window and day; checks that the tiers count them."""
    assert_tiers_count_the_entries(stack.dynamodb)
    found, said = entries(stack.dynamodb), {}
    for ranking in open_rankings(family(board, BOARDS), board, stack.clock()):
        if placed := found.get(ranking.key):
            today = ranking.metric.timetable.index("d", int(NOW.timestamp() * 1000)) if ranking.window.unit else 0
            said[f"{ranking.window.name} {ranking.period - today}"] = {m: -value for m, value in placed.items()}
    return said


def test_a_parked_record_is_listed_and_placed_as_the_item_is_by_then(stack: Stack) -> None:
    write(stack, "1", "m", 10)
    (lost,) = unprojected(stack)
    (key,) = park(stack, lost)
    stack.clock.milliseconds += DAY
    write(stack, "2", "m", 5)
    project(stack)
    # Today's event does not change yesterday's ranking.
    assert "day 0" not in scores(stack)

    (shown,) = listed(stack)["objects"]
    assert (shown["key"], shown["reason"], shown["age_minutes"]) == (key, "as a test says", 24 * 60)
    assert shown["members"] == [{"board": "b", "member": "m"}]
    assert replay(stack, reason="another")["placed"] == 0
    replayed = replay(stack, keys=[key], cursor={})
    assert (replayed["done"], replayed["placed"], replayed["removed"], replayed["left"]) == (True, 1, 1, 0)
    assert stack.bucket.objects == {}
    placed = {"all 0": {"m": 15}, "day 0": {"m": 10}}
    assert scores(stack) == scores(stack) | placed
    # A late delivery of the record changes nothing.
    assert stack.projector({"Records": [lost]}, Context()) == {"batchItemFailures": []}
    assert scores(stack) == scores(stack) | placed


@pytest.mark.parametrize("as_text", [True, False])
def test_a_batch_that_lambda_gave_up(stack: Stack, as_text: bool) -> None:
    for number in range(15):
        write(stack, str(number), f"m{number % 10}", number + 1)
        write(stack, f"c{number}", f"m{number % 10}", number + 1, "c")
    give_up(stack, unprojected(stack), as_text=as_text)

    (shown,) = listed(stack)["objects"]
    assert (shown["records"], shown["reason"]) == (30, "given up by Lambda: RetryAttemptsExhausted")
    some = replay(stack, board="c")
    assert (some["placed"], some["removed"], some["left"]) == (10, 0, 1)
    assert scores(stack) == {}
    assert scores(stack, "c").keys() == set(EVERYWHERE)
    every = replay(stack)
    assert (every["placed"], every["removed"], every["problems"]) == (20, 1, [])
    expected = {f"m{n}": (n + 1) + (n + 11 if n < 5 else 0) for n in range(10)}
    assert scores(stack) == dict.fromkeys(EVERYWHERE, expected)


def test_a_large_batch_is_gone_on_with(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each call has time for a part. The object stays until the last call; no part is placed twice."""
    for number in range(60):
        write(stack, str(number), f"m{number}", number + 1)
    give_up(stack, unprojected(stack))
    place = ParkedRecords.place

    def slowly(parked: ParkedRecords, *arguments: Any) -> Any:
        done = place(parked, *arguments)
        stack.clock.sleep(60)
        return done

    monkeypatch.setattr(ParkedRecords, "place", slowly)
    placed = []
    for answer in calls(stack, "parked", "replay", seconds=60):
        assert bool(stack.bucket.objects) is not answer["done"]
        placed.append(answer["placed"])
    assert placed == [25, 25, 10]
    assert len(scores(stack)["all 0"]) == 60


def test_what_is_too_old_is_left(stack: Stack) -> None:
    write(stack, "1", "m", 10)
    (record,) = unprojected(stack)
    record["dynamodb"]["ApproximateCreationDateTime"] = stack.clock() / 1000
    (key,) = park(stack, record)
    stack.clock.milliseconds += 29 * DAY + 1
    replayed = replay(stack)

    assert (replayed["done"], replayed["placed"], replayed["left"]) == (True, 0, 1)
    assert replayed["problems"] == [{"key": key, "why": mock.ANY}]
    assert "more than 29 days old" in replayed["problems"][0]["why"]
    assert listed(stack)["objects"][0]["problems"] == [replayed["problems"][0]["why"]]
    assert list(stack.bucket.objects) == [key]
    stack.clock.milliseconds -= 1
    assert replay(stack)["removed"] == 1


def test_what_names_nobody_is_left_and_what_names_somebody_is_placed(stack: Stack) -> None:
    """An unreadable image does not matter while the item exists; without the item its version is unknown."""
    write(stack, "1", "m", 10)
    (whole,) = unprojected(stack)
    broken = json.loads(json.dumps(whole))
    broken["dynamodb"]["NewImage"]["v"] = {"N": "NaN"}
    gone = json.loads(json.dumps(broken).replace('"m"', '"gone"'))
    gone["dynamodb"]["Keys"].update(member_item_key("b", "gone"))
    give_up(stack, [broken, "noise", {"dynamodb": {"Keys": {"pk": {"S": "receipt"}}}}, gone])
    stack.bucket.objects["parked/2026-11-21/x.json"] = b"\xff"
    stack.bucket.objects["parked/2026-11-21/y.json"] = b'{"reason": "no record"}'
    stack.bucket.objects["refused/other.json"] = b"{}"
    stack.bucket.objects["aws/lambda/z"] = b'{"payload": {"Records": 1}}'
    replayed = replay(stack)

    assert (replayed["done"], replayed["placed"], replayed["removed"], replayed["left"]) == (True, 1, 0, 4)
    assert len(replayed["problems"]) == 6
    assert scores(stack)["all 0"] == {"m": 10}
    assert len(stack.bucket.objects) == 5
    assert len(listed(stack)["objects"]) == 4
    rest = listed(stack, cursor=listed(stack, limit=2)["cursor"])["objects"]
    assert [one["key"] for one in rest] == ["parked/2026-11-21/x.json", "parked/2026-11-21/y.json"]
    assert replay(stack, keys=["parked/2026-11-21/x.json"])["left"] == 1


def test_a_member_whose_row_is_damaged_is_left_with_the_reason_and_the_others_are_placed(stack: Stack) -> None:
    for member in "ab":
        write(stack, f"1{member}", member, 10)
    project(stack)
    # The row in `all`, whose code ends with `a`. A list item without a version is written over.
    (row,) = [row for row in rows(stack.dynamodb, "Rankings") if row["pk"]["S"].endswith("a#a")]
    stack.dynamodb.put_item(TableName="Rankings", Item={name: row[name] for name in row if name != "v"})
    for member in "ab":
        write(stack, f"2{member}", member, 5)
    park(stack, *unprojected(stack))

    answer = replay(stack)
    assert (answer["done"], answer["placed"], answer["left"], len(stack.bucket.objects)) == (True, 1, 1, 1)
    (problem,) = answer["problems"]
    assert problem["why"].startswith("b 'a': ")
    assert "damaged" in problem["why"]

    stack.dynamodb.put_item(TableName="Rankings", Item=row)
    assert replay(stack)["problems"] == []
    assert (scores(stack)["all 0"], stack.bucket.objects) == ({"a": 15, "b": 15}, {})


def test_a_store_that_is_down_leaves_everything_for_the_next_call(stack: Stack, engine: Any) -> None:
    write(stack, "1", "m", 10)
    park(stack, *unprojected(stack))
    for requests in (["GetItem", "'Scores'"], ["TransactWriteItems"]):
        with before(engine, throttle, *requests):
            answer = replay(stack, seconds=0.001)  # For one try, or two: each makes some 30 requests
        assert not answer["done"]
        assert "ThrottlingException" in answer["why"]
    refusal = ClientError({"Error": {"Code": "SlowDown", "Message": "no"}}, "ListObjectsV2")
    with mock.patch.object(stack.bucket, "list_objects_v2", side_effect=refusal):
        assert "SlowDown" in replay(stack, seconds=0.2)["why"]
        assert "SlowDown" in listed(stack, seconds=0.2)["why"]
    assert replay(stack, cursor=answer["cursor"])["removed"] == 1
    assert scores(stack)["all 0"] == {"m": 10}
