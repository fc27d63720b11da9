"""Boards and events for tests of reads, and the functions over them."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from typing import Final
from zlib import crc32

from tests.support.aws.stack import ManualClock, Stack, apply, running
from tests.support.dynamodb.tables import engine_with_tables

NOW: Final = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
BOARDS: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "week", "hour", "last-7-days", "last-24-hours"] }
[boards."golf-*"]
timezone = "Europe/Berlin"
metrics.strokes = { aggregate = "sum", order = "ascending", precision = 2, least = -99.99, windows = ["all", "day"] }
metrics.rounds = { aggregate = "sum" }
"""

ALL: Final = "/boards/b/points/all"
DAY: Final = "/boards/b/points/day"
MEMBER: Final = "/boards/b/member"


@contextmanager
def deployed(boards: str | None = BOARDS) -> Iterator[Stack]:
    """The functions over boards, on an engine of their own: for a module whose tests change nothing."""
    engine = engine_with_tables()
    with running(engine, ManualClock(round(NOW.timestamp() * 1000)), boards) as stack:
        yield stack


def post(
    stack: Stack, scores: Mapping[str, float], *, board: str = "b", metric: str = "points", days_ago: int = 0
) -> None:
    """Apply one event for each member; the score is the amount."""
    post_amounts(stack, board, {member: {metric: score} for member, score in scores.items()}, days_ago)


def post_amounts(stack: Stack, board: str, amounts: Mapping[str, Mapping[str, float]], days_ago: float = 0) -> None:
    """Apply an event for each member, with its amounts by metric."""
    at = (datetime.fromtimestamp(stack.clock() / 1000, UTC) - timedelta(days=days_ago)).isoformat()
    apply(
        stack,
        [
            {"id": f"{crc32(name.encode())}", "board": board, "member": member, "at": at, "metrics": metrics}
            for member, metrics in amounts.items()
            for name in [f"{board}/{member}/{at}/{metrics}"]
        ],
    )
