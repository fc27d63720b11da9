"""The time, the boards and the paths of tests over HTTP."""

from collections.abc import Mapping

from tests.support.aws.stack import Stack
from tests.support.builders.stages.streaming import apply, event

NOW = 1_795_256_100_000  # 2026-11-21T10:15:00Z
BOARDS = """
[boards."*"]
shards = {}
metrics.points = {{ aggregate = "sum", windows = ["all", "month", "year"] }}
"""
ALL = "/boards/b/points/all"
MEMBER = "/boards/b/member"


def post(stack: Stack, scores: Mapping[str, int]) -> None:
    """Apply one event for each member; the score is the amount."""
    apply(stack, [event(member, score) for member, score in scores.items()])
