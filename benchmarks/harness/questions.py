"""Boards for benchmarks and questions about them: what each question costs and whether its answer is right.

Requests side by side count as one round trip. `SideBySide` replaces the thread pool of the store: it runs each job at
once, on a clock where every request takes one tick and each worker does one job at a time. So the count is exact,
however busy this machine is.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, Future
from functools import partial
from heapq import heapreplace
from random import Random
from statistics import mean
from typing import Any, Final, NamedTuple, TypeVar
from unittest import mock

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from benchmarks.harness.pipeline import Pipeline, still_clock
from benchmarks.harness.truth import Truth
from standings.domain.boards import Boards, Ranking
from standings.domain.boards_toml import parse_boards
from standings.read import member_ranks, pages, score_statistics
from standings.read.dispatch import Answers, Tables
from standings.read.session import RankingReader
from standings.runtime.clock import Clock

SAMPLE: Final = 100
"""Members that are read one by one."""

T = TypeVar("T")
Answer = dict[str, Any]
Draw = Callable[[Random, int], dict[str, int]]
"""Draws the scores of so many members."""
Question = tuple[Callable[[], Answer], Callable[[Answer], bool]]
"""A read, and a check whether its answer is right."""


class Cost(NamedTuple):
    """What one question cost: read units, round trips one after the other, requests, rows read of an index."""

    units: float
    round_trips: int
    requests: int
    entries: int


class Board:
    """A board on an engine and the services that answer questions about it; every request is counted."""

    def __init__(self, boards: Boards, name: str = population.BOARD, clock: Clock | None = None) -> None:
        self.name = name
        self._clock = clock or still_clock()
        self.pipeline = Pipeline(boards, self._clock)
        self.client = self.pipeline.client
        self._meter = self.pipeline.meter
        self._ticks = Ticks()
        self.trips = Trips(self._meter, self._ticks)
        """The client through which questions read."""
        self.boards = boards
        with mock.patch("standings.rankings.reading.ThreadPoolExecutor", partial(SideBySide, self._ticks)):
            self.tables = Tables(self.trips, self._clock, rankings="Rankings", scores="Scores", profiles="Profiles")
        self.answers = Answers(boards, self.tables)

    def ranking(self, window: str, periods_ago: int = 0) -> Ranking:
        """Return the ranking of a window's current period, or of an earlier one."""
        family = self.boards.family(self.name)
        if family is None:
            raise LookupError(f"expected a family for {self.name}, got none")
        metric = family.metrics["points"]
        ranked = metric.window(window)
        if ranked is None:
            raise LookupError(f"expected a window of {self.name}, got {window!r}")
        return Ranking(self.name, metric, ranked, metric.timetable.current(ranked, self._clock.now()) - periods_ago)

    def about(self, window: str, method: str | None = None, period: str | None = None) -> RankingReader:
        """Return the subject of a question about a window's current period, or another one."""
        return self.answers.session().reader(self.name, "points", window, period, method)

    def read_record(self, window: str = "all") -> None:
        """Have the services read the board's record, which no figure includes: they cache it for a minute."""
        pages.page(self.about(window), limit=1, cursor=None)

    def cost(self, ask: Callable[[], Answer]) -> tuple[Answer, Cost]:
        before, began, entries = self._meter.snapshot().total, self._ticks.now, self.trips.entries
        answer = ask()
        units = self._meter.snapshot().total - before
        return answer, Cost(units.read, self._ticks.now - began, units.round_trips, self.trips.entries - entries)

    def row(self, read: str, questions: Iterable[Question]) -> Answer:
        """Ask questions of one kind and return what they cost; AssertionError for a wrong answer."""
        costs = []
        for ask, is_right in questions:
            answer, cost = self.cost(ask)
            if not is_right(answer):
                raise AssertionError(f"{read}: got the wrong answer {str(answer)[:500]}")
            costs.append(cost)
        if not costs:
            raise AssertionError(f"{read}: expected at least one question, got none")
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
    """Return a board that ranks `all` alone, with so many members, and the sorted list of them."""
    board = Board(parse_boards(population.sharded(shards)))
    scores = draw(Random(count), count)
    population.place_members(board.client, board.ranking("all"), scores)
    board.read_record()
    return board, Truth(scores)


class Questions:
    """Questions about one ranking of a board, each with a check of its answer against the sorted list.

    Each is a request of its own, as an HTTP request is.
    """

    def __init__(self, board: Board, truth: Truth, rng: Random, window: str = "all", period: str | None = None) -> None:
        self.board = board
        self.truth = truth
        self._rng = rng
        self._window = window
        self._period = period

    @property
    def middle(self) -> int:
        """The position in the middle of the list."""
        return self.truth.total // 2

    @property
    def ends(self) -> tuple[str, str]:
        """The first and the last member."""
        return self.truth.order[0], self.truth.order[-1]

    def _about(self, method: str | None = None) -> RankingReader:
        return self.board.about(self._window, method, self._period)

    def _shown(self, read: Callable[[], Answer], first: int, limit: int) -> Question:
        """A read of a page, which is right if it shows these positions."""
        return read, lambda page: self.truth.shows(page, first, limit)

    def page(self, first: int, limit: int = 100, cursor: str | None = None) -> Question:
        """Read the page that begins at position `first`, by its cursor; None for the first page."""
        return self._shown(lambda: pages.page(self._about(), limit=limit, cursor=cursor), first, limit)

    def page_with(self, me: str, limit: int = 100) -> Question:
        """Read the first page, and the rank of a member with the entry just before it."""
        place = self.truth.position(me)
        lines = self.truth.lines(place - 1, 2) if place > 1 else self.truth.lines(1, 1)

        def is_right(page: Answer) -> bool:
            found = page["me"]
            told = [(one["rank"], one["member"], one["score"]) for one in (found["ahead"], found) if one is not None]
            return told == lines and self.truth.shows(page, 1, limit)

        return lambda: pages.page(self._about(), limit=limit, cursor=None, me=me), is_right

    def at(self, position: int, limit: int = 100) -> Question:
        return self._shown(lambda: pages.page_at(self._about(), rank=position, limit=limit), position, limit)

    def last(self, limit: int = 100) -> Question:
        """Read the page that ends with the last position."""
        first = self.truth.total - limit + 1
        return self._shown(lambda: pages.page_at(self._about(), rank=-1, limit=limit), first, limit)

    def from_score(self, member: str, limit: int = 100) -> Question:
        """Read the page that begins at a member's score."""
        score = self.truth.scores[member]
        first = self.truth.ahead(score) + 1
        return self._shown(lambda: pages.page_from(self._about(), score=str(score), limit=limit), first, limit)

    def turned(self, position: int, *, back: bool) -> Question:
        """Read the page after or before the one at a position, by its cursor."""
        page = pages.page_at(self._about(), rank=position, limit=100)
        if back:
            return self.page(position - 100, cursor=page["previous"])
        return self.page(position + 100, cursor=page["next"])

    def around(self, member: str, radius: int = 5) -> Question:
        first = max(1, self.truth.position(member) - radius)
        last = min(self.truth.total, self.truth.position(member) + radius)
        count = last - first + 1
        return self._shown(lambda: pages.page_around(self._about(), member=member, radius=radius), first, count)

    def eleven_around(self, member: str) -> Question:
        """Read eleven entries with a member among them: in the middle, or nearer to an end of the list."""
        first = max(1, min(self.truth.position(member) - 5, self.truth.total - 10))
        return self._shown(lambda: pages.page_around(self._about(), member=member, limit=11), first, 11)

    def rank(self, member: str, method: str = "competition") -> Question:
        expected = (self.truth.rank(member, method), self.truth.scores[member], self.truth.total)
        return (
            lambda: member_ranks.rank(self._about(method), member=member),
            lambda answer: (answer["rank"], answer["score"], answer["total"]) == expected,
        )

    def with_previous(self, member: str, before: Truth) -> Question:
        """Read the rank with that of the period before, in which nobody may have ranked the member."""
        expected = self.truth.rank(member), before.rank(member) if member in before.scores else None
        return (
            lambda: member_ranks.rank(self._about(), member=member, previous=True),
            lambda answer: (answer["rank"], answer["previous_rank"]) == expected,
        )

    def score(self, score: int) -> Question:
        above = self.truth.ahead(score)
        at = self.truth.at_or_ahead(score) - above
        expected = (above + 1, above, at, self.truth.total - above - at)
        return (
            lambda: score_statistics.score_rank(self._about(), score=str(score)),
            lambda answer: tuple(answer[name] for name in ("rank", "above", "at", "below")) == expected,
        )

    def group(self, members: Sequence[str], method: str = "competition") -> Question:
        ranks = [self.truth.rank(member, method) for member in members]
        among = self.truth.group_ranks(members) if method == "competition" else None

        def is_right(answer: Answer) -> bool:
            entries = answer["entries"]
            return [entry["rank"] for entry in entries] == ranks and among in (
                None,
                [entry["group_rank"] for entry in entries],
            )

        return lambda: member_ranks.group(self._about(method), members=members), is_right

    def percentile(self, p: int) -> Question:
        return (
            lambda: score_statistics.percentile(self._about(), p=str(p)),
            lambda answer: self.truth.is_score_at(p, answer["score"]),
        )

    def distribution(self, buckets: int) -> Question:
        return (
            lambda: score_statistics.distribution(self._about(), buckets=buckets),
            lambda answer: len(answer["buckets"]) <= buckets and self.truth.is_histogram(answer["buckets"]),
        )

    def sample(self, count: int = SAMPLE) -> list[str]:
        return self._rng.sample(self.truth.order, count)


_READS: Final = {"get_item", "batch_get_item", "query"}


class Ticks:
    """A clock that counts round trips."""

    def __init__(self) -> None:
        self.now = 0


class Trips:
    """Wraps a meter: every read takes one tick; `entries` counts the rows that queries of an index read."""

    def __init__(self, meter: Meter, ticks: Ticks) -> None:
        self._meter = meter
        self._ticks = ticks
        self.entries = 0

    def __getattr__(self, name: str) -> Any:
        if name not in _READS:
            raise AttributeError(name)
        return partial(self._read, getattr(self._meter, name))

    def _read(self, method: Callable[..., Any], **request: Any) -> Any:
        self._ticks.now += 1
        answer: Mapping[str, Any] = method(**request)
        if "IndexName" in request:
            self.entries += answer["ScannedCount"]
        return answer


class Job(Future[T]):
    """The result of a job; reading it moves the clock on to the tick at which the job ended."""

    def __init__(self, ticks: Ticks, end: int) -> None:
        super().__init__()
        self._ticks = ticks
        self._end = end

    def result(self, timeout: float | None = None) -> T:
        self._ticks.now = max(self._ticks.now, self._end)
        return super().result(timeout)


class SideBySide(Executor):
    """Replaces a pool of threads: runs each job when it is submitted, on the clock of a free worker."""

    def __init__(self, ticks: Ticks, max_workers: int, thread_name_prefix: str) -> None:
        del thread_name_prefix
        self._ticks = ticks
        self._free = [0] * max_workers
        """The tick from which each worker is free."""

    def submit(self, job: Callable[..., T], /, *args: Any, **kwargs: Any) -> Job[T]:
        """Run a job from the tick at which a worker is free."""
        submitted = self._ticks.now
        self._ticks.now = max(submitted, self._free[0])
        result = job(*args, **kwargs)
        heapreplace(self._free, self._ticks.now)
        future: Job[T] = Job(self._ticks, self._ticks.now)
        self._ticks.now = submitted
        future.set_result(result)
        return future

    def map(self, job: Callable[..., T], *many: Any, timeout: float | None = None, chunksize: int = 1) -> Iterator[T]:
        """Run a job for each argument, side by side."""
        del timeout, chunksize
        jobs = [self.submit(job, *each) for each in zip(*many, strict=True)]
        return (one.result() for one in jobs)
