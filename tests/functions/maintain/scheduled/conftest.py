"""Fixtures: a stack whose read units are counted, and the metric of what its audits found."""

from collections.abc import Callable, Iterator
from typing import Any

import orjson
import pytest

from benchmarks.harness.meter import Meter
from standings.runtime.logs import metrics
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.audit.turns import BOARDS


@pytest.fixture
def meter(engine: Any) -> Meter:
    return Meter(engine)


@pytest.fixture
def stack(meter: Meter, clock: ManualClock) -> Iterator[Stack]:
    with running(meter, clock, BOARDS) as deployed:
        yield deployed


@pytest.fixture
def drift(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """Returns the sum of the metric since the last call."""
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "false")
    metrics.clear_metrics()

    def read() -> float:
        lines = [orjson.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
        return sum(sum(line.get("Drift", [])) for line in lines)

    return read
