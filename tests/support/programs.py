"""Runs programs to their end, four minutes at most, and keeps what they print."""

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any


def ended(command: Sequence[str | Path], **options: Any) -> subprocess.CompletedProcess[str]:
    """Run a program, however it ends."""
    return subprocess.run(command, capture_output=True, text=True, check=False, **{"timeout": 240, **options})


def output(command: Sequence[str | Path], **options: Any) -> str:
    """Run a program that has to end well, and return its standard output."""
    done = ended(command, **options)
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout
