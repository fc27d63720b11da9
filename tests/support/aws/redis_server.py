"""Starts a real Redis for tests and stops it afterwards. Tests compare leaderboards with its sorted sets."""

import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import redis

from tests.support.aws.servers import free_port, stop

INSTALLED: Final = Path(__file__).parents[3] / ".local" / "redis"
_PATIENCE: Final = 20.0
_ATTEMPTS: Final = 3


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


@contextmanager
def started() -> Iterator["redis.Redis"]:
    """Start an empty server on loopback that saves nothing, and yield a client of it."""
    program = find_server()
    if program is None:
        raise RuntimeError(unavailable())
    with tempfile.TemporaryDirectory(prefix="standings-redis-") as folder:
        for _ in range(_ATTEMPTS):
            port = free_port()
            process = _start(program, port, folder)
            client = redis.Redis(host="127.0.0.1", port=port, decode_responses=True, protocol=3)
            try:
                if _answers(process, client):
                    yield client
                    return
            finally:
                client.close()
                stop(process)
        raise RuntimeError(f"expected {program} to start, but it ended at once in {_ATTEMPTS} attempts")


def _start(program: str, port: int, folder: str) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [
            *(program, "--port", str(port), "--bind", "127.0.0.1", "--dir", folder),
            *("--save", "", "--appendonly", "no", "--daemonize", "no"),
        ],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _answers(process: subprocess.Popen[bytes], client: "redis.Redis") -> bool:
    """Wait until our process answers. Return False if it ended first, for example because its port was taken."""
    deadline = time.monotonic() + _PATIENCE
    while process.poll() is None:
        try:
            # Another server may hold the port, so compare the process ids.
            if client.info("server")["process_id"] == process.pid:
                return True
        except redis.ConnectionError:
            pass
        if time.monotonic() > deadline:
            raise TimeoutError(f"expected redis-server to answer within {_PATIENCE:.0f} seconds, got no answer")
        time.sleep(0.02)
    return False
