"""Each question that the benchmark of speed asks, on tiny batches; the times themselves are not asserted."""

import pytest

from benchmarks.harness import population
from benchmarks.measure.speed import batches, handlers, pace


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in handlers.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(batches, "BATCH", 20)
    monkeypatch.setattr(batches, "LARGEST", 20)


@pytest.mark.parametrize("level", ["store", "botocore"])
@pytest.mark.parametrize("function", ["writer", "projector"])
def test_the_pace_of_a_function_is_measured(function: str, level: str) -> None:
    answer = pace.pace(function, level, members=40, count=1, repeats=2)

    assert (answer["function"], answer["level"]) == (function, level)
    assert min(answer["records_per_second"], answer["loop_records_per_second"], answer["loops_per_record"]) > 0


@pytest.mark.parametrize("function", ["writer", "projector"])
def test_with_the_network_stubbed_transactions_are_sent_and_memory_is_measured(function: str) -> None:
    transport = handlers.Transport()
    app = handlers.load(function, population.BOARDS, transport)
    handlers.run(app, batches.batches(function, population.BOARDS, 40, 20, 1))
    answer = pace.memory(function, population.BOARDS)

    assert transport.transactions
    assert answer["records"] == 20
    assert answer["peak_megabytes"] > 0
