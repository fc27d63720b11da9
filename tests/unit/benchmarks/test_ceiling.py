"""The model of capacity: projectors that conflict, and the lag of events."""

from dataclasses import replace

import pytest

from benchmarks.harness.results_file import REPOSITORY
from benchmarks.models import assumed, ceiling, lag
from benchmarks.models.contention import Drawn, busy
from benchmarks.models.cost.load_inputs import Traffic
from benchmarks.models.lag import Deployment, Scene, simulate

DRAWN = Drawn(Traffic(members=16_000))


def test_a_projector_alone_has_no_conflicts() -> None:
    alone = busy(DRAWN, 1, most_lanes=4, batch=100, seed=1, seconds=1.0)

    assert alone["cancelled_share"] == 0
    # Two transactions of 20 ms for a hundred moves, and sometimes a check for dead tiers.
    assert 1_700 <= alone["moves_per_second"] <= 2_500


def test_lanes_let_projectors_pass() -> None:
    without, lanes = (busy(DRAWN, 8, most_lanes=most, batch=100, seed=1, seconds=2.0) for most in (1, 4))

    assert lanes["moves_per_second"] > 2 * without["moves_per_second"]
    assert lanes["cancelled_share"] < without["cancelled_share"]


def test_the_model_is_near_the_real_projectors() -> None:
    modelled = busy(DRAWN, 1, 4, 100, seed=1, seconds=1.0)["moves_per_second"]

    assert modelled == pytest.approx(ceiling.run(1, 100, 1.0, seed=1)["moves_per_second"], rel=0.1)


def test_lag_is_the_window_and_little_more_while_all_keep_up() -> None:
    outcome = simulate(Scene(100, 1, 1), Deployment(), DRAWN)
    slower = simulate(Scene(100, 1, 1), Deployment(window=3.0), DRAWN)

    assert outcome.keeps_up
    assert 0.5 < outcome.p50 < 1 < outcome.p99 < 2
    assert slower.p50 > outcome.p50 + 0.5


def test_many_boards_need_many_projectors() -> None:
    scene = Scene(1_000, 1_000, 3, single_writes=2.5)

    assert not simulate(scene, Deployment(), DRAWN).keeps_up
    assert simulate(scene, Deployment(parallelization=10), DRAWN).keeps_up
    rates = [lag.projectors_rate(scene, Deployment(parallelization=factor)) for factor in (1, 10)]
    assert rates[1] == pytest.approx(10 * rates[0])


def test_writers_that_are_too_few_fall_behind() -> None:
    few = Deployment(writers=2, parallelization=10)
    scene = Scene(5_000, 1_000, 1)

    assert lag.writers_rate(few) < scene.rate < lag.writers_rate(replace(few, writers=10))
    assert not simulate(scene, few, DRAWN).keeps_up
    assert simulate(scene, replace(few, writers=10), DRAWN).keeps_up


def test_the_page_states_the_assumptions() -> None:
    page = (REPOSITORY / ceiling.PAGE).read_text(encoding="utf-8")

    assert f"A transaction takes {1000 * assumed.TRANSACTION:g} ms, committed or cancelled." in page
    assert f"A read takes {1000 * assumed.READ:g} ms." in page
    assert f"A run of a function takes {1000 * assumed.INVOCATION:g} ms beside its work." in page
    assert assumed.EVENT == assumed.MOVE
    assert f"An event and a move take {1000 * assumed.EVENT:g} ms of processor each." in page
    assert f"a single write of {1000 * assumed.WRITE:g} ms, {assumed.WRITES_SIDE_BY_SIDE} of them at once" in page
