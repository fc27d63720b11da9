"""The budgets of reads and events and the measured figures, in one table of all results.

`python -m benchmarks budgets` writes it into `docs/performance-tables.md`, without the budgets that stand beside their
figures in another table.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import Output
from benchmarks.harness.rolling_board import ONE_DAY, TWO_OF_SEVEN
from benchmarks.measure import hot_key, reads, tie_breaks
from benchmarks.measure.speed import speed
from benchmarks.measure.units import AMOUNTS, BUDGETS, SHIPPED, TOGETHER, Kind, kind_of
from benchmarks.pages.tables import Result, Table

ENOUGH: Final = 1.75
"""The factor by which twice the shards must raise the ceiling; it is below 2 because members spread unevenly."""
SOONER: Final = 0.8
FOLLOWED: Final = 1.5
TRANSACTIONS: Final = 3
"""Those of the rows of one event as shipped."""
STREAMS: Final = {"last-7-days": 18, "last-30-days": 44}
"""Write units of an event of a real stream in a rolling window by itself."""
SHORT: Final = [name for name, (windows, _) in reads.KINDS.items() if windows == SHIPPED]
LONG: Final = [name for name in reads.KINDS if name not in SHORT]
READS: Final = (
    ("rank of a member", list(reads.KINDS), 7, 2),
    *(("top 100", SHORT, 8, None), ("top 100", LONG, 11, None)),
    *((read, SHORT, 14, None) for read in ("100 at the middle", "around a member, 5 on each side")),
    *((read, list(reads.KINDS), None, 3) for read in ("the first alone", "top 100 with `me`")),
)
"""Reads of rolling windows on some boards: the most read units and the most round trips, if these have a budget."""
ITEMS: Final = 2 * 100 + 12
"""The most list items that a page of 100 may read of each list."""
LISTS: Final = {"last-7-days": 5, "last-30-days": 9, "last-90-days": 9}
"""The most lists that a page merges."""


class Budget(NamedTuple):
    """One line of the table: its subject, the budget, the measured figure, and whether the figure is within it."""

    subject: str
    budget: str
    measured: str
    met: bool


def at_most(subject: str, unit: str, most: float, figure: float, trips: tuple[int, int] | None = None) -> Budget:
    """Return a budget of units, and of round trips, if the most and the measured ones are given."""
    if trips is None:
        return Budget(subject, f"≤ {most:g}{unit}", f"{figure:g}", figure <= most)
    budget = f"≤ {most:g}{unit}, {trips[0]} round trip{'s' if trips[0] > 1 else ''}"
    return Budget(subject, budget, f"{figure:g}, {trips[1]}", figure <= most and trips[1] <= trips[0])


def at_least(subject: str, budget: str, least: float, figure: float, form: str = "{:,}") -> Budget:
    return Budget(subject, budget, form.format(figure), figure >= least)


def of_rankings(result: Result) -> Iterator[Budget]:
    """Yield the budgets of a ranking of `all`: whatever its size, and however many members share a score."""
    rows = {(row["board"], row["members"], row["read"]): row for row in reads.of_boards(result, reads.POPULATIONS)}
    sizes = sorted({members for _, members, _ in rows})
    rank, top = ([row for (*_, read), row in rows.items() if read == name] for name in ("rank of a member", "top 100"))
    units, trips = _most(rank)
    subject = f"a member's rank, scores below 2^28, {sizes[0]:,} to {sizes[-1]:,} members"
    yield at_most(subject, " read units", 3, units, (2, trips))
    flat = max(
        rows[board, sizes[-1], "rank of a member"][kind] / rows[board, sizes[0], "rank of a member"][kind]
        for board in reads.POPULATIONS
        for kind in ("read_units_mean", "read_units_most")
    )
    yield Budget(f"the same at {sizes[-1]:,} members ÷ at {sizes[0]:,}", "≤ 1.1", f"{flat:.2f}", flat <= 1.1)
    units, trips = _most(top)
    yield at_most("top 100 with the total, ids of 20 bytes", " read units", 2.5, units, (1, trips))
    for subject, boards, read in (
        ("100 at the middle, few equals", [reads.FEW], "100 at the middle"),
        ("100 by cursor from the middle, any equals", reads.POPULATIONS, "next page of 100"),
    ):
        more = max(
            rows[board, size, read]["read_units_most"] - rows[board, size, "top 100"]["read_units_most"]
            for board in boards
            for size in sizes
        )
        yield Budget(subject, "≤ 2.5 read units more", f"{more:g} more", more <= 2.5)


def of_hot_key(result: Result) -> Iterator[Budget]:
    four = min(row["events_per_second"] for row in result["ceilings"] if row["shards"] == 4)
    subject = "a hot board of 4 shards, events of different members, until a key takes 1,000 write units per second"
    yield at_least(subject, "≥ 1,000 events/s", 1_000, four)
    together = {row["shards"]: row["events_per_second"] for row in result["ceilings"] if row["batch"] > 1}
    growth = min(together[2 * shards] / together[shards] for shards in hot_key.SHARDS[:-1])
    yield at_least("the same with twice the shards, batches of 100", f"≥ {ENOUGH:g} ×", ENOUGH, growth, "{:.2f} ×")


def of_compared(result: Result) -> Iterator[Budget]:
    most = max(row["members"] for row in result["ranks"])
    costs = {row["method"]: row["read_units"] for row in result["ranks"] if row["members"] == most}
    share = costs["count everyone above"] / costs["Standings"]
    subject = f"the median of {most:,} members: counting everyone above ÷ a rank, in read units"
    yield at_least(subject, "≥ 1,000", 1_000, share, "{:,.0f}")


def of_reads(result: Result) -> Iterator[Budget]:
    rows = [row for row in result["reads"] if row["read"] == "rank of a member with the previous rank"]
    units, trips = _most([row for row in rows if row["board"] == "`all` and `day`"])
    yield at_most("a rank with the previous rank", " read units", 6, units, (2, trips))
    board = f"{reads.SHARDS} shards"
    units, _ = _most([row for row in result["reads"] if row["board"] == board and row["read"] == "top 100"])
    yield at_most(f"top 100 of {board}", " read units", 2.5 + 0.5 * (reads.SHARDS - 1), units)


def _most(rows: list[Mapping[str, Any]]) -> tuple[float, int]:
    return max(row["read_units_most"] for row in rows), max(row["round_trips_most"] for row in rows)


def of_lanes(result: Result) -> Iterator[Budget]:
    for row in result["reads"]:
        if row["lanes"] > 1:
            trips = (3, row["round_trips_first"])
            subject = f"a rank on a hot board of {row['lanes']} lanes"
            yield at_most(subject, " read units", 0.5 + 2.5 * row["lanes"], row["read_units_most"], trips)


def of_rolling_reads(result: Result) -> Iterator[Budget]:
    """Yield the budgets of rolling windows: those of all boards and moments together."""
    for read, boards, most_units, most_trips in READS:
        rows = [
            row for row in reads.of_boards(result, boards) if row["read"] in {f"{read}, {when}" for when in reads.WHEN}
        ]
        units, trips = _most(rows)
        members = max(row["members"] for row in rows)
        windows = dict.fromkeys(board.partition(",")[0] for board in boards)
        names = "any rolling window" if boards == list(reads.KINDS) else " and ".join(windows)
        subject = f"{read}, {names}, up to {members:,} members, any life, at any moment"
        if most_units is not None:
            yield at_most(subject, " read units", most_units, units, (most_trips, trips) if most_trips else None)
        elif most_trips is not None:
            yield at_most(subject, " round trips", most_trips, trips)


def of_list_items(result: Result) -> Iterator[Budget]:
    for window, lists in LISTS.items():
        boards = [board for board in reads.KINDS if board.startswith(f"`{window}`")]
        items = max(
            row["entries_most"]
            for row in reads.of_boards(result, boards)
            if row["read"].startswith(("top 100,", "100 at"))
        )
        subject = f"list items that a page of 100 reads, `{window}`, any life, at any moment"
        yield Budget(subject, f"≤ {ITEMS} for each of {lists} lists", f"{items} of all", items <= ITEMS * lists)


def of_events(result: Result) -> Iterator[Budget]:
    rows = {kind_of(row): row for row in result["writes"]}
    for kind, most in BUDGETS.items():
        row = rows[kind]
        life = f", members active on {kind.life}" if kind.life == TWO_OF_SEVEN else ""
        together = f"{TOGETHER} together" if kind.kind == "together" else kind.kind
        points = "{}–{:,}".format(*kind.amounts)
        subject = f"an event, {kind.windows.text}, {together}, amounts of {points}, {row['members']:,} members{life}"
        yield at_most(subject, " write units", most, row["write_units_per_event"])
    lone = rows[Kind(SHIPPED, "alone", ONE_DAY, AMOUNTS)]["row_transactions_per_event"]
    yield at_most("transactions for the rows of a lone event as shipped", "", TRANSACTIONS, lone)


def of_tie_breaks(result: Result) -> Iterator[Budget]:
    for row in result["ties"]:
        if "times" in row:
            subject = (
                f"an event with a tie-break ÷ without, {TOGETHER} together, {row['members']:,} members: {row['what']}"
            )
            yield at_most(subject, "", row["most"], row["times"])
        else:
            subject = f"{row['what']}, with a tie-break, both numbers below 2^14"
            yield at_most(subject, "", row["most"], row["with"], (tie_breaks.ROUND_TRIPS, row["round_trips"]))


def of_streams(result: Result) -> Iterator[Budget]:
    for window, most in STREAMS.items():
        units = max(row["write_units_per_event"] for row in result["rows"] if row["window"] == window)
        subject = f"a real stream of {result['events']:,} events, `{window}` by itself, each event alone"
        yield at_most(subject, " write units", most, units)


def of_speed(result: Result) -> Iterator[Budget]:
    for row in result["paces"]:
        least, pace = speed.BUDGETS[row["level"]], row["records_per_second"]
        subject = f"{row['function']}, one core, {speed.STUBBED[row['level']]} stubbed"
        yield at_least(subject, f"≥ {least:,} {speed.RECORDS[row['function']]} a second", least, pace)
    for row in result["starts"]:
        if most := speed.STARTS.get(row["program"]):
            subject = f"a start of the {row['program']} function ÷ of a module that only makes a boto3 client, CPU time"
            yield Budget(subject, f"≤ {most:g}", f"{row['times_base_cpu']:.2f}", row["times_base_cpu"] <= most)


def of_serving(result: Result) -> Iterator[Budget]:
    ratio, now = result["now_to_before"]["first_standings_s"], result["median"]
    yield Budget(
        "`make serve` to the first ranks ÷ of the version before", f"≤ {SOONER:g}", f"{ratio:.2f}", ratio <= SOONER
    )
    longest = max(row["stopped_s"] for row in result["rounds"] if row["version"] == "now")
    yield at_most("`make serve` from Ctrl-C to its end", " s", 5, longest)
    subject = "`POST /events?wait=` until its ranks follow ÷ the writer's batching window"
    yield Budget(subject, f"≤ {FOLLOWED:g}", f"{now['followed_to_window']:.2f}", now["followed_to_window"] <= FOLLOWED)
    yield at_most("a changed `boards.toml` until `make serve` counts by it", " s", 20, now["boards_taken_up_s"])


FROM: Final[tuple[tuple[str, Callable[[Result], Iterator[Budget]]], ...]] = (
    *(("reads", of_rankings), ("hot_key", of_hot_key), ("compared", of_compared), ("reads", of_reads)),
    *(("lanes", of_lanes), ("reads", of_rolling_reads), ("reads", of_list_items), ("units", of_events)),
    *(("tie_breaks", of_tie_breaks), ("streams", of_streams), ("speed", of_speed), ("serve", of_serving)),
)
"""The results that have budgets, in the order of the table."""
ELSEWHERE: Final = (of_events, of_list_items, of_tie_breaks, of_speed, of_serving)
"""Budgets that the table leaves out: other tables show them, or nobody decides by them."""


def measure(out: Output) -> dict[str, Any]:
    """Return the budgets of all results that are there; a missing one is reported and left out."""
    budgets: list[dict[str, Any]] = []
    for name, lines in FROM:
        try:
            results = Output() if name == "compared" else out
            budgets += [{"shown": lines not in ELSEWHERE, **one._asdict()} for one in lines(results.result(name))]
        except FileNotFoundError:
            print(f"{name}: no result yet")
    return {"budgets": budgets}


TABLE: Final = Table(
    "what | budget | measured",
    "{subject} | {budget} | {measured}",
    lambda result: (row for row in result["budgets"] if row["shown"]),
)
BENCHMARK: Final = Benchmark("budgets", measure, {"docs/performance-tables.md": {"budgets": TABLE}}, kept=False)
