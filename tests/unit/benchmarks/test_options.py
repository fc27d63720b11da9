"""What the template's options cost: provisioned tables, traces, and keys."""

import json
from dataclasses import replace

import pytest

from benchmarks.harness.results_file import Output
from benchmarks.models.cost import cost, provisioned
from benchmarks.models.cost.load_inputs import Settings, Traffic
from benchmarks.models.cost.prices import Bill, read_prices
from benchmarks.models.cost.provisioned import SHAPES, by_table, compared, pays_above
from benchmarks.models.cost.spending import (
    Load,
    counted_reads,
    of_event,
    of_month,
    of_read,
    of_table_keys,
    units_of_reads,
)
from benchmarks.models.cost.tracing_and_keys import of_own_key, of_tracing, traced

READS = counted_reads(Output())
PRICES = read_prices()
LOAD = Load(Settings(windows=("all",)), Traffic(batch=20), 1, 100.0, 1_000.0)


def test_provisioned_units_are_those_of_events_and_reads() -> None:
    writes, reads = (sum(side) for side in zip(*by_table(LOAD, READS).values(), strict=True))
    event, read = of_event(LOAD), units_of_reads(LOAD, READS)

    assert writes == pytest.approx(100 * event.write_units)
    assert reads == pytest.approx(100 * event.read_units + 1_000 * read)
    on_demand = PRICES.total(provisioned.on_demand(LOAD, READS))
    month = of_month(LOAD, READS)
    both = Bill(**{name: getattr(month["events"] + month["reads"], name) for name in ("write_units", "read_units")})
    assert on_demand == pytest.approx(PRICES.total(both))


def test_a_steady_load_pays_by_the_share_of_units_in_use() -> None:
    large = replace(LOAD, events_per_second=10_000.0, reads_per_second=100_000.0)
    costs = compared(PRICES, large, READS, target=0.5)

    share = pays_above(PRICES)["write"]
    assert share == pytest.approx(0.00065 / 3600 / (0.625 / 1e6), abs=0.001)
    assert costs["steady"] / costs["on demand"] == pytest.approx(share / 0.5, rel=0.01)
    # Provisioned tables whose units in use are just that share cost the same.
    assert compared(PRICES, large, READS, target=share)["steady"] == pytest.approx(costs["on demand"], rel=0.01)


def test_every_shape_of_a_day_has_the_same_load() -> None:
    for shape in SHAPES.values():
        assert sum(shape.hours) == pytest.approx(24)
    wave, rush = SHAPES["daily wave"], SHAPES["daily rush"]
    assert max(wave.hours) == pytest.approx(9 * min(wave.hours))
    assert max(rush.hours) == pytest.approx(10 * min(rush.hours))


def test_units_cover_every_hour_and_those_of_a_rush_all_day() -> None:
    for shape in SHAPES.values():
        assert all(shape.covered(hour) >= load for hour, load in enumerate(shape.hours))
    wave, rush = SHAPES["daily wave"], SHAPES["daily rush"]
    assert wave.covered(6) == wave.hours[7]
    assert {rush.covered(hour) for hour in range(24)} == {max(rush.hours)}


def test_idle_tables_cost_their_minimum() -> None:
    # Three tables and the index, 730 hours, units of either side.
    assert provisioned.idle(PRICES, LOAD, READS) == pytest.approx(4 * 730 * 5 * (0.00065 + 0.00013), abs=0.01)


def test_lambda_traces_one_run_a_second_and_a_twentieth_of_the_others() -> None:
    assert [traced(runs) for runs in (0, 0.5, 1, 21, 10_001)] == pytest.approx([0, 0.5, 1, 2, 501])
    # 100 events a second in batches of 20 are 5 runs of the writer and of the projector.
    assert of_tracing(LOAD).traces == pytest.approx((2 * 1.2 + 1 + 0.05 * 999) * 730 * 3600)


def test_keys_are_asked_every_five_minutes_whatever_the_load() -> None:
    assert of_table_keys() == Bill(key_requests=8 * 730 * 12)
    assert of_own_key() == Bill(key_months=1, key_requests=(8 + 5) * 730 * 12)
    assert of_read(1).key_requests == of_event(LOAD).key_requests == 0
    assert of_month(LOAD, READS)["at rest"].key_requests == of_table_keys().key_requests


def test_the_command_says_what_options_add(capsys: pytest.CaptureFixture[str]) -> None:
    assert cost.main(["--windows", "all", "--json"]) == 0
    without = json.loads(capsys.readouterr().out)
    assert cost.main(["--windows", "all", "--json", "--provisioned", "--target", "35", "--minimum-units", "1"]) == 0
    half = json.loads(capsys.readouterr().out)
    assert cost.main(["--windows", "all", "--provisioned"]) == 0
    lines = capsys.readouterr().out.splitlines()

    assert "tables" not in without
    assert without["options"] == half["options"]
    assert half["tables"]["steady"] == pytest.approx(0.289 / 0.35 * half["tables"]["on demand"], rel=0.02)
    assert [line.split("  ")[2] for line in lines if "provisioned," in line] == [
        f"provisioned, {shape}" for shape in SHAPES
    ]
    assert any(line.strip().startswith("with Tracing=Active") for line in lines)
