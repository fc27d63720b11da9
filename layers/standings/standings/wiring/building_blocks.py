"""What all functions share: the clock, the AWS clients, and the boards."""

import os
from functools import lru_cache
from typing import Any, Final

from standings.aws.dynamodb.light_client import LightClient, Limits, connection_of
from standings.aws.dynamodb.scores import BoardRecords
from standings.aws.s3 import FailureBucket
from standings.catalog import BoardCatalog
from standings.domain.boards import Boards
from standings.domain.boards_toml import parse_boards
from standings.runtime import clock
from standings.runtime.clock import Clock, now
from standings.runtime.environment import BOARDS_FILE, required

CONNECTIONS: Final = 26  # Connections of a client: more than a function's calls at any time
CONNECT_TIMEOUT_S: Final = 1.0
SOCKET_READ_S: Final = 3.0
ATTEMPTS: Final = 2  # Attempts that the SDK makes of a call. The services retry as well, until their deadline.
BETWEEN_ATTEMPTS_S: Final = 1.0  # Longest time that the SDK waits between two attempts, as long as nobody asks for more
MAX_CALL_S: Final = ATTEMPTS * (CONNECT_TIMEOUT_S + SOCKET_READ_S) + (ATTEMPTS - 1) * BETWEEN_ATTEMPTS_S
"""Seconds after which a call has failed that hangs or is throttled, whatever the service answers."""

LIMITS: Final = Limits(ATTEMPTS, CONNECTIONS, CONNECT_TIMEOUT_S, SOCKET_READ_S)
REPORTING_RESERVE: Final = MAX_CALL_S + 1.0
"""Seconds between a function's deadline and its timeout: enough for one call that hangs, and to answer."""

_RETRY_AFTER: Final = "x-amz-retry-after"


def real_clock() -> Clock:
    """Return the real clock, with real randomness."""
    return clock.real_clock(now)


@lru_cache(maxsize=1)
def boards() -> Boards:
    """Return the boards of the deployed `boards.toml`."""
    return parse_boards(BOARDS_FILE.read_text(encoding="utf-8"))


def client(service: str) -> Any:
    """Create a function's client of a service, such as `dynamodb`."""
    connection = connection_of(os.environ) if service == "dynamodb" else None
    if connection is not None:
        return LightClient(connection, LIMITS, real_clock())
    from botocore.session import get_session  # noqa: PLC0415 - a third of a start, and few functions need it

    return client_of(get_session(), service)


def dynamodb_client() -> str:
    """What sends requests to DynamoDB: `light`, or `botocore` where only its client obeys the environment."""
    return "botocore" if connection_of(os.environ) is None else "light"


def client_of(session: Any, service: str) -> Any:
    """Create a client of a service from a session of botocore, which takes two thirds of the time, or of boto3."""
    from botocore.client import BaseClient  # noqa: PLC0415 - as above
    from botocore.config import Config  # noqa: PLC0415 - as above

    config = Config(
        retries={"mode": "standard", "total_max_attempts": ATTEMPTS},
        connect_timeout=CONNECT_TIMEOUT_S,
        read_timeout=SOCKET_READ_S,
        max_pool_connections=CONNECTIONS,
    )
    create = getattr(session, "create_client", None) or session.client
    created = create(service, config=config)
    if isinstance(created, BaseClient):  # The session of a program's own test may give another
        service_id = created.meta.service_model.service_id.hyphenize()
        created.meta.events.register_first(f"needs-retry.{service_id}", _wait_no_longer)
    return created


def _wait_no_longer(response: Any, **_: Any) -> None:
    """Leave out how long a service asks the SDK to wait, up to 5 s more: our own retries know the deadline (0027)."""
    if response is not None:
        response[0].headers.pop(_RETRY_AFTER, None)


def board_catalog(dynamodb: Any, clock: Clock) -> BoardCatalog:
    """Create the catalog of boards."""
    return BoardCatalog(boards(), BoardRecords(dynamodb, required("SCORES_TABLE"), clock), clock)


def failure_bucket() -> FailureBucket:
    """Create the store of parked records."""
    return FailureBucket(lambda: client("s3"), required("FAILURE_BUCKET"))
