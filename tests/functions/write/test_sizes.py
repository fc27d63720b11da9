"""What grows with use stays within DynamoDB's sizes, which the simulated DynamoDB refuses to pass."""

from datetime import UTC, datetime
from typing import Any

import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.item_size import most_bytes
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import running
from tests.support.builders.stages.streaming import write
from tests.support.dynamodb.items import item_size

HOUR = 3_600_000
MEMBER = "ü" * 128
LONGEST = "😀" * 122
"""The beginning of an event's id of 128 characters, which has up to 512 bytes."""


@pytest.mark.parametrize("windows", ['"hour", "last-24-hours"', '"day", "week", "last-7-days"'])
@pytest.mark.parametrize("aggregate", ["last", "sum"])
def test_an_item_grows_no_larger_than_the_build_expects(
    engine: Any, clock: ManualClock, aggregate: str, windows: str
) -> None:
    definitions = f"""
        [boards."*"]
        late = "1 day"
        keep = "2 days"
        metrics.points = {{ aggregate = "{aggregate}", windows = ["all", {windows}] }}
    """
    family = parse_boards(definitions).family("b")
    assert family is not None
    largest = 0
    with running(engine, clock, definitions) as stack:
        for number in range(200):
            at = datetime.fromtimestamp(clock() / 1000, UTC).isoformat()
            event = {"id": f"{LONGEST}{number:06}", "board": "b", "member": MEMBER, "at": at, "metrics": {"points": 1}}
            write(stack, [event])
            (item,) = (one for one in engine.scan(TableName="Scores")["Items"] if one["sk"]["S"] == MEMBER)
            largest = max(largest, item_size(item))
            clock.milliseconds += HOUR
    assert largest <= most_bytes(family) < 2 * largest + 3_000
