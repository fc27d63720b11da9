"""Random boards with a rolling window, and random items of members, for tests of the domain."""

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Final

from standings.domain.boards_toml import parse_boards
from standings.domain.members import AHEAD_MARGIN, Image
from standings.domain.scoring import Aggregate, aggregate_of_event, merge
from standings.domain.windows import DAY, HOUR, MAX_SLAB, MINUTE
from standings.domain.zones import time_zone
from standings.rankings.rolling.steps import RollingRankings
from tests.support.builders.points import family

BOARD: Final = "b"
AGGREGATES: Final = ("sum", "max", "min", "last")
ZONES: Final = ("UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Pacific/Kiritimati", "America/Santiago")
SIZES: Final = (1, 2, 3, 7, 15, 16, 17, 24, 30, 48, 89, 90)
CHANGES: Final = ((2026, 10, 25), (2027, 3, 28), (2026, 11, 1), (2026, 4, 5))
"""Days on which the clocks of some of the zones change."""


def rolling_window(
    window: str, *, aggregate: str = "sum", order: str = "descending", ties: str = "member", calendar: str = ""
) -> RollingRankings:
    """The rankings of one rolling window of a board with one metric. `calendar` is TOML."""
    rules = f'aggregate = "{aggregate}", order = "{order}", ties = "{ties}", windows = ["{window}"]'
    metric = family(BOARD, parse_boards(f'[boards."*"]\n{calendar}\nmetrics.points = {{ {rules} }}')).metrics["points"]
    return RollingRankings(BOARD, metric, metric.windows[0])


def random_window(rng: Random) -> RollingRankings:
    """The rankings of any rolling window."""
    unit = rng.choice(["hours", "days"])
    late = rng.choice(["30 minutes", "1 hour", "1 day", "3 days", "20 days"])
    return rolling_window(
        f"last-{rng.choice([*SIZES, rng.randint(1, 90)])}-{unit}",
        aggregate=rng.choice(AGGREGATES),
        order=rng.choice(["descending", "ascending"]),
        ties=rng.choice(["member", "first"]),
        calendar=f'timezone = "{rng.choice(ZONES)}"\nlate = "{late}"',
    )


def random_now(rng: Random, rankings: RollingRankings) -> int:
    """An instant, often near the beginning of a bucket, on a day on which clocks change."""
    timezone = rankings.metric.timetable.timezone
    zone = UTC if timezone == "UTC" else time_zone(timezone)
    changing = datetime(*rng.choice(CHANGES), tzinfo=zone)
    begun = int((changing + timedelta(days=rng.choice([-1, 0, 0, 1, rng.randrange(-100, 100)]))).timestamp() * 1000)
    near = rng.choice([-MINUTE, -1, 0, 1, MINUTE, rng.randrange(DAY)])
    return begun + rng.choice([0, 0, rng.randrange(26) * HOUR]) + near


def random_image(rng: Random, rankings: RollingRankings, now: int) -> Image:
    """An item with events of up to a whole window ago, and of buckets that can no longer be read."""
    metric, unit, size = rankings.metric, rankings.unit, rankings.window.size
    last = metric.timetable.index(unit, now + AHEAD_MARGIN)
    reach = rng.choice([1, 2, size, size + MAX_SLAB, size + 4 * MAX_SLAB])
    cells: dict[str, Aggregate] = {}
    for number in range(rng.choice([0, 1, 2, 5, 20])):
        bucket = last - rng.randrange(reach)
        at = metric.timetable.start(unit, bucket) + rng.randrange(HOUR)
        name = metric.bucket(unit, bucket)
        one = aggregate_of_event(metric, rng.choice([0, 1, 1, 2, -1, -3, 5, 128, -20_000]), at, f"e{number}")
        cells[name] = merge(metric, cells[name], one) if name in cells else one
    values = {name: cell.value for name, cell in cells.items()}
    tie_keys = {name: cell.tie_key for name, cell in cells.items() if cell.tie_key}
    return Image(rankings.board, "m", now, now, 0, hidden=False, values=values, tie_keys=tie_keys)
