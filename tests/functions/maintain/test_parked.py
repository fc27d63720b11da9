"""Parked records are listed with their reasons; a replay days later places members as their items are then."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from standings.aws.dynamodb.keys import member_item_key
from standings.domain.windows.calendar import DAY
from standings.maintain.failures.selection import Selection
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import assert_tiers_count_the_entries
from tests.support.builders.failures.maintenance import parked_care, soon
from tests.support.builders.failures.parking import BOARDS, NOW, give_up, park, scores, unprojected, write
from tests.support.builders.stages.streaming import project
from tests.support.faults.faulty_client import Faulty, Time, cancelled
from tests.support.oracle.model import Model

EVERYWHERE = ("all 0", "day 0", "last-3-days 0", "last-3-days 1", "last-3-days 2")


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as deployed:
        yield deployed


def test_rows_never_touched_since_and_rows_far_ahead(stack: Stack) -> None:
    """Parked at version 2, replayed when some rows are at version 5 and others have not changed."""
    write(stack, "1", "m", 10)
    write(stack, "2", "n", 7)
    project(stack)
    write(stack, "3", "m", 5)
    (lost,) = unprojected(stack)
    key = park(stack, lost)
    stack.clock.milliseconds += DAY
    for number in range(3):
        write(stack, f"later-{number}", "m", 100)
    project(stack)
    # Today's events do not change yesterday's rankings.
    assert scores(stack)["day 0"] == {"m": 10, "n": 7}
    assert scores(stack)["all 0"] == {"m": 315, "n": 7}

    (listed,) = parked_care(stack, BOARDS).list(soon(stack.clock))["objects"]
    assert (listed["key"], listed["reason"], listed["age_minutes"]) == (key, "as a test says", 24 * 60)
    assert listed["members"] == [{"board": "b", "member": "m"}]
    replayed = parked_care(stack, BOARDS).replay(soon(stack.clock))
    assert (replayed["done"], replayed["placed"], replayed["removed"], replayed["left"]) == (True, 1, 1, 0)
    assert stack.bucket.objects == {}
    assert scores(stack)["day 0"] == {"m": 15, "n": 7}
    assert scores(stack)["all 0"] == {"m": 315, "n": 7}
    # A late delivery of the record changes nothing.
    assert stack.projector({"Records": [lost]}, Context()) == {"batchItemFailures": []}
    assert scores(stack)["day 0"] == {"m": 15, "n": 7}


def test_poison_that_a_fix_has_made_harmless(engine: Any) -> None:
    """The store refuses a member's row; days later, after more events, its records are replayed."""
    rng = random.Random(5)
    model = Model()
    clock = ManualClock(int(NOW.timestamp() * 1000))
    faulty = Faulty(engine)

    def refuses_poison(_: Faulty, request: dict[str, Any]) -> Any:
        faulty.steps.append(refuses_poison)
        actions = request["TransactItems"]
        codes = ["ValidationError" if "#poison" in json.dumps(action, default=str) else "None" for action in actions]
        rankings = any(action.get("Put", {}).get("TableName") == "Rankings" for action in actions)
        if rankings and "ValidationError" in codes:
            raise cancelled(codes)
        return engine.transact_write_items(**request)

    faulty.steps.append(refuses_poison)
    with running(faulty, clock, BOARDS) as stack:
        for number in range(120):
            member = rng.choice(["poison", "a", "b", "c"])
            amount = rng.randrange(1, 300)
            now = datetime.fromtimestamp(clock() / 1000, UTC)
            write(stack, f"e{number}", member, amount)
            model.add(f"e{number}", member, now, amount, now)
            if number % 10 == 9:
                project(stack)
            clock.milliseconds += 20 * 60 * 1000
        parked = [key for key in stack.bucket.objects if key.startswith("parked/")]
        assert len(parked) > 15
        assert "poison" not in [entry["member"] for entry in stack.entries("/boards/b/points/all")]
        faulty.steps.clear()
        clock.milliseconds += DAY // 4
        cursor = None
        for _ in range(3):
            cursor = parked_care(stack, BOARDS).replay(soon(stack.clock), cursor=cursor)["cursor"]
        assert stack.bucket.objects == {}
        now = datetime.fromtimestamp(clock() / 1000, UTC)
        for window in ("all", "day", "last-3-days"):
            for on in (now, *(() if window == "all" else (NOW, now - timedelta(days=1)))):
                found = stack.entries(f"/boards/b/points/{window}", period=None if on is now else f"{on:%Y-%m-%d}")
                assert [(e["rank"], e["member"], e["score"]) for e in found] == model.standings(window, on)
        assert_tiers_count_the_entries(engine)


@pytest.mark.parametrize("as_text", [True, False])
def test_a_batch_that_lambda_gave_up(stack: Stack, as_text: bool) -> None:
    for number in range(60):
        write(stack, str(number), f"m{number % 40}", number + 1)
        write(stack, f"c{number}", f"m{number % 40}", number + 1, "c")
    give_up(stack, unprojected(stack), as_text=as_text)
    care = parked_care(stack, BOARDS)

    (listed,) = care.list(soon(stack.clock))["objects"]
    assert (listed["records"], listed["reason"]) == (120, "given up by Lambda: RetryAttemptsExhausted")
    some = care.replay(soon(stack.clock), chosen=Selection(board="c"))
    assert (some["placed"], some["removed"], some["left"]) == (40, 0, 1)
    assert scores(stack) == {}
    assert scores(stack, "c").keys() == set(EVERYWHERE)
    every = care.replay(soon(stack.clock))
    assert (every["placed"], every["removed"], every["problems"]) == (80, 1, [])
    expected = {f"m{n}": (n + 1) + (n + 41 if n < 20 else 0) for n in range(40)}
    assert scores(stack) == dict.fromkeys(EVERYWHERE, expected)


def test_a_large_batch_is_gone_on_with(stack: Stack) -> None:
    """Each call has time for a part. The object stays until the last call; no part is placed twice."""
    for number in range(90):
        write(stack, str(number), f"m{number}", number + 1)
    give_up(stack, unprojected(stack))
    time = Time(stack.clock())
    care = parked_care(stack, BOARDS, tools=time.clock())
    place = care.place

    def slowly(named: Any, deadline: float) -> Any:
        done = place(named, deadline)
        time.sleep(60)
        return done

    cursor = None
    placed = []
    with mock.patch.object(care, "place", slowly):
        while stack.bucket.objects:
            answer = care.replay(time.monotonic() + 60, cursor=cursor)
            cursor = json.loads(json.dumps(answer["cursor"]))
            placed.append(answer["placed"])
    assert placed == [25, 25, 25, 15]
    assert len(scores(stack)["all 0"]) == 90


def test_whoever_has_gone_leaves_every_ranking(stack: Stack) -> None:
    """Removed, hidden, or deleted by hand: a replay of the lost records removes the entries."""
    for number, member in enumerate("abc"):
        write(stack, str(number), member, number + 1)
    project(stack)
    assert stack.delete("/boards/b/member", id="a")[0] == 204
    assert stack.put("/boards/b/member", {"hidden": True}, id="b")[0] == 200
    stack.dynamodb.delete_item(TableName="Scores", Key=member_item_key("b", "c"))
    for record in unprojected(stack):
        park(stack, record)
    stack.clock.milliseconds += DAY
    assert set(scores(stack)["all 0"]) == {"a", "b", "c"}
    assert parked_care(stack, BOARDS).replay(soon(stack.clock))["removed"] == 3

    assert scores(stack) == {}
    write(stack, "back", "c", 4)
    project(stack)
    assert scores(stack)["all 0"] == {"c": 4}


def test_all_written_generations_are_placed_in(stack: Stack) -> None:
    write(stack, "1", "m", 10)
    for record in unprojected(stack):
        park(stack, record)
    parked_care(stack, BOARDS, written=lambda board: (0, 2) if board == "b" else ()).replay(soon(stack.clock))

    assert scores(stack, generation=2) == scores(stack) == {name: {"m": 10} for name in EVERYWHERE}


def test_what_is_too_old_is_left(stack: Stack) -> None:
    write(stack, "1", "m", 10)
    (record,) = unprojected(stack)
    record["dynamodb"]["ApproximateCreationDateTime"] = stack.clock() / 1000
    key = park(stack, record)
    stack.clock.milliseconds += 29 * DAY + 1
    care = parked_care(stack, BOARDS)
    replayed = care.replay(soon(stack.clock))

    assert (replayed["done"], replayed["placed"], replayed["left"]) == (True, 0, 1)
    assert replayed["problems"] == [{"key": key, "why": mock.ANY}]
    assert "more than 29 days old" in replayed["problems"][0]["why"]
    assert care.list(soon(stack.clock))["objects"][0]["problems"] == [replayed["problems"][0]["why"]]
    assert list(stack.bucket.objects) == [key]
    stack.clock.milliseconds -= 1
    assert care.replay(soon(stack.clock))["removed"] == 1


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
    care = parked_care(stack, BOARDS)
    replayed = care.replay(soon(stack.clock))

    assert (replayed["done"], replayed["placed"], replayed["removed"], replayed["left"]) == (True, 1, 0, 4)
    assert len(replayed["problems"]) == 6
    assert scores(stack)["all 0"] == {"m": 10}
    assert len(stack.bucket.objects) == 5
    assert len(care.list(soon(stack.clock))["objects"]) == 4
    keys = care.list(soon(stack.clock), limit=2)
    assert [one["key"] for one in care.list(soon(stack.clock), cursor=keys["cursor"])["objects"]] == [
        "parked/2026-11-21/x.json",
        "parked/2026-11-21/y.json",
    ]
    some = care.replay(soon(stack.clock), chosen=Selection(names=frozenset({"parked/2026-11-21/x.json"})))
    assert some["left"] == 1


def test_a_store_that_is_down_leaves_everything_for_the_next_call(stack: Stack) -> None:
    write(stack, "1", "m", 10)
    for record in unprojected(stack):
        park(stack, record)

    def down(operation: str, _: dict[str, Any]) -> None:
        if operation == "TransactWriteItems":
            raise ClientError({"Error": {"Code": "ThrottlingException", "Message": "no"}}, operation)

    stack.dynamodb.before.append(down)
    care = parked_care(stack, BOARDS)
    answer = care.replay(soon(stack.clock, 0.3))
    stack.dynamodb.before.clear()
    assert not answer["done"]
    assert "ThrottlingException" in answer["why"]
    refusal = ClientError({"Error": {"Code": "SlowDown", "Message": "no"}}, "ListObjectsV2")
    with mock.patch.object(stack.bucket, "list_objects_v2", side_effect=refusal):
        assert "SlowDown" in care.replay(soon(stack.clock, 0.2))["why"]
        assert "SlowDown" in care.list(soon(stack.clock, 0.2))["why"]
    assert care.replay(soon(stack.clock), cursor=answer["cursor"])["removed"] == 1
    assert scores(stack)["all 0"] == {"m": 10}
