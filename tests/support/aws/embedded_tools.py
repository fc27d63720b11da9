"""The programs that a test of the deployed stack needs."""

import pytest

from demo.embedded.stack import LOCAL


def skip_without_tools() -> None:
    """Skip the test where the SAM CLI or the embedded AWS is missing."""
    for tool in ("sam/bin/sam", "ministack/bin/ministack"):
        if not (LOCAL / "tools" / tool).exists():
            pytest.skip(f"{tool} is missing, `make setup` installs it")
