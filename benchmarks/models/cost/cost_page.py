"""The tables of what Standings costs: `python -m benchmarks cost`."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from itertools import chain, product
from typing import Any, Final

from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import Output
from benchmarks.models import assumed
from benchmarks.models.cost import counted, doors, league, provisioned, settlements, spending
from benchmarks.models.cost.counted import Settings, Traffic
from benchmarks.models.cost.prices import MILLION, Bill, Prices, read_prices
from benchmarks.models.cost.services import CHEAP, KEEPING, SERVICES
from benchmarks.models.cost.spending import (
    API,
    CLIENT,
    DIRECT,
    READS,
    UNLOGGED,
    URL,
    WAYS,
    Counted,
    Load,
    used_by,
    waiting,
)
from benchmarks.pages.plots import plot
from benchmarks.pages.tables import Lines, Result, Row, Table, crossed
from standings.domain.windows import parse_window

ALL: Final = Settings(windows=("all",))
SHIPPED: Final = Settings()
BOARDS: Final[dict[str, Settings]] = {
    "`all`": ALL,
    '`all`, `ties = "first"`': Settings(windows=("all",), ties="first"),
    '`all`, `aggregate = "max"`, half of the events better': Settings(windows=("all",), aggregate="max"),
    "`all`, `day`, `week`": Settings(windows=("all", "day", "week")),
    "`all`, `day`, `last-7-days` (as shipped)": SHIPPED,
    "`all`, `last-30-days`": Settings(windows=("all", "last-30-days")),
    "three metrics, each `all`": Settings(windows=("all",), metrics=3),
}
POINTS: Final = Traffic()
LIVED: Final = Traffic(daily=8.64, comes=2 / 7)
AMOUNTS: Final = {
    "1–100, median 400": POINTS,
    "1–100, members come on two days of seven": LIVED,
    "100–2,500, median 20,000": Traffic(median=20_000, amounts=(100, 2_500)),
    "10,000–1,000,000, median 4,000,000": Traffic(median=4_000_000, amounts=(10_000, 1_000_000)),
}
BATCHES: Final[tuple[int, ...]] = (1, 10, 100, 500)
HABITS: Final = {"every day": None, "two days of seven": 2 / 7, "once a week": 1 / 7}
"""The shares of days on which a member has events."""
BATCHING: Final = (1, 2, 5, 10)
"""Seconds of `WriterBatchingWindow`."""
LESS: Final[dict[str, dict[str, Any]]] = {
    "by default": {},
    "512 MB": {"memory": 0.512},
    "256 MB": {"memory": 0.256},
    "two pollers": {"pollers": assumed.FEW_POLLERS},
    "two pollers, 512 MB": {"pollers": assumed.FEW_POLLERS, "memory": 0.512},
}
"""Less of what Lambda is paid for: `FunctionMemory`, and pollers of the queue."""
LOGS: Final = {
    "a batch of the writer: metrics": assumed.METRICS_LOGGED["writer"],
    "a batch of the projector: metrics": assumed.METRICS_LOGGED["projector"],
    "a request of the API, with `AccessLog`": assumed.ACCESS_LOGGED,
    "a run of a function, with `SystemLogLevel=INFO`": assumed.SYSTEM_LOGGED,
}
ASKED: Final = tuple(round(0.01 * 1.02**step, 4) for step in range(466))
"""Events a second that are tried for the break-even, up to 100."""
WINDOWS: Final = ("day", "last-7-days")
"""Those of the table of reads. A read of `all` costs as much as one of a calendar window."""
Rates = tuple[float, float, int]
MONTHS: Final[tuple[Rates, ...]] = (
    (1.0, 10.0, 10_000),
    (10.0, 100.0, 100_000),
    (100.0, 1_000.0, 1_000_000),
    (1_000.0, 10_000.0, 1_000_000),
)
"""Events per second, reads per second, members."""
CLUB: Final[Rates] = (0.01, 0.1, 300)
SERVED: Final[tuple[Rates, ...]] = (CLUB, (0.1, 1.0, 10_000), *MONTHS)
SERVED_BOARDS: Final = {"`all`": ALL, "as shipped": SHIPPED}
ASKED_BY: Final = (API, URL, CLIENT)
"""The ways to read of the short tables."""
CASES: Final = tuple(f"{board}, {way}" for board in SERVED_BOARDS for way in ASKED_BY)
SHORT: Final = (1.0, 10.0, 100.0)
"""Events per second of the loads that are also computed in other cases."""
SIZES: Final = (CLUB[0], *SHORT)
"""Events per second of the short table."""
CHANGED: Final = {
    "by default": ("ways", API),
    "members come on two days of seven": ("habits", "two days of seven"),
    "members come once a week": ("habits", "once a week"),
    "`AccessLog=false`": ("ways", UNLOGGED),
    "reads over the function URL": ("ways", URL),
    "reads by invoking the function": ("ways", DIRECT),
    "reads by the client": ("ways", CLIENT),
    "`WriterBatchingWindow=10`": ("windows", "10 s"),
    "`FunctionMemory=512`": ("less", "512 MB"),
    "the same, and two pollers with `WriterMaximumConcurrency=0`": ("less", "two pollers, 512 MB"),
    "a Database Savings Plan": ("committed", "with a plan"),
    "`TableCapacity=provisioned`, steady load": ("committed", "provisioned"),
    "the same with a plan": ("committed", "provisioned, with a plan"),
    "the same with reserved capacity": ("committed", "provisioned, reserved"),
    "`TableCapacity=provisioned`, daily wave": ("services", "Standings, provisioned"),
    "the same with reads over the function URL": ("services_by_url", "Standings, provisioned"),
}
"""What changes a month's dollars: the part of a load's row, and the case in it."""
IDLE: Final = {
    "queue_requests": "pollers at the queue",
    "custom_metrics": "metrics",
    "key_requests": "keys of the tables",
    "alarms": "alarms",
}
"""What a stack at rest pays for, by the names of amounts."""
OURS: Final = "Standings"
DSQL: Final = KEEPING[-1]
SERVER: Final = CHEAP[-1]
BESIDE: Final = (CHEAP[0], SERVER)
"""The services of the README's table."""
"""It answers its own requests, so there is one way to read."""
DRAWN: Final = (*CHEAP, "durable Valkey", "a Durable Object")


def measure(out: Output) -> dict[str, Any]:
    """Return the costs of loads at the shipped prices; small: of fewer loads."""
    prices, reads = read_prices(), spending.counted_reads(Output())
    few = slice(0, 1 if out.small else None)
    months, served = MONTHS[few], MONTHS[few] if out.small else SERVED
    events = {
        (board, amounts): [Load(settings, replace(traffic, batch=batch)) for batch in BATCHES[few]]
        for board, settings in list(BOARDS.items())[few]
        for amounts, traffic in AMOUNTS.items()
        if traffic in (POINTS, LIVED) or settings in (ALL, SHIPPED)
        if traffic is not LIVED or settings is SHIPPED
    }
    served_loads = [
        ({"board": board, **rates}, load)
        for board, settings in SERVED_BOARDS.items()
        for rates, load in spending.loads(settings, served)
    ]
    in_cases = (one for _, load in served_loads for case in cases(load).values() for one in case.values())
    counted.count(map(spending.on_one_board, (*chain(*events.values()), *in_cases, league.load())))
    return {
        **computed(prices, reads),
        "events": [
            {"board": board, "amounts": amounts, "batches": {str(one.traffic.batch): _event(prices, one) for one in of}}
            for (board, amounts), of in events.items()
        ],
        "loads": [{**row, "batch": load.traffic.batch, **_month(prices, load, reads)} for row, load in served_loads],
        "break_even": _break_even(prices, reads),
        "provisioned": _provisioned(prices, reads, months),
        "league": list(league.rows(prices, reads)),
    }


def cases(load: Load) -> dict[str, dict[str, Load]]:
    """Return a load in the cases of some tables, by the name of the table; most are those of usual loads."""
    ways = {way: replace(load, way=way) for way in WAYS}
    if load.events_per_second not in SHORT:
        return {"ways": ways}
    return {
        "ways": ways,
        "habits": {habit: replace(load, traffic=replace(load.traffic, comes=comes)) for habit, comes in HABITS.items()},
        "windows": {f"{seconds} s": waiting(load, seconds) for seconds in BATCHING},
        "less": {name: waiting(replace(load, **less), 1) for name, less in LESS.items()},
    }


def computed(prices: Prices, reads: Counted) -> dict[str, Any]:
    """Return the parts of the result for which no event has to be counted."""
    return {
        "prices": {
            "region": prices.region,
            "read_on": prices.read_on,
            "of": [{"name": name, **asdict(price)} for name, price in prices.of.items()],
        },
        "reads": [_million_reads(prices, *read, reads) for read in product(READS, WINDOWS, (10_000, 1_000_000))],
        "logs": [
            {
                "line": line,
                "bytes": count,
                "dollars": prices.total(Bill(logged_gigabytes=MILLION * count / spending.GIGABYTE)),
            }
            for line, count in LOGS.items()
        ],
        "keys": [
            {"key": name, "requests": round(bill.key_requests), "dollars": round(prices.total(bill), 2)}
            for name, bill in (
                ("AWS's (default)", spending.of_table_keys()),
                ("yours (`KmsKeyArn`)", spending.of_own_key()),
            )
        ],
        "settlements": list(settlements.rows(prices)),
        "doors": list(doors.rows(prices, reads)),
        "idle": _idle(prices),
    }


def _idle(prices: Prices) -> list[dict[str, Any]]:
    bill = spending.at_rest() + Bill(alarms=assumed.ALARMS)
    found = [{"part": IDLE[name], "dollars": round(dollars, 2)} for name, dollars in prices.dollars(bill).items()]
    return [*found, {"part": "in all", "dollars": round(prices.total(bill), 2)}]


def _event(prices: Prices, load: Load) -> dict[str, float]:
    dollars = prices.total(spending.of_event(load).times(MILLION))
    return {"write_units": round(used_by(load).write_units, 2), "dollars": round(dollars, 2)}


def _million_reads(prices: Prices, read: str, window: str, members: int, reads: Counted) -> dict[str, Any]:
    units = spending.read_units(reads, read, parse_window(window), members)
    dollars = {way: round(prices.total(spending.of_read(units, way).times(MILLION)), 2) for way in WAYS}
    return {"read": read, "window": window, "members": members, "read_units": units, "dollars": dollars}


def _month(prices: Prices, load: Load, reads: Counted) -> dict[str, Any]:
    """Return the dollars of a month: in parts, by ways to read, on other services; of usual loads in other cases."""

    def total(bill: Bill) -> float:
        return round(prices.total(bill), 2)

    costs = {
        part: {name: total(spending.in_all(one, reads)) for name, one in ones.items()}
        for part, ones in cases(load).items()
    }
    tables = provisioned.compared(prices, load, reads)

    def services(way: str) -> dict[str, float | None]:
        asked = replace(load, way=way)
        month, theirs = total(spending.in_all(asked, reads)), {name: ask(asked) for name, ask in SERVICES.items()}
        return {
            OURS: month,
            f"{OURS}, provisioned": round(month - tables["on demand"] + tables["daily wave"], 2),
            **{name: None if bill is None else total(bill) for name, bill in theirs.items()},
        }

    row = {
        "month": {name: total(bill) for name, bill in spending.of_month(load, reads).items()},
        "ways": costs.pop("ways"),
        "services": services(API),
        "services_by_url": services(URL),
    }
    if costs:
        units = {habit: round(used_by(one).write_units, 2) for habit, one in cases(load)["habits"].items()}
        committed = {name: total(bill) for name, bill in provisioned.committed(prices, load, reads).items()}
        row |= {"habits": costs.pop("habits"), "units": units, **costs, "committed": committed}
    return row


def _break_even(prices: Prices, reads: Counted) -> list[dict[str, Any]]:
    """Return by rival the events a second up to which ours costs less, 0 for never; ten reads to an event.

    There are 10,000 members, and batches of one.
    """
    rows: list[dict[str, Any]] = [{"rival": rival} for rival in KEEPING]
    for (board, settings), way in product(SERVED_BOARDS.items(), ASKED_BY):
        ((_, load),) = spending.loads(settings, MONTHS[:1])
        asked = [replace(load, events_per_second=rate, reads_per_second=10 * rate, way=way) for rate in ASKED]
        ours = [prices.total(spending.in_all(at, reads)) for at in asked]
        for row in rows:
            theirs = (SERVICES[row["rival"]](at) or Bill() for at in asked)
            less = (rate for rate, our, bill in zip(ASKED, ours, theirs, strict=True) if our < prices.total(bill))
            row[f"{board}, {way}"] = max(less, default=0.0)
    return rows


def _provisioned(prices: Prices, reads: Counted, months: Sequence[Rates]) -> dict[str, Any]:
    shipped = list(spending.loads(SHIPPED, months))
    busy = shipped[min(2, len(shipped) - 1)][1]
    return {
        "target": provisioned.TARGET,
        "minimum": provisioned.MINIMUM,
        "pays_above": provisioned.pays_above(prices),
        "idle": provisioned.idle(prices, busy, reads),
        "months": [{**rates, **provisioned.compared(prices, load, reads)} for rates, load in shipped],
        "by_target": list(provisioned.by_target(prices, busy, reads)),
    }


def of_events(result: Result) -> Iterator[str]:
    cell = "${dollars:,.2f} ({write_units:g})"
    return crossed(
        "board | amounts",
        (
            (f"{row['board']} | {row['amounts']}", f"batches of {int(batch):,}", cell.format_map(one))
            for row in result["events"]
            for batch, one in row["batches"].items()
        ),
    )


def of_sizes(result: Result) -> Iterator[str]:
    """Return the short table, for the first paragraph and the README: four sizes as shipped, and `all` of ours."""
    in_all = {row["events_per_second"]: row["ways"] for row in result["loads"] if row["board"] == "`all`"}

    def cells(row: Row) -> Iterator[tuple[str, str]]:
        for board, ways in (("as shipped", row["ways"]), ("`all`", in_all[row["events_per_second"]])):
            yield f"{OURS}, {board}: {DOORS}", " · ".join(_dollars(ways[way]) for way in ASKED_BY)
        for name in CHEAP:
            dollars = [_dollars(row[services][name]) for services in ("services", "services_by_url")]
            yield ((f"{name}: {DOORS_OF_OTHERS}", " · ".join(dollars)) if name != SERVER else (name, dollars[0]))

    return crossed(
        "events/s | reads/s | members",
        (
            (LOAD.format_map(row), *cell)
            for row in result["loads"]
            if row["board"] == "as shipped" and row["events_per_second"] in SIZES
            for cell in cells(row)
        ),
    )


def of_four(result: Result) -> Iterator[str]:
    """Return the table of the README: Standings as shipped and two others, with reads at a function URL."""
    yield f"| events/s, members | {OURS} | {' | '.join(BESIDE)} |"
    yield "|---" * (2 + len(BESIDE)) + "|"
    for row in result["loads"]:
        if row["board"] == "as shipped" and row["events_per_second"] in SIZES:
            dollars = " | ".join(_dollars(row["services_by_url"][name]) for name in (OURS, *BESIDE))
            yield f"| {row['events_per_second']:,g}, {row['members']:,} | {dollars} |"


def by_load(part: str, columns: Iterable[str], more: str = "") -> Table:
    """Return the table of a part of a month, with a line for each load that has it."""
    names = list(columns)

    def rows(result: Result) -> Iterator[Row]:
        for row in result["loads"]:
            if part in row and (part in ("services", "services_by_url", "ways") or row["events_per_second"] >= 1):
                cells = {**row["month"], **row[part]}
                yield {**row, "cells": " | ".join(_dollars(cells[name]) for name in names)}

    head = f"board | events/s | reads/s | members | {more and 'batch | '}{' | '.join(names)}"
    return Table(head, f"{{board}} | {LOAD} | {more}{{cells}}", rows)


def of_less(result: Result) -> Iterator[str]:
    """Return the table of what changes a month's dollars: a line for each of `CHANGED`, a column for each load."""
    rushed = {row["events_per_second"]: row for row in result["provisioned"]["months"]}
    loads = [row for row in result["loads"] if row["events_per_second"] in SHORT]
    cells = []
    for row in sorted(loads, key=lambda row: row["board"]):
        column = f"{row['board']}, {row['events_per_second']:g}/s"
        cells += [(name, column, _dollars(row[part][of])) for name, (part, of) in CHANGED.items()]
        if row["board"] == "as shipped":
            tables = rushed[row["events_per_second"]]
            rush = row["ways"][API] - tables["on demand"] + tables["daily rush"]
            cells.append(("`TableCapacity=provisioned`, daily rush", column, _dollars(rush)))
    return crossed("what", cells)


def of_reads(result: Result) -> Iterator[str]:
    """Return the table of a million reads, on the board size on which each costs most."""
    most: dict[tuple[str, str], Row] = {}
    for row in sorted(result["reads"], key=lambda row: float(row["read_units"])):
        most[row["read"], row["window"]] = row
    cells = []
    for (read, window), row in most.items():
        cells.append((read, f"`{window}`: units", f"{row['read_units']:g}"))
        cells += [(read, f"`{window}`, {way}", f"${row['dollars'][way]:,.2f}") for way in ASKED_BY]
    return crossed("read", sorted(cells, key=lambda cell: (list(READS).index(cell[0]), cell[1])))


def of_parts(result: Result) -> Iterator[str]:
    """Return the table of the small parts of a bill: a stack at rest, keys, logs and settlements."""
    *parts, whole = result["idle"]
    key = result["keys"][-1]
    rows = (
        ("a month at rest", ", ".join(map(IDLE_PART.format_map, parts)), whole["dollars"]),
        ("a month with your own key (`KmsKeyArn`)", f"{key['requests']:,} requests", key["dollars"]),
        *((f"a million lines: {row['line']}", f"{row['bytes']} bytes each", row["dollars"]) for row in result["logs"]),
        *(("a settlement", SETTLED.format_map(row), row["dollars"]) for row in result["settlements"][1:]),
    )
    yield "| what | counted | dollars |"
    yield "|---" * 3 + "|"
    for what, how_many, dollars in rows:
        yield f"| {what} | {how_many} | ${dollars:,.{2 if dollars >= CENT else 4}f} |"


def _dollars(amount: float | None) -> str:
    return "-" if amount is None else f"${amount:,.0f}"


DOORS: Final = "API · function URL · client"
DOORS_OF_OTHERS: Final = "API · function URL"
LOAD: Final = "{events_per_second:,g} | {reads_per_second:,g} | {members:,}"
SETTLED: Final = "{members:,} members, {winners:,} winners, {read_units:,} read units, {requests:,} requests of S3"
IDLE_PART: Final = "{part} ${dollars:,.2f}"
CENT: Final = 0.01
TABLES: Final[dict[str, Lines]] = {
    "events": of_events,
    "reads": of_reads,
    "months": by_load("ways", ("events", "reads", "storage", "at rest", *WAYS), "{batch:,} | "),
    "parts": of_parts,
    "services": by_load("services", (OURS, f"{OURS}, provisioned", *SERVICES)),
    "by_url": by_load("services_by_url", (OURS, f"{OURS}, provisioned", *SERVICES)),
}
DECIDE: Final[dict[str, Lines]] = {
    "sizes": of_sizes,
    "less": of_less,
    "break_even": Table(
        f"beside | {' | '.join(CASES)}", f"{{rival}} | {' | '.join(f'{{{case}:.2g}}' for case in CASES)}", "break_even"
    ),
}
"""The tables of the page to decide by."""
DOOR: Final = Table(
    f"reads/s | {API} | {URL} | {' | '.join(f'CloudFront, {share} kept' for share in doors.KEPT)} | a plan, 90 % kept",
    "{reads_per_second:,g} | {cells}",
    lambda result: (
        {**row, "cells": " | ".join(map(_dollars, (*row["doors"].values(), *row["cdn"].values(), row["plan"]["90 %"])))}
        for row in result["doors"]
    ),
)
LEAGUE: Final = Table("what | a month", "{part} | ${dollars:,.2f}", "league")
TARGETS: Final = Table(
    f"`TargetUtilization` | {' | '.join(provisioned.SHAPES)}",
    f"{{percent:.0f}} | {' | '.join(f'{{{shape}:.0%}}' for shape in provisioned.SHAPES)}",
    lambda result: ({**row, "percent": 100 * row["target"]} for row in result["provisioned"]["by_target"]),
)


def pictures(result: Mapping[str, Any]) -> dict[str, str]:
    lines: dict[str, list[tuple[float, float]]] = {f"{OURS}, as shipped": [], f"{OURS}, all": []}
    for row in result["loads"]:
        for name in (OURS, *(DRAWN if row["board"] == "as shipped" else ())):
            amount = row["services"][name]
            if amount is not None:
                line = f"{OURS}, {row['board'].replace('`', '')}" if name == OURS else name
                lines.setdefault(line, []).append((row["events_per_second"], amount))
    title = "Dollars a month; ten reads to an event, the others with the windows as shipped"
    return {"docs/pictures/cost.svg": plot(title, "events a second", "dollars a month", lines)}


BENCHMARK: Final = Benchmark(
    "cost",
    measure,
    {
        "docs/cost.md": DECIDE,
        "docs/cost-tables.md": TABLES,
        "README.md": {"sizes": of_four},
        "docs/how-to/provisioned-capacity.md": {"targets": TARGETS},
        "docs/how-to/without-api-gateway.md": {"doors": DOOR},
        "docs/tutorials/league.md": {"league": LEAGUE},
    },
    pictures=pictures,
)
