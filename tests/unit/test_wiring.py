"""How functions are put together: what each starts with, and that its calls have connections."""

import os
import subprocess
import sys

import pytest

from benchmarks.pace import ENVIRONMENT
from standings.dynamodb.standing import SIDE_BY_SIDE
from standings.runtime import projecting, wiring
from tests.stack import FUNCTIONS

LISTED = "import sys, app; print(*sorted(name for name in sys.modules if name.startswith('standings.')))"


@pytest.mark.parametrize(
    ("function", "others"),
    [
        ("writer", {"services.projector", "services.reader", "services.care", "dynamodb.rankings"}),
        ("projector", {"services.writer", "services.reader", "services.posting", "sqs"}),
        ("query", {"services.writer", "services.projector", "services.posting", "sqs"}),
        ("command", {"services.writer", "services.projector", "services.query", "dynamodb.rankings"}),
    ],
)
def test_a_function_starts_without_what_only_others_need(function: str, others: set[str]) -> None:
    environment = os.environ | ENVIRONMENT | {"PYTHONPATH": str(FUNCTIONS.parent / "layers" / "standings")}
    command = [sys.executable, "-c", LISTED]
    found = subprocess.check_output(command, cwd=FUNCTIONS / function, env=environment, text=True)

    assert "standings.runtime.wiring" in found.split()
    assert {f"standings.{name}" for name in others}.isdisjoint(found.split())


def test_a_client_has_a_connection_for_every_call_under_way() -> None:
    assert max(SIDE_BY_SIDE, projecting.MOST_CALLS) < wiring.CONNECTIONS
