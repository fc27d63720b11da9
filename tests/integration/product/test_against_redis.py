"""The product answers what sorted sets of a real Redis answer for the same events.

Redis sorts equal scores by the bytes of the member, and reverses that with the list. The product sorts them by member
in both orders. So where the highest score leads, the sorted set holds negated scores: its order is the ranking's.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from math import inf
from typing import Any

import pytest

from tests.support.aws.stack import ManualClock, Stack, apply, project, running
from tests.support.dynamodb.tables import engine_with_tables

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
WINDOWS = {"all": None, "day": 1, "last-3-days": 3}
MEMBERS = [*(f"m{n}" for n in range(30)), "M1", "m", "m#1", "images/1.jpg", "é", "用户", "\ufffd", "\U0001f600"]
BOARDS = """
[boards."*"]
metrics.points = { aggregate = "DESCENDING", windows = ["all", "day", "last-3-days"] }
[boards."golf-*"]
metrics.points = { aggregate = "ASCENDING", order = "ascending", windows = ["all", "day", "last-3-days"] }
"""
SUMS = BOARDS.replace("DESCENDING", "sum").replace("ASCENDING", "sum")
BESTS = BOARDS.replace("DESCENDING", "max").replace("ASCENDING", "min")


Line = tuple[int, str, int]


class Mirror:
    """A board, and sorted sets of the same events in Redis: one for all time and one for each day."""

    def __init__(self, stack: Stack, redis: Any, board: str, seed: int, *, best: bool) -> None:
        self.stack, self.redis, self.board, self.rng = stack, redis, board, random.Random(seed)
        self._best = best
        self._posted = 0
        self._sign = 1 if board.startswith("golf-") else -1

    def live(self, count: int) -> None:
        """Post events of a few busy members and many quiet ones, today and on earlier days, to both."""
        events = []
        for _ in range(count):
            member = MEMBERS[min(int(self.rng.paretovariate(0.5)), len(MEMBERS)) - 1]
            units = self.rng.choice([1, 1, 1, 2, 3, 0, -1, -2, 127, 128, 300, 20_000])
            at = NOW - timedelta(days=self.rng.choice([0, 0, 0, 1, 2, 3, 5]))
            self._posted += 1
            event = {"id": f"{self.board}-{self._posted}", "board": self.board, "member": member}
            events.append({**event, "at": at.isoformat(), "metrics": {"points": units}})
            for key in ("all", f"{at:%Y-%m-%d}"):
                if self._best:
                    # In either order the leader has the lowest number of the sorted set.
                    self.redis.zadd(key, {member: self._sign * units}, lt=True)
                else:
                    self.redis.zincrby(key, self._sign * units, member)
        apply(self.stack, events)

    def rankings(self) -> Iterator["Ranking"]:
        """Today's ranking of each window, with the sorted set that it must equal."""
        for window, days in WINDOWS.items():
            key = "all"
            if days is not None:
                key = f"{window}:sum"
                each = [f"{NOW - timedelta(days=back):%Y-%m-%d}" for back in range(days)]
                self.redis.zunionstore(key, each, aggregate="MIN" if self._best else "SUM")
            path = f"/boards/{self.board}/points/{window}"
            yield Ranking(self.stack, self.redis, path, key, self._sign, self.rng)


@dataclass
class Ranking:
    """A ranking's path, and the sorted set that it must equal."""

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
        """The lines from one position to another, both included. The first position is 0."""
        return [(1 + self.ahead(self.score(m)), m, self.score(m)) for m in self.members(start, stop)]


def lines(answer: dict[str, Any]) -> list[Line]:
    """The rank, member and score of each entry of an answer."""
    return [(entry["rank"], entry["member"], entry["score"]) for entry in answer["entries"]]


@pytest.fixture(
    params=[(text, board, seed) for text in (SUMS, BESTS) for board in ("points-1", "golf-1") for seed in (1, 2)]
)
def mirror(request: pytest.FixtureRequest, redis: Any) -> Iterator[Mirror]:
    """A board with 200 events, in a stack and in Redis."""
    text, board, seed = request.param
    print(f"seed {seed}")
    engine = engine_with_tables(shards=2, expire=False)
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), text) as stack:
        mirror = Mirror(stack, redis, board, seed, best=text == BESTS)
        mirror.live(200)
        yield mirror


def zrange_is_the_list(ranking: Ranking) -> None:
    listed_lines = lines(ranking.get())
    assert listed_lines == ranking.lines()
    assert len(listed_lines) > len({score for _, _, score in listed_lines}) > 5, "it is worth comparing"
    for limit in (1, 7):
        entries = ranking.stack.entries(ranking.path, limit)
        assert [(entry["rank"], entry["member"], entry["score"]) for entry in entries] == listed_lines


def zcount_is_the_rank(ranking: Ranking) -> None:
    for member in ranking.members():
        answer = ranking.get("/rank", member=member)
        score = ranking.score(member)
        assert (answer["rank"], answer["score"]) == (1 + ranking.ahead(score), score)
        share = Fraction(ranking.total - ranking.ahead(score), ranking.total) * 100
        assert abs(Fraction(str(answer["percentile"])) - share) <= Fraction(1, 200)


def zrank_is_the_ordinal_rank(ranking: Ranking) -> None:
    for position, member in enumerate(ranking.members()):
        assert ranking.redis.zrank(ranking.key, member) == position
        answer = ranking.get("/rank", member=member, method="ordinal")
        assert (answer["rank"], answer["score"]) == (1 + position, ranking.score(member))
    listed = ranking.get(method="ordinal")["entries"]
    assert [(entry["rank"], entry["member"]) for entry in listed] == list(enumerate(ranking.members(), start=1))


def zrange_from_a_position(ranking: Ranking) -> None:
    for _ in range(20):
        position, limit = ranking.rng.randint(1, ranking.total + 2), ranking.rng.randint(1, 9)
        listed_lines = lines(ranking.get(rank=position, limit=limit))
        assert listed_lines == ranking.lines(position - 1, position + limit - 2), (position, limit)


def zcount_is_where_a_score_would_stand(ranking: Ranking) -> None:
    scores = [ranking.score(member) for member in ranking.members()]
    for score in [*ranking.rng.sample(scores, 8), -1_000_000, -5, 0, 6, 150, 1_000_000]:
        answer = ranking.get("/rank", score=score)
        counts = (ranking.ahead(score), ranking.equal(score), ranking.behind(score))
        assert (answer["rank"], answer["above"], answer["at"], answer["below"]) == (1 + counts[0], *counts), score


READS = (
    zrange_is_the_list,
    zcount_is_the_rank,
    zrank_is_the_ordinal_rank,
    zrange_from_a_position,
    zcount_is_where_a_score_would_stand,
)


def test_reads_answer_what_sorted_sets_answer(mirror: Mirror) -> None:
    for ranking in mirror.rankings():
        for is_right in READS:
            is_right(ranking)


def test_as_activity_goes_on_and_members_go(mirror: Mirror) -> None:
    for _ in range(5):
        mirror.live(30)
        for member in mirror.rng.sample(mirror.redis.zrange("all", 0, -1), 2):
            assert mirror.stack.delete(f"/boards/{mirror.board}/member", id=member)[0] == 204
            for key in mirror.redis.scan_iter():
                mirror.redis.zrem(key, member)
        project(mirror.stack)
        for ranking in mirror.rankings():
            assert lines(ranking.get()) == ranking.lines()
