"""Members who are loaded with their histories are stored as if the writer and the projector had written every day."""

from dataclasses import replace
from random import Random
from typing import Any

from benchmarks.harness import population
from benchmarks.harness.pipeline import Pipeline, event, still_clock
from benchmarks.measure.units import SHIPPED
from benchmarks.members.histories import LIVES, TWO_OF_SEVEN, Histories, points
from benchmarks.members.loader import Loader
from standings.aws.dynamodb.keys import DIGITS
from standings.aws.dynamodb.rankings.rolling_items import decode_steps
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.windows.calendar import DAY, SECOND

METRIC = population.family(SHIPPED.definition).metrics["points"]
ROLLING = RollingRankings(population.BOARD, METRIC, METRIC.windows[-1])
MEMBERS = 25
NOW = population.NOW


def _histories() -> tuple[Histories, dict[int, dict[int, int]]]:
    histories = LIVES[TWO_OF_SEVEN](Random(1), MEMBERS, 7, points)
    return histories, histories.of(range(MEMBERS))


def _loaded() -> Pipeline:
    pipeline = Pipeline(parse_boards(SHIPPED.definition), still_clock())
    histories, days = _histories()
    Loader(pipeline.client, population.BOARD, METRIC, NOW).load(histories, days)
    return pipeline


def _lived() -> Pipeline:
    """A board on which every day of every member came as an event."""
    _, days = _histories()
    now = NOW
    pipeline = Pipeline(parse_boards(SHIPPED.definition), replace(still_clock(), now=lambda: now))
    for age in range(max(age for sums in days.values() for age in sums), -1, -1):
        now = NOW - age * DAY
        active = {number: sums[age] for number, sums in days.items() if age in sums}
        pipeline.write(
            event(f"{age}-{number}", population.BOARD, population.member(number), {"points": amount}, now)
            for number, amount in active.items()
        )
        pipeline.project(max(1, len(active)))
    (projector,) = pipeline.projectors
    projector.rankings.rolling.fold(ROLLING, 0)
    pipeline.client.expire("Rankings", NOW / SECOND)
    return pipeline


def _stored(pipeline: Pipeline) -> dict[str, dict[str, Any]]:
    """What is stored, by kind and key, without versions and times."""
    items = {item["pk"]["S"]: item for item in pipeline.client.scan(TableName="Rankings")["Items"]}
    list_, low = ROLLING.key, ROLLING.window.slab_of(ROLLING.first_open(NOW)).start
    return {
        "rows": {key: decode_steps(item["p"]["S"]).by_first(low) for key, item in items.items() if "p" in item},
        "list": {
            key: [item[name] for name in "rste"] for key, item in items.items() if "s" in item and key.startswith(list_)
        },
        "entries": {
            key: [item[name] for name in "rs"]
            for key, item in items.items()
            if "s" in item and not key.startswith(list_)
        },
        "nodes": {
            key: {DIGITS[name]: value for name, value in item.items() if name in DIGITS and value != {"N": "0"}}
            for key, item in items.items()
            if "/" in key and "l" not in item
        },
    }


def test_loaded_members_are_stored_as_if_they_had_lived() -> None:
    loaded, lived = _stored(_loaded()), _stored(_lived())

    assert all(loaded.values())
    assert (loaded["rows"], loaded["list"]) == (lived["rows"], lived["list"])
    # Of days before today the other board has entries and nodes as well, and empty nodes.
    for kind in ("entries", "nodes"):
        assert {key: lived[kind].get(key) for key in loaded[kind]} == loaded[kind]
    open_ = {ROLLING.at(period).key for period in range(ROLLING.first_open(NOW), NOW // DAY + 7)}
    more = {key for key, counters in lived["nodes"].items() if counters and key.partition("/")[0] in open_}
    assert more <= loaded["nodes"].keys()
