"""Each question that the benchmark of speed asks, on tiny batches; the times themselves are not asserted."""

import pytest

from benchmarks.harness import population
from benchmarks.measure.speed import batches, handlers, hot_spots, pace

FUNCTIONS = ("writer", "projector")
LEVELS = ("store", "botocore")
MEMBERS = 40
BATCH = 20


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in handlers.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(batches, "BATCH", BATCH)
    monkeypatch.setattr(batches, "LARGEST", BATCH)


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_pace_of_a_function_is_measured(function: str, level: str) -> None:
    answer = pace.pace(function, level, MEMBERS, 1, 2)

    assert (answer["function"], answer["level"]) == (function, level)
    assert min(answer["records_per_second"], answer["loop_records_per_second"], answer["loops_per_record"]) > 0


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("function", "stage"), [("writer", "write"), ("projector", "project")])
def test_a_profile_names_the_packages_of_the_layer(function: str, stage: str, level: str) -> None:
    answer = hot_spots.profile(function, level, MEMBERS, 2)

    expected = {"domain", stage, "functions", *(("aws", "botocore") if level == "botocore" else ())}
    assert expected <= answer["shares"].keys()
    assert sum(answer["shares"].values()) == pytest.approx(1, abs=0.02)
    assert answer["most"]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_memory_of_the_largest_batch_is_measured(function: str) -> None:
    answer = pace.memory(function, population.BOARDS)

    assert answer["records"] == BATCH
    assert answer["peak_megabytes"] > 0


@pytest.mark.parametrize("function", FUNCTIONS)
def test_with_the_network_stubbed_transactions_are_sent(function: str) -> None:
    transport = handlers.Transport()
    app = handlers.load(function, population.BOARDS, transport)
    (batch,) = batches.batches(function, population.BOARDS, MEMBERS, BATCH, 1)

    handlers.run(app, [batch])

    assert transport.transactions
