"""Boards that are loaded at once are stored as the writer and the projector would have written them."""

from dataclasses import replace
from random import Random
from typing import Any

import pytest

from benchmarks.harness import population
from benchmarks.harness.pipeline import Pipeline, event, still_clock
from benchmarks.measure.units import SHIPPED
from benchmarks.members.histories import LIVES, TWO_OF_SEVEN
from benchmarks.members.loader import Loader
from standings.aws.dynamodb.rankings import Rankings
from standings.aws.dynamodb.rolling import decode_steps
from standings.aws.dynamodb.tables import DIGITS
from standings.domain.boards import Ranking
from standings.domain.boards_toml import parse_boards
from standings.domain.members import Move
from standings.domain.rolling import RollingRankings
from standings.domain.scoring import Place
from standings.domain.windows import DAY, SECOND
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

METRIC = population.family(SHIPPED.definition).metrics["points"]
ROLLING = RollingRankings(population.BOARD, METRIC, METRIC.windows[-1])
NOW = population.NOW
HISTORIES = LIVES[TWO_OF_SEVEN](Random(1), 25, 7)
DAYS = HISTORIES.of(range(25))
OFFSETS = range(ROLLING.first_open(NOW) - NOW // DAY, 7)


def _everything(client: Any, **index: str) -> list[dict[str, Any]]:
    """Return all rows; of tiers without the version, which counts their writes."""
    items = client.scan(TableName="Rankings", **index)["Items"]
    rows = [item if "s" in item else {name: item[name] for name in item if name != "v"} for item in items]
    return sorted(rows, key=lambda item: item["pk"]["S"])


@pytest.mark.parametrize("window", ["all", "day"])
@pytest.mark.parametrize("shards", [1, 3])
def test_a_loaded_ranking_is_what_the_projector_writes(window: str, shards: int) -> None:
    definition = population.sharded(shards).replace('["all"]', '["all", "day"]')
    metric = population.family(definition).metrics["points"]
    ranked = metric.window(window)
    assert ranked is not None
    ranking = Ranking(population.BOARD, metric, ranked, metric.timetable.current(ranked, NOW))
    scores = population.finegrained(Random(1), 60)
    at_once, moved = Engine(), Engine()
    for client in (at_once, moved):
        create_tables(client)

    population.place_members(at_once, ranking, scores)
    for name, score in scores.items():
        move = Move(ranking, name, None, Place(-score), 1, NOW)
        assert Rankings(moved, "Rankings", still_clock()).commit(ranking, [move]) == []  # type: ignore[arg-type]

    assert _everything(at_once) == _everything(moved)
    assert _everything(at_once, IndexName="places") == _everything(moved, IndexName="places")


def _loaded() -> Pipeline:
    pipeline = Pipeline(parse_boards(SHIPPED.definition), still_clock())
    Loader(pipeline.client, population.BOARD, METRIC, NOW).load(HISTORIES, DAYS, offsets=OFFSETS)
    return pipeline


def _lived() -> Pipeline:
    """A board on which every day of every member came as an event."""
    now = NOW
    pipeline = Pipeline(parse_boards(SHIPPED.definition), replace(still_clock(), now=lambda: now))
    for age in range(max(age for sums in DAYS.values() for age in sums), -1, -1):
        now = NOW - age * DAY
        active = {number: sums[age] for number, sums in DAYS.items() if age in sums}
        pipeline.write(
            event(f"{age}-{number}", population.BOARD, population.member(number), {"points": amount}, now)
            for number, amount in active.items()
        )
        pipeline.project(max(1, len(active)))
    projector = pipeline.projector
    projector.rankings.rolling.fold(ROLLING, 0)
    pipeline.client.expire("Rankings", NOW / SECOND)
    return pipeline


def _stored(pipeline: Pipeline) -> dict[str, dict[str, Any]]:
    """What is stored, by kind and key, without versions and times."""
    items = {item["pk"]["S"]: item for item in pipeline.client.scan(TableName="Rankings")["Items"]}
    low = ROLLING.window.slab_of(ROLLING.first_open(NOW)).start
    listed = {key: item for key, item in items.items() if "s" in item and key.startswith(ROLLING.key)}
    return {
        "rows": {
            key: decode_steps(item["p"]["S"]).by_block(ROLLING.window, low)
            for key, item in items.items()
            if "p" in item
        },
        "list": {key: [item[name] for name in "rse"] for key, item in listed.items()},
        "entries": {
            key: [item[name] for name in "rs"] for key, item in items.items() if "s" in item and key not in listed
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
