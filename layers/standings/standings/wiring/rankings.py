"""What the projector and the maintenance function share: the store of rankings, its threads, and the queue of looks."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from operator import call
from typing import Any, Final

from standings.aws.sqs import LookQueue, Sender
from standings.rankings.calendar.pruning import Pruning
from standings.rankings.commits import RunAll
from standings.rankings.storing import Rankings
from standings.runtime.clock import Clock
from standings.runtime.environment import given, required
from standings.wiring import building_blocks

MAX_CALLS: Final = 8  # Transactions that a projector runs in parallel, each of another ranking
MAX_WRITES: Final = 16  # List items and nodes of rolling windows that it writes in parallel


def store(dynamodb: Any, clock: Clock, pruning: Pruning | None = None) -> Rankings:
    """Create the store of rankings, with pools of threads for rankings and for single writes."""
    run_all = partial(ThreadPoolExecutor(MAX_WRITES, thread_name_prefix="writes").map, call)
    table = required("RANKINGS_TABLE")
    return Rankings(dynamodb, table, clock, run_parallel=run_parallel(), run_all=run_all, pruning=pruning)


def run_parallel() -> RunAll:
    """Create a pool of threads for rankings, and return a function that runs jobs in it."""
    return partial(ThreadPoolExecutor(MAX_CALLS, thread_name_prefix="rankings").map, call)


def looks() -> LookQueue | None:
    """Create the queue of looks at tops; None on a stack without announcements."""
    queue_url = given("LOOKS_QUEUE_URL")
    return None if queue_url is None else LookQueue(Sender(lambda: building_blocks.client("sqs"), queue_url))
