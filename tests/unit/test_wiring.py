"""How functions are put together: what each starts with, and that its calls have connections."""

import os
import subprocess
import sys

import pytest

from benchmarks.pace import ENVIRONMENT
from standings.dynamodb.standing import SIDE_BY_SIDE
from standings.dynamodb.transactions import UNPROCESSED_TIMEOUT_S
from standings.runtime import projecting, wiring
from standings.services.pacing import RETRY_TIMEOUT_S
from standings.services.reader import LAST_READ_S
from tests.stack import FUNCTIONS
from tests.template.expansion import expanded, source

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


@pytest.mark.parametrize("service", ["dynamodb", "sqs", "s3"])
def test_a_client_gives_up_a_call_that_hangs_after_so_long(service: str) -> None:
    settings = wiring.client(service).meta.config
    attempts = settings.retries["total_max_attempts"]

    hanging = attempts * (settings.connect_timeout + settings.read_timeout)
    assert hanging + (attempts - 1) * wiring.BETWEEN_ATTEMPTS_S <= wiring.LONGEST_CALL_S


def test_a_call_that_hangs_leaves_a_function_time_to_answer() -> None:
    timeouts = {name: int(function["Timeout"]) for name, function in expanded(source()).of("Lambda::Function")}

    for name in ("Writer", "Projector", "Maintenance"):
        # Calls begin until the deadline.
        assert wiring.LONGEST_CALL_S < wiring.REPORTING_RESERVE < timeouts[f"{name}Function"] / 2
    assert RETRY_TIMEOUT_S < LAST_READ_S
    assert timeouts["QueryFunction"] > LAST_READ_S + UNPROCESSED_TIMEOUT_S + wiring.LONGEST_CALL_S
    assert timeouts["CommandFunction"] > RETRY_TIMEOUT_S + wiring.LONGEST_CALL_S
