"""Months of provisioned tables beside tables on demand: the same units, paid by the hour or by the request.

Auto scaling keeps the consumed units at a share of the provisioned ones, the target. It raises them after two minutes
above it, and lowers them after fifteen below it, not much more than once an hour. So an hour here has the units of the
busiest of the hour itself and its two neighbours. A rise to many times the load within minutes comes too fast: then the
units of the peak are held all day, as a minimum.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/AutoScaling.html
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil, cos, pi
from typing import Final

from benchmarks.models import assumed
from benchmarks.models.cost.prices import Bill, Prices
from benchmarks.models.cost.services import durable_valkey, valkey_serverless
from benchmarks.models.cost.spending import Counted, Load, in_all, units_of_reads, used_by

HOURS: Final = 24
HOUR: Final = 3600
TARGET: Final = 0.7
"""The template's default of `TargetUtilization`, as a share."""
MINIMUM: Final = 5
"""The template's default of `ProvisionedMinimumUnits`."""


@dataclass(frozen=True, slots=True)
class Shape:
    """A day's load by its hours, in multiples of the mean. `held`: the units of the busiest hour are held all day."""

    hours: tuple[float, ...]
    held: bool = False

    def covered(self, hour: int) -> float:
        """Return the load that the provisioned units of an hour bear, in multiples of the mean."""
        if self.held:
            return max(self.hours)
        return max(self.hours[(hour + beside) % HOURS] for beside in (-1, 0, 1))


def _of_mean_one(hours: list[float]) -> tuple[float, ...]:
    return tuple(hour * len(hours) / sum(hours) for hour in hours)


SHAPES: Final[dict[str, Shape]] = {
    "steady": Shape((1.0,) * HOURS),
    "daily wave": Shape(_of_mean_one([1 - 0.8 * cos(2 * pi * hour / HOURS) for hour in range(HOURS)])),
    "daily rush": Shape(_of_mean_one([10.0] + [1.0] * (HOURS - 1)), held=True),
}
"""Nights with a ninth of the busiest hour's load, and one hour a day with ten times the load of the others."""


def by_table(load: Load, reads: Counted) -> dict[str, tuple[float, float]]:
    """Return the mean write and read units a second of each table and of the index.

    All reads count as those of Rankings.
    """
    used, events = used_by(load), load.events_per_second
    read = used.read_units * events + units_of_reads(load, reads) * load.reads_per_second
    return {
        "Scores": (used.scores * events, 0.0),
        "Receipts": (used.receipts * events, 0.0),
        "Rankings": (used.rankings * events, read),
        "places": (used.places * events, 0.0),
    }


def provisioned(load: Load, reads: Counted, shape: Shape, target: float = TARGET, minimum: int = MINIMUM) -> Bill:
    """Return the amounts of a month of provisioned units, at least `minimum` of each side of each table and index."""

    def unit_hours(mean: float) -> float:
        day = sum(max(minimum, ceil(mean * shape.covered(hour) / target)) for hour in range(HOURS))
        return day / HOURS * assumed.MONTH / HOUR

    writes, read = (sum(map(unit_hours, side)) for side in zip(*by_table(load, reads).values(), strict=True))
    return Bill(write_unit_hours=writes, read_unit_hours=read)


def compared(
    prices: Prices, load: Load, reads: Counted, target: float = TARGET, minimum: int = MINIMUM
) -> dict[str, float]:
    """Return the dollars of a month of tables on demand, and provisioned by shape of the day."""
    writes, read = (assumed.MONTH * sum(side) for side in zip(*by_table(load, reads).values(), strict=True))
    # What requests cost in a month is the same for every shape of the same mean.
    dollars = {"on demand": round(prices.total(Bill(write_units=writes, read_units=read)), 2)}
    for name, shape in SHAPES.items():
        dollars[name] = round(prices.total(provisioned(load, reads, shape, target, minimum)), 2)
    return dollars


def pays_above(prices: Prices) -> dict[str, float]:
    """Return the share of provisioned units in use, on average, above which they are cheaper, for writes and reads."""
    shares = {}
    for side in ("write", "read"):
        by_hour, by_request = prices.of[f"{side}_unit_hours"], prices.of[f"{side}_units"]
        shares[side] = round(by_hour.dollars / by_hour.per / HOUR / (by_request.dollars / by_request.per), 3)
    return shares


COMMITTED: Final = (
    *("on demand", "with a plan", "provisioned", "provisioned, with a plan", "provisioned, reserved"),
    *("Valkey Serverless, with a plan", "durable Valkey, with a plan"),
)


def committed(prices: Prices, load: Load, reads: Counted) -> dict[str, Bill]:
    """Return a month at a steady load, without a commitment and with one of a year, ours and theirs."""
    month, plan = in_all(load, reads), prices.shares["plan"]
    steady = month.less({"write_units": 1, "read_units": 1}) + provisioned(load, reads, SHAPES["steady"])
    ours = month, month.less(plan), steady, steady.less(plan), steady.less(prices.shares["reserved"])
    return dict(
        zip(COMMITTED, (*ours, valkey_serverless(load).less(plan), durable_valkey(load).less(plan)), strict=True)
    )


def by_target(prices: Prices, load: Load, reads: Counted) -> Iterator[dict[str, float]]:
    """Yield what provisioned tables cost beside tables on demand, as a share, by target and shape."""
    for target in (0.5, TARGET, 0.9):
        costs = compared(prices, load, reads, target)
        yield {"target": target, **{name: round(costs[name] / costs["on demand"], 3) for name in SHAPES}}


def idle(prices: Prices, load: Load, reads: Counted) -> float:
    """Return the dollars of a month of provisioned tables that nobody uses: the minimum of each."""
    quiet = replace(load, events_per_second=0.0, reads_per_second=0.0)
    return round(prices.total(provisioned(quiet, reads, SHAPES["steady"])), 2)
