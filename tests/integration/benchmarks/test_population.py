"""A board that is loaded in one step equals the same board written by the projector's own transactions."""

from random import Random
from typing import Any

import pytest

from benchmarks.harness import population
from benchmarks.harness.pipeline import still_clock
from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables


def _engine() -> Engine:
    client = Engine()
    create_tables(client)
    return client


def _everything(client: Any, **index: str) -> list[dict[str, Any]]:
    """Return all rows; of tiers without the version, which counts their writes."""
    items = client.scan(TableName="Rankings", **index)["Items"]
    rows = [item if "s" in item else {name: item[name] for name in item if name != "v"} for item in items]
    return sorted(rows, key=lambda item: item["pk"]["S"])


@pytest.mark.parametrize("window", ["all", "day"])
@pytest.mark.parametrize("shards", [1, 3])
def test_a_loaded_board_is_what_the_projector_writes(window: str, shards: int) -> None:
    boards = parse_boards(
        f'[boards."*"]\nshards = {shards}\nmetrics.points = {{ aggregate = "sum", windows = ["all", "day"] }}'
    )
    family = boards.family(population.BOARD)
    assert family is not None
    metric = family.metrics["points"]
    ranked = metric.window(window)
    assert ranked is not None
    ranking = Ranking(population.BOARD, metric, ranked, metric.timetable.current(ranked, population.NOW))
    scores = population.finegrained(Random(1), 60)
    at_once, moved = _engine(), _engine()

    population.place_members(at_once, ranking, scores)
    moves = [Move(ranking, name, None, Place(-score), 1, population.NOW) for name, score in scores.items()]
    for move in moves:
        assert DynamoRankings(moved, "Rankings", still_clock()).commit(ranking, [move]) == []  # type: ignore[arg-type]

    assert _everything(at_once) == _everything(moved)
    assert _everything(at_once, IndexName="places") == _everything(moved, IndexName="places")
