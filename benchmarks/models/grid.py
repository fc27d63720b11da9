"""Boards on which the units of an event are counted over the real requests, beside what the model says of them."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, replace
from random import Random
from typing import Any, Final

from benchmarks.harness import population
from benchmarks.harness.metered import Pipeline
from benchmarks.models.cost.usage import Settings, Traffic, usage
from standings.domain.boards.boards_toml import parse_boards

ALL: Final = Settings(windows=("all",))
SHIPPED: Final = Settings()
POINTS: Final = Traffic()
"""Scores of median 400 and steps of 1-100, as in the README's table."""
METRES: Final = Traffic(median=20_000, steps=(100, 2_500))
FINE: Final = Traffic(median=4_000_000, steps=(10_000, 1_000_000))
EVENTS: Final = 2_000
"""Of each board, at least; in whole batches."""

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
    """Units of an event by table, counted over the real requests."""
    rng = Random(f"{seed} {settings} {traffic}")
    boards = parse_boards(settings.toml)
    line = Pipeline(boards, seed)
    # The tiers of everyone's scores in `all`; rows and items of those members only who have events here.
    everyone = {population.member(number): traffic.score(rng) for number in range(traffic.members)}
    metrics = sorted(settings.family.metrics)
    for name in metrics:
        metric = settings.family.metrics[name]
        ranking = population.ranking_of(settings.family)._replace(metric=metric, window=metric.windows[0])
        population.place_members(line.client, ranking, everyone, entries=())
    count = -(-events // traffic.batch) * traffic.batch
    chosen = population.sample(rng, everyone, traffic.active or count)
    scores = {member: everyone[member] for member in chosen}
    if not traffic.fresh:
        for start in range(0, len(chosen), 500):
            part = chosen[start : start + 500]
            line.take([_event(f"before-{member}", member, dict.fromkeys(metrics, scores[member])) for member in part])
    before = line.counted
    for number, start in enumerate(range(0, count, traffic.batch)):
        if traffic.active is None:
            members = chosen[start : start + traffic.batch]
        else:
            members = [rng.choice(chosen) for _ in range(traffic.batch)]
        line.take(
            [
                _event(
                    f"event-{number:08}-{n:08}",
                    member,
                    dict.fromkeys(metrics, _amount(settings, traffic, rng, scores[member])),
                )
                for n, member in enumerate(members)
            ]
        )
    span = line.counted - before
    return {
        "write_units": span.total.write / count,
        "read_units": span.total.read / count,
        **{table: units.write / count for table, units in sorted(span.tables.items())},
    }


def _event(event_id: str, member: str, amounts: Mapping[str, int]) -> Mapping[str, Any]:
    at = "2026-11-21T10:15:00Z"
    return {"id": event_id, "board": population.BOARD, "member": member, "at": at, "metrics": amounts}


def _amount(settings: Settings, traffic: Traffic, rng: Random, score: int) -> int:
    step = rng.randint(*traffic.steps)
    if settings.aggregate == "sum":
        return step
    if settings.aggregate == "last":
        return traffic.score(rng)
    return score + step if rng.random() < traffic.improving else 0


def row(settings: Settings, traffic: Traffic, events: int) -> dict[str, Any]:
    """What was counted, what the model says, and how far that is off."""
    found = {name: round(units, 3) for name, units in measured(settings, traffic, events).items()}
    told = usage(settings, traffic)
    return {
        "settings": asdict(settings),
        "traffic": asdict(traffic),
        "measured": found,
        "model": {"write_units": round(told.write_units, 3), "read_units": round(told.read_units, 3)},
        "error": round(told.write_units / found["write_units"] - 1, 4),
    }


def rows(*, small: bool) -> Iterator[dict[str, Any]]:
    """The grid; a small one of some boards with fewer members."""
    for settings, traffic in SMALL if small else GRID:
        reduced = replace(traffic, members=5_000) if small else traffic
        found = row(settings, reduced, 500 if small else EVENTS)
        print(_line(found), flush=True)
        yield found


def _line(found: Mapping[str, Any]) -> str:
    traffic = found["traffic"]
    what = f"{found['settings']} {traffic['steps']} by {traffic['batch']}"
    return f"{what}: {found['measured']} {found['model']} {100 * found['error']:+.1f} %"
