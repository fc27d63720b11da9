"""The clock that counts round trips, against counts by hand; and the sorted list, against a slower one."""

from decimal import Decimal
from random import Random

import pytest

from benchmarks.harness.trips import SideBySide, Ticks
from benchmarks.harness.truth import Truth
from tests.support.oracle.model import Listing, Placed


def _take(ticks: Ticks, count: int) -> int:
    ticks.now += count
    return count


def test_jobs_side_by_side_take_as_long_as_the_longest() -> None:
    ticks = Ticks()
    pool = SideBySide(ticks, max_workers=8, thread_name_prefix="")
    jobs = [pool.submit(_take, ticks, count) for count in (1, 3, 2)]
    _take(ticks, 1)

    assert ticks.now == 1
    assert [job.result() for job in jobs] == [1, 3, 2]
    assert ticks.now == 3


def test_a_job_waits_for_a_free_worker() -> None:
    ticks = Ticks()
    pool = SideBySide(ticks, max_workers=2, thread_name_prefix="")

    assert list(pool.map(lambda count: _take(ticks, count), [1, 1, 1, 1, 1])) == [1] * 5
    assert ticks.now == 3


def test_a_job_whose_result_is_not_read_delays_nothing() -> None:
    ticks = Ticks()
    SideBySide(ticks, max_workers=1, thread_name_prefix="").submit(_take, ticks, 5)

    assert ticks.now == 0


@pytest.mark.parametrize("seed", range(5))
def test_the_quick_list_gives_the_answers_of_the_slow_one(seed: int) -> None:
    rng = Random(seed)
    scores = {f"m{n}": rng.randint(0, 9) for n in range(40)}
    quick = Truth(scores)
    slow = Listing(
        [Placed(name, scores[name], 0) for name in sorted(scores, key=lambda name: (-scores[name], name))],
        descending=True,
    )

    assert quick.lines(1, 100) == slow.lines()
    for method in ("competition", "ordinal", "dense"):
        assert [quick.rank(name, method) for name in quick.order] == [rank for rank, _, _ in slow.lines(method)]
    for p in range(1, 101):
        assert [score for score in set(scores.values()) if quick.is_score_at(p, score)] == [slow.score_at(Decimal(p))]
    some = rng.sample(quick.order, 7)
    assert dict(zip(some, quick.group_ranks(some), strict=True)) == slow.among(some)
