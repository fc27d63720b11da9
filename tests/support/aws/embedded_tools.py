"""The programs that a test of the deployed stack needs, and `make serve`."""

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from demo.embedded.stack import LOCAL, PROJECT
from demo.serve import ADDRESSES

_PATIENCE_S: Final = 300
NO_TOOLS: Final = "tools of the embedded AWS are missing: make setup"


def skip_without_tools() -> None:
    """Skip the test where the SAM CLI or the embedded AWS is missing."""
    for tool in ("sam/bin/sam", "ministack/bin/ministack"):
        if not (LOCAL / "tools" / tool).exists():
            pytest.skip(NO_TOOLS)


def copy_project(folder: Path) -> Path:
    """Copy what `sam build` needs, as somebody who changes it would. Skip the test where tools are missing."""
    skip_without_tools()
    for name in ("functions", "layers"):
        shutil.copytree(PROJECT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("template.yaml", "samconfig.toml"):
        shutil.copy(PROJECT / name, folder)
    return folder


def copied(folder: Path) -> Path:
    """Copy the project, with the tools that `make setup` has installed."""
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    for name in subprocess.check_output(listed, cwd=PROJECT, text=True).split("\0"):
        if (PROJECT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(PROJECT / name, folder / name)
    return linked_tools(folder)


def linked_tools(folder: Path) -> Path:
    """Let a copy of the project have the tools that `make setup` has installed. Return its folder."""
    (folder / ".venv").symlink_to(PROJECT / ".venv")
    (folder / LOCAL.name).mkdir()
    (folder / LOCAL.name / "tools").symlink_to(LOCAL / "tools")
    return folder


@contextmanager
def serving(folder: Path, log: Path, *arguments: str) -> Iterator[int]:
    """Run `make serve` until the block ends, as in another terminal. Yield the id of its process group.

    The folder is the project's or a copy. What the command prints goes to `log`. The embedded AWS is not of the group.
    `arguments` are further ones of make.
    """
    addresses = folder / ADDRESSES.relative_to(PROJECT)
    with log.open("wb") as output:
        command = ["make", "--no-print-directory", "serve", *arguments]
        process = subprocess.Popen(command, cwd=folder, stdout=output, stderr=output, start_new_session=True)
    try:
        until = time.monotonic() + _PATIENCE_S
        while not addresses.exists():
            assert process.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < until, log.read_text(encoding="utf-8")
            time.sleep(0.5)
        yield process.pid
    finally:
        os.killpg(process.pid, signal.SIGINT)
        os.killpg(process.pid, signal.SIGCONT)  # a test may have stopped it
        process.wait(150)
    assert not addresses.exists()
