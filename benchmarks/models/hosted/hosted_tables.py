"""Months of our boards beside the services that people use instead: the rows, their tables and their picture."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from benchmarks.models.cost import provisioned
from benchmarks.models.cost.load_inputs import Settings
from benchmarks.models.cost.prices import Prices
from benchmarks.models.cost.spending import Counted, Load, loads, of_month
from benchmarks.models.hosted.services import CHEAP, SERVICES
from benchmarks.pages.plots import plot

OURS: Final = "Standings"
PROVISIONED: Final = "Standings, provisioned"
WAVE: Final = "daily wave"
SHIPPED: Final = "as shipped"
BOARDS: Final = {"`all`": Settings(windows=("all",)), SHIPPED: Settings()}
LOADS: Final = (
    (0.1, 1.0, 10_000),
    (1.0, 10.0, 10_000),
    (10.0, 100.0, 100_000),
    (100.0, 1_000.0, 1_000_000),
    (1_000.0, 10_000.0, 1_000_000),
)
"""Events per second, reads per second, members."""
SHORT: Final = (1.0, 10.0, 100.0)
"""Events per second of the short table."""
PICTURE: Final = "docs/pictures/cost.svg"
DRAWN: Final = (
    "Valkey Serverless",
    "a cache node and a replica",
    "Upstash",
    "a Durable Object",
    "a server with SQLite",
)


def rows(prices: Prices, reads: Counted) -> Iterator[dict[str, Any]]:
    """Yield the dollars of a month of ours and of theirs, by board and load; None where a service does not bear it."""
    for board, settings in BOARDS.items():
        for named, load in loads(settings, LOADS):
            theirs = {name: ask(load) for name, ask in SERVICES.items()}
            yield {
                "board": board,
                **named,
                "dollars": {
                    **_ours(prices, load, reads),
                    **{name: None if bill is None else round(prices.total(bill), 2) for name, bill in theirs.items()},
                },
            }


def _ours(prices: Prices, load: Load, reads: Counted) -> dict[str, float]:
    month = sum(prices.total(bill) for bill in of_month(load, reads).values())
    tables = provisioned.compared(prices, load, reads)
    return {OURS: round(month, 2), PROVISIONED: round(month - tables["on demand"] + tables[WAVE], 2)}


def of_services(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of months of ours and of theirs."""
    names = list(result["services"][0]["dollars"])
    yield f"| board | events/s | reads/s | members | {' | '.join(names)} |"
    yield "|---" * (4 + len(names)) + "|"
    for row in result["services"]:
        load = f"{row['events_per_second']:,g} | {row['reads_per_second']:,g} | {row['members']:,}"
        yield f"| {row['board']} | {load} | {_cells(row, names)} |"


def of_sizes(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the short table, for the first paragraph and the README: three sizes as shipped, and `all` of ours."""
    by_load = {(row["board"], row["events_per_second"]): row for row in result["services"]}
    yield f"| events/s | reads/s | members | {OURS}, {SHIPPED} | {OURS}, `all` | {' | '.join(CHEAP)} |"
    yield "|---" * (5 + len(CHEAP)) + "|"
    for rate in SHORT:
        shipped, alone = by_load[SHIPPED, rate], by_load["`all`", rate]
        load = f"{rate:g} | {shipped['reads_per_second']:,g} | {shipped['members']:,}"
        yield f"| {load} | {_cells(shipped, [OURS])} | {_cells(alone, [OURS])} | {_cells(shipped, CHEAP)} |"


def _cells(row: Mapping[str, Any], names: Sequence[str]) -> str:
    amounts = (row["dollars"][name] for name in names)
    return " | ".join("-" if amount is None else f"${amount:,.0f}" for amount in amounts)


def pictures(result: Mapping[str, Any]) -> dict[str, str]:
    """Return the plot of dollars a month by events a second, by path."""
    lines: dict[str, list[tuple[float, float]]] = {f"{OURS}, {SHIPPED}": [], f"{OURS}, `all`".replace("`", ""): []}
    for row in result["services"]:
        drawn = (OURS, *(DRAWN if row["board"] == SHIPPED else ()))
        for name in drawn:
            amount = row["dollars"][name]
            if amount is not None:
                line = f"{OURS}, {row['board'].replace('`', '')}" if name == OURS else name
                lines.setdefault(line, []).append((row["events_per_second"], amount))
    title = "Dollars a month; ten reads to an event, the others with the windows as shipped"
    return {PICTURE: plot(title, "events a second", "dollars a month", lines)}


TABLES: Final = {"services": of_services, "sizes": of_sizes}
