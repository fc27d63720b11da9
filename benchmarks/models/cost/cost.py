"""What a leaderboard costs on AWS, in dollars, from its settings and its rates: `make cost COST_ARGS=--help`.

Prices are inputs (`benchmarks/models/cost/prices.toml`, or a `--price-file` of your own). With `--size` it checks its
model against
units counted over the real requests, and writes `benchmarks/results/cost.json` and the tables of `docs/cost.md`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean
from typing import Any, Final

from benchmarks.harness.results_file import SIZES, Output
from benchmarks.models import grid
from benchmarks.models.alternatives import ALTERNATIVES
from benchmarks.models.cost.prices import MILLION, SHIPPED, Bill, Prices, read_prices
from benchmarks.models.cost.spending import READS, Load, gathered, of_event, of_month, of_read, read_units
from benchmarks.models.cost.usage import Settings, Traffic, usage

PAGE: Final = "docs/cost.md"
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
STEPS: Final[dict[str, Traffic]] = {
    "1–100, median 400": grid.POINTS,
    "100–2,500, median 20,000": grid.METRES,
    "10,000–1,000,000, median 4,000,000": grid.FINE,
}
BATCHES: Final = (1, 10, 100, 500)
MONTHS: Final = (
    (1.0, 10.0, 10_000),
    (10.0, 100.0, 100_000),
    (100.0, 1_000.0, 1_000_000),
    (1_000.0, 10_000.0, 1_000_000),
)
"""Events and reads a second, and members."""
PEERED: Final = ((1.0, 10.0, 1_000), *MONTHS)


def main(arguments: list[str]) -> int:
    """Print what a load costs; with `--size`, measure, keep the result and bring the page up to date."""
    given = _parser().parse_args(arguments)
    reads = Output().result("reads")
    if given.size is not None:
        out = Output(small=given.size == SIZES[1])
        out.publish("cost", measure(reads, small=out.small), PAGE, COMMAND, TABLES)
        return 0
    told = estimate(load_of(given), read_prices(given.price_file), reads)
    print(json.dumps(told, indent=2) if given.json else "\n".join(as_table(told)))
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="make cost COST_ARGS=", description=__doc__)
    board = parser.add_argument_group("what boards.toml says")
    board.add_argument("--windows", default="all,day,last-7-days", help="with commas (%(default)s)")
    board.add_argument("--aggregate", default="sum", choices=["sum", "max", "min", "last"])
    board.add_argument("--ties", default="member", choices=["member", "first"])
    board.add_argument("--metrics", type=int, default=1, help="how many, all with these windows (%(default)s)")
    board.add_argument("--shards", type=int, default=1)
    load = parser.add_argument_group("what happens")
    load.add_argument("--events-per-second", type=float, default=10, help="on all boards together (%(default)s)")
    load.add_argument("--reads-per-second", type=float, default=100, help="(%(default)s)")
    load.add_argument("--read", default="rank", choices=READS, help="what is read (%(default)s)")
    load.add_argument("--members", type=int, default=100_000, help="of each board (%(default)s)")
    load.add_argument("--boards", type=int, default=1, help="(%(default)s)")
    load.add_argument("--active", type=int, help="members that the events of one board come from just now (all)")
    load.add_argument("--median", type=float, default=400, help="score of the member in the middle (%(default)s)")
    load.add_argument("--steps", default="1-100", help="least and most by which an event changes a score (%(default)s)")
    load.add_argument("--improving", type=float, default=0.5, help="events that better a max or min (%(default)s)")
    load.add_argument("--batch", type=int, help="events that come together (a poller's share of a batching window)")
    load.add_argument("--batching-window", type=float, default=1, help="WriterBatchingWindow, seconds (%(default)s)")
    load.add_argument("--sent-together", type=int, default=1, help="events in a producer's request (%(default)s)")
    parser.add_argument("--price-file", type=Path, default=SHIPPED)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--size", choices=SIZES, help="measure, and write the result and the page; small: elsewhere")
    return parser


def load_of(given: argparse.Namespace) -> Load:
    """What the arguments say."""
    settings = Settings(
        tuple(given.windows.split(",")),
        # The best of either kind costs the same.
        "max" if given.aggregate == "min" else given.aggregate,
        given.ties,
        given.metrics,
        given.shards,
    )
    least, most = map(int, given.steps.split("-"))
    daily = given.events_per_second * 86_400 / given.boards / given.members
    batch = given.batch or gathered(given.events_per_second, given.batching_window)
    traffic = Traffic(given.members, given.median, (least, most), batch, given.active, daily, given.improving)
    rates = given.events_per_second, given.reads_per_second
    return Load(settings, traffic, given.boards, *rates, given.read, given.sent_together)


def estimate(load: Load, prices: Prices, reads: Mapping[str, Any]) -> dict[str, Any]:
    """What a load costs: a million events, a million reads, and a month in its parts, in dollars."""
    event, month = of_event(load), of_month(load, reads)
    read = of_read(read_units(reads, load.read, load.traffic.members))
    return {
        "prices": {"region": prices.region, "read_on": prices.read_on},
        "batch": load.traffic.batch,
        "units_per_event": {"write": round(event.write_units, 2), "read": round(event.read_units, 2)},
        "million_events": _parts(prices, event.times(MILLION)),
        "million_reads": _parts(prices, read.times(MILLION)),
        "month": {name: round(prices.total(bill), 2) for name, bill in month.items()},
        "alternatives": {name: round(prices.total(ask(load)), 2) for name, ask in ALTERNATIVES.items()},
    }


def _parts(prices: Prices, bill: Bill) -> dict[str, float]:
    parts = {name: round(dollars, 4) for name, dollars in prices.dollars(bill).items()}
    return {"total": round(prices.total(bill), 2), **parts}


def as_table(told: Mapping[str, Any]) -> Iterator[str]:
    """An estimate as lines to read."""
    units = told["units_per_event"]
    yield f"{told['prices']['region']}, prices of {told['prices']['read_on']}; {told['batch']} events come together"
    yield f"an event: {units['write']:g} write units, {units['read']:g} read units"
    for name in ("million_events", "million_reads"):
        parts = told[name]
        yield f"{name.replace('_', ' '):20}{parts['total']:>14,.2f} $"
        yield from (f"    {part:24}{dollars:>10,.3f} $" for part, dollars in parts.items() if part != "total")
    total = sum(told["month"].values())
    yield f"{'a month':20}{total:>14,.2f} $"
    yield from (f"    {part:24}{dollars:>10,.2f} $" for part, dollars in told["month"].items())
    yield "a month in other ways"
    yield from (f"    {name:36}{dollars:>14,.2f} $" for name, dollars in told["alternatives"].items())


def measure(reads: Mapping[str, Any], *, small: bool) -> dict[str, Any]:
    """The model beside what was counted, and what loads cost at the shipped prices."""
    prices = read_prices()
    checked = list(grid.rows(small=small))
    return {
        "prices": {
            "region": prices.region,
            "read_on": prices.read_on,
            "of": [
                {"name": name, "dollars": one.dollars, "per": one.per, "source": one.source}
                | {"read": one.read, "confirmed": one.confirmed}
                for name, one in prices.of.items()
            ],
        },
        "model": {
            "rows": checked,
            "most_off": max(abs(row["error"]) for row in checked),
            "mean_off": round(mean(abs(row["error"]) for row in checked), 4),
        },
        "events": [
            _of_events(prices, name, settings, steps, traffic)
            for name, settings in BOARDS.items()
            for steps, traffic in STEPS.items()
            if settings in (grid.ALL, grid.SHIPPED) or traffic is grid.POINTS
        ],
        "reads": [
            {
                "read": name,
                "members": members,
                "read_units": (units := read_units(reads, name, members)),
                "dollars": round(prices.total(of_read(units).times(MILLION)), 2),
            }
            for name in READS
            for members in (10_000, 1_000_000)
        ],
        "months": [
            {**rates, "board": name, **_month(prices, load, reads)}
            for name in ("`all`", "`all`, `day`, `last-7-days` (as shipped)")
            for rates, load in _loads(BOARDS[name], MONTHS)
        ],
        "peers": [
            {
                **rates,
                "Standings": sum(_month(prices, load, reads)["month"].values()),
                **{name: round(prices.total(ask(load)), 2) for name, ask in ALTERNATIVES.items()},
            }
            for rates, load in _loads(grid.ALL, PEERED)
        ],
    }


def _of_events(prices: Prices, name: str, settings: Settings, steps: str, traffic: Traffic) -> dict[str, Any]:
    found = {}
    for batch in BATCHES:
        load = Load(settings, replace(traffic, batch=batch))
        bill = of_event(load).times(MILLION)
        units = usage(settings, load.traffic).write_units
        found[str(batch)] = {"write_units": round(units, 2), "dollars": round(prices.total(bill), 2)}
    return {"board": name, "steps": steps, "batches": found}


def _loads(settings: Settings, rates: Sequence[tuple[float, float, int]]) -> Iterator[tuple[dict[str, Any], Load]]:
    for events, read, members in rates:
        traffic = Traffic(members, batch=gathered(events, 1), daily=events * 86_400 / members)
        named = {"events_per_second": events, "reads_per_second": read, "members": members}
        yield named, Load(settings, traffic, 1, events, read)


def _month(prices: Prices, load: Load, reads: Mapping[str, Any]) -> dict[str, Any]:
    month = of_month(load, reads)
    return {"batch": load.traffic.batch, "month": {name: round(prices.total(bill), 2) for name, bill in month.items()}}


def of_events(result: Mapping[str, Any]) -> Iterator[str]:
    """Dollars of a million events, and write units of one, by how many come together."""
    yield f"| board | steps | {' | '.join(f'{batch:,} together' for batch in BATCHES)} |"
    yield "|---" * (2 + len(BATCHES)) + "|"
    for row in result["events"]:
        cells = (f"${one['dollars']:,.2f} ({one['write_units']:g})" for one in row["batches"].values())
        yield f"| {row['board']} | {row['steps']} | {' | '.join(cells)} |"


def of_reads(result: Mapping[str, Any]) -> Iterator[str]:
    """Dollars of a million reads."""
    yield "| read | members | read units at most | dollars per million |"
    yield "|---" * 4 + "|"
    for row in result["reads"]:
        yield f"| {row['read']} | {row['members']:,} | {row['read_units']:g} | ${row['dollars']:,.2f} |"


def of_months(result: Mapping[str, Any]) -> Iterator[str]:
    """Whole months."""
    yield "| board | events/s | reads/s | members | together | events | reads | storage | at rest | a month |"
    yield "|---" * 10 + "|"
    for row in result["months"]:
        parts = row["month"]
        cells = " | ".join(f"${parts[name]:,.0f}" for name in ("events", "reads", "storage", "at rest"))
        yield (
            f"| {row['board']} | {row['events_per_second']:,g} | {row['reads_per_second']:,g} | {row['members']:,} | "
            f"{row['batch']:,} | {cells} | ${sum(parts.values()):,.0f} |"
        )


def of_peers(result: Mapping[str, Any]) -> Iterator[str]:
    """Months of `all` alone, made in other ways."""
    names = ("Standings", *ALTERNATIVES)
    yield f"| events/s | reads/s | members | {' | '.join(names)} |"
    yield "|---" * (3 + len(names)) + "|"
    for row in result["peers"]:
        cells = " | ".join(f"${row[name]:,.0f}" for name in names)
        yield f"| {row['events_per_second']:,g} | {row['reads_per_second']:,g} | {row['members']:,} | {cells} |"


def of_model(result: Mapping[str, Any]) -> Iterator[str]:
    """The model beside what was counted."""
    model = result["model"]
    yield "| windows | settings | steps | together | counted | model | off |"
    yield "|---" * 7 + "|"
    for row in model["rows"]:
        traffic = row["traffic"]
        steps = "–".join(f"{step:,}" for step in traffic["steps"])
        yield (
            f"| {', '.join(row['settings']['windows'])} | {_said(row)} | {steps} | {traffic['batch']} | "
            f"{row['measured']['write_units']:.2f} | {row['model']['write_units']:.2f} | {100 * row['error']:+.1f} % |"
        )
    yield ""
    yield (
        f"At most {100 * model['most_off']:.1f} % off, {100 * model['mean_off']:.1f} % on average, "
        f"over {len(model['rows'])} boards."
    )


def _said(row: Mapping[str, Any]) -> str:
    """What is not as usual in a row of the grid."""
    usual = {"settings": Settings(), "traffic": Traffic()}
    shown = {"settings": ("aggregate", "ties", "metrics", "shards"), "traffic": ("active", "fresh")}
    return ", ".join(
        f"{name} {value}".replace("fresh True", "new members").replace("active", "members:")
        for part, names in shown.items()
        for name in names
        if (value := row[part][name]) != getattr(usual[part], name)
    )


def of_prices(result: Mapping[str, Any]) -> Iterator[str]:
    """The prices."""
    yield "| what | dollars | per | from | read |"
    yield "|---" * 5 + "|"
    for one in result["prices"]["of"]:
        read = f"[{result['prices']['read_on']}]({one['read']})" if one["confirmed"] else "not confirmed"
        name = one["name"].replace("_", " ")
        yield f"| {name} | {one['dollars']:.10g} | {one['per']:,} | <{one['source']}> | {read} |"


TABLES: Final = {
    "events": of_events,
    "reads": of_reads,
    "months": of_months,
    "peers": of_peers,
    "model": of_model,
    "prices": of_prices,
}


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
