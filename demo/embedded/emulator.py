"""The embedded AWS: ministack on a free loopback port. All its files are in one directory."""

import os
import socket
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from demo.embedded.processes import LoggedProcess, ProcessError, tail

HOST = os.environ.get("STANDINGS_HOST") or "127.0.0.1"
"""Loopback by default. For containers to reach it: `make serve STANDINGS_HOST=172.17.0.1`."""
_ATTEMPTS = 3
_START_TIMEOUT_S = 30.0


@contextmanager
def running(tools: Path, directory: Path) -> Iterator[tuple[str, Path]]:
    """Start an embedded AWS, yield its endpoint and log, and stop it at the end."""
    log = directory / "ministack.log"
    state = directory / "tmp"
    state.mkdir()
    for attempt in range(1, _ATTEMPTS + 1):
        port = _free_port()
        process = LoggedProcess(
            [tools / "ministack" / "bin" / "ministack"],
            env=_environment(port, state),
            cwd=directory,
            log=log,
        )
        try:
            if not _becomes_ready(process, port):
                # Another process has taken the port in the meantime: try another.
                if attempt < _ATTEMPTS:
                    continue
                raise ProcessError(f"the embedded AWS did not start\n{tail(log)}")
            yield f"http://{HOST}:{port}", log
        finally:
            process.stop()
        return


def _environment(port: int, state: Path) -> dict[str, str]:
    """Return only the variables that it needs, so that it cannot reach the user's credentials or containers."""
    return {
        "PATH": os.environ["PATH"],
        "HOME": str(state),
        "TMPDIR": str(state),
        "BIND_HOST": HOST,
        "MINISTACK_HOST": HOST,
        "GATEWAY_PORT": str(port),
        "IOT_MTLS_ENABLED": "0",  # otherwise it listens for MQTT on a fixed port
        "DOCKER_HOST": f"unix://{state}/no-docker",  # otherwise it manages containers
        "NO_PROXY": "*",
        "PYTHONUNBUFFERED": "1",
    }


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def _becomes_ready(process: LoggedProcess, port: int) -> bool:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    deadline = time.monotonic() + _START_TIMEOUT_S
    while process.exit_status is None and time.monotonic() < deadline:
        try:
            opener.open(f"http://{HOST}:{port}/_ministack/ready", timeout=1).close()
        except (urllib.error.URLError, OSError):
            time.sleep(0.05)
        else:
            return process.exit_status is None
    return False
