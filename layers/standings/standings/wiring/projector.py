"""The projector's service."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import call
from typing import Any, Final

from standings.aws.dynamodb.ranking_reads import DynamoTrees
from standings.aws.dynamodb.rankings import DynamoRankings
from standings.aws.dynamodb.rolling import RunAll
from standings.aws.sqs import LookQueue
from standings.project.commits import PrunedRankings, PruneResult, RunParallel
from standings.project.projector import AnnouncedRankings, Projector
from standings.runtime.clock import Clock
from standings.runtime.environment import given, required
from standings.wiring import building_blocks

MAX_CALLS: Final = 8  # Transactions that a projector runs in parallel, each of another ranking
MAX_WRITES: Final = 16  # List items and nodes of rolling windows that it writes in parallel


def run_parallel() -> RunParallel:
    """Create a pool of threads for rankings, and return a function that runs jobs in it."""
    return partial(ThreadPoolExecutor(MAX_CALLS, thread_name_prefix="rankings").map, call)


def run_all() -> RunAll:
    """Create a pool of threads for single writes, and return a function that runs jobs in it."""
    return partial(ThreadPoolExecutor(MAX_WRITES, thread_name_prefix="writes").map, call)


def dynamo_rankings(dynamodb: Any, clock: Clock) -> DynamoRankings:
    """Create the store of rankings."""
    return DynamoRankings(dynamodb, required("RANKINGS_TABLE"), clock, run_all=run_all())


def projectors(clock: Clock) -> Callable[[Callable[[PruneResult], None]], tuple[Projector, AnnouncedRankings]]:
    """Return a function that creates the projector of one batch. All projectors share clients, caches and threads.

    Its argument is called after each search for empty tiers, from any thread. The rankings beside the projector know
    which of them to announce.
    """
    dynamodb, table = building_blocks.client("dynamodb"), required("RANKINGS_TABLE")
    catalog, pool = building_blocks.board_catalog(dynamodb, clock), run_parallel()
    rankings, trees = dynamo_rankings(dynamodb, clock), DynamoTrees(dynamodb, table, clock)

    def projector(report: Callable[[PruneResult], None]) -> tuple[Projector, AnnouncedRankings]:
        announced = AnnouncedRankings(PrunedRankings(rankings, trees, clock, report), catalog.boards)
        return Projector(catalog, announced, clock, pool), announced

    return projector


def looks() -> LookQueue | None:
    """Create the queue of looks at tops; None on a stack without announcements."""
    queue_url = given("LOOKS_QUEUE_URL")
    return LookQueue(lambda: building_blocks.client("sqs"), queue_url) if queue_url is not None else None
