"""What the same boards cost on other services: sets by window, limits, and whose prices they take."""

from dataclasses import replace

import pytest

from benchmarks.models import assumed
from benchmarks.models.cost.load_inputs import Settings, Traffic
from benchmarks.models.cost.prices import MILLION, read_prices
from benchmarks.models.cost.spending import Load
from benchmarks.models.hosted import hosted_tables, services

MONTH = assumed.MONTH
BOARD = Load(Settings(windows=("all",)), Traffic(members=10_000, batch=1, daily=10.0), 1, 1.0, 10.0)
SHIPPED = replace(BOARD, settings=Settings())


def at(load: Load, factor: float) -> Load:
    return replace(
        load, events_per_second=factor * load.events_per_second, reads_per_second=factor * load.reads_per_second
    )


def with_members(load: Load, members: int) -> Load:
    return replace(load, traffic=replace(load.traffic, members=members))


def test_every_window_is_a_command_and_a_rolling_one_shares_its_days() -> None:
    def each(*windows: str) -> float:
        return services.commands(replace(BOARD, settings=Settings(windows=windows), reads_per_second=0.0)) / MONTH

    assert each("all") == 1
    assert each("all", "day", "last-7-days") == each("all", "last-7-days") == 3
    assert each("all", "day", "week") == 3
    assert each("last-7-days", "last-30-days") == 3


def test_a_rolling_window_keeps_its_days_and_adds_them_up() -> None:
    alone, rolling = (services.sets_of(load) for load in (BOARD, SHIPPED))

    assert (alone.entries, alone.merged) == (10_000, 0)
    # All, a sum of seven days, and eight days.
    assert rolling.entries == pytest.approx(10 * 10_000, rel=0.001)
    assert rolling.shown == pytest.approx(3 * 10_000, rel=0.001)
    assert rolling.merged == pytest.approx(7 * 10_000 * MONTH / 86_400, rel=0.001)


def test_a_node_holds_the_sets_and_a_replica_costs_the_same_again() -> None:
    crowd = services.nodes(with_members(SHIPPED, 20 * MILLION), 1)

    assert services.nodes(BOARD, 2).micro_node_hours == 2 * services.HOURS
    assert services.nodes(with_members(SHIPPED, MILLION), 1).medium_node_hours == services.HOURS
    assert (crowd.micro_node_hours, crowd.large_node_hours) == (0, 3 * services.HOURS)


def test_what_a_service_does_not_bear_has_no_price() -> None:
    assert services.durable_object(at(BOARD, 90)) is not None
    assert services.durable_object(at(BOARD, 91)) is None
    assert services.durable_object(with_members(BOARD, 2 * MILLION)) is None
    assert services.upstash(at(BOARD, 477)) is None


def test_what_cloudflare_includes_is_free() -> None:
    quiet = services.durable_object(at(BOARD, 0.01))

    assert quiet is not None
    assert read_prices().total(quiet) == 5


def test_busy_boards_take_a_larger_server_and_then_more() -> None:
    hours = [
        (bill.small_server_hours, bill.large_server_hours)
        for bill in (services.one_server(at(BOARD, factor)) for factor in (1, 100, 1_000))
    ]

    assert hours == [(services.HOURS, 0), (0, services.HOURS), (0, 3 * services.HOURS)]


def test_the_picture_and_the_tables_leave_out_what_is_not_borne() -> None:
    dollars = {"Standings": 2.0, **dict.fromkeys(services.SERVICES, 1.0), "Upstash": None}
    result = {
        "services": [
            {"board": board, "events_per_second": rate, "reads_per_second": 1.0, "members": 1, "dollars": dollars}
            for board in hosted_tables.BOARDS
            for rate in hosted_tables.SHORT
        ]
    }
    table, short = (list(lines(result)) for lines in hosted_tables.TABLES.values())

    assert table[-1].endswith("| $1 | - | $1 | $1 |")
    assert short[-1].endswith("| $2 | $2 | $1 | $1 | $1 |")
    (svg,) = hosted_tables.pictures(result).values()
    assert "Upstash" not in svg
    assert all(name in svg for name in hosted_tables.DRAWN if name != "Upstash")
