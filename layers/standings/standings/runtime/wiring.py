"""Puts the services together: each function calls the one it needs, once, while it starts."""

import random
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property, lru_cache
from typing import Any, Final

from botocore.config import Config as ClientConfig
from botocore.session import Session, get_session

from standings.domain.boards import Boards
from standings.domain.definitions import parse_boards
from standings.dynamodb.boards import DynamoBoards
from standings.dynamodb.rankings import DynamoRankings
from standings.dynamodb.scores import DynamoScores
from standings.dynamodb.standing import SIDE_BY_SIDE, DynamoStanding
from standings.dynamodb.transactions import send_as_built
from standings.dynamodb.trees import DynamoTrees
from standings.failures.bucket import FailureBucket
from standings.runtime.config import BOARDS_FILE, Config
from standings.services.care import Care
from standings.services.moving import SideBySide
from standings.services.pacing import Pacing
from standings.services.posting import Posting
from standings.services.projector import Projector
from standings.services.pruning import Look, PrunedRankings
from standings.services.reader import Reader
from standings.services.registry import Registry
from standings.services.writer import Writer
from standings.sqs.activity import ActivityQueue
from standings.sqs.dead_letters import DeadLetters
from standings.sqs.sending import Sender

MOST_CALLS: Final = 8
"""Transactions that a projector has under way at once, each of another ranking."""

REPORTING_RESERVE: Final = 3.0
"""Seconds of a function's time that are left for its answer."""


def now() -> int:
    """The wall clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def pacing() -> Pacing:
    """The real clock, and real chance."""
    return Pacing(now, time.monotonic, time.sleep, random.random)


def deadline(remaining_milliseconds: int) -> float:
    """The instant of the monotonic clock at which a function has to answer."""
    return time.monotonic() + remaining_milliseconds / 1000 - REPORTING_RESERVE


@lru_cache(maxsize=1)
def boards() -> Boards:
    """The boards of the `boards.toml` that was deployed."""
    return parse_boards(BOARDS_FILE.read_text(encoding="utf-8"))


@lru_cache(maxsize=1)
def _session() -> Session:
    return get_session()


def client(service: str) -> Any:
    """A low-level client. Made by botocore, which starts a third faster than through boto3 and makes the same one."""
    settings = ClientConfig(
        retries={"mode": "standard", "max_attempts": 3},
        connect_timeout=2,
        read_timeout=10,
        max_pool_connections=max(MOST_CALLS, SIDE_BY_SIDE) + 2,
    )
    made: Any = _session().create_client(service, config=settings)
    if service == "dynamodb":
        send_as_built(made)
    return made


def registry(dynamodb: Any, config: Config, tools: Pacing) -> Registry:
    """What this process knows of boards."""
    return Registry(boards(), DynamoBoards(dynamodb, config.scores_table), tools)


def writer(config: Config, tools: Pacing) -> Writer:
    """The writer's service."""
    dynamodb = client("dynamodb")
    scores = DynamoScores(dynamodb, config.scores_table, config.receipts_table)
    return Writer(registry(dynamodb, config, tools), scores, tools)


def side_by_side() -> SideBySide:
    """Has a pool do jobs, several at once."""
    pool = ThreadPoolExecutor(MOST_CALLS, thread_name_prefix="rankings")
    return lambda jobs: pool.map(lambda job: job(), jobs)


def projector(config: Config, tools: Pacing, report: Callable[[Look], None]) -> Projector:
    """The projector's service. `report` hears of dead tiers that it has looked for; it is called from any thread."""
    dynamodb = client("dynamodb")
    table = config.rankings_table
    rankings = DynamoRankings(dynamodb, table, tools)
    pruned = PrunedRankings(rankings, DynamoTrees(dynamodb, table), tools, report)
    return Projector(registry(dynamodb, config, tools), pruned, tools, side_by_side())


def reader(config: Config, tools: Pacing) -> Reader:
    """What the questions of the query function are answered from."""
    standing = DynamoStanding(client("dynamodb"), config.rankings_table, config.scores_table)
    return Reader(boards(), standing, tools)


class Command:
    """The services of writes over HTTP, each made when it is first needed: many a process needs but one of them."""

    def __init__(self, config: Config, tools: Pacing) -> None:
        self._config = config
        self._tools = tools

    @cached_property
    def posting(self) -> Posting:
        """Posts events."""
        queue = ActivityQueue(Sender(lambda: client("sqs"), self._config.activity_queue_url))
        return Posting(boards(), queue, self._tools)

    @cached_property
    def care(self) -> Care:
        """Changes members."""
        dynamodb = client("dynamodb")
        scores = DynamoScores(dynamodb, self._config.scores_table, self._config.receipts_table)
        return Care(registry(dynamodb, self._config, self._tools), scores, self._tools)


def command(config: Config, tools: Pacing) -> Command:
    """The services of writes over HTTP."""
    return Command(config, tools)


def failure_bucket(config: Config) -> FailureBucket:
    """Where records are parked."""
    return FailureBucket(lambda: client("s3"), config.failure_bucket)


def dead_letters(config: Config) -> DeadLetters:
    """Where refused messages go."""
    return DeadLetters(Sender(lambda: client("sqs"), config.dead_letter_queue_url), failure_bucket(config))
