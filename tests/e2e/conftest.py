"""A deployed stack that the tests of the xdist group `deployment` share. They run in one process.

Each of them has boards of its own there, and looks only at what it has posted itself.
"""

from collections.abc import Iterator

import pytest

from demo.embedded.stack import LOCAL, Deployment, deployed


@pytest.fixture(scope="session")
def deployment() -> Iterator[Deployment]:
    for tool in ("sam/bin/sam", "ministack/bin/ministack"):
        if not (LOCAL / "tools" / tool).exists():
            pytest.skip(f"{tool} is missing, `make setup` installs it")
    with deployed(print) as stack:
        yield stack
