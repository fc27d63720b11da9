"""DynamoDB Local and a real Redis. Tests that need them are skipped where they are missing."""

import shutil
import tempfile
from collections.abc import Iterator
from typing import Any

import pytest
import redis as redis_client

from demo.embedded.stack import LOCAL
from tests.support.aws import servers
from tests.support.dynamodb import local
from tests.support.dynamodb.tables import delete_tables


@pytest.fixture(scope="session")
def shared_local_client() -> Iterator[Any]:
    """A client of the DynamoDB Local that all tests of the session share."""
    reason = local.unavailable()
    if reason:
        pytest.skip(reason)
    with local.started() as endpoint:
        yield local.client_for(endpoint)


@pytest.fixture
def local_client(shared_local_client: Any) -> Iterator[Any]:
    """DynamoDB Local without tables. It deletes those of the test."""
    delete_tables(shared_local_client)
    yield shared_local_client
    delete_tables(shared_local_client)


def _redis_at(port: int) -> "redis_client.Redis":
    return redis_client.Redis(host="127.0.0.1", port=port, decode_responses=True, protocol=3)


def _answers(port: int, process_id: int) -> bool:
    try:
        with _redis_at(port) as client:
            return bool(client.info("server")["process_id"] == process_id)
    except redis_client.ConnectionError:
        return False


@pytest.fixture(scope="session")
def shared_redis() -> Iterator[Any]:
    """A client of a real Redis that saves nothing: from the PATH, else from `.local/redis`."""
    installed = (str(path) for path in sorted((LOCAL / "redis").rglob("redis-server")) if path.is_file())
    program = shutil.which("redis-server") or next(installed, None)
    if program is None:
        pytest.skip("redis-server is missing: apt-get install redis-server")
    with tempfile.TemporaryDirectory(prefix="standings-redis-") as folder:
        options = ["--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no", "--daemonize", "no"]
        with (
            servers.started(lambda port: [program, "--port", str(port), *options], _answers) as port,
            _redis_at(port) as client,
        ):
            yield client


@pytest.fixture
def redis(shared_redis: Any) -> Any:
    """A real, empty Redis."""
    shared_redis.flushall()
    return shared_redis
