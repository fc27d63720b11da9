"""A board with many members, put in place by the projector's own item builders rather than event by event."""

from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, Final

from standings.domain.boards import Boards, Family, Ranking
from standings.domain.definitions import parse_boards
from standings.domain.moves import Move
from standings.domain.places import Place, ordinal
from standings.dynamodb.rankings import entry_action, node_actions

NOW: Final = 1_795_256_100_000
BOARD: Final = "berlin-2026"
BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }'


def boards() -> Boards:
    """Boards that rank `all` alone."""
    return parse_boards(BOARDS)


def family() -> Family:
    """Their only family."""
    found = boards().family(BOARD)
    if found is None:
        raise LookupError(BOARD)
    return found


def member(number: int) -> str:
    """An id of 20 bytes."""
    return f"member-{number:013}"


def lognormal(rng: Random, count: int) -> dict[str, int]:
    """Scores with a median of 400, few of them many times that."""
    return {member(number): max(1, round(rng.lognormvariate(5.99, 1.2))) for number in range(count)}


def ranking_of(board_family: Family) -> Ranking:
    """The ranking over `all` of the benchmarks' board."""
    metric = board_family.metrics["points"]
    return Ranking(BOARD, metric, metric.windows[0], 0)


def place_members(client: Any, ranking: Ranking, scores: Mapping[str, int]) -> None:
    """Write the entries of all members and the tiers that count them."""
    moves = [
        Move(ranking, name, None, Place(ordinal(score, descending=True)), 1, NOW) for name, score in scores.items()
    ]
    for move in moves:
        put = entry_action("Rankings", ranking, move, None)["Put"]
        client.put_item(TableName="Rankings", Item=put["Item"])
    for action in node_actions("Rankings", ranking, moves, None):
        client.update_item(**action["Update"])


def sample(rng: Random, names: Iterable[str], count: int) -> list[str]:
    """Some of the members, each once."""
    return rng.sample(sorted(names), count)
