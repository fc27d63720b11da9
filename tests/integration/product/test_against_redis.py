"""The product answers what sorted sets of a real Redis answer for the same events."""

from collections.abc import Iterator
from fractions import Fraction
from math import ceil
from typing import Any

import pytest

from tests.support.builders.stages.streaming import project
from tests.support.oracle.redis_mirror import MEMBERS, WINDOWS, Mirror, Ranking, lines, mirrored

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


@pytest.fixture(params=[1, 2])
def seed(request: pytest.FixtureRequest) -> int:
    print(f"seed {request.param}")
    return int(request.param)


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
        listed_lines = lines(ranking.get())
        assert listed_lines == ranking.lines()
        for limit in (1, 7):
            assert [
                (entry["rank"], entry["member"], entry["score"]) for entry in ranking.stack.entries(ranking.path, limit)
            ] == listed_lines


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
            listed_lines = lines(ranking.get(rank=position, limit=limit))
            assert listed_lines == ranking.lines(position - 1, position + limit - 2), (position, limit)


def test_zrange_around_a_member(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        for member in ranking.rng.sample(ranking.members(), 8):
            position, radius = ranking.redis.zrank(ranking.key, member), ranking.rng.randint(0, 9)
            listed_lines = lines(ranking.get(around=member, radius=radius))
            assert listed_lines == ranking.lines(max(0, position - radius), position + radius), (member, radius)


def test_zcount_is_where_a_score_would_stand(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        scores = [ranking.score(member) for member in ranking.members()]
        for score in [*ranking.rng.sample(scores, 8), -1_000_000, -5, 0, 6, 150, 1_000_000]:
            answer = ranking.get("/rank", score=score)
            counts = (ranking.ahead(score), ranking.equal(score), ranking.behind(score))
            assert (answer["rank"], answer["above"], answer["at"], answer["below"]) == (1 + counts[0], *counts), score


def test_zmscore_is_a_group(rankings: list[Ranking]) -> None:
    for ranking in rankings:
        group = ranking.rng.sample([*MEMBERS, "nobody"], 12)
        status, answer = ranking.stack.post(f"{ranking.path}/ranks", {"members": group})
        assert status == 200, answer
        scores = dict(zip(group, ranking.redis.zmscore(ranking.key, group), strict=True))
        ranked = [score for score in scores.values() if score is not None]
        for member, entry in zip(group, answer["entries"], strict=True):
            score = scores[member]
            assert entry["member"] == member
            if score is None:
                assert (entry["rank"], entry["score"], entry["group_rank"]) == (None, None, None)
            else:
                within = 1 + sum(other < score for other in ranked)
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
