"""Processes that end with the demo, however it ends."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

_STOP_TIMEOUT_S = 2.0


class ProcessError(Exception):
    """A process failed. The message has the end of its log."""


class LoggedProcess:
    """A process in its own process group, with its own log."""

    def __init__(self, command: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path, log: Path) -> None:
        self.log = log
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [str(part) for part in command],
                env=dict(env),
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def exit_status(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.poll()

    def wait(self, timeout_s: float) -> int:
        """Wait for the process, and return its exit status."""
        return self._process.wait(timeout_s)

    def stop(self) -> None:
        """Stop the process and its children."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                os.killpg(self._process.pid, number)
            except ProcessLookupError:
                break
            try:
                self._process.wait(_STOP_TIMEOUT_S)
            except subprocess.TimeoutExpired:
                continue
        self._process.wait()


def run(
    command: Sequence[str | Path],
    *,
    env: Mapping[str, str],
    cwd: Path,
    log: Path,
    timeout_s: float,
) -> None:
    """Run a command. None of its children survives it."""
    process = LoggedProcess(command, env=env, cwd=cwd, log=log)
    name = " ".join(str(part) for part in command[:2])
    try:
        status = process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        message = f"`{name}` did not end within {timeout_s:.0f} s\n{tail(log)}"
        raise ProcessError(message) from None
    finally:
        process.stop()
    if status:
        raise ProcessError(f"`{name}` failed with status {status}\n{tail(log)}")


def tail(log: Path, lines: int = 30) -> str:
    """Return the last lines of a log, indented, under its name."""
    text = log.read_text(encoding="utf-8", errors="replace").splitlines()[-lines:]
    return "\n".join([f"  the end of {log}:", *(f"    {line}" for line in text)])
