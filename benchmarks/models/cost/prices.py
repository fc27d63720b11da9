"""Prices from a TOML file, each with its source."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Final

SHIPPED: Final = Path(__file__).parent / "prices.toml"
MILLION: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Bill:
    """Billed amounts: units of DynamoDB, requests, gigabytes (10^9 bytes; stored ones for a month)."""

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
    write_unit_hours: float = 0.0
    read_unit_hours: float = 0.0
    traces: float = 0.0
    key_months: float = 0.0
    key_requests: float = 0.0
    bucket_writes: float = 0.0
    bucket_reads: float = 0.0
    bus_events: float = 0.0
    valkey_gigabyte_hours: float = 0.0
    valkey_units: float = 0.0
    redis_gigabyte_hours: float = 0.0
    redis_units: float = 0.0
    micro_node_hours: float = 0.0
    medium_node_hours: float = 0.0
    large_node_hours: float = 0.0
    upstash_commands: float = 0.0
    upstash_gigabytes: float = 0.0
    worker_plans: float = 0.0
    worker_requests: float = 0.0
    object_requests: float = 0.0
    object_seconds: float = 0.0
    object_rows: float = 0.0
    small_server_hours: float = 0.0
    large_server_hours: float = 0.0
    disk_gigabytes: float = 0.0

    def __add__(self, other: "Bill") -> "Bill":
        return Bill(**{one.name: getattr(self, one.name) + getattr(other, one.name) for one in fields(self)})

    def times(self, factor: float) -> "Bill":
        return Bill(**{one.name: factor * getattr(self, one.name) for one in fields(self)})


@dataclass(frozen=True, slots=True)
class Price:
    """The dollars of `per` units, and the source. `confirmed`: the page `read`, on `read_on`, states them as text."""

    dollars: float
    per: float
    source: str
    confirmed: bool
    read_on: str
    read: str = ""


@dataclass(frozen=True, slots=True)
class Prices:
    """The prices of one region on one day, by the fields of `Bill`."""

    region: str
    read_on: str
    of: Mapping[str, Price]

    def dollars(self, bill: Bill) -> dict[str, float]:
        """Return the dollars of each part of a bill; parts of 0 are left out."""
        amounts = {one.name: getattr(bill, one.name) for one in fields(bill)}
        return {name: n * self.of[name].dollars / self.of[name].per for name, n in amounts.items() if n}

    def total(self, bill: Bill) -> float:
        return sum(self.dollars(bill).values())


def read_prices(file: Path = SHIPPED) -> Prices:
    """Read a file of prices; ValueError if some are missing or unknown."""
    content = tomllib.loads(file.read_text(encoding="utf-8"))
    day = str(content["read_on"])
    prices = {name: Price(**{"read_on": day, **price}) for name, price in content["prices"].items()}
    names = {one.name for one in fields(Bill)}
    if prices.keys() != names:
        differing = ", ".join(sorted(prices.keys() ^ names))
        raise ValueError(
            f"{file}: expected one price for each of {', '.join(sorted(names))}, got a difference: {differing}"
        )
    return Prices(content["region"], day, prices)
