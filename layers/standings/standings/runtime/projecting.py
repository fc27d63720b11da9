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


def projector(config: Config, tools: Pacing, report: Callable[[Look], None]) -> Projector:
    """The projector's service. `report` hears of dead tiers that it has looked for; it is called from any thread."""
    dynamodb = wiring.client("dynamodb")
    table = config.rankings_table
    rankings = DynamoRankings(dynamodb, table, tools)
    pruned = PrunedRankings(rankings, DynamoTrees(dynamodb, table, tools), tools, report)
    return Projector(wiring.registry(dynamodb, config, tools), pruned, tools, side_by_side())
