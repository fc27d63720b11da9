"""Boards with tiers counted from sorted scores equal the same boards loaded move by move."""

from collections import Counter
from typing import Any

import pytest

from benchmarks.harness import population, shapes
from benchmarks.harness.truth import Truth
from standings.domain.boards.boards_toml import parse_boards
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables


def _everything(client: Any) -> list[dict[str, Any]]:
    return sorted(client.scan(TableName="Rankings")["Items"], key=lambda item: item["pk"]["S"])


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_a_shape_equals_the_board_of_its_members(shape: str, shards: int) -> None:
    scores = shapes.SHAPES[shape](700)
    boards = parse_boards(population.BOARDS.replace('"*"]\n', f'"*"]\nshards = {shards}\n'))
    family = boards.family(population.BOARD)
    assert family is not None
    ranking = population.ranking_of(family)
    counted, moved = Engine(), Engine()
    for client in (counted, moved):
        create_tables(client)

    shapes.place(counted, ranking, scores, range(len(scores)))
    population.place_members(moved, ranking, dict(shapes.ByName(scores)))

    assert _everything(counted) == _everything(moved)


@pytest.mark.parametrize("shape", shapes.SHAPES)
def test_a_shape_gives_the_answers_of_a_sorted_list(shape: str) -> None:
    scores = shapes.SHAPES[shape](1_000)
    made, sorted_once = shapes.Sorted(scores), Truth(dict(shapes.ByName(scores)))

    assert list(made.order) == sorted_once.order
    assert made.lines(450, 100) == sorted_once.lines(450, 100)
    for name in made.order[::7]:
        assert made.position(name) == sorted_once.position(name)
        assert made.rank(name) == sorted_once.rank(name)
    assert sum(shapes.tiers(scores)[()].values()) == len(scores)


def test_the_hot_tier_has_most_members() -> None:
    inside = Counter(score // shapes.TIER for score in shapes.hot(10_000))

    ((tier, members),) = inside.most_common(1)
    assert tier == shapes.MIDDLE // shapes.TIER
    assert 9_400 < members < 9_600
