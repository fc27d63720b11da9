"""The tables of `docs/cost.md`."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from benchmarks.models.alternatives import ALTERNATIVES
from benchmarks.models.cost import settlements
from benchmarks.models.cost.load_inputs import Settings, Traffic
from benchmarks.models.cost.provisioned import SHAPES
from benchmarks.models.hosted import hosted_tables


def of_events(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of a million events, with the write units of one, by batch."""
    batches = [int(batch) for batch in result["events"][0]["batches"]]
    yield f"| board | amounts | {' | '.join(f'batches of {batch:,}' for batch in batches)} |"
    yield "|---" * (2 + len(batches)) + "|"
    for row in result["events"]:
        cells = (f"${one['dollars']:,.2f} ({one['write_units']:g})" for one in row["batches"].values())
        yield f"| {row['board']} | {row['amounts']} | {' | '.join(cells)} |"


def of_reads(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of a million reads."""
    yield "| read | window | members | read units at most | dollars per million |"
    yield "|---" * 5 + "|"
    for row in result["reads"]:
        cells = f"{row['read']} | `{row['window']}` | {row['members']:,}"
        yield f"| {cells} | {row['read_units']:g} | ${row['dollars']:,.2f} |"


def of_months(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of months."""
    yield "| board | events/s | reads/s | members | batch | events | reads | storage | at rest | a month |"
    yield "|---" * 10 + "|"
    for row in result["months"]:
        parts = row["month"]
        cells = " | ".join(f"${parts[name]:,.0f}" for name in ("events", "reads", "storage", "at rest"))
        yield (
            f"| {row['board']} | {row['events_per_second']:,g} | {row['reads_per_second']:,g} | {row['members']:,} | "
            f"{row['batch']:,} | {cells} | ${sum(parts.values()):,.0f} |"
        )


def of_peers(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of months with other ways to rank, on a board with `all` alone."""
    names = ("Standings", *ALTERNATIVES)
    yield f"| events/s | reads/s | members | {' | '.join(names)} |"
    yield "|---" * (3 + len(names)) + "|"
    for row in result["peers"]:
        cells = " | ".join(f"${row[name]:,.0f}" for name in names)
        yield f"| {row['events_per_second']:,g} | {row['reads_per_second']:,g} | {row['members']:,} | {cells} |"


def of_tracing(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of what traces add to a month, on a board with `all` alone."""
    yield "| events/s | reads/s | traces/s | a month | beside the rest |"
    yield "|---" * 5 + "|"
    for row, month in zip(result["tracing"], result["months"], strict=False):
        share = row["dollars"] / sum(month["month"].values())
        yield (
            f"| {row['events_per_second']:,g} | {row['reads_per_second']:,g} | {row['traces_per_second']:,.2f} | "
            f"${row['dollars']:,.0f} | {100 * share:+.0f} % |"
        )


def of_keys(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of a month of keys."""
    yield "| key | requests a month | a month |"
    yield "|---" * 3 + "|"
    for row in result["keys"]:
        yield f"| {row['key']} | {row['requests']:,} | ${row['dollars']:,.2f} |"


def of_provisioned(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of months of the tables, on demand and provisioned, on a board as shipped."""
    yield f"| events/s | reads/s | on demand | {' | '.join(f'provisioned, {shape}' for shape in SHAPES)} |"
    yield "|---" * (3 + len(SHAPES)) + "|"
    for row in result["provisioned"]["months"]:
        cells = " | ".join(f"${row[name]:,.0f}" for name in ("on demand", *SHAPES))
        yield f"| {row['events_per_second']:,g} | {row['reads_per_second']:,g} | {cells} |"


def of_targets(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of what provisioned tables cost beside tables on demand, by target and shape of the day."""
    yield f"| `TargetUtilization` | {' | '.join(SHAPES)} |"
    yield "|---" * (1 + len(SHAPES)) + "|"
    for row in result["provisioned"]["by_target"]:
        cells = " | ".join(f"{100 * row[shape]:.0f} %" for shape in SHAPES)
        yield f"| {100 * row['target']:.0f} | {cells} |"


def of_model(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of the model and of the counted units."""
    model = result["model"]
    yield "| windows | settings | amounts | batch | counted | model | error |"
    yield "|---" * 7 + "|"
    for row in model["rows"]:
        traffic = row["traffic"]
        amounts = "–".join(f"{amount:,}" for amount in traffic["amounts"])
        yield (
            f"| {', '.join(row['settings']['windows'])} | {_settings(row)} | {amounts} | {traffic['batch']} | "
            f"{row['measured']['write_units']:.2f} | {row['model']['write_units']:.2f} | {100 * row['error']:+.1f} % |"
        )
    yield ""
    yield (
        f"Error: at most {100 * model['most_off']:.1f} %, on average {100 * model['mean_off']:.1f} %, "
        f"over {len(model['rows'])} boards."
    )


def _settings(row: Mapping[str, Any]) -> str:
    """Return the settings of a row that differ from the default."""
    defaults = {"settings": Settings(), "traffic": Traffic()}
    shown = {"settings": ("aggregate", "ties", "metrics", "shards"), "traffic": ("active", "fresh")}
    return ", ".join(
        f"{name} {value}".replace("fresh True", "new members").replace("active", "members:")
        for part, names in shown.items()
        for name in names
        if (value := row[part][name]) != getattr(defaults[part], name)
    )


def of_prices(result: Mapping[str, Any]) -> Iterator[str]:
    """Return the table of prices."""
    yield "| item | dollars | per | source | read on |"
    yield "|---" * 5 + "|"
    for one in result["prices"]["of"]:
        read = f"[{one['read_on']}]({one['read']})" if one["confirmed"] else "not confirmed"
        name = one["name"].replace("_", " ")
        yield f"| {name} | {one['dollars']:.10g} | {one['per']:,} | <{one['source']}> | {read} |"


TABLES: Final = {
    "events": of_events,
    "reads": of_reads,
    "months": of_months,
    "tracing": of_tracing,
    "keys": of_keys,
    "settlements": settlements.table,
    "provisioned": of_provisioned,
    "peers": of_peers,
    **hosted_tables.TABLES,
    "model": of_model,
    "prices": of_prices,
}
OPERATED: Final = {"targets": of_targets}
"""The tables of `docs/how-to/provisioned-capacity.md`."""
