"""The budgets, counted over the real requests. The figures of the README are written by `make units`."""

import pytest

from benchmarks import population, units


@pytest.mark.parametrize("members", [1_000, 20_000, pytest.param(100_000, marks=pytest.mark.soak)])
def test_a_rank_costs_three_read_units_and_two_round_trips_at_most(members: int) -> None:
    cost = units.reads(members, seed=1)

    assert cost["rank_read_units_most"] <= 3
    assert cost["rank_round_trips_most"] == 2
    assert cost["top_100_read_units"] <= 2.5


@pytest.mark.soak
def test_an_event_on_all_alone_costs_ten_write_units_at_most() -> None:
    cost = units.writes(2, population.BOARDS, population.BOARD)

    assert cost["write_units_per_event"] <= 10
    assert cost["read_units_per_event"] == 0
