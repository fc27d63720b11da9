"""Tools of the benchmarks: `make bench`, the clock of round trips, sorted lists and members' histories."""

from decimal import Decimal
from random import Random

import pytest

from benchmarks import __main__ as bench
from benchmarks.harness.population import member, tree_of
from benchmarks.harness.results_file import REPOSITORY
from benchmarks.harness.trips import SideBySide, Ticks
from benchmarks.harness.truth import MemberTruth, Truth
from benchmarks.measure.speed import starts
from benchmarks.members.histories import LIVES, TWO_OF_SEVEN
from tests.support.oracle.model import Listing, Placed


def _take(ticks: Ticks, count: int) -> int:
    ticks.now += count
    return count


@pytest.mark.parametrize(
    ("workers", "takes", "most"),
    [(8, [1, 3, 2], 3), (2, [1, 1, 1, 1, 1], 3), (1, [2, 3], 5)],
    ids=["as long as the longest", "a job waits for a free worker", "one worker, one by one"],
)
def test_jobs_side_by_side_take_round_trips(workers: int, takes: list[int], most: int) -> None:
    ticks = Ticks()
    pool = SideBySide(ticks, max_workers=workers, thread_name_prefix="")
    jobs = [pool.submit(_take, ticks, count) for count in takes]

    assert ticks.now == 0  # a job whose result is not read delays nothing
    assert [job.result() for job in jobs] == takes
    assert ticks.now == most


@pytest.mark.parametrize("seed", range(3))
def test_the_quick_lists_give_the_answers_of_the_slow_one(seed: int) -> None:
    rng = Random(seed)
    scores = [rng.choice([0, rng.randrange(1, 9), rng.randrange(1, 10**8)]) for _ in range(60)]
    named = {member(number): score for number, score in enumerate(scores) if score}
    quick, by_number = Truth(named), MemberTruth(scores)
    order = sorted(named, key=lambda name: (-named[name], name))
    slow = Listing([Placed(name, named[name], 0) for name in order], descending=True)

    assert quick.lines(1, 100) == by_number.lines(1, 100) == slow.lines()
    for method in ("competition", "ordinal", "dense"):
        assert [quick.rank(name, method) for name in quick.order] == [rank for rank, _, _ in slow.lines(method)]
    for p in range(1, 101):
        assert [score for score in set(named.values()) if quick.is_score_at(p, score)] == [slow.score_at(Decimal(p))]
    some = rng.sample(quick.order, 7)
    assert dict(zip(some, quick.group_ranks(some), strict=True)) == slow.among(some)
    assert dict(by_number.scores) == named
    assert all(by_number.position(name) == quick.position(name) for name in order)
    assert [member(number) for number in by_number.numbers(-3, 7)] == order[:7]


def test_scores_of_a_life_are_the_sums_of_a_periods_days() -> None:
    histories = LIVES[TWO_OF_SEVEN](Random(1), 50, 7)
    days = histories.of(range(50))
    scores = {offset: found[:] for offset, found in histories.scores(7, range(-5, 7))}
    assert histories.totals() == [sum(days[number].values()) for number in range(50)]

    for offset, found in scores.items():
        assert found == [sum(days[number].get(age, 0) for age in range(-offset, 7 - offset)) for number in range(50)]
    for size, found, offset in ((7, scores[-3], -3), (7, scores[1], 1), (None, histories.totals(), 0)):
        tree = tree_of(filter(None, found))
        ways = {node for node in tree if not node or node[0] % 2}
        assert histories.nodes(size, {offset: ways}) == {offset: {node: tree[node] for node in ways}}


def test_a_benchmark_that_fails_or_lacks_a_program_is_named_and_the_others_run(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ran: list[str] = []
    monkeypatch.setattr(bench, "run", lambda name, _: ran.append(name) or name == "reads")  # type: ignore[func-returns-value]
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/chromium")
    monkeypatch.setattr(starts, "BUILDER", REPOSITORY / "missing")

    assert bench.main(["--size", "small"]) == 1
    assert ran == [name for name in (*bench.MODULES, "safeguards") if name != "speed"]
    printed = capsys.readouterr()
    first = printed.out.splitlines()[0]
    assert first.startswith("speed will be left out: expected ")
    assert printed.err.splitlines() == ["failed: reads", first.replace("will be", "was")]
    assert bench.main(["--size", "small", "units", "lanes"]) == 0
