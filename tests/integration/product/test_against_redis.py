"""The same activity in a sorted set of a real Redis: whatever Redis can say of a ranking, the product says too.

Redis puts equals in the order of their bytes and turns that round with the list. The product's equals go by member in
both orders. So where the highest leads the sorted set holds negated scores, and its own order is the ranking's.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import ceil, inf
from typing import Any

import pytest

from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.builders.streaming import apply, project
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-3-days"] }
[boards."golf-*"]
metrics.points = { aggregate = "sum", order = "ascending", windows = ["all", "day", "last-3-days"] }
"""
BEST = """
[boards."*"]
metrics.points = { aggregate = "max", windows = ["all", "day", "last-3-days"] }
[boards."golf-*"]
metrics.points = { aggregate = "min", order = "ascending", windows = ["all", "day", "last-3-days"] }
"""
WINDOWS = {"all": None, "day": 1, "last-3-days": 3}
MEMBERS = [*(f"m{n}" for n in range(30)), "M1", "m", "m#1", "images/1.jpg", "é", "用户", "\ufffd", "\U0001f600"]
Line = tuple[int, str, int]


@dataclass
class Mirror:
    """One board, and sorted sets that Redis keeps of the same events: one over all time, one for each day."""

    stack: Stack
    redis: Any
    board: str
    rng: random.Random
    best: bool = False
    """Whether a member keeps its best amount, not the sum of all."""
    posted: int = 0
    days: set[str] = field(default_factory=set)

    @property
    def sign(self) -> int:
        return 1 if self.board.startswith("golf-") else -1

    def live(self, count: int) -> None:
        """Events of few busy members and many quiet ones, today and on the days before, in both."""
        events = []
        for _ in range(count):
            member = MEMBERS[min(int(self.rng.paretovariate(0.5)), len(MEMBERS)) - 1]
            units = self.rng.choice([1, 1, 1, 2, 3, 0, -1, -2, 127, 128, 300, 20_000])
            at = NOW - timedelta(days=self.rng.choice([0, 0, 0, 1, 2, 3, 5]))
            self.posted += 1
            events.append(
                {
                    "id": f"{self.board}-{self.posted}",
                    "board": self.board,
                    "member": member,
                    "at": at.isoformat(),
                    "metrics": {"points": units},
                }
            )
            for key in ("all", f"{at:%Y-%m-%d}"):
                if self.best:
                    # What leads is the least in the sorted set, in either order.
                    self.redis.zadd(key, {member: self.sign * units}, lt=True)
                else:
                    self.redis.zincrby(key, self.sign * units, member)
        apply(self.stack, events)

    def ranking(self, window: str) -> "Ranking":
        """The ranking of a window today, beside the sorted set that says the same."""
        days = WINDOWS[window]
        key = "all"
        if days is not None:
            key = f"{window}:sum"
            each = [f"{NOW - timedelta(days=back):%Y-%m-%d}" for back in range(days)]
            self.redis.zunionstore(key, each, aggregate="MIN" if self.best else "SUM")
        path = f"/boards/{self.board}/points/{window}"
        return Ranking(self.stack, self.redis, path, key, self.sign, self.rng)


@dataclass
class Ranking:
    """A path of the product's, and Redis's sorted set with what it has to say."""

    stack: Stack
    redis: Any
    path: str
    key: str
    sign: int
    rng: random.Random

    def get(self, path: str = "", **arguments: Any) -> dict[str, Any]:
        status, answer = self.stack.get(self.path + path, **arguments)
        assert status == 200, (path, arguments, answer)
        assert answer["total"] == self.total
        return answer

    @property
    def total(self) -> int:
        return int(self.redis.zcard(self.key))

    def members(self, start: int = 0, stop: int = -1) -> list[str]:
        return list(self.redis.zrange(self.key, start, stop))

    def score(self, member: str) -> int:
        return self.sign * int(self.redis.zscore(self.key, member))

    def ahead(self, score: int) -> int:
        return int(self.redis.zcount(self.key, -inf, f"({self.sign * score}"))

    def equal(self, score: int) -> int:
        return int(self.redis.zcount(self.key, self.sign * score, self.sign * score))

    def behind(self, score: int) -> int:
        return int(self.redis.zcount(self.key, f"({self.sign * score}", inf))

    def lines(self, start: int = 0, stop: int = -1) -> list[Line]:
        """A part of the list by positions, both included, the first 0."""
        return [(1 + self.ahead(self.score(m)), m, self.score(m)) for m in self.members(start, stop)]


def lines(answer: dict[str, Any]) -> list[Line]:
    return [(entry["rank"], entry["member"], entry["score"]) for entry in answer["entries"]]


@pytest.fixture(params=[1, 2])
def seed(request: pytest.FixtureRequest) -> int:
    print(f"seed {request.param}")
    return int(request.param)


def mirrored(text: str, board: str, redis: Any, seed: int, *, best: bool) -> Iterator[Mirror]:
    engine = Engine(shards=2)
    create_tables(engine, expire=False)
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), text) as stack:
        mirror = Mirror(stack, redis, board, random.Random(seed), best)
        mirror.live(200)
        yield mirror


@pytest.fixture(params=["points-1", "golf-1"])
def mirror(request: pytest.FixtureRequest, redis: Any, seed: int) -> Iterator[Mirror]:
    yield from mirrored(BOARDS, request.param, redis, seed, best=False)


@pytest.fixture(params=["points-1", "golf-1"])
def best(request: pytest.FixtureRequest, redis: Any, seed: int) -> Iterator[Mirror]:
    yield from mirrored(BEST, request.param, redis, seed, best=True)


@pytest.fixture
def rankings(mirror: Mirror) -> list[Ranking]:
    return [mirror.ranking(window) for window in WINDOWS]


def test_the_sets_are_worth_comparing(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        scores = [ranking.score(member) for member in ranking.members()]
        assert len(scores) > 10
        assert len(set(scores)) < len(scores)


def test_zrange_is_the_list(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        found = lines(ranking.get())
        assert found == ranking.lines()
        for limit in (1, 7):
            assert [
                (entry["rank"], entry["member"], entry["score"]) for entry in ranking.stack.entries(ranking.path, limit)
            ] == found


def test_zcount_is_the_rank(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        for member in ranking.members():
            answer = ranking.get("/rank", member=member)
            score = ranking.score(member)
            assert (answer["rank"], answer["score"]) == (1 + ranking.ahead(score), score)
            share = Fraction(ranking.total - ranking.ahead(score), ranking.total) * 100
            assert abs(Fraction(str(answer["percentile"])) - share) <= Fraction(1, 200)


def test_as_activity_goes_on(mirror: Mirror) -> None:
    for _ in range(5):
        mirror.live(30)
        for window in WINDOWS:
            ranking = mirror.ranking(window)
            assert lines(ranking.get()) == ranking.lines()


def test_zrank_is_the_ordinal_rank(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        for position, member in enumerate(ranking.members()):
            assert ranking.redis.zrank(ranking.key, member) == position
            answer = ranking.get("/rank", member=member, method="ordinal")
            assert (answer["rank"], answer["score"]) == (1 + position, ranking.score(member))
        listed = ranking.get(method="ordinal")["entries"]
        assert [(entry["rank"], entry["member"]) for entry in listed] == list(enumerate(ranking.members(), start=1))


def test_zrange_from_a_position(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        for _ in range(20):
            position, limit = ranking.rng.randint(1, ranking.total + 2), ranking.rng.randint(1, 9)
            found = lines(ranking.get(rank=position, limit=limit))
            assert found == ranking.lines(position - 1, position + limit - 2), (position, limit)


def test_zrange_around_a_member(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        for member in ranking.rng.sample(ranking.members(), 8):
            position, radius = ranking.redis.zrank(ranking.key, member), ranking.rng.randint(0, 9)
            found = lines(ranking.get(around=member, radius=radius))
            assert found == ranking.lines(max(0, position - radius), position + radius), (member, radius)


def test_zcount_is_where_a_score_would_stand(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        there = [ranking.score(member) for member in ranking.members()]
        for score in [*ranking.rng.sample(there, 8), -1_000_000, -5, 0, 6, 150, 1_000_000]:
            answer = ranking.get("/rank", score=score)
            counts = (ranking.ahead(score), ranking.equal(score), ranking.behind(score))
            assert (answer["rank"], answer["above"], answer["at"], answer["below"]) == (1 + counts[0], *counts), score


def test_zmscore_is_a_group(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        group = ranking.rng.sample([*MEMBERS, "nobody"], 12)
        status, answer = ranking.stack.post(f"{ranking.path}/ranks", {"members": group})
        assert status == 200, answer
        scores = dict(zip(group, ranking.redis.zmscore(ranking.key, group), strict=True))
        there = [score for score in scores.values() if score is not None]
        for member, entry in zip(group, answer["entries"], strict=True):
            score = scores[member]
            assert entry["member"] == member
            if score is None:
                assert (entry["rank"], entry["score"], entry["group_rank"]) == (None, None, None)
            else:
                within = 1 + sum(other < score for other in there)
                units = ranking.sign * int(score)
                assert (entry["rank"], entry["score"], entry["group_rank"]) == (1 + ranking.ahead(units), units, within)


def test_zrange_at_a_percentile(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        for p in ("0.000000001", "1", "12.5", "50", "90", "99.9", "100"):
            needed = ceil(Fraction(p) * ranking.total / 100)
            (member,) = ranking.members(ranking.total - needed, ranking.total - needed)
            assert ranking.get("/percentile", p=p)["score"] == ranking.score(member), p


def test_zcount_is_a_distribution(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        for most in (1, 2, 5, 50, 1000):
            buckets = ranking.get("/distribution", buckets=most)["buckets"]
            assert 0 < len(buckets) <= most
            assert sum(bucket["members"] for bucket in buckets) == ranking.total
            for bucket in buckets:
                low, high = sorted((ranking.sign * bucket["from"], ranking.sign * bucket["to"]))
                assert bucket["members"] == ranking.redis.zcount(ranking.key, low, high), bucket


def test_zrem_is_a_removal(mirror: Mirror) -> None:
    gone = mirror.rng.sample(mirror.redis.zrange("all", 0, -1), 8)
    for member in gone:
        status, _ = mirror.stack.delete(f"/boards/{mirror.board}/member", id=member)
        assert status == 204
        for key in mirror.redis.scan_iter():
            mirror.redis.zrem(key, member)
    project(mirror.stack)
    mirror.live(10)
    for window in WINDOWS:
        ranking = mirror.ranking(window)
        assert lines(ranking.get()) == ranking.lines()


def test_zadd_of_the_better_is_a_best(best: Mirror) -> None:
    for _ in range(3):
        for window in WINDOWS:
            ranking = best.ranking(window)
            assert lines(ranking.get()) == ranking.lines()
            for member in ranking.members():
                assert ranking.get("/rank", member=member)["score"] == ranking.score(member)
        best.live(20)
