"""Loads a board with many members in one step, with items from the projector's own builders."""

from collections.abc import Collection, Iterable, Mapping
from random import Random
from typing import Any, Final

from standings.aws.dynamodb.keys import node_key
from standings.aws.dynamodb.rankings.rankings import entry_action, node_actions
from standings.aws.dynamodb.rankings.rolling_items import EXPIRY_MARGIN
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Boards, Family, Ranking
from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place, sort_value
from standings.domain.tiers.tier_path import ROOT
from standings.domain.windows.calendar import SECOND
from tests.support.dynamodb.engine import Engine

NOW: Final = 1_795_256_100_000
BOARD: Final = "berlin-2026"
BOUND: Final = 2**28
BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }'


def boards() -> Boards:
    """Return boards that rank `all` alone."""
    return parse_boards(BOARDS)


def sharded(shards: int) -> str:
    """Return the same definition with so many shards."""
    return BOARDS.replace('"*"]\n', f'"*"]\nshards = {shards}\n')


def family(definition: str = BOARDS) -> Family:
    """Return the family of the benchmarks' board in a `boards.toml` of this text."""
    of_board = parse_boards(definition).family(BOARD)
    if of_board is None:
        raise LookupError(f"expected a family for {BOARD}, got none in {definition!r}")
    return of_board


def member(number: int) -> str:
    """Return a member's id, of 20 bytes."""
    return f"member-{number:013}"


def lognormal(rng: Random, count: int) -> dict[str, int]:
    """Draw log-normal scores with a median of 400; many members share a score."""
    return {member(number): max(1, round(rng.lognormvariate(5.99, 1.2))) for number in range(count)}


def finegrained(rng: Random, count: int) -> dict[str, int]:
    """Draw log-normal scores with a median of 4,000,000, all below 2^28; few members share a score."""

    def score() -> int:
        while (drawn := max(1, round(rng.lognormvariate(15.2, 1.2)))) >= BOUND:
            pass
        return drawn

    return {member(number): score() for number in range(count)}


def ranking_of(board_family: Family) -> Ranking:
    """Return the ranking over `all` of the benchmarks' board."""
    metric = board_family.metrics["points"]
    return Ranking(BOARD, metric, metric.windows[0], 0)


def place_members(
    client: Engine,
    ranking: Ranking,
    scores: Mapping[str, int],
    *,
    entries: Collection[str] | None = None,
    lanes: int = 1,
) -> None:
    """Load the tiers that count all members, and the entries of all members, or of those in `entries` only.

    The members are divided equally among the lanes.
    """
    until = ranking.readable_until
    expiry = None if until is None else (until + EXPIRY_MARGIN) // SECOND
    moves = [
        Move(ranking, name, None, Place(sort_value(score, descending=True)), 1, NOW) for name, score in scores.items()
    ]
    rows = (move for move in moves if entries is None or move.member in entries)
    client.load("Rankings", (entry_action("Rankings", ranking, move, expiry)["Put"]["Item"] for move in rows))
    named = ranking.metric.shards > 1
    for lane in range(lanes):
        name = named and lane == 0
        nodes = node_actions("Rankings", ranking, moves[lane::lanes], expiry, NOW, lane=lane, name_shards=name)
        client.load("Rankings", (_put_by(action["Update"]) for action in nodes))
    if lanes > 1:
        client.update_item(
            TableName="Rankings",
            Key={"pk": {"S": node_key(ranking.key, ROOT)}},
            UpdateExpression="SET l = :l",
            ExpressionAttributeValues={":l": {"N": str(lanes)}},
        )


def _put_by(update: Mapping[str, Any]) -> dict[str, Any]:
    """Return the item that an update with SET and ADD creates.

    Each value is named after its attribute, except `:one`, which the update adds to the clock for the version.
    """
    values = {name[1:]: value for name, value in update["ExpressionAttributeValues"].items() if name != ":one"}
    return {**update["Key"], **values}


def sample(rng: Random, names: Iterable[str], count: int) -> list[str]:
    """Draw `count` different members."""
    return rng.sample(sorted(names), count)
