"""Prices as stated inputs: a TOML file that says of each what it is for, where it stands, and whether that was read."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

SHIPPED: Final = Path(__file__).parent / "prices.toml"
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Bill:
    """Amounts of what is charged for: units of DynamoDB, requests, gigabytes (10^9 bytes; stored ones for a month)."""

    write_units: float = 0.0
    read_units: float = 0.0
    stream_reads: float = 0.0
    stored_gigabytes: float = 0.0
    recoverable_gigabytes: float = 0.0
    queue_requests: float = 0.0
    invocations: float = 0.0
    gigabyte_seconds: float = 0.0
    api_requests: float = 0.0
    logged_gigabytes: float = 0.0
    custom_metrics: float = 0.0
    cache_node_hours: float = 0.0

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def times(self, factor: float) -> "Bill":
        """So many times as much of everything."""
        return Bill(**{one.name: factor * getattr(self, one.name) for one in fields(self)})


@dataclass(frozen=True, slots=True)
class Price:
    """What so many of one thing cost in dollars, the page that says so, and whether the number was read in a text."""

    dollars: float
    per: float
    source: str
    confirmed: bool
    read: str = ""


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one region as they were on one day, by the names of a `Bill`."""

    region: str
    read_on: str
    of: Mapping[str, Price]

    def dollars(self, bill: Bill) -> dict[str, float]:
        """What each part of a bill costs; parts of which there is nothing are left out."""
        amounts = {one.name: getattr(bill, one.name) for one in fields(bill)}
        return {name: n * self.of[name].dollars / self.of[name].per for name, n in amounts.items() if n}

    def total(self, bill: Bill) -> float:
        """What a bill costs in dollars."""
        return sum(self.dollars(bill).values())


def read_prices(file: Path = SHIPPED) -> Prices:
    """The prices in a file; ValueError where some are missing, or unknown."""
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    found = {name: Price(**price) for name, price in content["prices"].items()}
    known = {one.name for one in fields(Bill)}
    if found.keys() != known:
        raise ValueError(f"{file}: missing or unknown prices: {', '.join(sorted(found.keys() ^ known))}")
    return Prices(content["region"], str(content["read_on"]), found)
