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
metrics.points = { aggregate = "DESCENDING", windows = ["all", "day", "last-3-days"] }
[boards."golf-*"]
metrics.points = { aggregate = "ASCENDING", order = "ascending", windows = ["all", "day", "last-3-days"] }
"""
SUMS = BOARDS.replace("DESCENDING", "sum").replace("ASCENDING", "sum")
BESTS = BOARDS.replace("DESCENDING", "max").replace("ASCENDING", "min")


@pytest.fixture(
    params=[(text, board, seed) for text in (SUMS, BESTS) for board in ("points-1", "golf-1") for seed in (1, 2)]
)
def mirror(request: pytest.FixtureRequest, redis: Any) -> Iterator[Mirror]:
    text, board, seed = request.param
    print(f"seed {seed}")
    yield from mirrored(text, board, redis, seed, best=text == BESTS)


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


def zrange_around_a_member(ranking: Ranking) -> None:
    for member in ranking.rng.sample(ranking.members(), 8):
        position, radius = ranking.redis.zrank(ranking.key, member), ranking.rng.randint(0, 9)
        listed_lines = lines(ranking.get(around=member, radius=radius))
        assert listed_lines == ranking.lines(max(0, position - radius), position + radius), (member, radius)


def zcount_is_where_a_score_would_stand(ranking: Ranking) -> None:
    scores = [ranking.score(member) for member in ranking.members()]
    for score in [*ranking.rng.sample(scores, 8), -1_000_000, -5, 0, 6, 150, 1_000_000]:
        answer = ranking.get("/rank", score=score)
        counts = (ranking.ahead(score), ranking.equal(score), ranking.behind(score))
        assert (answer["rank"], answer["above"], answer["at"], answer["below"]) == (1 + counts[0], *counts), score


def zmscore_is_a_group(ranking: Ranking) -> None:
    group = ranking.rng.sample([*MEMBERS, "nobody"], 12)
    status, answer = ranking.stack.post(f"{ranking.path}/ranks", {"members": group})
    assert status == 200, answer
    scores = dict(zip(group, ranking.redis.zmscore(ranking.key, group), strict=True))
    ranked = [score for score in scores.values() if score is not None]
    expected: list[Any] = []
    for member, score in scores.items():
        units = None if score is None else ranking.sign * int(score)
        rank, within = (None, None) if units is None else (1 + ranking.ahead(units), 1 + sum(n < score for n in ranked))
        expected.append((member, rank, units, within))
    found = [(one["member"], one["rank"], one["score"], one["group_rank"]) for one in answer["entries"]]
    assert found == expected


def zrange_at_a_percentile(ranking: Ranking) -> None:
    for p in ("0.000000001", "1", "12.5", "50", "90", "99.9", "100"):
        needed = ceil(Fraction(p) * ranking.total / 100)
        (member,) = ranking.members(ranking.total - needed, ranking.total - needed)
        assert ranking.get("/percentile", p=p)["score"] == ranking.score(member), p


def zcount_is_a_distribution(ranking: Ranking) -> None:
    for most in (1, 2, 5, 50, 1000):
        buckets = ranking.get("/distribution", buckets=most)["buckets"]
        assert 0 < len(buckets) <= most
        assert sum(bucket["members"] for bucket in buckets) == ranking.total
        for bucket in buckets:
            low, high = sorted((ranking.sign * bucket["from"], ranking.sign * bucket["to"]))
            assert bucket["members"] == ranking.redis.zcount(ranking.key, low, high), bucket


READS = (
    zrange_is_the_list,
    zcount_is_the_rank,
    zrank_is_the_ordinal_rank,
    zrange_from_a_position,
    zrange_around_a_member,
    zcount_is_where_a_score_would_stand,
    zmscore_is_a_group,
    zrange_at_a_percentile,
    zcount_is_a_distribution,
)


def test_reads_answer_what_sorted_sets_answer(mirror: Mirror) -> None:
    for window in WINDOWS:
        ranking = mirror.ranking(window)
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
        for window in WINDOWS:
            ranking = mirror.ranking(window)
            assert lines(ranking.get()) == ranking.lines()
