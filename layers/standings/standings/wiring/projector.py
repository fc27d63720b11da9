"""Puts the projector together."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.aws.dynamodb.rankings.tier_trees import DynamoTrees
from standings.project.commit_moves import RunParallel
from standings.project.projector import Projector
from standings.project.prune_tiers import PrunedRankings, PruneResult
from standings.runtime.environment import Config
from standings.runtime.retry import Clock
from standings.wiring import building_blocks

MAX_CALLS: Final = 8
"""Transactions that a projector has under way at once, each of another ranking."""


def run_parallel() -> RunParallel:
    """Has a pool do jobs, several at once."""
    pool = ThreadPoolExecutor(MAX_CALLS, thread_name_prefix="rankings")
    return lambda jobs: pool.map(lambda job: job(), jobs)


def projectors(config: Config, tools: Clock) -> Callable[[Callable[[PruneResult], None]], Projector]:
    """A function that makes the projector of one batch; all of them share their clients, caches and threads.

    It takes the function to call with each look for dead tiers, which may be called from any thread.
    """
    dynamodb = building_blocks.client("dynamodb")
    table = config.rankings_table
    rankings = DynamoRankings(dynamodb, table, tools)
    trees = DynamoTrees(dynamodb, table, tools)
    registry = building_blocks.registry(dynamodb, config, tools)
    pool = run_parallel()

    def projector(report: Callable[[PruneResult], None]) -> Projector:
        return Projector(registry, PrunedRankings(rankings, trees, tools, report), tools, pool)

    return projector
