"""Somebody damages a member's item by hand: its events are refused, and nobody else waits for the repair."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.aws.stack import ManualClock, Stack, apply, deliver, event, project, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.maintenance import finish

BOARDS = '[boards."*"]\nmetrics.points = { aggregate = "AGGREGATE", windows = ["all", "day", "last-7-days"] }\n'
BEYOND = "ValueError: expected a number from -9007199254740991 to 9007199254740991, got 99999999999999999999"
DAMAGES = {
    "no version": (lambda item: item.pop("v"), "KeyError: 'v'"),
    "a text for a number": (lambda item: item.update(t={"S": "yesterday"}), "KeyError: 'N'"),
    "a number beyond bounds": (lambda item: item.update(z9z={"N": "9" * 20}), BEYOND),
}


@pytest.fixture(params=["sum", "max"])
def stack(engine: Any, clock: ManualClock, request: pytest.FixtureRequest) -> Iterator[Stack]:
    with running(engine, clock, BOARDS.replace("AGGREGATE", request.param)) as deployed:
        yield deployed


@pytest.mark.parametrize(("damage", "said"), DAMAGES.values(), ids=DAMAGES)
def test_events_of_a_damaged_item_are_refused_an_audit_names_it_a_rebuild_leaves_it_out(
    stack: Stack, damage: Callable[[dict[str, Any]], Any], said: str
) -> None:
    apply(stack, [event("ann", 5), event("bob", 4)])
    (item,) = [item for item in stack.dynamodb.scan(TableName="Scores")["Items"] if item["sk"]["S"] == "bob"]
    damage(item)
    stack.dynamodb.put_item(TableName="Scores", Item=item)

    deliver(stack, [event("ann", 6), event("bob", 7), event("cem", 1)])

    why = f"the item of 'bob' on board 'b' cannot be read: {said}"
    assert stack.dead_letters.reasons() == [f"member: {why}"]
    project(stack)
    ranked = {entry["member"]: entry["score"] for entry in stack.entries("/boards/b/points/all")}
    assert (ranked["bob"], ranked["cem"]) == (4, 1)
    assert ranked["ann"] in (6, 11)
    stack.clock.milliseconds += 60 * 60 * 1000
    (audit,) = stack.maintenance({"audit": {"board": "b"}}, Context(seconds=900))["boards"]
    assert {kind: count for kind, count in audit["found"].items() if count} == {"damaged": 1}
    assert audit["examples"] == [{"kind": "damaged", "member": "bob", "found": said}]
    erased = stack.maintenance({"erase": {"member": "bob"}}, Context(seconds=900))
    assert (erased["boards"], erased["problems"]) == ([], [{"board": "b", "why": why}])
    finish(stack, "rebuild", board="b")
    assert [entry["member"] for entry in stack.entries("/boards/b/points/all")] == ["ann", "cem"]
