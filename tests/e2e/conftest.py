"""A deployed stack that the tests of the xdist group `deployment` share. They run in one process.

Each of them has boards of its own there, and looks only at what it has posted itself.
"""

import os
import subprocess
import time
from collections.abc import Iterator
from typing import Final

import pytest

from demo.embedded.stack import PROJECT, Deployment, deployed
from demo.serve import ADDRESSES
from tests.support.aws.embedded_tools import skip_without_tools

PICTURES: Final = "pictures.example"
_PATIENCE_S: Final = 300


@pytest.fixture(scope="session")
def deployment() -> Iterator[Deployment]:
    skip_without_tools()
    with deployed(print, {"PictureOrigins": PICTURES}) as stack:
        yield stack


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Run `make serve`, as in another terminal. The tests of the xdist group `serve` share it, in one process."""
    skip_without_tools()
    if ADDRESSES.exists():
        pytest.skip(f"someone is serving here already: {ADDRESSES}")
    log = tmp_path_factory.mktemp("serve") / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(["make", "serve"], cwd=PROJECT, stdout=output, stderr=output, start_new_session=True)
    try:
        until = time.monotonic() + _PATIENCE_S
        while not ADDRESSES.exists():
            assert process.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < until, log.read_text(encoding="utf-8")
            time.sleep(0.5)
        yield
    finally:
        os.killpg(process.pid, 2)
        process.wait(60)
    assert not ADDRESSES.exists()
