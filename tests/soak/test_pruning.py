from typing import Any

import pytest

from tests.support.builders.stages.pruning_checks import check_proportion, interleaved


@pytest.mark.parametrize("seed", range(1_000, 2_000))
def test_lanes_and_cleaning_beside_each_other_for_many_seeds(engine: Any, seed: int) -> None:
    print(f"seed {seed}")
    interleaved(engine, seed)


@pytest.mark.parametrize(("amounts", "without"), [((1, 100), 4), ((100, 2_500), 7)])
def test_a_board_whose_scores_rise_for_long_keeps_a_tree_in_proportion(
    engine: Any, amounts: tuple[int, int], without: int
) -> None:
    check_proportion(engine, amounts, 200, without)
