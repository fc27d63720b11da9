"""The budgets, counted over the real requests. `make units` and `make reads` measure the published figures.

Requests and items do not depend on the size of a board, so small boards show in `make test` what large ones show again.
"""

from random import Random

import pytest

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from benchmarks.harness.questions import Board, Questions, placed
from benchmarks.harness.rolling_board import ONE_DAY
from benchmarks.harness.truth import Truth
from benchmarks.measure import reads, rolling, tie_breaks, units
from benchmarks.measure.units import AMOUNTS, Kind
from benchmarks.models.cost.counted import Traffic, usage
from benchmarks.pages.budgets import TRANSACTIONS
from standings.domain.windows import DAY
from tests.support.aws.stack import ManualClock, apply, running
from tests.support.builders.points import NOW
from tests.support.dynamodb.tables import engine_with_tables
from tests.support.thoroughness import TIMES

# They share one process, so each board is made once.
pytestmark = pytest.mark.xdist_group("costs")

SIZES = [3_000, pytest.param(100_000 * TIMES, marks=pytest.mark.thorough)]
Placed = tuple[Board, Truth]


@pytest.mark.parametrize("members", [300, 3_000, pytest.param(20_000, marks=pytest.mark.thorough)])
def test_a_rank_costs_three_read_units_and_two_round_trips_at_most(members: int) -> None:
    read = units.reads(members)

    assert read["rank_read_units_most"] <= 3
    assert read["rank_round_trips_most"] == 2
    assert read["top_100_read_units"] <= 2.5


@pytest.fixture(scope="module", params=SIZES)
def few_equals(request: pytest.FixtureRequest) -> Placed:
    return placed(request.param, population.finegrained)


@pytest.fixture(scope="module", params=SIZES)
def many_equals(request: pytest.FixtureRequest) -> Placed:
    return placed(request.param, population.lognormal)


def test_a_page_costs_the_same_at_every_position(few_equals: Placed) -> None:
    read = {row["read"]: row["read_units_most"] for row in reads.usual(*few_equals)}
    first, near, deep = (read[depth] for depth in ("top 100", "100 at position 1,000", "100 at the middle"))

    assert max(near, deep) <= 1.2 * min(near, deep)
    assert max(near, deep) <= first + 2.5
    # Scores are large here.
    assert read["rank of a member"] <= 3


def test_a_page_among_equals_costs_what_it_skips_more(many_equals: Placed) -> None:
    board, truth = many_equals
    position = truth.total // 2
    skipped = position - 1 - truth.ahead(truth.scores[truth.order[position - 1]])
    ask = Questions(board, truth, Random(1))
    first, middle = (board.row("a page", [page]) for page in (ask.page(1), ask.at(position)))

    assert middle["entries_most"] == first["entries_most"] + skipped
    # 4 KB, which cost half a unit, hold 35 entries with ids of at least 20 bytes.
    assert middle["read_units_most"] <= first["read_units_most"] + 2.5 + skipped / 70 + 0.5


@pytest.mark.parametrize("members", SIZES)
def test_the_first_thousand_of_ten_shards_are_merged_from_little_more(members: int) -> None:
    board, truth = placed(members, population.lognormal, reads.SHARDS)
    ask = Questions(board, truth, Random(3))
    read = board.row("top 1,000", [ask.page(1, limit=1_000)])

    assert 1_000 < read["entries_most"] <= 1_300


@pytest.mark.parametrize(
    "kind", [pytest.param(kind, marks=pytest.mark.thorough if "90" in kind else ()) for kind in reads.KINDS]
)
def test_reads_of_rolling_windows_are_right_and_a_rank_costs_seven_units(kind: str) -> None:
    read = {row["read"]: row for row in reads.rolling(400, kind)}

    ranks = [row for name, row in read.items() if name.startswith("rank of a member, ") and "previous" not in name]
    assert len(ranks) >= len(reads.WHEN) - 1  # Nobody may have been ranked in the ended period
    for rank in ranks:
        assert rank["read_units_most"] <= 7
        assert rank["round_trips_most"] == 2


@pytest.mark.parametrize(
    "kind",
    [
        pytest.param(kind, marks=() if (kind.life, kind.kind) == (ONE_DAY, "alone") else pytest.mark.thorough)
        for kind in units.BUDGETS
        if kind.windows == units.SHIPPED and kind.amounts == AMOUNTS
    ],
)
def test_an_event_in_a_rolling_window_costs_what_it_may(kind: Kind) -> None:
    """With fewer members than `make units` has."""
    batch = units.TOGETHER if kind.kind == "together" else 1
    used = usage(kind.windows, Traffic(20_000, batch=batch, daily=units.LIVES[kind.life], counted=200))

    assert used.write_units <= units.BUDGETS[kind]
    assert used.projector_transactions <= TRANSACTIONS


def test_a_stream_is_counted() -> None:
    stream = [rolling.Event(day * DAY + number, f"m{number}", 5) for day in range(34) for number in range(15)]
    counted = [rolling.Run("last-7-days").apply(cut(stream)) for cut in rolling.KINDS.values()]

    for row in counted:
        assert row["events"] == 4 * 15
        assert row["write_units_per_event"] == pytest.approx(sum(row["parts"].values()), abs=0.03)
    # Every event writes its row and its list; alone, also its own entry of the log.
    together, alone = (row["parts"] for row in counted)
    assert together["rows"] == alone["rows"] == 2 < together["list"]
    assert together["nodes"] < together["log"] < 1 < alone["log"]
    assert counted[0]["write_units_per_event"] < counted[1]["write_units_per_event"]


TIED = """
[boards."*"]
metrics.solved = { aggregate = "sum", windows = ["all", "last-7-days"], tie_breaks = ["penalty"] }
metrics.penalty = { aggregate = "sum", order = "ascending" }
metrics.plain = { aggregate = "sum", windows = ["all"] }
"""


@pytest.mark.parametrize(("ranking", "units"), [("plain/all", 2), ("solved/all", 3.5), ("solved/last-7-days", 8)])
def test_a_rank_costs_half_a_unit_for_each_tier_of_score_and_tie_break(ranking: str, units: float) -> None:
    """Numbers below 2^14 have three tiers. In a rolling window all reads are consistent, and the log is one of them."""
    meter, rng = Meter(engine_with_tables()), Random(1)
    with running(meter, ManualClock(NOW), TIED) as stack:
        events = [
            {"id": str(n), "board": "b", "member": f"m{n}", "at": "2026-11-21T10:00:00Z", "metrics": metrics}
            for n in range(300)
            for metrics in [{name: rng.randrange(200, 2**14) for name in ("solved", "penalty", "plain")}]
        ]
        apply(stack, events)
        for number in range(20):  # The first reads the board's record, and how many lanes there are.
            before = meter.snapshot().total
            status, _ = stack.get(f"/boards/b/{ranking}/rank", member=f"m{number}")
            cost = meter.snapshot().total - before
            assert (status, cost.round_trips <= 2 or number == 0) == (200, True)
            assert cost.read <= units or number == 0
        assert cost.read == units


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=() if "solved" in name else pytest.mark.thorough) for name in tie_breaks.KINDS],
)
def test_an_event_with_a_tie_break_costs_so_many_times_what_it_costs_without(name: str) -> None:
    """With fewer members than `make units` has."""
    row = tie_breaks.event_row(name, tie_breaks.KINDS[name], 20_000, units.TOGETHER)

    assert 1 < row["times"] <= row["most"]


def test_previous_ranks_cost_three_read_units_more_and_no_round_trip() -> None:
    read = {row["read"]: row for row in reads.periods(2_000)}["rank of a member with the previous rank"]

    assert read["read_units_most"] <= 3 + 3
    assert read["round_trips_most"] == 2
