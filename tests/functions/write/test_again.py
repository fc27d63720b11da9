"""What posting again after a removal reads, and what version 0.3 left. `tests/faults` shows that it counts again."""

from typing import Final

from tests.support.aws.stack import ManualClock, Stack, count
from tests.support.builders.checks import rows
from tests.support.builders.stages.writers import AT
from tests.support.dynamodb.requests import Requests

BOARDS: Final = """
[boards."plain"]
metrics.points = { aggregate = "sum", windows = ["all"] }
metrics.best = { aggregate = "sum", windows = ["all"] }
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-7-days"] }
metrics.best = { aggregate = "max", windows = ["all"] }
"""
CLIENT: Final = Requests
WINDOWS: Final = ("points/all", "points/day", "points/last-7-days", "best/all")
EVENTS: Final = [
    {"id": f"{member}-{k}", "board": "b", "member": member, "at": AT, "metrics": {"points": 1, "best": k}}
    for member in ("ann", "bob")
    for k in (5, 7)
]


def post(stack: Stack) -> dict[str, list[float]]:
    """Post all events, and return the scores of each list."""
    assert stack.post("/events", EVENTS)[0] == 202
    count(stack)
    return {path: [entry["score"] for entry in stack.entries(f"/boards/b/{path}")] for path in WINDOWS}


def remove(stack: Stack) -> None:
    for member in ("ann", "bob"):
        assert stack.delete("/boards/b/member", id=member)[0] == 204


def test_items_are_read_only_for_what_is_sent_more_than_a_minute_after_it_counted(
    stack: Stack, clock: ManualClock
) -> None:
    """Producers try again soon, and SQS delivers again: neither costs a read of an item."""
    event, reads = {**EVENTS[0], "board": "plain"}, []
    for wait in (0, 0, 60_000, 1):
        clock.milliseconds += wait
        stack.post("/events", event)
        stack.dynamodb.take()
        count(stack)
        reads.append(stack.dynamodb.take()["batch_get_item", "Scores"])
    assert [more - reads[1] for more in reads[1:]] == [0, 0, 1]


def test_receipts_and_removals_of_version_0_3_are_understood(stack: Stack, clock: ManualClock) -> None:
    """Its receipts have no stamp, and its removed items a mark. Of who has come back, no stamp is known."""
    post(stack)
    remove(stack)
    came_back = {"id": "bob-9", "board": "b", "member": "bob", "at": AT, "metrics": {"points": 1, "best": 9}}
    stack.post("/events", came_back)
    count(stack)
    for table, of_0_3 in (("Receipts", {"t": None}), ("Scores", {"y": {"BOOL": True}})):
        for item in rows(stack.dynamodb, table):
            if item.keys() >= of_0_3.keys():
                kept = {name: value for name, value in {**item, **of_0_3}.items() if value is not None}
                stack.dynamodb.put_item(TableName=table, Item=kept)
    clock.milliseconds += 30_000
    assert post(stack)["points/all"] == [1]  # Clocks may differ by a minute, so removed before or after is open
    clock.milliseconds += 61_000
    assert post(stack)["points/all"] == [1]
    stack.delete("/boards/b/member", id="bob")
    clock.milliseconds += 121_000
    assert post(stack)["points/all"] == [2]
