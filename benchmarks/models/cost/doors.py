"""A month of reads by the door through which they come: the API, the function URL, a CDN in front of that one."""

from collections.abc import Iterator
from typing import Any, Final

from benchmarks.models import assumed
from benchmarks.models.cost.counted import Settings, Traffic
from benchmarks.models.cost.prices import MILLION, Bill, Prices
from benchmarks.models.cost.spending import API, URL, Counted, Load, of_read, units_of_reads

RATES: Final = (1.0, 10.0, 100.0, 1_000.0)
"""Reads a second."""
KEPT: Final = {f"{share:.0%}".replace("%", " %"): share for share in (0.0, 0.5, 0.9, 0.99)}
"""The shares of reads that a CDN answers from its caches."""
PLANS: Final = (10, 125, 500)
"""Millions of requests a month that CloudFront's flat plans have room for."""


def rows(prices: Prices, reads: Counted) -> Iterator[dict[str, Any]]:
    """Yield the dollars of a month by door, at each rate. Reads ask for a rank, in the windows as shipped."""
    units = units_of_reads(Load(Settings(), Traffic()), reads)

    def month(way: str, rate: float) -> float:
        return prices.total(of_read(units, way).times(rate * assumed.MONTH))

    for rate in RATES:
        requests = prices.total(Bill(cdn_requests=rate * assumed.MONTH))
        room = next((most for most in PLANS if rate * assumed.MONTH <= most * MILLION), None)
        plan = None if room is None else prices.total(Bill(**{f"cdn_plans_of_{room}_million": 1}))
        yield {
            "reads_per_second": rate,
            "doors": {way: round(month(way, rate), 2) for way in (API, URL)},
            "cdn": {name: round(requests + (1 - kept) * month(URL, rate), 2) for name, kept in KEPT.items()},
            "plan": {
                name: None if plan is None else round(plan + (1 - kept) * month(URL, rate), 2)
                for name, kept in KEPT.items()
            },
        }
