"""Puts together what answers reads."""

from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.read.reader import Reader
from standings.runtime.environment import Config
from standings.runtime.retry import Clock
from standings.wiring import building_blocks


def reader(config: Config, tools: Clock) -> Reader:
    """What the questions of the query function are answered from."""
    standing = DynamoRankingsReader(
        building_blocks.client("dynamodb"), config.rankings_table, config.scores_table, tools
    )
    return Reader(building_blocks.boards(), standing, tools)
