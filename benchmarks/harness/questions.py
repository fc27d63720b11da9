"""Boards for benchmarks, and questions about them: what each costs, and whether its answer is right."""

from collections.abc import Callable, Iterable, Sequence
from random import Random
from statistics import mean
from typing import Any, Final, NamedTuple

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from benchmarks.harness.trips import Ticks, Trips, standing
from benchmarks.harness.truth import Truth
from benchmarks.measure.units import pacing
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Boards
from standings.domain.boards.ranking import Ranking
from standings.read.board_list import Directory
from standings.read.query import Query
from standings.read.reader import Question as About
from standings.read.reader import Reader
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

ASKED: Final = 100
"""Members that are asked for one by one."""

Answer = dict[str, Any]
Draw = Callable[[Random, int], dict[str, int]]
"""Makes up the scores of so many members."""
Asked = tuple[Callable[[], Answer], Callable[[Answer], bool]]
"""A question, and whether an answer to it is right."""


class Cost(NamedTuple):
    """What one question cost."""

    units: float
    round_trips: int
    requests: int
    entries: int


class Board:
    """A board put in place at once, and the services that answer questions about it, every request counted."""

    def __init__(self, boards: Boards, name: str = population.BOARD) -> None:
        self.name = name
        self.client = Engine()
        create_tables(self.client)
        self._meter = Meter(self.client)
        self._ticks = Ticks()
        self._trips = Trips(self._meter, self._ticks)
        self.boards = boards
        reader = Reader(boards, standing(self._trips, self._ticks, pacing()), pacing())
        self.query = Query(reader)
        self.directory = Directory(reader)
        self.asked = 0

    def ranking(self, window: str, periods_ago: int = 0) -> Ranking:
        """The ranking of a window's current period, or of one before."""
        family = self.boards.family(self.name)
        if family is None:
            raise LookupError(self.name)
        metric = family.metrics["points"]
        ranked = metric.window(window)
        if ranked is None:
            raise LookupError(window)
        return Ranking(self.name, metric, ranked, metric.timetable.current(ranked, population.NOW) - periods_ago)

    def about(self, window: str, method: str | None = None) -> About:
        """What a question about a window's current period is about."""
        return self.query.asked(self.name, "points", window, method=method)

    def cost(self, ask: Callable[[], Answer]) -> tuple[Answer, Cost]:
        """What a question is answered, and what that costs."""
        before = self._meter.snapshot().total, self._ticks.now, self._trips.requests, self._trips.entries
        answer = ask()
        units = self._meter.snapshot().total - before[0]
        cost = Cost(
            units.read, self._ticks.now - before[1], self._trips.requests - before[2], self._trips.entries - before[3]
        )
        return answer, cost

    def row(self, read: str, questions: Iterable[Asked]) -> Answer:
        """The cost of a kind of read, over some questions; AssertionError for a wrong answer."""
        costs = []
        for ask, is_right in questions:
            answer, cost = self.cost(ask)
            if not is_right(answer):
                raise AssertionError(f"{read}: {str(answer)[:500]}")
            costs.append(cost)
        if not costs:
            raise AssertionError(f"{read}: nothing was asked")
        return {
            "read": read,
            "asked": len(costs),
            "read_units_mean": round(mean(cost.units for cost in costs), 2),
            "read_units_most": max(cost.units for cost in costs),
            "round_trips_most": max(cost.round_trips for cost in costs),
            "requests_most": max(cost.requests for cost in costs),
            "entries_most": max(cost.entries for cost in costs),
        }


def placed(count: int, draw: Draw, shards: int = 1) -> tuple[Board, Truth]:
    """A board that ranks `all` alone, with so many members, and the list that it should be."""
    definition = population.BOARDS.replace('"*"]\n', f'"*"]\nshards = {shards}\n')
    board = Board(parse_boards(definition))
    scores = draw(Random(count), count)
    population.place_members(board.client, board.ranking("all"), scores)
    board.query.page(board.about("all"), limit=1, cursor=None)  # reads the board's record
    return board, Truth(scores)


class Questions:
    """Questions about `all` of one board, each with what is right."""

    def __init__(self, board: Board, truth: Truth, rng: Random) -> None:
        self._board = board
        self._truth = truth
        self._rng = rng
        self._about = board.about("all")

    def page(self, first: int, limit: int = 100, cursor: str | None = None) -> Asked:
        """A page of the list; without a cursor the first."""
        query = self._board.query
        return (
            lambda: query.page(self._about, limit=limit, cursor=cursor),
            lambda page: self._truth.shows(page, first, limit),
        )

    def at(self, position: int, limit: int = 100) -> Asked:
        """The page at a position."""
        query = self._board.query
        return (
            lambda: query.page_at(self._about, rank=position, limit=limit),
            lambda page: self._truth.shows(page, position, limit),
        )

    def turned(self, position: int, *, back: bool) -> Asked:
        """The page after or before the one at a position, by its cursor."""
        found = self._board.query.page_at(self._about, rank=position, limit=100)
        return (
            self.page(position - 100, cursor=found["previous"])
            if back
            else self.page(position + 100, cursor=found["next"])
        )

    def around(self, member: str, radius: int = 5) -> Asked:
        """A member and its neighbours."""
        query = self._board.query
        first = max(1, self._truth.position(member) - radius)
        last = min(self._truth.total, self._truth.position(member) + radius)
        return (
            lambda: query.page_around(self._about, member=member, radius=radius),
            lambda page: self._truth.shows(page, first, last - first + 1),
        )

    def rank(self, member: str, method: str = "competition") -> Asked:
        """A member's rank."""
        query = self._board.query
        expected = (self._truth.rank(member, method), self._truth.scores[member], self._truth.total)
        return (
            lambda: query.rank(self._board.about("all", method), member=member),
            lambda answer: (answer["rank"], answer["score"], answer["total"]) == expected,
        )

    def score(self, score: int) -> Asked:
        """The rank that a score would have."""
        query = self._board.query
        above = self._truth.ahead(score)
        at = self._truth.at_or_ahead(score) - above
        expected = (above + 1, above, at, self._truth.total - above - at)
        return (
            lambda: query.score_rank(self._about, score=str(score)),
            lambda answer: tuple(answer[name] for name in ("rank", "above", "at", "below")) == expected,
        )

    def group(self, members: Sequence[str], method: str = "competition") -> Asked:
        """The ranks of a group."""
        query = self._board.query
        ranks = [self._truth.rank(member, method) for member in members]
        among = self._truth.group_ranks(members) if method == "competition" else None

        def is_right(answer: Answer) -> bool:
            entries = answer["entries"]
            return [entry["rank"] for entry in entries] == ranks and among in (
                None,
                [entry["group_rank"] for entry in entries],
            )

        return lambda: query.group(self._board.about("all", method), members=members), is_right

    def percentile(self, p: int) -> Asked:
        """The score at a percentile."""
        query = self._board.query
        return (
            lambda: query.percentile(self._about, p=str(p)),
            lambda answer: self._truth.is_score_at(p, answer["score"]),
        )

    def distribution(self, buckets: int) -> Asked:
        """How many members have scores in each of some ranges."""
        query = self._board.query
        return (
            lambda: query.distribution(self._about, buckets=buckets),
            lambda answer: len(answer["buckets"]) <= buckets and self._truth.is_histogram(answer["buckets"]),
        )

    def sample(self, count: int = ASKED) -> list[str]:
        """Some members."""
        return self._rng.sample(self._truth.order, count)
