"""What answers reads from the tables, for the query function and for programs that use the client."""

from typing import Any, NamedTuple

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.scores import Scores
from standings.domain.boards import Boards
from standings.read.dispatch import Answers
from standings.read.notes import Notes
from standings.read.profiles import ProfileCache, Search
from standings.read.reader import Limits, Reader
from standings.read.tables import QueryReads
from standings.runtime.clock import Clock


class Tables(NamedTuple):
    """The names of a stack's tables, such as `Tables("standings-ScoresTable-1A2B", …)`."""

    scores: str
    rankings: str
    profiles: str


def answers_from(
    dynamodb: Any, tables: Tables, boards: Boards, clock: Clock, limits: Limits, *, needs_board: bool
) -> Answers:
    """Create what answers reads: the reader of rankings, the profiles, the search and the notes share a client.

    `needs_board`: a search for names must say on which board.
    """
    reader = Reader(boards, QueryReads(dynamodb, tables.rankings, tables.scores, clock), clock, limits)
    people = ProfileCache(Profiles(dynamodb, tables.profiles, clock), clock)
    scores = Scores(dynamodb, tables.scores, "", clock)  # It reads members alone, and no receipts
    return Answers(reader, people, Search(people, scores, needs_board=needs_board), Notes(scores))
