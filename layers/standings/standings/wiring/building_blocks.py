"""What all functions are put together from; how each of them is stands in a module of its own.

So a function starts without what only others need: `writing`, `projecting`, `reading`, `commanding`, `upkeep`.
"""

import random
import time
from functools import lru_cache
from typing import Any, Final

from botocore.config import Config as ClientConfig
from botocore.session import Session, get_session

from standings.aws.dynamodb.as_built import send_as_built
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.s3.failure_bucket import FailureBucket
from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Boards
from standings.runtime.environment import BOARDS_FILE, Config
from standings.runtime.retry import Clock

CONNECTIONS: Final = 18
"""Of a client: more than a function has calls under way at once."""

CONNECT_TIMEOUT_S: Final = 1.0
READ_TIMEOUT_S: Final = 3.0
ATTEMPTS: Final = 2
"""How often the SDK tries a call in all: services retry as well, until their deadline."""

BETWEEN_ATTEMPTS_S: Final = 1.0
"""Seconds that the SDK waits at most before its second attempt."""

MAX_CALL_S_LENGTH: Final = ATTEMPTS * (CONNECT_TIMEOUT_S + READ_TIMEOUT_S) + (ATTEMPTS - 1) * BETWEEN_ATTEMPTS_S
"""Seconds after which a call that hangs has failed."""

REPORTING_RESERVE: Final = MAX_CALL_S_LENGTH + 1.0
"""Seconds of a function's time that are left when its deadline comes: for a call that hangs, and for the answer."""


def now() -> int:
    """The wall clock, in milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def pacing() -> Clock:
    """The real clock, and real chance."""
    return Clock(now, time.monotonic, time.sleep, random.random)


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
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=READ_TIMEOUT_S,
        max_pool_connections=CONNECTIONS,
    )
    made: Any = _session().create_client(service, config=settings)
    if service == "dynamodb":
        send_as_built(made)
    return made


def registry(dynamodb: Any, config: Config, tools: Clock) -> BoardCatalog:
    """What this process knows of boards."""
    return BoardCatalog(boards(), DynamoBoards(dynamodb, config.scores_table, tools), tools)


def failure_bucket(config: Config) -> FailureBucket:
    """Where records are parked."""
    return FailureBucket(lambda: client("s3"), config.failure_bucket)
