"""The budgets of `tests/integration/product/test_costs.py`, on boards of a million members."""

import pytest

from benchmarks.harness import population
from benchmarks.harness.questions import placed
from benchmarks.measure import units
from tests.integration.product import test_costs as costs
from tests.integration.product.test_costs import Placed

MILLION = 1_000_000


@pytest.fixture(scope="module")
def few_equals() -> Placed:
    return placed(MILLION, population.finegrained)


@pytest.fixture(scope="module")
def many_equals() -> Placed:
    return placed(MILLION, population.lognormal)


def test_a_rank_costs_three_read_units_and_two_round_trips_at_most() -> None:
    costs.test_a_rank_costs_three_read_units_and_two_round_trips_at_most(100_000)


def test_a_page_costs_the_same_at_every_position(few_equals: Placed) -> None:
    costs.test_a_page_costs_the_same_at_every_position(few_equals)


def test_a_rank_costs_the_same_with_large_scores(few_equals: Placed) -> None:
    costs.test_a_rank_costs_the_same_with_large_scores(few_equals)


def test_a_page_among_equal_scores_costs_more_by_what_it_skips(many_equals: Placed) -> None:
    costs.test_a_page_among_equals_costs_what_it_skips_more(many_equals)


def test_the_first_thousand_of_ten_shards_are_merged_from_little_more() -> None:
    costs.test_the_first_thousand_of_ten_shards_are_merged_from_little_more(MILLION)


def test_an_event_on_all_alone_costs_ten_write_units_at_most() -> None:
    (cost, _) = units.writes(units.ALL, units.MEMBERS)

    assert cost["write_units_per_event"] <= 10
    assert cost["read_units_per_event"] == 0
