"""The query function's service."""

import os

from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.read.reader import OPEN, USUAL, Reader
from standings.runtime.environment import required
from standings.runtime.retry import Clock
from standings.wiring import building_blocks


def reader(clock: Clock) -> Reader:
    """Create the reader of rankings."""
    dynamodb = building_blocks.client("dynamodb")
    store = DynamoRankingsReader(dynamodb, required("RANKINGS_TABLE"), required("SCORES_TABLE"), clock)
    limits = OPEN if os.environ.get("OPEN_READS") == "true" else USUAL
    return Reader(building_blocks.boards(), store, clock, limits)
