"""Boards on which the units of an event are counted over the real requests and compared with the model."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from random import Random
from typing import Any, Final

from benchmarks.harness import population
from benchmarks.harness.pipeline import Pipeline, event, still_clock
from benchmarks.models.cost.load_inputs import Settings, Traffic
from benchmarks.models.cost.usage import usage
from standings.domain.boards.boards_toml import parse_boards

ALL: Final = Settings(windows=("all",))
SHIPPED: Final = Settings()
POINTS: Final = Traffic()
"""Scores of median 400 and amounts of 1-100, as in the README's table."""
METRES: Final = Traffic(median=20_000, amounts=(100, 2_500))
FINE: Final = Traffic(median=4_000_000, amounts=(10_000, 1_000_000))
EVENTS: Final = 2_000
"""Events of each board, rounded up to whole batches."""

GRID: Final[tuple[tuple[Settings, Traffic], ...]] = (
    *(
        (settings, replace(traffic, batch=batch))
        for settings in (ALL, SHIPPED)
        for traffic in (POINTS, METRES, FINE)
        for batch in (10, 100, 500)
    ),
    (ALL, replace(POINTS, batch=1)),
    (ALL, replace(POINTS, active=200)),
    (SHIPPED, replace(POINTS, active=200)),
    (SHIPPED, replace(POINTS, fresh=True)),
    (Settings(windows=("all", "day"), ties="first"), POINTS),
    (Settings(windows=("all", "week"), aggregate="max"), POINTS),
    (Settings(windows=("all", "week"), aggregate="last"), METRES),
    (Settings(windows=("all", "month"), metrics=3), POINTS),
    (Settings(windows=("all", "last-24-hours"), shards=4), POINTS),
)
SMALL: Final = (GRID[2], GRID[17], GRID[-5])


def measured(settings: Settings, traffic: Traffic, events: int, seed: int = 1) -> dict[str, float]:
    """Count the units of an event by table, over the real requests."""
    rng = Random(f"{seed} {settings} {traffic}")
    tools = replace(still_clock(), random=Random(seed).random)
    pipeline = Pipeline(parse_boards(settings.toml), tools, prune=True)
    # The tiers in `all` count all members; only members with events get entries and items.
    everyone = {population.member(number): traffic.score(rng) for number in range(traffic.members)}
    metrics = sorted(settings.family.metrics)
    for name in metrics:
        metric = settings.family.metrics[name]
        ranking = population.ranking_of(settings.family)._replace(metric=metric, window=metric.windows[0])
        population.place_members(pipeline.client, ranking, everyone, entries=())
    count = -(-events // traffic.batch) * traffic.batch
    chosen = population.sample(rng, everyone, traffic.active or count)
    scores = {member: everyone[member] for member in chosen}
    if not traffic.fresh:
        for start in range(0, len(chosen), 500):
            part = chosen[start : start + 500]
            before = {member: dict.fromkeys(metrics, scores[member]) for member in part}
            pipeline.write(event(f"before-{member}", population.BOARD, member, before[member]) for member in part)
            pipeline.project(len(part))
    counted = pipeline.meter.snapshot()
    for number, start in enumerate(range(0, count, traffic.batch)):
        if traffic.active is None:
            members = chosen[start : start + traffic.batch]
        else:
            members = [rng.choice(chosen) for _ in range(traffic.batch)]
        amounts = [dict.fromkeys(metrics, _amount(settings, traffic, rng, scores[member])) for member in members]
        pipeline.write(
            event(f"event-{number:08}-{n:08}", population.BOARD, member, amounts[n]) for n, member in enumerate(members)
        )
        pipeline.project(len(members))
    cost = pipeline.meter.snapshot() - counted
    return {
        "write_units": cost.total.write / count,
        "read_units": cost.total.read / count,
        **{table: units.write / count for table, units in sorted(cost.tables.items())},
    }


def _amount(settings: Settings, traffic: Traffic, rng: Random, score: int) -> int:
    amount = rng.randint(*traffic.amounts)
    if settings.aggregate == "sum":
        return amount
    if settings.aggregate == "last":
        return traffic.score(rng)
    return score + amount if rng.random() < traffic.improving else 0


def row(settings: Settings, traffic: Traffic, events: int) -> dict[str, Any]:
    """Return the counted units, those of the model, and the relative error of the model."""
    counted = {name: round(units, 3) for name, units in measured(settings, traffic, events).items()}
    model = usage(settings, traffic, days=range(1))
    return {
        "settings": asdict(settings),
        "traffic": asdict(traffic),
        "measured": counted,
        "model": {"write_units": round(model.write_units, 3), "read_units": round(model.read_units, 3)},
        "error": round(model.write_units / counted["write_units"] - 1, 4),
    }


def rows(*, small: bool) -> Iterator[dict[str, Any]]:
    """Yield the rows of the grid; small: of three boards with fewer members."""
    for settings, traffic in SMALL if small else GRID:
        reduced = replace(traffic, members=5_000) if small else traffic
        made = row(settings, reduced, 500 if small else EVENTS)
        print(_line(made), flush=True)
        yield made


def _line(row: Mapping[str, Any]) -> str:
    traffic = row["traffic"]
    board = f"{row['settings']} {traffic['amounts']} by {traffic['batch']}"
    return f"{board}: {row['measured']} {row['model']} {100 * row['error']:+.1f} %"
