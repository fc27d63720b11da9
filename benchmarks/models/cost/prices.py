"""Prices from a TOML file, each with its source."""

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

SHIPPED: Final = Path(__file__).parent / "prices.toml"
MILLION: Final = 1_000_000


class Bill:
    """Billed amounts by the names of `prices.toml`, of which 0 are left out: `Bill(write_units=2).write_units` is 2.

    Units of DynamoDB, requests, gigabytes (10^9 bytes; stored ones for a month).
    """

    def __init__(self, **amounts: float) -> None:
        self.amounts: Final = {name: amount for name, amount in amounts.items() if amount}

    def __getattr__(self, name: str) -> float:
        return self.amounts.get(name, 0.0)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Bill) and self.amounts == other.amounts

    __hash__ = None  # type: ignore[assignment] # its amounts are a dictionary

    def __add__(self, other: "Bill") -> "Bill":
        names = self.amounts | other.amounts
        return Bill(**{name: getattr(self, name) + getattr(other, name) for name in names})

    def times(self, factor: float) -> "Bill":
        return Bill(**{name: factor * amount for name, amount in self.amounts.items()})

    def less(self, shares: Mapping[str, float]) -> "Bill":
        """Return it with these shares of its amounts taken off."""
        return Bill(**{name: amount * (1 - shares.get(name, 0)) for name, amount in self.amounts.items()})


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
    """The prices of one region on one day, by the names of amounts."""

    region: str
    read_on: str
    of: Mapping[str, Price]
    shares: Mapping[str, Mapping[str, float]]
    """What a commitment of one year takes off amounts, by the commitment."""

    def dollars(self, bill: Bill) -> dict[str, float]:
        """Return the dollars of each part of a bill; parts of 0 are left out."""
        return {name: n * self.of[name].dollars / self.of[name].per for name, n in bill.amounts.items()}

    def total(self, bill: Bill) -> float:
        return sum(self.dollars(bill).values())


def read_prices(file: Path = SHIPPED) -> Prices:
    """Read a file of prices; ValueError if it has others than the shipped file."""
    content, shipped = (tomllib.loads(one.read_text(encoding="utf-8")) for one in (file, SHIPPED))
    if differing := content["prices"].keys() ^ shipped["prices"].keys():
        names = ", ".join(sorted(shipped["prices"]))
        raise ValueError(
            f"{file}: expected one price for each of {names}, got a difference: {', '.join(sorted(differing))}"
        )
    day = str(content["read_on"])
    prices = {name: Price(**{"read_on": day, **price}) for name, price in content["prices"].items()}
    return Prices(content["region"], day, prices, content.get("shares", shipped["shares"]))
