"""Puts together what answers reads."""

from standings.dynamodb.standing import DynamoStanding
from standings.runtime import wiring
from standings.runtime.config import Config
from standings.services.pacing import Pacing
from standings.services.reader import Reader


def reader(config: Config, tools: Pacing) -> Reader:
    """What the questions of the query function are answered from."""
    standing = DynamoStanding(wiring.client("dynamodb"), config.rankings_table, config.scores_table, tools)
    return Reader(wiring.boards(), standing, tools)
