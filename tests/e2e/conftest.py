"""A deployed stack that the tests of the xdist group `deployment` share. They run in one process.

Each of them has boards of its own there, and looks only at what it has posted itself.
"""

from collections.abc import Iterator
from typing import Final

import pytest

from demo.embedded.stack import PROJECT, Deployment, deployed
from demo.serve import ADDRESSES
from tests.support.aws.embedded_tools import serving, skip_without_tools

PICTURES: Final = "pictures.example"


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
    with serving(PROJECT, tmp_path_factory.mktemp("serve") / "log"):
        yield
