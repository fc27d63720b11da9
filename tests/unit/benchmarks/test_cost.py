"""The model of an event's usage and costs, from a board's settings."""

import json
from dataclasses import fields, replace
from pathlib import Path

import pytest

from benchmarks.harness.results_file import Output
from benchmarks.models import alternatives, grid
from benchmarks.models.cost import cost, spending
from benchmarks.models.cost.load_inputs import Settings, Traffic
from benchmarks.models.cost.prices import MILLION, SHIPPED, Bill, read_prices
from benchmarks.models.cost.spending import Load, of_event, of_month, of_storage
from benchmarks.models.cost.usage import storage, usage

ALL = Settings(windows=("all",))
ALONE = Traffic(batch=1)


def test_an_event_alone_is_a_receipt_an_item_an_entry_a_place_and_its_tiers() -> None:
    used = usage(ALL, ALONE)

    assert (used.receipts, used.scores, used.entries, used.index) == (2, 2, 2, 2)
    assert 2 <= used.tiers <= 6
    assert used.read_units < 1


def test_a_new_place_is_one_unit() -> None:
    assert usage(ALL, replace(ALONE, fresh=True)).index == 1


def test_a_rolling_window_is_one_row_and_a_few_steps() -> None:
    week, quarter = (usage(Settings(windows=(name,)), ALONE) for name in ("last-7-days", "last-90-days"))

    assert week.moves == quarter.moves == 1
    assert 4 <= week.entries <= 5  # a row, and one step that crosses the beginning of one slab or two
    assert 11 <= quarter.entries <= 12


def test_metrics_share_the_receipt_and_the_item() -> None:
    one, three = usage(ALL, ALONE), usage(replace(ALL, metrics=3), ALONE)

    assert three.write_units - 4 == pytest.approx(3 * (one.write_units - 4))


def test_events_of_one_member_in_a_batch_are_one_change() -> None:
    used = usage(ALL, Traffic(batch=100, active=1))

    assert used.receipts == 2
    assert used.scores == pytest.approx(2 / 100)
    assert used.entries == pytest.approx(2 / 100)


def test_a_best_that_does_not_improve_moves_nothing() -> None:
    used = usage(replace(ALL, aggregate="max"), replace(ALONE, batch=10, improving=0.0))

    assert used.write_units == 4
    assert used.read_units == 0.5


def test_the_first_of_a_period_counts_less_the_more_often_a_member_comes() -> None:
    settings = Settings(windows=("day",))
    index = [usage(settings, replace(ALONE, batch=10, daily=daily)).index for daily in (0.001, 1.0, 1000.0)]

    # (1 - e^-k) / k of all events are a member's first of the day.
    assert index == pytest.approx([1.0, 2 - 0.632, 2.0], abs=0.01)


def test_the_model_is_near_the_counted_units() -> None:
    row = grid.row(Settings(windows=("all", "day")), Traffic(members=5_000, batch=100), events=500)

    assert abs(row["error"]) < 0.03


def test_stored_accumulators_make_an_item_larger() -> None:
    once, daily = (storage(Settings(), replace(ALONE, daily=rate)) for rate in (0.01, 10.0))

    assert daily.member > once.member + 100
    assert storage(ALL, ALONE).entries < daily.entries


def test_every_field_of_a_bill_has_a_price() -> None:
    prices = read_prices()

    assert set(prices.of) == {one.name for one in fields(Bill)}
    sellers = ("https://aws.amazon.com/", "https://upstash.com/", "https://developers.cloudflare.com/")
    assert all(one.source.startswith(sellers) for one in prices.of.values())
    assert all(one.read.startswith("https://") for one in prices.of.values() if one.confirmed)
    assert prices.total(Bill(write_units=2 * MILLION, read_units=MILLION)) == pytest.approx(2 * 0.625 + 0.125)


def test_a_price_file_without_a_price_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "prices.toml"
    file.write_text(SHIPPED.read_text().replace("[prices.invocations]", "[prices.calls]"))

    with pytest.raises(ValueError, match="calls, invocations"):
        read_prices(file)


def test_the_command_prints_what_a_load_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dearer = tmp_path / "prices.toml"
    dearer.write_text(SHIPPED.read_text().replace("dollars = 0.625", "dollars = 6.25"))
    options = ["--windows", "all", "--batch", "50", "--members", "1000000", "--json"]

    assert cost.main(options) == 0
    costs = json.loads(capsys.readouterr().out)
    assert cost.main([*options, "--price-file", str(dearer)]) == 0
    other = json.loads(capsys.readouterr().out)

    assert costs["million_events"]["total"] == pytest.approx(sum(costs["million_events"].values()) / 2, abs=0.01)
    assert other["million_events"]["write_units"] == pytest.approx(
        10 * costs["million_events"]["write_units"], rel=1e-3
    )
    assert other["million_reads"] == costs["million_reads"]


def test_the_command_prints_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    assert cost.main(["--windows", "all,day", "--aggregate", "min", "--ties", "first", "--boards", "20"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert any(line.startswith("million events") for line in lines)
    assert any(line.strip().startswith("a cache node and a replica") for line in lines)


def test_a_batch_of_many_boards_costs_more() -> None:
    batch = replace(ALONE, batch=100)

    assert of_event(Load(ALL, batch, boards=100)).write_units > of_event(Load(ALL, batch)).write_units


def test_a_month_is_its_parts() -> None:
    reads = spending.counted_reads(Output())
    load = Load(ALL, replace(ALONE, batch=10, members=10_000), events_per_second=10, reads_per_second=10)
    prices = read_prices()
    month = of_month(load, reads)

    assert set(month) == {"events", "reads", "storage", "at rest"}
    assert prices.total(month["events"]) > 100 * prices.total(of_storage(load))
    assert spending.gathered(10, 1) == 2
    assert spending.gathered(1_000_000, 1) == 1_000


def test_reads_go_to_every_window_of_a_board_and_a_rolling_one_is_dearer() -> None:
    counted = spending.counted_reads(Output())
    calendar, week, month, shipped = (
        spending.units_of_reads(Load(Settings(windows=windows), ALONE), counted)
        for windows in (("all", "day"), ("last-7-days",), ("all", "last-30-days"), ("all", "day", "last-7-days"))
    )

    assert (calendar, week) == (3, 7)
    assert month == (3 + 7) / 2
    assert shipped == pytest.approx((3 + 3 + 7) / 3)


def test_counting_grows_with_the_board_and_ours_does_not() -> None:
    small, large = (Load(ALL, replace(ALONE, batch=10, members=members)) for members in (1_000, 1_000_000))

    assert alternatives.counted(large).read_units > 500 * alternatives.counted(small).read_units
    assert of_event(large).write_units == pytest.approx(of_event(small).write_units, rel=0.1)
