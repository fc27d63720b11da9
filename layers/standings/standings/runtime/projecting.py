"""Puts the projector together."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from standings.dynamodb.rankings import DynamoRankings
from standings.dynamodb.trees import DynamoTrees
from standings.runtime import wiring
from standings.runtime.config import Config
from standings.services.moving import SideBySide
from standings.services.pacing import Pacing
from standings.services.projector import Projector
from standings.services.pruning import Look, PrunedRankings

MOST_CALLS: Final = 8
"""Transactions that a projector has under way at once, each of another ranking."""


def side_by_side() -> SideBySide:
    """Has a pool do jobs, several at once."""
    pool = ThreadPoolExecutor(MOST_CALLS, thread_name_prefix="rankings")
    return lambda jobs: pool.map(lambda job: job(), jobs)


def projectors(config: Config, tools: Pacing) -> Callable[[Callable[[Look], None]], Projector]:
    """A function that makes the projector of one batch; all of them share their clients, caches and threads.

    It takes the function to call with each look for dead tiers, which may be called from any thread.
    """
    dynamodb = wiring.client("dynamodb")
    table = config.rankings_table
    rankings = DynamoRankings(dynamodb, table, tools)
    trees = DynamoTrees(dynamodb, table, tools)
    registry = wiring.registry(dynamodb, config, tools)
    pool = side_by_side()

    def projector(report: Callable[[Look], None]) -> Projector:
        return Projector(registry, PrunedRankings(rankings, trees, tools, report), tools, pool)

    return projector
