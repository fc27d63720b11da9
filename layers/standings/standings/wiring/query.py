"""The query function's services."""

import os
from typing import Any, NamedTuple

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import Scores
from standings.domain.boards import Boards
from standings.read.dispatch import Answers
from standings.read.notes import Notes
from standings.read.profiles import ProfileCache, Search
from standings.read.reader import PRIVATE_LIMITS, PUBLIC_LIMITS, Limits, Reader
from standings.read.tables import QueryReads
from standings.runtime.clock import Clock
from standings.runtime.environment import required
from standings.wiring import building_blocks


class Tables(NamedTuple):
    """The names of a stack's tables, such as `Tables("standings-ScoresTable-1A2B", …)`."""

    scores: str
    rankings: str
    profiles: str


def answers(clock: Clock) -> Answers:
    """Create what answers the function's requests."""
    tables = Tables(required("SCORES_TABLE"), required("RANKINGS_TABLE"), required("PROFILES_TABLE"))
    is_open = os.environ.get("OPEN_READS") == "true"
    limits = PUBLIC_LIMITS if is_open else PRIVATE_LIMITS
    needs_board = is_open and os.environ.get("OPEN_SEARCH") != "true"
    return answers_from(
        building_blocks.client("dynamodb"), tables, building_blocks.boards(), clock, limits, needs_board=needs_board
    )


def answers_from(
    dynamodb: Any, tables: Tables, boards: Boards, clock: Clock, limits: Limits, *, needs_board: bool
) -> Answers:
    """Create what answers reads: the reader of rankings, the profiles, the search and the notes share a client.

    `needs_board`: a search for names must say on which board.
    """
    reader = Reader(boards, QueryReads(dynamodb, tables.rankings, tables.scores, clock), clock, limits)
    people = ProfileCache(Profiles(dynamodb, tables.profiles, clock), clock)
    # It only reads members: no receipts table is needed.
    scores = Scores(dynamodb, tables.scores, "", clock)
    return Answers(reader, people, Search(people, scores, needs_board=needs_board), Notes(scores))
