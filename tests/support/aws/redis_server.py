"""A real Redis, started for tests and stopped after them: its sorted sets are what a leaderboard is compared with."""

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
    """The program to run: the one on the PATH, else one that was put under `.local/redis`; None where there is none."""
    on_path = shutil.which("redis-server")
    if on_path is not None:
        return on_path
    return next((str(path) for path in sorted(INSTALLED.rglob("redis-server")) if path.is_file()), None)


def unavailable() -> str | None:
    """Say why Redis cannot run here, None if it can."""
    if find_server() is None:
        return "there is no redis-server on the PATH, nor below .local/redis: Debian's package has that name"
    return None


@contextmanager
def started() -> Iterator["redis.Redis"]:
    """A client of a server of this process's own: on loopback, nothing kept, nothing in it."""
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
        raise RuntimeError(f"{program} ended as soon as it was started")


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
    """Wait until our own process answers; False if it ended first, as when its port was taken."""
    until = time.monotonic() + _PATIENCE
    while process.poll() is None:
        try:
            # Another's server may have the port: then this is not the process that we started.
            if client.info("server")["process_id"] == process.pid:
                return True
        except redis.ConnectionError:
            pass
        if time.monotonic() > until:
            raise TimeoutError(f"redis-server did not answer within {_PATIENCE:.0f} seconds")
        time.sleep(0.02)
    return False
