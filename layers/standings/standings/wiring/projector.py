"""The projector's service."""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import call
from typing import Any, Final

from standings.aws.dynamodb import scores
from standings.aws.sqs import LookQueue
from standings.domain.members import Image
from standings.project.projector import Projector
from standings.rankings.calendar.pruning import Pruning, Trees
from standings.rankings.commits import RunAll, RunParallel
from standings.rankings.storing import Rankings
from standings.runtime.clock import Clock
from standings.runtime.environment import given, required
from standings.stores import DamagedItem, MemberKey
from standings.wiring import building_blocks

MAX_CALLS: Final = 8  # Transactions that a projector runs in parallel, each of another ranking
MAX_WRITES: Final = 16  # List items and nodes of rolling windows that it writes in parallel


def run_parallel() -> RunParallel:
    """Create a pool of threads for rankings, and return a function that runs jobs in it."""
    return partial(ThreadPoolExecutor(MAX_CALLS, thread_name_prefix="rankings").map, call)


def run_all() -> RunAll:
    """Create a pool of threads for single writes, and return a function that runs jobs in it."""
    return partial(ThreadPoolExecutor(MAX_WRITES, thread_name_prefix="writes").map, call)


def dynamo_rankings(dynamodb: Any, clock: Clock, pruning: Pruning | None = None) -> Rankings:
    """Create the store of rankings."""
    return Rankings(
        dynamodb, required("RANKINGS_TABLE"), clock, run_parallel=run_parallel(), run_all=run_all(), pruning=pruning
    )


def create(clock: Clock) -> Projector:
    """Create the projector."""
    dynamodb = building_blocks.client("dynamodb")
    pruning = Pruning(Trees(dynamodb, required("RANKINGS_TABLE"), clock), clock)
    catalog, rankings = building_blocks.board_catalog(dynamodb, clock), dynamo_rankings(dynamodb, clock, pruning)

    def read_images(keys: Sequence[MemberKey]) -> Mapping[MemberKey, Image | None]:
        damaged: list[DamagedItem] = []
        images = scores.read_images(dynamodb, required("SCORES_TABLE"), keys, clock, consistent=True, damaged=damaged)
        unread = {(item.board, item.member) for item in damaged}
        return {key: images.get(key) for key in keys if key not in unread}

    return Projector(catalog, rankings, clock, read_images)


def looks() -> LookQueue | None:
    """Create the queue of looks at tops; None on a stack without announcements."""
    queue_url = given("LOOKS_QUEUE_URL")
    return LookQueue(lambda: building_blocks.client("sqs"), queue_url) if queue_url is not None else None
