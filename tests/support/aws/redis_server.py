"""Starts a real Redis for tests and stops it afterwards. Tests compare leaderboards with its sorted sets."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import redis

from tests.support.aws import servers

INSTALLED: Final = Path(__file__).parents[3] / ".local" / "redis"


def find_server() -> str | None:
    """Return the path of redis-server: from the PATH, else from `.local/redis`, else None."""
    on_path = shutil.which("redis-server")
    if on_path is not None:
        return on_path
    return next((str(path) for path in sorted(INSTALLED.rglob("redis-server")) if path.is_file()), None)


def unavailable() -> str | None:
    """Return why Redis cannot run here, or None if it can."""
    if find_server() is None:
        return "redis-server is missing: apt-get install redis-server"
    return None


def _client(port: int) -> "redis.Redis":
    return redis.Redis(host="127.0.0.1", port=port, decode_responses=True, protocol=3)


def _answers(port: int, process_id: int) -> bool:
    try:
        with _client(port) as client:
            return bool(client.info("server")["process_id"] == process_id)
    except redis.ConnectionError:
        return False


@contextmanager
def started() -> Iterator["redis.Redis"]:
    """Start an empty server on loopback that saves nothing, and yield a client of it."""
    program = find_server()
    if program is None:
        raise RuntimeError(unavailable())
    with tempfile.TemporaryDirectory(prefix="standings-redis-") as folder:
        settings = ["--bind", "127.0.0.1", "--dir", folder, "--save", "", "--appendonly", "no", "--daemonize", "no"]
        with (
            servers.started(lambda port: [program, "--port", str(port), *settings], _answers) as port,
            _client(port) as client,
        ):
            yield client
