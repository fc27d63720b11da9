"""Puts together what answers reads."""

from standings.aws.dynamodb.rankings.ranking_reads import DynamoStanding
from standings.read.reader import Reader
from standings.runtime.environment import Config
from standings.runtime.retry import Pacing
from standings.wiring import building_blocks


def reader(config: Config, tools: Pacing) -> Reader:
    """What the questions of the query function are answered from."""
    standing = DynamoStanding(building_blocks.client("dynamodb"), config.rankings_table, config.scores_table, tools)
    return Reader(building_blocks.boards(), standing, tools)
