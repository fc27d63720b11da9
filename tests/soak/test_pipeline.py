import pytest

from tests.support.builders.stages.pipelines import live_through
from tests.support.dynamodb.engine import Engine


@pytest.mark.parametrize("seed", range(100, 140))
def test_every_rank_is_exact_for_many_seeds(seed: int) -> None:
    live_through(Engine(shards=4), seed, berlin=bool(seed % 2), steps=12, events=60)


@pytest.mark.parametrize("berlin", [False, True])
def test_every_rank_is_exact_over_half_a_year(berlin: bool) -> None:
    live_through(Engine(shards=4), 7, berlin=berlin, steps=200, events=40)
