"""Many more schedules of faults on the engine, and complete schedules on DynamoDB Local."""

from collections.abc import Callable

import pytest

from tests.faults.aws.tables import ClientStore
from tests.faults.test_schedules import judged
from tests.faults.world import Options, run, uncollected
from tests.integration.product import test_schedules_against_local as against_local

store = against_local.store


@pytest.mark.parametrize("first", range(2_000, 50_000, 50))
def test_every_ranking_is_right_in_many_more_schedules(first: int) -> None:
    with uncollected():
        for seed in range(first, first + 50):
            judged(seed)


@pytest.mark.parametrize("seed", range(100, 110))
def test_complete_schedules_are_right_on_dynamodb_local(
    seed: int, store: Callable[[Callable[[], float]], ClientStore]
) -> None:
    outcome = run(seed, Options(store=store))
    assert outcome.differences == []
    assert outcome.compared
