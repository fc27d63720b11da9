"""Servers that tests start on loopback, and stop afterwards."""

import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from socketserver import BaseServer
from typing import Any, Final

_PATIENCE: Final = 60.0
_ATTEMPTS: Final = 3


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def stop(process: subprocess.Popen[bytes]) -> None:
    """Stop a process that a test started, and wait until it has ended."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


@contextmanager
def listening(server: BaseServer) -> Iterator[None]:
    """Let a server of this process answer until the block ends."""
    with server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            thread.join()


@contextmanager
def started(command: Callable[[int], list[str]], answers: Callable[[int, int], bool], **options: Any) -> Iterator[int]:
    """Start a server until the block ends, and yield its port.

    `command` gets the port, and `answers` the port and the id of the process, since another server may hold the port.
    """
    for _ in range(_ATTEMPTS):
        port = free_port()
        quiet = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
        process = subprocess.Popen(command(port), **{**quiet, **options})
        try:
            deadline = time.monotonic() + _PATIENCE
            while process.poll() is None and not answers(port, process.pid):
                if time.monotonic() > deadline:
                    raise TimeoutError(f"expected {command(port)[0]} to answer within {_PATIENCE:.0f} seconds")
                time.sleep(0.02)
            if process.poll() is None:
                yield port
                return
        finally:
            stop(process)
    raise RuntimeError(f"expected {command(port)[0]} to start, but it ended at once in {_ATTEMPTS} attempts")
