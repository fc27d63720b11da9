"""The product answers what sorted sets of a real Redis answer for the same events, as activity goes on and members go.

Redis sorts equal scores by the bytes of the member, and reverses that with the list. The product sorts them by member
in both orders. So where the highest score leads, the sorted set holds negated scores: its order is the ranking's.
"""

import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
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


class Mirror:
    """A board, and sorted sets of the same events in Redis: one for all time and one for each day."""

    def __init__(self, stack: Stack, redis: Any, board: str, seed: int, *, best: bool) -> None:
        self.stack, self.redis, self.board, self.rng = stack, redis, board, random.Random(seed)
        self._best = best
        self._posted = 0
        self.sign = 1 if board.startswith("golf-") else -1

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
                # In either order the leader has the lowest number of the sorted set.
                how: dict[str, bool] = {"lt": True} if self._best else {"incr": True}
                self.redis.zadd(key, {member: self.sign * units}, **how)
        apply(self.stack, events)

    def remove(self, member: str) -> None:
        assert self.stack.delete(f"/boards/{self.board}/member", id=member)[0] == 204
        for key in self.redis.scan_iter():
            self.redis.zrem(key, member)
        project(self.stack)

    def rankings(self) -> Iterator[tuple[str, str]]:
        """Today's ranking of each window: its path, and the key of the sorted set that it must equal."""
        for window, days in WINDOWS.items():
            key = "all"
            if days is not None:
                key = f"{window}:sum"
                each = [f"{NOW - timedelta(days=back):%Y-%m-%d}" for back in range(days)]
                self.redis.zunionstore(key, each, aggregate="MIN" if self._best else "SUM")
            yield f"/boards/{self.board}/points/{window}", key

    def get(self, path: str, key: str, **arguments: Any) -> dict[str, Any]:
        status, answer = self.stack.get(path, **arguments)
        assert status == 200, (path, arguments, answer)
        assert answer["total"] == self.redis.zcard(key)
        return answer

    def listed(self, key: str) -> list[dict[str, Any]]:
        """The entries of a sorted set, with competition ranks."""
        return [
            {"rank": 1 + self.redis.zcount(key, -inf, f"({score:.0f}"), "member": member, "score": self.sign * score}
            for member, score in self.redis.zrange(key, 0, -1, withscores=True)
        ]


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


def test_reads_answer_what_sorted_sets_answer(mirror: Mirror) -> None:
    redis = mirror.redis
    for path, key in mirror.rankings():
        entries = mirror.listed(key)
        assert len(entries) > len({entry["score"] for entry in entries}) > 5, "it is worth comparing"
        for limit in (1, 7, 1_000):
            assert mirror.stack.entries(path, limit) == entries
        for position, entry in enumerate(entries):
            member = entry["member"]
            answer = mirror.get(f"{path}/rank", key, member=member)
            assert {name: answer[name] for name in entry} == entry
            ordinal = mirror.get(f"{path}/rank", key, member=member, method="ordinal")["rank"]
            assert (ordinal, redis.zrank(key, member)) == (1 + position, position)
        scores = mirror.rng.sample([entry["score"] for entry in entries], 8)
        for score in [*scores, -1_000_000, -5, 0, 6, 150, 1_000_000]:
            number = mirror.sign * score
            ranges = (-inf, f"({number}"), (number, number), (f"({number}", inf)
            counts = [redis.zcount(key, *range_) for range_ in ranges]
            answer = mirror.get(f"{path}/rank", key, score=f"{score:.0f}")
            assert [answer[name] for name in ("above", "at", "below")] == counts, score
            assert answer["rank"] == 1 + counts[0]


def test_as_activity_goes_on_and_members_go(mirror: Mirror) -> None:
    for _ in range(5):
        mirror.live(30)
        for member in mirror.rng.sample(mirror.redis.zrange("all", 0, -1), 2):
            mirror.remove(member)
        for path, key in mirror.rankings():
            assert mirror.get(path, key)["entries"] == mirror.listed(key)
