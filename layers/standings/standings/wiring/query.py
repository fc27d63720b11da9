"""The query function's services."""

import os

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.ranking_reads import RankingsReader
from standings.aws.dynamodb.scores import Scores
from standings.read.answers import Answers
from standings.read.notes import Notes
from standings.read.profiles import ProfileCache, Search
from standings.read.reader import PRIVATE_LIMITS, PUBLIC_LIMITS, Reader
from standings.runtime.clock import Clock
from standings.runtime.environment import required
from standings.wiring import building_blocks


def answers(clock: Clock) -> Answers:
    """Create what answers reads: the reader of rankings, the profiles, the search and the notes share a client."""
    dynamodb = building_blocks.client("dynamodb")
    scores_table = required("SCORES_TABLE")
    store = RankingsReader(dynamodb, required("RANKINGS_TABLE"), scores_table, clock)
    is_open = os.environ.get("OPEN_READS") == "true"
    reader = Reader(building_blocks.boards(), store, clock, PUBLIC_LIMITS if is_open else PRIVATE_LIMITS)
    people = ProfileCache(Profiles(dynamodb, required("PROFILES_TABLE"), clock), clock)
    # It only reads members: no receipts table is needed.
    scores = Scores(dynamodb, scores_table, "", clock)
    search = Search(people, scores, needs_board=is_open and os.environ.get("OPEN_SEARCH") != "true")
    return Answers(reader, people, search, Notes(scores))
