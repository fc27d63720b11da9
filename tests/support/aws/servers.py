"""What the servers that tests start on loopback have in common."""

import socket
import subprocess


def free_port() -> int:
    """A port that nobody has just now."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def stop(process: subprocess.Popen[bytes]) -> None:
    """End a process that was started here, and wait until it has ended."""
    process.terminate()
    try:
        process.wait(timeout=10)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
