"""`standings doctor --exercise` on the deployed stack: nothing fails, every rank is right, and it cleans up."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from demo.embedded.stack import LOCAL, Deployment, deployed

pytestmark = [pytest.mark.e2e, pytest.mark.thorough]
TIMEOUT_S = 1_200
"""The deletion of a board waits three times for three minutes."""


@pytest.fixture
def deployment() -> Iterator[Deployment]:
    """A stack of its own: other tests leave dead letters, which the doctor reports."""
    for tool in ("sam/bin/sam", "ministack/bin/ministack"):
        if not (LOCAL / "tools" / tool).exists():
            pytest.skip(f"{tool} is missing, `make setup` installs it")
    with deployed(print) as stack:
        yield stack


def test_the_deployed_stack_passes(deployment: Deployment) -> None:
    command = [sys.executable, "-m", "standings_cli", "--endpoint-url", deployment.endpoint, "--json"]
    keys = {"AWS_ACCESS_KEY_ID": "any", "AWS_SECRET_ACCESS_KEY": "any", "AWS_DEFAULT_REGION": "us-east-1"}
    done = subprocess.run(
        [*command, "doctor", "--exercise"],
        env={**os.environ, **keys, "NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )

    found = {one["about"]: one for one in map(json.loads, done.stdout.splitlines())}
    print(done.stdout, done.stderr)
    assert done.returncode == 0, done.stdout + done.stderr
    assert found["ranks"]["detail"].endswith(": 0 wrong")
    assert {"lag", "a dead letter", "ranks after a replay", "audit", "clean-up"} <= found.keys()
    assert "failed" not in {one["verdict"] for one in found.values()}
