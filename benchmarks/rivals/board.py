"""One board for every method, including ours."""

from collections.abc import Callable
from typing import Any, Final, Protocol

from benchmarks.harness import population, shapes
from benchmarks.harness.pipeline import still_clock
from benchmarks.harness.shapes import Scores
from benchmarks.rivals.counting import CountAbove, FixedTiers
from benchmarks.rivals.sampled import SampledCurve
from benchmarks.rivals.table import Listed
from benchmarks.rivals.tree import CountTree
from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from standings.read import member_ranks
from standings.read.reader import Reader, Request
from tests.support.dynamodb.engine import Engine

OURS: Final = "Standings"


class Rival(Protocol):
    """A way to rank the members of one board."""

    @property
    def name(self) -> str:
        """Its name in tables."""

    @property
    def exact(self) -> bool:
        """Whether its ranks are those of a sorted list when nothing has changed since its last refresh."""

    def refresh(self) -> None:
        """Run the job that its method runs on a schedule."""

    def change(self, name: str, old: int, new: int) -> None:
        """Change a member's score."""

    def rank(self, name: str) -> int:
        """Return a member's 1224 rank."""


Kind = Callable[[Any, int], Rival]
"""Makes a rival from a client and the highest possible score."""
RIVALS: Final[tuple[Kind, ...]] = (CountAbove, FixedTiers, SampledCurve, CountTree)


def highest(shape: str) -> int:
    """Return the highest possible score of a shape, which some methods need."""
    return population.BOUND - 1 if shape == "log-normal" else shapes.HIGHEST


def place(client: Engine, scores: Scores, most: int) -> None:
    """Load a board for every rival."""
    members = Listed(client)
    members.create()
    members.place(client, scores)
    FixedTiers.create(client)
    SampledCurve.create(client)
    CountTree.create(client)
    CountTree(client, most).place(client, scores)


def ours(client: Any) -> Callable[[str], int]:
    """Return a function that reads our rank of a member through a client."""
    reader = Reader(
        population.boards(), DynamoRankingsReader(client, "Rankings", "Scores", still_clock()), still_clock()
    )
    about = Request(reader).question(population.BOARD, "points", "all")
    return lambda name: int(member_ranks.rank(about, member=name)["rank"])
