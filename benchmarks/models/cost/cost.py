"""The dollars that a leaderboard costs on AWS, from its settings and rates: `make cost COST_ARGS=--help`.

Prices are inputs: `benchmarks/models/cost/prices.toml`, or your own `--price-file`. With `--size` it compares its model
with units counted over the real requests, and writes `benchmarks/results/cost.json` and the tables of `docs/cost.md`.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from itertools import product
from statistics import mean
from typing import Any, Final

from benchmarks.harness.results_file import REPOSITORY, SIZES, Output
from benchmarks.models import grid
from benchmarks.models.alternatives import ALTERNATIVES
from benchmarks.models.cost import provisioned, settlements
from benchmarks.models.cost.arguments import load_of, parser
from benchmarks.models.cost.cost_tables import OPERATED, TABLES
from benchmarks.models.cost.load_inputs import Settings, Traffic
from benchmarks.models.cost.prices import MILLION, Bill, Prices, read_prices
from benchmarks.models.cost.spending import (
    READS,
    Counted,
    Load,
    counted_reads,
    loads,
    of_event,
    of_month,
    of_read,
    of_table_keys,
    read_units,
    units_of_reads,
)
from benchmarks.models.cost.tracing_and_keys import of_own_key, of_tracing, traces
from benchmarks.models.cost.usage import usage
from benchmarks.models.hosted import hosted_tables
from benchmarks.models.hosted.services import SERVICES
from benchmarks.pages import marked
from standings.domain.windows.window import parse_window

PAGE: Final = "docs/cost.md"
OPERATIONS: Final = "docs/how-to/provisioned-capacity.md"
README: Final = "README.md"
COMMAND: Final = "make bench"

BOARDS: Final[dict[str, Settings]] = {
    "`all`": Settings(windows=("all",)),
    '`all`, `ties = "first"`': Settings(windows=("all",), ties="first"),
    '`all`, `aggregate = "max"`, half of the events better': Settings(windows=("all",), aggregate="max"),
    "`all`, `day`, `week`": Settings(windows=("all", "day", "week")),
    "`all`, `day`, `last-7-days` (as shipped)": Settings(),
    "`all`, `last-30-days`": Settings(windows=("all", "last-30-days")),
    "three metrics, each `all`": Settings(windows=("all",), metrics=3),
}
AMOUNTS: Final[dict[str, Traffic]] = {
    "1–100, median 400": grid.POINTS,
    "100–2,500, median 20,000": grid.METRES,
    "10,000–1,000,000, median 4,000,000": grid.FINE,
}
BATCHES: Final = (1, 10, 100, 500)
WINDOWS: Final = ("day", "last-7-days")
"""Those of the table of reads. A read of `all` costs as much as one of a calendar window."""
MONTHS: Final = (
    (1.0, 10.0, 10_000),
    (10.0, 100.0, 100_000),
    (100.0, 1_000.0, 1_000_000),
    (1_000.0, 10_000.0, 1_000_000),
)
"""Events per second, reads per second, members."""
PEERED: Final = ((1.0, 10.0, 1_000), *MONTHS)


def main(arguments: list[str]) -> int:
    """Print what a load costs; with `--size`, measure, write the result and update the page."""
    options = parser(__doc__).parse_args(arguments)
    reads = counted_reads(Output())
    if options.size is not None:
        out = Output(small=options.size == SIZES[1])
        result = measure(reads, small=out.small)
        out.publish("cost", result, PAGE, COMMAND, TABLES, hosted_tables.pictures(result))
        if marked.named(REPOSITORY / README, "sizes", COMMAND):
            out.table(README, "sizes", COMMAND, hosted_tables.of_sizes(result))
        for name, lines in OPERATED.items():
            out.table(OPERATIONS, name, COMMAND, lines(result))
        return 0
    load, prices = load_of(options), read_prices(options.price_file)
    costs = estimate(load, prices, reads)
    if options.provisioned:
        costs["tables"] = provisioned.compared(prices, load, reads, options.target / 100, options.minimum_units)
    print(json.dumps(costs, indent=2) if options.json else "\n".join(as_table(costs)))
    return 0


def estimate(load: Load, prices: Prices, reads: Counted) -> dict[str, Any]:
    """Return the dollars of a million events, of a million reads, and of a month in its parts."""
    event, month = of_event(load), of_month(load, reads)
    read = of_read(units_of_reads(load, reads))
    return {
        "prices": {"region": prices.region, "read_on": prices.read_on},
        "batch": load.traffic.batch,
        "units_per_event": {"write": round(event.write_units, 2), "read": round(event.read_units, 2)},
        "million_events": _parts(prices, event.times(MILLION)),
        "million_reads": _parts(prices, read.times(MILLION)),
        "month": {name: round(prices.total(bill), 2) for name, bill in month.items()},
        "options": {name: round(dollars, 2) for name, dollars in _options(prices, load).items()},
        "alternatives": {
            name: round(prices.total(bill), 2)
            for name, ask in {**SERVICES, **ALTERNATIVES}.items()
            if (bill := ask(load)) is not None
        },
    }


def _options(prices: Prices, load: Load) -> dict[str, float]:
    """Return what parameters of the template add to a month."""
    own_key = prices.total(of_own_key()) - prices.total(of_table_keys())
    return {"Tracing=Active": prices.total(of_tracing(load)), "KmsKeyArn": own_key}


def _parts(prices: Prices, bill: Bill) -> dict[str, float]:
    parts = {name: round(dollars, 4) for name, dollars in prices.dollars(bill).items()}
    return {"total": round(prices.total(bill), 2), **parts}


def as_table(costs: Mapping[str, Any]) -> Iterator[str]:
    """Return the lines that the command prints."""
    units = costs["units_per_event"]
    yield f"{costs['prices']['region']}, prices of {costs['prices']['read_on']}; batches of {costs['batch']} events"
    yield f"an event: {units['write']:g} write units, {units['read']:g} read units"
    for name in ("million_events", "million_reads"):
        parts = costs[name]
        yield f"{name.replace('_', ' '):20}{parts['total']:>14,.2f} $"
        yield from (f"    {part:24}{dollars:>10,.3f} $" for part, dollars in parts.items() if part != "total")
    total = sum(costs["month"].values())
    yield f"{'a month':20}{total:>14,.2f} $"
    yield from (f"    {part:24}{dollars:>10,.2f} $" for part, dollars in costs["month"].items())
    yield from (f"    with {option:19}{dollars:>+10,.2f} $" for option, dollars in costs["options"].items())
    if tables := costs.get("tables"):
        yield f"a month of the tables{tables['on demand']:>13,.2f} $ on demand"
        yield from (
            f"    provisioned, {shape:15}{tables[shape]:>10,.2f} $ ({100 * tables[shape] / tables['on demand']:.0f} %)"
            for shape in provisioned.SHAPES
        )
    yield "a month with other ways to rank"
    yield from (f"    {name:36}{dollars:>14,.2f} $" for name, dollars in costs["alternatives"].items())


def measure(reads: Counted, *, small: bool) -> dict[str, Any]:
    """Return the whole result: the model and the counted units, and the costs of loads at the shipped prices."""
    prices = read_prices()
    rows = list(grid.rows(small=small))
    return {
        "prices": {
            "region": prices.region,
            "read_on": prices.read_on,
            "of": [{"name": name, **asdict(price)} for name, price in prices.of.items()],
        },
        "model": {
            "rows": rows,
            "most_off": max(abs(row["error"]) for row in rows),
            "mean_off": round(mean(abs(row["error"]) for row in rows), 4),
        },
        "events": [
            _of_events(prices, name, settings, amounts, traffic)
            for name, settings in BOARDS.items()
            for amounts, traffic in AMOUNTS.items()
            if settings in (grid.ALL, grid.SHIPPED) or traffic is grid.POINTS
        ],
        "reads": [_million_reads(prices, *read, reads) for read in product(READS, WINDOWS, (10_000, 1_000_000))],
        "months": [
            {**rates, "board": name, **_month(prices, load, reads)}
            for name in ("`all`", "`all`, `day`, `last-7-days` (as shipped)")
            for rates, load in loads(BOARDS[name], MONTHS)
        ],
        "tracing": [
            {**rates, "traces_per_second": round(traces(load), 2), "dollars": round(prices.total(of_tracing(load)), 2)}
            for rates, load in loads(grid.ALL, MONTHS)
        ],
        "keys": [
            {"key": name, "requests": round(bill.key_requests), "dollars": round(prices.total(bill), 2)}
            for name, bill in (("AWS's (default)", of_table_keys()), ("yours (`KmsKeyArn`)", of_own_key()))
        ],
        "settlements": list(settlements.rows(prices)),
        "provisioned": _provisioned(prices, reads),
        "services": list(hosted_tables.rows(prices, reads)),
        "peers": [
            {
                **rates,
                "Standings": sum(_month(prices, load, reads)["month"].values()),
                **{name: round(prices.total(ask(load)), 2) for name, ask in ALTERNATIVES.items()},
            }
            for rates, load in loads(grid.ALL, PEERED)
        ],
    }


def _provisioned(prices: Prices, reads: Counted) -> dict[str, Any]:
    shipped = list(loads(Settings(), MONTHS))
    busy = shipped[2][1]
    return {
        "target": provisioned.TARGET,
        "minimum": provisioned.MINIMUM,
        "pays_above": provisioned.pays_above(prices),
        "idle": provisioned.idle(prices, busy, reads),
        "months": [{**rates, **provisioned.compared(prices, load, reads)} for rates, load in shipped],
        "by_target": list(provisioned.by_target(prices, busy, reads)),
    }


def _of_events(prices: Prices, name: str, settings: Settings, amounts: str, traffic: Traffic) -> dict[str, Any]:
    by_batch = {}
    for batch in BATCHES:
        load = Load(settings, replace(traffic, batch=batch))
        bill = of_event(load).times(MILLION)
        units = usage(settings, load.traffic).write_units
        by_batch[str(batch)] = {"write_units": round(units, 2), "dollars": round(prices.total(bill), 2)}
    return {"board": name, "amounts": amounts, "batches": by_batch}


def _million_reads(prices: Prices, read: str, window: str, members: int, reads: Counted) -> dict[str, Any]:
    units = read_units(reads, read, parse_window(window), members)
    dollars = round(prices.total(of_read(units).times(MILLION)), 2)
    return {"read": read, "window": window, "members": members, "read_units": units, "dollars": dollars}


def _month(prices: Prices, load: Load, reads: Counted) -> dict[str, Any]:
    month = of_month(load, reads)
    return {"batch": load.traffic.batch, "month": {name: round(prices.total(bill), 2) for name, bill in month.items()}}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
