"""The tables of `docs/cost.md`, and those of costs on other pages: `python -m benchmarks cost`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import product
from typing import Any, Final

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import Output
from benchmarks.models.cost import provisioned, settlements
from benchmarks.models.cost.counted import Settings, Traffic
from benchmarks.models.cost.prices import MILLION, Prices, read_prices
from benchmarks.models.cost.services import CHEAP, SERVICES
from benchmarks.models.cost.spending import (
    READS,
    Counted,
    Load,
    counted_reads,
    loads,
    of_event,
    of_month,
    of_own_key,
    of_read,
    of_table_keys,
    of_tracing,
    read_units,
    traces,
    used_by,
)
from benchmarks.pages.plots import plot
from benchmarks.pages.tables import Lines, Result, Row, Table, crossed
from standings.domain.windows import parse_window

ALL: Final = Settings(windows=("all",))
SHIPPED: Final = Settings()
BOARDS: Final[dict[str, Settings]] = {
    "`all`": ALL,
    '`all`, `ties = "first"`': Settings(windows=("all",), ties="first"),
    '`all`, `aggregate = "max"`, half of the events better': Settings(windows=("all",), aggregate="max"),
    "`all`, `day`, `week`": Settings(windows=("all", "day", "week")),
    "`all`, `day`, `last-7-days` (as shipped)": SHIPPED,
    "`all`, `last-30-days`": Settings(windows=("all", "last-30-days")),
    "three metrics, each `all`": Settings(windows=("all",), metrics=3),
}
POINTS: Final = Traffic()
AMOUNTS: Final = {
    "1–100, median 400": POINTS,
    "100–2,500, median 20,000": Traffic(median=20_000, amounts=(100, 2_500)),
    "10,000–1,000,000, median 4,000,000": Traffic(median=4_000_000, amounts=(10_000, 1_000_000)),
}
BATCHES: Final[tuple[int, ...]] = (1, 10, 100, 500)
WINDOWS: Final = ("day", "last-7-days")
"""Those of the table of reads. A read of `all` costs as much as one of a calendar window."""
MONTHS: Final[tuple[tuple[float, float, int], ...]] = (
    (1.0, 10.0, 10_000),
    (10.0, 100.0, 100_000),
    (100.0, 1_000.0, 1_000_000),
    (1_000.0, 10_000.0, 1_000_000),
)
"""Events per second, reads per second, members."""
SERVED: Final[tuple[tuple[float, float, int], ...]] = ((0.1, 1.0, 10_000), *MONTHS)
SERVED_BOARDS: Final = {"`all`": ALL, "as shipped": SHIPPED}
SHORT: Final = (1.0, 10.0, 100.0)
"""Events per second of the short table."""
OURS: Final = "Standings"
DRAWN: Final = (
    "Valkey Serverless",
    "a cache node and a replica",
    "Upstash",
    "a Durable Object",
    "a server with SQLite",
)


def measure(out: Output) -> dict[str, Any]:
    """Return the costs of loads at the shipped prices; small: of fewer loads."""
    prices, reads = read_prices(), counted_reads(Output())
    few = slice(0, 1 if out.small else None)
    months, served, batches = MONTHS[few], MONTHS[few] if out.small else SERVED, BATCHES[few]
    boards = dict(list(BOARDS.items())[few])
    return {
        "prices": {
            "region": prices.region,
            "read_on": prices.read_on,
            "of": [{"name": name, **asdict(price)} for name, price in prices.of.items()],
        },
        "events": [
            _events(prices, name, settings, amounts, [replace(traffic, batch=batch) for batch in batches])
            for name, settings in boards.items()
            for amounts, traffic in AMOUNTS.items()
            if traffic is POINTS or settings in (ALL, SHIPPED)
        ],
        "reads": [_million_reads(prices, *read, reads) for read in product(READS, WINDOWS, (10_000, 1_000_000))],
        "months": [
            {**rates, "board": name, "batch": load.traffic.batch, "month": _month(prices, load, reads)}
            for name in ("`all`", "`all`, `day`, `last-7-days` (as shipped)")
            for rates, load in loads(BOARDS[name], months)
        ],
        "tracing": [
            {**rates, "traces_per_second": round(traces(load), 2), "dollars": round(prices.total(of_tracing(load)), 2)}
            for rates, load in loads(ALL, months)
        ],
        "keys": [
            {"key": name, "requests": round(bill.key_requests), "dollars": round(prices.total(bill), 2)}
            for name, bill in (("AWS's (default)", of_table_keys()), ("yours (`KmsKeyArn`)", of_own_key()))
        ],
        "settlements": list(settlements.rows(prices)),
        "provisioned": _provisioned(prices, reads, months),
        "services": [
            {"board": board, **rates, "dollars": _services(prices, load, reads)}
            for board, settings in SERVED_BOARDS.items()
            for rates, load in loads(settings, served)
        ],
    }


def _events(prices: Prices, name: str, settings: Settings, amounts: str, kinds: Sequence[Traffic]) -> dict[str, Any]:
    by_batch = {}
    for traffic in kinds:
        load = Load(settings, traffic)
        dollars = prices.total(of_event(load).times(MILLION))
        by_batch[str(traffic.batch)] = {
            "write_units": round(used_by(load).write_units, 2),
            "dollars": round(dollars, 2),
        }
    row = {"board": name, "amounts": amounts, "batches": by_batch}
    print(row, flush=True)
    return row


def _million_reads(prices: Prices, read: str, window: str, members: int, reads: Counted) -> dict[str, Any]:
    units = read_units(reads, read, parse_window(window), members)
    dollars = round(prices.total(of_read(units).times(MILLION)), 2)
    return {"read": read, "window": window, "members": members, "read_units": units, "dollars": dollars}


def _month(prices: Prices, load: Load, reads: Counted) -> dict[str, float]:
    return {name: round(prices.total(bill), 2) for name, bill in of_month(load, reads).items()}


def _provisioned(prices: Prices, reads: Counted, months: Sequence[tuple[float, float, int]]) -> dict[str, Any]:
    shipped = list(loads(SHIPPED, months))
    busy = shipped[min(2, len(shipped) - 1)][1]
    return {
        "target": provisioned.TARGET,
        "minimum": provisioned.MINIMUM,
        "pays_above": provisioned.pays_above(prices),
        "idle": provisioned.idle(prices, busy, reads),
        "months": [{**rates, **provisioned.compared(prices, load, reads)} for rates, load in shipped],
        "by_target": list(provisioned.by_target(prices, busy, reads)),
    }


def _services(prices: Prices, load: Load, reads: Counted) -> dict[str, float | None]:
    """Return the dollars of a month of ours and of theirs; None where a service does not bear the load."""
    month = sum(_month(prices, load, reads).values())
    tables = provisioned.compared(prices, load, reads)
    theirs = {name: ask(load) for name, ask in SERVICES.items()}
    return {
        OURS: round(month, 2),
        f"{OURS}, provisioned": round(month - tables["on demand"] + tables["daily wave"], 2),
        **{name: None if bill is None else round(prices.total(bill), 2) for name, bill in theirs.items()},
    }


def of_events(result: Result) -> Iterator[str]:
    return crossed(
        "board | amounts",
        (
            (
                f"{row['board']} | {row['amounts']}",
                f"batches of {int(batch):,}",
                f"${one['dollars']:,.2f} ({one['write_units']:g})",
            )
            for row in result["events"]
            for batch, one in row["batches"].items()
        ),
    )


def of_services(result: Result) -> Iterator[str]:
    return crossed(
        "board | events/s | reads/s | members",
        (
            (f"{row['board']} | {LOAD.format_map(row)}", name, _dollars(amount))
            for row in result["services"]
            for name, amount in row["dollars"].items()
        ),
    )


def of_sizes(result: Result) -> Iterator[str]:
    """Return the short table, for the first paragraph and the README: three sizes as shipped, and `all` of ours."""
    by_load = {(row["board"], row["events_per_second"]): row["dollars"] for row in result["services"]}
    return crossed(
        "events/s | reads/s | members",
        (
            (LOAD.format_map(row), name, _dollars(amount))
            for row in result["services"]
            if row["board"] == "as shipped" and row["events_per_second"] in SHORT
            for name, amount in (
                (f"{OURS}, as shipped", row["dollars"][OURS]),
                (f"{OURS}, `all`", by_load["`all`", row["events_per_second"]][OURS]),
                *((name, row["dollars"][name]) for name in CHEAP),
            )
        ),
    )


def _dollars(amount: float | None) -> str:
    return "-" if amount is None else f"${amount:,.0f}"


def of_traces(result: Result) -> Iterator[Row]:
    for row, month in zip(result["tracing"], result["months"], strict=False):
        yield {**row, "share": row["dollars"] / sum(month["month"].values())}


def of_prices(result: Result) -> Iterator[Row]:
    for one in result["prices"]["of"]:
        read = f"[{one['read_on']}]({one['read']})" if one["confirmed"] else "not confirmed"
        yield {**one, "name": one["name"].replace("_", " "), "seen": read}


LOAD: Final = "{events_per_second:,g} | {reads_per_second:,g} | {members:,}"
RATES: Final = "{events_per_second:,g} | {reads_per_second:,g}"
TABLES: Final[dict[str, Lines]] = {
    "events": of_events,
    "reads": Table(
        "read | window | members | read units at most | dollars per million",
        "{read} | `{window}` | {members:,} | {read_units:g} | ${dollars:,.2f}",
        "reads",
    ),
    "months": Table(
        "board | events/s | reads/s | members | batch | events | reads | storage | at rest | a month",
        f"{{board}} | {LOAD} | {{batch:,}} | ${{month[events]:,.0f}} | ${{month[reads]:,.0f}} | "
        "${month[storage]:,.0f} | ${month[at rest]:,.0f} | ${sum:,.0f}",
        lambda result: ({**row, "sum": sum(row["month"].values())} for row in result["months"]),
    ),
    "tracing": Table(
        "events/s | reads/s | traces/s | a month | beside the rest",
        f"{RATES} | {{traces_per_second:,.2f}} | ${{dollars:,.0f}} | {{share:+.0%}}",
        of_traces,
    ),
    "keys": Table("key | requests a month | a month", "{key} | {requests:,} | ${dollars:,.2f}", "keys"),
    "settlements": Table(
        "members | winners | read units | requests of S3 | events | in all",
        "{members:,} | {winners:,} | {read_units:,} | {requests:,} | {events:,} | ${dollars:,.4f}",
        "settlements",
    ),
    "provisioned": Table(
        f"events/s | reads/s | on demand | {' | '.join(f'provisioned, {shape}' for shape in provisioned.SHAPES)}",
        f"{RATES} | ${{on demand:,.0f}} | {' | '.join(f'${{{shape}:,.0f}}' for shape in provisioned.SHAPES)}",
        lambda result: result["provisioned"]["months"],
    ),
    "services": of_services,
    "sizes": of_sizes,
    "prices": Table(
        "item | dollars | per | source | read on",
        "{name} | {dollars:.10g} | {per:,} | <{source}> | {seen}",
        of_prices,
    ),
}
TARGETS: Final = Table(
    f"`TargetUtilization` | {' | '.join(provisioned.SHAPES)}",
    f"{{percent:.0f}} | {' | '.join(f'{{{shape}:.0%}}' for shape in provisioned.SHAPES)}",
    lambda result: ({**row, "percent": 100 * row["target"]} for row in result["provisioned"]["by_target"]),
)


def pictures(result: Mapping[str, Any]) -> dict[str, str]:
    lines: dict[str, list[tuple[float, float]]] = {f"{OURS}, as shipped": [], f"{OURS}, all": []}
    for row in result["services"]:
        for name in (OURS, *(DRAWN if row["board"] == "as shipped" else ())):
            amount = row["dollars"][name]
            if amount is not None:
                line = f"{OURS}, {row['board'].replace('`', '')}" if name == OURS else name
                lines.setdefault(line, []).append((row["events_per_second"], amount))
    title = "Dollars a month; ten reads to an event, the others with the windows as shipped"
    return {"docs/pictures/cost.svg": plot(title, "events a second", "dollars a month", lines)}


BENCHMARK: Final = Benchmark(
    "cost",
    measure,
    {
        "docs/cost.md": TABLES,
        "README.md": {"sizes": of_sizes},
        "docs/how-to/provisioned-capacity.md": {"targets": TARGETS},
    },
    pictures=pictures,
)
