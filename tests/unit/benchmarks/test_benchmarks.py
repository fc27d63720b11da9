"""What boards cost and a deployment bears, by the models of the benchmarks; and the tools of the benchmarks."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from urllib3 import HTTPConnectionPool

from benchmarks import __main__ as bench
from benchmarks.harness import population
from benchmarks.harness.questions import SideBySide, Ticks
from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.measure.speed import pace, starts
from benchmarks.models import assumed, ceiling, packed
from benchmarks.models.cost import cost, doors, provisioned, services, spending
from benchmarks.models.cost.counted import Settings, Traffic, usage
from benchmarks.models.cost.prices import MILLION, SHIPPED, Bill, read_prices
from benchmarks.models.cost.spending import Load, counted_reads, of_event, of_month
from tests.support.documents.pages import PROJECT
from tests.support.dynamodb.items import item_size

ALL = Settings(windows=("all",))
ALONE = Traffic(members=2_000, batch=1, counted=80)
BATCH = replace(ALONE, batch=20, daily=10.0)
LOAD = Load(ALL, BATCH, 1, 100.0, 1_000.0)
READS = counted_reads(Output())
PRICES = read_prices()
MONTH = assumed.MONTH


def test_an_event_is_a_receipt_an_item_an_entry_a_place_and_its_tiers() -> None:
    one, three = usage(ALL, ALONE), usage(replace(ALL, metrics=3), ALONE)

    assert (one.receipts, one.scores, one.places, one.records, one.moves) == (2, 2, 2, 1, 1)
    assert 2 + 2 <= one.rankings <= 2 + 6
    assert (one.writer_transactions, one.single_writes) == (1, 0)
    # Metrics share the receipt and the item, and events of one batch the tiers.
    assert three.write_units - 4 == pytest.approx(3 * (one.write_units - 4), rel=0.03)
    assert usage(ALL, replace(ALONE, batch=100)).rankings < one.rankings - 1


def test_a_month_is_its_parts_and_reads_go_to_every_window() -> None:
    month = of_month(LOAD, READS)

    assert set(month) == {"events", "reads", "storage", "at rest"}
    assert month["events"] == of_event(LOAD).times(100 * MONTH)
    assert spending.units_of_reads(LOAD, READS) == 3
    assert spending.units_of_reads(replace(LOAD, settings=Settings()), READS) == pytest.approx((3 + 3 + 7) / 3)
    assert [spending.gathered(rate, 1) for rate in (10, 1_000_000)] == [2, 1_000]
    # A message is sent alone, and up to ten are received and deleted together.
    assert [of_event(Load(ALL, one)).queue_requests for one in (ALONE, BATCH)] == pytest.approx([3, 1.2])
    # The events of a batch are divided among boards.
    boards = Load(ALL, replace(ALONE, batch=100), boards=100)
    assert of_event(boards).write_units == of_event(Load(ALL, ALONE)).write_units


def test_storage_is_receipts_of_thirty_days_and_the_items_of_members_to_the_byte() -> None:
    """The items are written here by hand, as `aws/dynamodb/tables.py` says what they hold."""
    at, name = {"N": "1795083300000"}, {"S": "member-0000000000017"}
    counted = {"c": {"S": f'[{at["N"]},{{"berlin-2026":{{"{name["S"]}":{{"h9e":50}}}}}}]'}}
    receipt: dict[str, Any] = {"pk": {"S": f"event-{0:018}"}, "d": {"B": bytes(12)}, "t": at, "e": {"N": "1797675300"}}
    receipt |= counted
    version, score = {"N": "1795083300006"}, {"N": "6306"}
    item: dict[str, Any] = {"pk": {"S": "berlin-2026#51"}, "sk": name, "v": version, "t": at, "g": score, "h9e": score}
    place: dict[str, Any] = {"r": {"S": "berlin-2026#G0Pa"}, "s": {"S": f"Mwm{name['S']}"}}
    entry: dict[str, Any] = {"pk": {"S": f"{place['r']['S']}#{name['S']}"}, "v": version, "t": at, **place}
    added, used, stored = 100, spending.used_by(LOAD), of_month(LOAD, READS)["storage"]
    receipts = 100 * 86_400 * 30 * (item_size(receipt) + added)
    items = 2_000 * (item_size(item) + added)
    keys = {"pk": item["pk"], "sk": name}
    entries = 2_000 * (item_size(keys) + added + 2 * (item_size(entry) + added))

    # Some amounts have a digit more or less.
    assert used.receipt_byte_days == pytest.approx(30 * (item_size(receipt) + added), rel=0.001)
    assert used.member_bytes == item_size(item) + added
    # The index of members' boards holds keys alone.
    assert used.keys_bytes == item_size(keys) + added == 38 + 100
    # Some scores take a digit more in the index.
    assert used.entries_bytes == pytest.approx(2 * (item_size(entry) + added), rel=0.001)
    assert stored.recoverable_gigabytes * 1e9 == pytest.approx(receipts + items, rel=0.001)
    assert stored.stored_gigabytes * 1e9 == pytest.approx(receipts + items + entries, rel=0.001)
    assert PRICES.total(stored) == pytest.approx(0.25 * stored.stored_gigabytes + 0.2 * stored.recoverable_gigabytes)


def test_every_amount_has_a_price_of_a_seller(tmp_path: Path) -> None:
    sellers = ("https://aws.amazon.com/", "https://upstash.com/", "https://developers.cloudflare.com/")
    file = tmp_path / "prices.toml"
    file.write_text(SHIPPED.read_text().replace("[prices.invocations]", "[prices.calls]"))

    with pytest.raises(KeyError, match="phone_calls"):
        PRICES.total(Bill(phone_calls=1))
    assert all(one.source.startswith(sellers) for one in PRICES.of.values())
    assert all(one.read.startswith("https://") for one in PRICES.of.values() if one.confirmed)
    assert PRICES.total(Bill(write_units=2 * MILLION, read_units=MILLION)) == pytest.approx(2 * 0.625 + 0.125)
    with pytest.raises(ValueError, match="calls, invocations"):
        read_prices(file)


def test_the_command_prints_what_a_load_costs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ten_times = tmp_path / "prices.toml"
    ten_times.write_text(SHIPPED.read_text().replace("dollars = 0.625", "dollars = 6.25"))
    options = ["--windows", "all", "--batch", "20", "--members", "2000", "--aggregate", "min"]
    changed = ["--price-file", str(ten_times), "--provisioned", "--target", "35", "--minimum-units", "1"]

    by_day = [
        cost.load_of(cost.parser().parse_args([*options, *more]))
        for more in (["--events-a-day", "432", "--reads-a-day", "4320"], [])
    ]
    assert by_day[0] == by_day[1]

    with pytest.raises(SystemExit, match=r"^make cost: windows: expected .*, got 'lastweek'"):
        cost.main(["--windows", "all,lastweek"])
    answers = []
    for more in ([], changed):
        assert cost.main([*options, "--json", *more]) == 0
        answers.append(json.loads(capsys.readouterr().out))
    assert cost.main([*options, "--provisioned"]) == 0
    lines = [line.strip() for line in capsys.readouterr().out.splitlines()]

    usual, other = answers
    units, tenfold = (one["million_events"]["write_units"] for one in answers)
    total = usual["million_events"]["total"]
    assert total == pytest.approx(sum(usual["million_events"].values()) / 2, abs=0.01)
    assert tenfold == pytest.approx(10 * units, rel=1e-3)
    assert other["million_reads"] == usual["million_reads"]
    assert ("tables" in usual, other["options"]) == (False, usual["options"])
    for begin in (
        "million events",
        "a cache node and a replica",
        "with its alarms",
        "with Tracing=Active",
        "provisioned, daily wave",
    ):
        assert any(line.startswith(begin) for line in lines), begin


@pytest.mark.thorough
def test_members_who_come_on_few_days_cost_less_in_a_rolling_window_alone() -> None:
    alone = Traffic(members=2_000, batch=1, counted=80, daily=8.64)
    seldom = replace(alone, comes=1 / 7)
    shipped, rare = usage(Settings(), alone), usage(Settings(), seldom)

    assert rare.write_units < 0.85 * shipped.write_units
    assert usage(ALL, seldom).write_units == pytest.approx(usage(ALL, alone).write_units, rel=0.05)


def test_a_commitment_takes_its_share_off_what_it_is_for() -> None:
    bills = provisioned.committed(PRICES, LOAD, READS)
    month, planned, reserved = (bills[name] for name in ("on demand", "with a plan", "provisioned, reserved"))

    assert list(bills) == list(provisioned.COMMITTED)
    assert month == spending.in_all(LOAD, READS)
    assert planned.write_units == pytest.approx(0.82 * month.write_units)
    assert reserved.write_unit_hours == pytest.approx(0.46 * bills["provisioned"].write_unit_hours)
    for name in ("invocations", "logged_gigabytes", "stored_gigabytes"):
        assert getattr(planned, name) == getattr(reserved, name) == getattr(month, name), name


def test_what_keeps_scores_by_itself_needs_no_table() -> None:
    durable, computed = services.durable_valkey(LOAD), services.dsql(LOAD)
    by_client = replace(LOAD, way=spending.CLIENT)

    # By a client, reads pass no API, neither ours nor theirs.
    assert of_month(by_client, READS)["reads"] == Bill(read_units=3.0).times(1_000 * MONTH)
    assert services.valkey_serverless(by_client).api_requests == 0
    assert durable.write_units == computed.write_units == 0
    assert durable.large_node_hours == 2 * 730
    # A move is 7 rows of 128 bytes, less than the least of a transaction, and 10 ms; a rank reads as many in 3 ms.
    event = 1_024 * 0.00004883 + 2_048 * 0.00000183105 + 0.010
    rank = 2_048 * 0.00000183105 + 0.003
    assert computed.dsql_units == pytest.approx((100 * event + 1_000 * rank) * MONTH)
    plans = [
        services.upstash(replace(LOAD, traffic=replace(BATCH, members=n)), fixed=True) for n in (2_000, 10**7, 10**9)
    ]
    assert [plan and (plan.upstash_small_plans, plan.upstash_large_plans) for plan in plans] == [(1, 0), (0, 1), None]


def test_a_read_over_the_function_url_passes_the_function_alone_and_so_do_those_of_others() -> None:
    by_url, (_, row, *_) = replace(LOAD, way=spending.URL), list(doors.rows(PRICES, READS))
    reads, over_the_api = (of_month(load, READS)["reads"] for load in (by_url, LOAD))

    assert reads == of_month(replace(LOAD, way=spending.DIRECT), READS)["reads"]
    spared = {name for name in over_the_api.amounts if name not in reads.amounts}
    assert spared == {"api_requests", "logged_gigabytes"}
    for ask in (services.valkey_serverless, services.node_and_replica, services.durable_valkey, services.dsql):
        ours, theirs = (bill(by_url) for bill in (lambda load: spending.in_all(load, READS), ask))
        assert (ours.api_requests, theirs.api_requests) == (0, 0)
        assert PRICES.total(ask(LOAD)) - PRICES.total(theirs) == pytest.approx(
            PRICES.total(over_the_api) - PRICES.total(reads)
        )
    # 10 reads a second are 26 million a month: a CDN takes a dollar for each million, its plan of 125 million 200.
    assert row["cdn"]["0 %"] == pytest.approx(row["doors"][spending.URL] + 10 * MONTH / MILLION, abs=0.01)
    assert row["plan"]["90 %"] == pytest.approx(200 + row["doors"][spending.URL] / 10, abs=0.01)


def test_provisioned_units_are_those_of_events_and_reads() -> None:
    writes, reads = (sum(side) for side in zip(*provisioned.by_table(LOAD, READS).values(), strict=True))
    large = replace(LOAD, events_per_second=10_000.0, reads_per_second=100_000.0)
    share = provisioned.pays_above(PRICES)["write"]
    costs = provisioned.compared(PRICES, large, READS, target=share)

    assert writes == pytest.approx(100 * of_event(LOAD).write_units)
    assert reads == pytest.approx(100 * of_event(LOAD).read_units + 1_000 * 3)
    assert share == pytest.approx(0.00065 / 3600 / (0.625 / 1e6), abs=0.001)
    # Provisioned tables whose units in use are just that share cost the same.
    assert costs["steady"] == pytest.approx(costs["on demand"], rel=0.01)
    # Three tables and the index, 730 hours, units of either side.
    assert provisioned.idle(PRICES, LOAD, READS) == pytest.approx(4 * 730 * 5 * (0.00065 + 0.00013), abs=0.01)


def test_traces_cost_what_aws_says() -> None:
    assert [spending.traced(runs) for runs in (0, 0.5, 1, 21, 10_001)] == pytest.approx([0, 0.5, 1, 2, 501])
    # 100 events a second in batches of 20 are 5 runs of the writer and of the projector.
    assert spending.of_tracing(LOAD).traces == pytest.approx((2 * 1.2 + 1 + 0.05 * 999) * MONTH)


def test_every_window_is_a_set_and_what_a_service_does_not_bear_has_no_price() -> None:
    def asked(requests: float, members: int = 2_000) -> Load:
        return Load(ALL, replace(BATCH, members=members), 1, requests / 11, requests * 10 / 11)

    sets = services.sets_of(replace(LOAD, settings=Settings(windows=("all", "day", "last-7-days"))))
    # All, and with a rolling window a sum of seven days and eight days.
    assert (sets.periods, sets.sums) == (2, 1)
    assert sets.entries == pytest.approx(10 * 2_000, rel=0.001)
    assert services.durable_object(asked(999)) is not None
    assert services.durable_object(asked(1_001)) is None
    assert services.durable_object(asked(1, 2 * MILLION)) is None
    assert services.upstash(asked(6_000)) is None
    servers = [services.one_server(asked(requests)) for requests in (199, 5_000, 11_000)]
    hours = [(bill.small_server_hours / services.HOURS, bill.large_server_hours / services.HOURS) for bill in servers]
    assert hours == [(1, 0), (0, 1), (0, 3)]


TIERS = {(1, 100): 2_000.0, (4, 100): 6_000.0, (8, 100): 6_000.0}
SHIPPED_STACK = ceiling.Deployment()


def test_what_falls_behind_and_what_helps() -> None:
    usual = ceiling.lag_of(ceiling.Scene(400, 1, 1), SHIPPED_STACK, TIERS)
    hot, many = ceiling.Scene(1_000, 1, 1), ceiling.Scene(1_000, 1_000, 3, single_writes=2.5)
    found = ceiling.least(hot, TIERS)

    # The batching window and little more, while all keep up.
    assert usual is not None
    assert 0.5 < usual.average < 1 < usual.most < 2
    assert ceiling.lag_of(hot, SHIPPED_STACK, TIERS) is None
    assert ceiling.lag_of(hot, replace(SHIPPED_STACK, shards=2), TIERS)
    assert ceiling.lag_of(many, SHIPPED_STACK, TIERS) is None
    assert ceiling.lag_of(many, replace(SHIPPED_STACK, parallelization=10), TIERS)
    assert ceiling.lag_of(replace(many, windows=1), replace(SHIPPED_STACK, writers=0), TIERS) is None
    assert ceiling.least(replace(hot, rate=6_001), TIERS) is None
    assert found is not None
    assert found[0].shards == 3


def test_the_page_states_the_assumptions() -> None:
    page = (PROJECT / "docs" / "performance-tables.md").read_text(encoding="utf-8")

    assert f"A transaction takes {1000 * assumed.TRANSACTION:g} ms, committed or cancelled." in page
    assert f"A read takes {1000 * assumed.READ:g} ms." in page
    assert f"A run of a function takes {1000 * assumed.INVOCATION:g} ms beside its work." in page
    assert assumed.EVENT == assumed.MOVE
    assert f"An event and a move take {1000 * assumed.EVENT:g} ms of processor each." in page
    assert f"a single write of {1000 * assumed.WRITE:g} ms, {assumed.WRITES_SIDE_BY_SIDE} of them at once" in page


def _take(ticks: Ticks, count: int) -> int:
    ticks.now += count
    return count


@pytest.mark.parametrize(
    ("workers", "takes", "most"),
    [(8, [1, 3, 2], 3), (2, [1, 1, 1, 1, 1], 3), (1, [2, 3], 5)],
    ids=["as long as the longest", "a job waits for a free worker", "one worker, one by one"],
)
def test_jobs_side_by_side_take_round_trips(workers: int, takes: list[int], most: int) -> None:
    ticks = Ticks()
    pool = SideBySide(ticks, max_workers=workers, thread_name_prefix="")
    jobs = [pool.submit(_take, ticks, count) for count in takes]

    assert ticks.now == 0  # a job whose result is not read delays nothing
    assert [job.result() for job in jobs] == takes
    assert ticks.now == most


@pytest.mark.parametrize("function", ["writer", "projector"])
def test_a_function_runs_over_stubs(monkeypatch: pytest.MonkeyPatch, function: str) -> None:
    for name, value in pace.ENVIRONMENT.items():
        monkeypatch.setenv(name, value)
    some = pace.batches(function, population.BOARDS, 20, 5, 2)

    monkeypatch.setattr(HTTPConnectionPool, "urlopen", HTTPConnectionPool.urlopen)  # to have it back
    for stubs_network in (False, True):
        pace.run(pace.load(function, population.BOARDS, stubs_network=stubs_network), some)


def test_pairs_are_torn_apart_or_merged_by_a_double_and_those_behind_have_wrong_ranks() -> None:
    board = [
        packed.Packed((3, 0), 3.0),
        packed.Packed((2, 1), 2.1000000000000001),
        packed.Packed((2, 1), 2.1000000000000005),  # equal, and ahead by a bit
        packed.Packed((1, 5), 1.5),
        packed.Packed((1, 4), 1.5),  # behind, and level
    ]

    found = {"members": 5, "equal_pairs": 1, "torn_apart": 1, "merged": 1, "wrong_ranks": 2}
    assert packed.confused([board]) == found
    # Ireland and Italy of 1994, and nobody else.
    real = {"members": 36, "equal_pairs": 1, "torn_apart": 1, "merged": 0, "wrong_ranks": 1}
    assert packed.confused(packed.groups(0)) == real


def test_a_benchmark_that_fails_or_lacks_a_program_is_named_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(bench, "run", lambda name, _: ran.append(name) or name == "reads")  # type: ignore[func-returns-value]
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/chromium")
    monkeypatch.setattr(starts, "BUILDER", REPOSITORY / "missing")

    assert bench.main(["--size", "small"]) == 1
    assert ran == [name for name in (*bench.MODULES, "safeguards") if name != "speed"]
    printed = capsys.readouterr()
    first = printed.out.splitlines()[0]
    assert first.startswith("speed will be left out: expected ")
    assert printed.err.splitlines() == ["failed: reads", first.replace("will be", "was")]
    assert bench.main(["--size", "small", "units", "lanes"]) == 0
