"""Boards whose events a real Redis counts too, in sorted sets.

Redis sorts equal scores by the bytes of the member, and reverses that with the list. The product sorts them by member
in both orders. So where the highest score leads, the sorted set holds negated scores: its order is the ranking's.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from math import inf
from typing import Any

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.stages.streaming import apply
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
WINDOWS = {"all": None, "day": 1, "last-3-days": 3}
MEMBERS = [*(f"m{n}" for n in range(30)), "M1", "m", "m#1", "images/1.jpg", "é", "用户", "\ufffd", "\U0001f600"]
Line = tuple[int, str, int]


@dataclass
class Mirror:
    """A board, and sorted sets of the same events in Redis: one for all time and one for each day."""

    stack: Stack
    redis: Any
    board: str
    rng: random.Random
    best: bool = False
    """Whether the score is the best amount, not the sum."""
    posted: int = 0
    days: set[str] = field(default_factory=set)

    @property
    def sign(self) -> int:
        return 1 if self.board.startswith("golf-") else -1

    def live(self, count: int) -> None:
        """Post events of a few busy members and many quiet ones, today and on earlier days, to both."""
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
                    # In either order the leader has the lowest number of the sorted set.
                    self.redis.zadd(key, {member: self.sign * units}, lt=True)
                else:
                    self.redis.zincrby(key, self.sign * units, member)
        apply(self.stack, events)

    def ranking(self, window: str) -> "Ranking":
        """Today's ranking of a window, with the sorted set that it must equal."""
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


def mirrored(text: str, board: str, redis: Any, seed: int, *, best: bool) -> Iterator[Mirror]:
    """A board with 200 events, in a stack and in Redis. `text` is the `boards.toml`."""
    engine = Engine(shards=2)
    create_tables(engine, expire=False)
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), text) as stack:
        mirror = Mirror(stack, redis, board, random.Random(seed), best)
        mirror.live(200)
        yield mirror
