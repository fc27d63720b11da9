"""The audits of all boards in turn, as a schedule runs them."""

from typing import Any, Final

import pytest

from tests.support.aws.stack import Stack
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import apply, event

BOARDS: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "last-3-days"] }
"""
PLENTY: Final = 1_000_000  # Read units: more than a turn takes
TRIFLING: Final = 10  # Read units: less than a board takes


def fill(stack: Stack, *boards: str, members: int = 5) -> None:
    """Give boards some members, and let an hour pass."""
    apply(
        stack,
        [{**event(f"m{n}", 7 * n), "board": board, "id": f"{board}-{n}"} for board in boards for n in range(members)],
    )
    stack.clock.milliseconds += 3_600_000


def run(stack: Stack, read_units: int = PLENTY) -> dict[str, Any]:
    """Do one run."""
    return stack.maintenance({"audits": {"next": {"read_units": read_units}}}, Context(seconds=900))


def shown(stack: Stack) -> dict[str, Any]:
    """Where the turn is."""
    return stack.maintenance({"audits": {"show": {}}}, Context())


def names(answer: dict[str, Any]) -> list[str]:
    """The boards that a run audited, or parts of them."""
    return [board["board"] for board in answer["boards"]]


def lose_a_row(stack: Stack, board: str) -> None:
    """Delete a row of the member m3."""
    items = stack.dynamodb.scan(TableName="Rankings")["Items"]
    key = next(item["pk"] for item in items if item["pk"]["S"].startswith(f"{board}#") and "#m3" in item["pk"]["S"])
    stack.dynamodb.delete_item(TableName="Rankings", Key={"pk": key})


def damage(stack: Stack, board: str) -> None:
    """Make a member of a board unreadable."""
    item = next(one for one in stack.dynamodb.scan(TableName="Scores")["Items"] if one["pk"]["S"].startswith(board))
    stack.dynamodb.put_item(TableName="Scores", Item={**item, "v": {"S": "?"}})


def logged(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    """The lines of the log with a message, as records."""
    return [vars(record) for record in caplog.records if record.message == message]
