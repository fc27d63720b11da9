"""The arguments of `make cost`: a board's settings and its load."""

import argparse
from pathlib import Path

from benchmarks.harness.results_file import SIZES
from benchmarks.models.cost import provisioned
from benchmarks.models.cost.load_inputs import Settings, Traffic
from benchmarks.models.cost.prices import SHIPPED
from benchmarks.models.cost.spending import READS, Load, gathered


def parser(description: str | None) -> argparse.ArgumentParser:
    """Return the parser of the command line."""
    parsed = argparse.ArgumentParser(prog="make cost COST_ARGS=", description=description)
    board = parsed.add_argument_group("settings in boards.toml")
    board.add_argument("--windows", default="all,day,last-7-days", help="separated by commas (%(default)s)")
    board.add_argument("--aggregate", default="sum", choices=["sum", "max", "min", "last"])
    board.add_argument("--ties", default="member", choices=["member", "first"])
    board.add_argument("--metrics", type=int, default=1, help="number of metrics, all with these windows (%(default)s)")
    board.add_argument("--shards", type=int, default=1)
    load = parsed.add_argument_group("load")
    load.add_argument("--events-per-second", type=float, default=10, help="of all boards together (%(default)s)")
    load.add_argument("--reads-per-second", type=float, default=100, help="(%(default)s)")
    load.add_argument("--read", default="rank", choices=READS, help="kind of read (%(default)s)")
    load.add_argument("--members", type=int, default=100_000, help="of each board (%(default)s)")
    load.add_argument("--boards", type=int, default=1, help="(%(default)s)")
    load.add_argument("--active", type=int, help="members from whom the events of a board come now (all different)")
    load.add_argument("--median", type=float, default=400, help="median score (%(default)s)")
    load.add_argument(
        "--amounts", default="1-100", help="least and largest change of a score by an event (%(default)s)"
    )
    load.add_argument(
        "--improving", type=float, default=0.5, help="share of events that improve a max or min (%(default)s)"
    )
    load.add_argument("--batch", type=int, help="events in a writer's batch (a poller's share of a batching window)")
    load.add_argument("--batching-window", type=float, default=1, help="WriterBatchingWindow, seconds (%(default)s)")
    load.add_argument("--sent-together", type=int, default=1, help="events in a producer's request (%(default)s)")
    capacity = parsed.add_argument_group("capacity of the tables")
    capacity.add_argument("--provisioned", action="store_true", help="compare on-demand tables with provisioned ones")
    capacity.add_argument("--target", type=int, default=70, help="TargetUtilization, percent (%(default)s)")
    capacity.add_argument(
        "--minimum-units", type=int, default=provisioned.MINIMUM, help="ProvisionedMinimumUnits (%(default)s)"
    )
    parsed.add_argument("--price-file", type=Path, default=SHIPPED)
    parsed.add_argument("--json", action="store_true")
    parsed.add_argument(
        "--size", choices=SIZES, help="measure, write the result and the page; small: below .local/bench"
    )
    return parsed


def load_of(options: argparse.Namespace) -> Load:
    """Return the load of a command line."""
    settings = Settings(
        tuple(options.windows.split(",")),
        # A min costs the same as a max.
        "max" if options.aggregate == "min" else options.aggregate,
        options.ties,
        options.metrics,
        options.shards,
    )
    least, most = map(int, options.amounts.split("-"))
    daily = options.events_per_second * 86_400 / options.boards / options.members
    batch = options.batch or gathered(options.events_per_second, options.batching_window)
    traffic = Traffic(options.members, options.median, (least, most), batch, options.active, daily, options.improving)
    rates = options.events_per_second, options.reads_per_second
    return Load(settings, traffic, options.boards, *rates, options.read, options.sent_together)
