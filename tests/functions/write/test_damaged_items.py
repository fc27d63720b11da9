"""Somebody damages a member's item by hand: its events are refused, and nobody else waits for the repair."""

from collections.abc import Iterator
from typing import Any

import pytest

from tests.support.aws.stack import ManualClock, Stack, deliver, event, project, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.maintenance import finish

BOARDS = '[boards."*"]\nmetrics.points = { aggregate = "AGGREGATE", windows = ["all", "day", "last-7-days"] }\n'
DAMAGES = {
    "no version": lambda item: item.pop("v"),
    "a text for a number": lambda item: item.update(t={"S": "yesterday"}),
    "a number beyond bounds": lambda item: item.update(z9z={"N": "9" * 20}),
}
WHY = {
    "no version": "KeyError: 'v'",
    "a text for a number": "KeyError: 'N'",
    "a number beyond bounds": "ValueError: expected a number from -9007199254740991 to 9007199254740991, "
    "got 99999999999999999999",
}


@pytest.fixture(params=["sum", "max"])
def stack(engine: Any, clock: ManualClock, request: pytest.FixtureRequest) -> Iterator[Stack]:
    with running(engine, clock, BOARDS.replace("AGGREGATE", request.param)) as deployed:
        yield deployed


def write(stack: Stack, **points: int) -> None:
    """Write one event of each member, in one batch."""
    deliver(stack, [event(member, amount) for member, amount in points.items()])


def damage(stack: Stack, member: str, how: str) -> None:
    (item,) = [item for item in stack.dynamodb.scan(TableName="Scores")["Items"] if item["sk"]["S"] == member]
    DAMAGES[how](item)
    stack.dynamodb.put_item(TableName="Scores", Item=item)


@pytest.mark.parametrize("how", DAMAGES)
def test_events_of_a_damaged_item_are_refused_an_audit_names_it_a_rebuild_leaves_it_out(stack: Stack, how: str) -> None:
    write(stack, ann=5, bob=4)
    project(stack)
    damage(stack, "bob", how)

    write(stack, ann=6, bob=7, cem=1)

    why = f"the item of 'bob' on board 'b' cannot be read: {WHY[how]}"
    assert stack.dead_letters.reasons() == [f"member: {why}"]
    project(stack)
    ranked = {entry["member"]: entry["score"] for entry in stack.entries("/boards/b/points/all")}
    assert (ranked["bob"], ranked["cem"]) == (4, 1)
    assert ranked["ann"] in (6, 11)
    stack.clock.milliseconds += 60 * 60 * 1000
    (audit,) = stack.maintenance({"audit": {"board": "b"}}, Context(seconds=900))["boards"]
    assert {kind: count for kind, count in audit["found"].items() if count} == {"damaged": 1}
    assert audit["examples"] == [{"kind": "damaged", "member": "bob", "found": WHY[how]}]
    erased = stack.maintenance({"erase": {"member": "bob"}}, Context(seconds=900))
    assert (erased["boards"], erased["problems"]) == ([], [{"board": "b", "why": why}])
    finish(stack, "rebuild", board="b")
    assert [entry["member"] for entry in stack.entries("/boards/b/points/all")] == ["ann", "cem"]
