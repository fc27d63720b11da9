"""The dollars that a leaderboard costs on AWS, from its settings and rates: `make cost COST_ARGS=--help`.

It counts what an event uses in a short run of the real writer and projector; what reads use is counted by `make reads`.
Prices are inputs: `benchmarks/models/cost/prices.toml`, or your own `--price-file`.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from benchmarks.harness.results_file import Output
from benchmarks.models.assumed import ALARMS
from benchmarks.models.cost import provisioned, spending
from benchmarks.models.cost.counted import Settings, Traffic
from benchmarks.models.cost.prices import MILLION, SHIPPED, Bill, Prices, read_prices
from benchmarks.models.cost.services import SERVICES
from benchmarks.models.cost.spending import DAY, READS, WAYS, Counted, Load, gathered, of_event, of_month, of_read
from standings.domain.boards_toml import DefinitionError
from standings_cli.terminal import Working

WAY_NAMES: Final = dict(zip(("api", "no-access-log", "function-url", "invocation", "client"), WAYS, strict=True))


OPTIONS: Final[Mapping[str, Mapping[str, Mapping[str, Any]]]] = {
    "settings in boards.toml": {
        "windows": {"default": "all,day,last-7-days", "help": "separated by commas (%(default)s)"},
        "aggregate": {"default": "sum", "choices": ["sum", "max", "min", "last"]},
        "ties": {"default": "member", "choices": ["member", "first"]},
        "metrics": {"default": 1, "help": "number of metrics, all with these windows (%(default)s)"},
        "shards": {"default": 1},
    },
    "load": {
        "events-per-second": {"default": 10.0, "help": "of all boards together (%(default)g)"},
        "reads-per-second": {"default": 100.0, "help": "(%(default)g)"},
        "events-a-day": {"type": float, "help": "of each member of each board, in place of those a second"},
        "reads-a-day": {"type": float, "help": "the same of reads"},
        "read": {"default": "rank", "choices": READS, "help": "kind of read (%(default)s)"},
        "way": {"default": "api", "choices": WAY_NAMES, "help": "how reads come (%(default)s)"},
        "members": {"default": 100_000, "help": "of each board (%(default)s)"},
        "boards": {"default": 1, "help": "(%(default)s)"},
        "active": {"type": int, "help": "members from whom the events of a board come now (all different)"},
        "median": {"default": 400.0, "help": "median score (%(default)g)"},
        "amounts": {"default": "1-100", "help": "least and largest change of a score by an event (%(default)s)"},
        "improving": {"default": 0.5, "help": "share of events that improve a max or min (%(default)s)"},
        "batch": {"type": int, "help": "events in a writer's batch (a poller's share of a batching window)"},
        "batching-window": {"default": 1.0, "help": "WriterBatchingWindow, seconds (%(default)g)"},
        "sent-together": {"default": 1, "help": "events in a producer's request (%(default)s)"},
    },
    "capacity of the tables": {
        "provisioned": {"action": "store_true", "help": "compare on-demand tables with provisioned ones"},
        "target": {"default": 70, "help": "TargetUtilization, percent (%(default)s)"},
        "minimum-units": {"default": provisioned.MINIMUM, "help": "ProvisionedMinimumUnits (%(default)s)"},
    },
}
"""The options in their groups; the value of one has the type of its default."""


def parser() -> argparse.ArgumentParser:
    parsed = argparse.ArgumentParser(prog="make cost COST_ARGS=", description=__doc__)
    for title, options in OPTIONS.items():
        group = parsed.add_argument_group(title)
        for name, option in options.items():
            of_default: dict[str, Any] = {"type": type(option["default"])} if "default" in option else {}
            group.add_argument(f"--{name}", **of_default, **option)
    parsed.add_argument("--price-file", type=Path, default=SHIPPED)
    parsed.add_argument("--json", action="store_true")
    return parsed


def load_of(options: argparse.Namespace) -> Load:
    settings = Settings(
        tuple(options.windows.split(",")),
        # A min costs the same as a max.
        "max" if options.aggregate == "min" else options.aggregate,
        options.ties,
        options.metrics,
        options.shards,
    )
    least, most = map(int, options.amounts.split("-"))
    members = options.members * options.boards
    events = options.events_per_second if options.events_a_day is None else options.events_a_day * members / DAY
    reads = options.reads_per_second if options.reads_a_day is None else options.reads_a_day * members / DAY
    daily = events * DAY / members
    batch = options.batch or gathered(events, options.batching_window)
    traffic = Traffic(options.members, options.median, (least, most), batch, options.active, daily, options.improving)
    return Load(
        settings, traffic, options.boards, events, reads, options.read, options.sent_together, WAY_NAMES[options.way]
    )


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    load, prices, reads = load_of(options), read_prices(options.price_file), spending.counted_reads(Output())
    try:
        _ = load.settings.family
    except DefinitionError as error:
        sys.exit(f"make cost: {error.reason}")
    with Working("make cost: some minutes, for it runs the real writer and projector"):
        costs = estimate(load, prices, reads)
        if options.provisioned:
            costs["tables"] = provisioned.compared(prices, load, reads, options.target / 100, options.minimum_units)
    print(json.dumps(costs, indent=2) if options.json else "\n".join(as_table(costs)))
    return 0


def estimate(load: Load, prices: Prices, reads: Counted) -> dict[str, Any]:
    """Return the dollars of a million events, of a million reads, and of a month in its parts."""
    event, month = of_event(load), of_month(load, reads)
    read = of_read(spending.units_of_reads(load, reads), load.way)
    return {
        "prices": {"region": prices.region, "read_on": prices.read_on},
        "batch": load.traffic.batch,
        "units_per_event": {"write": round(event.write_units, 2), "read": round(event.read_units, 2)},
        "million_events": _parts(prices, event.times(MILLION)),
        "million_reads": _parts(prices, read.times(MILLION)),
        "month": {name: round(prices.total(bill), 2) for name, bill in month.items()},
        "options": {name: round(dollars, 2) for name, dollars in _options(prices, load).items()},
        "services": {
            name: round(prices.total(bill), 2) for name, ask in SERVICES.items() if (bill := ask(load)) is not None
        },
    }


def _options(prices: Prices, load: Load) -> dict[str, float]:
    """Return what alarms and parameters of the template add to a month."""
    own_key = prices.total(spending.of_own_key()) - prices.total(spending.of_table_keys())
    alarms = prices.total(Bill(alarms=ALARMS))
    return {"its alarms": alarms, "Tracing=Active": prices.total(spending.of_tracing(load)), "KmsKeyArn": own_key}


def _parts(prices: Prices, bill: Bill) -> dict[str, float]:
    parts = {name: round(dollars, 4) for name, dollars in prices.dollars(bill).items()}
    return {"total": round(prices.total(bill), 2), **parts}


def as_table(costs: Mapping[str, Any]) -> Iterator[str]:
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
    yield "a month on other services"
    yield from (f"    {name:36}{dollars:>14,.2f} $" for name, dollars in costs["services"].items())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
