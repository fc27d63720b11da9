"""Ordinal and dense ranks are exact up to a bound on what they read. Beyond it the answer is 400."""

import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from standings.read import rank_numbering
from standings.read.reader import OPEN, Limits
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running

ALL = f"/boards/{population.BOARD}/points/all"


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(population.NOW), population.BOARDS) as deployed:
        yield deployed


def place(stack: Stack, scores: Mapping[str, int]) -> list[str]:
    """Store members with their scores; return them in the order of the list."""
    population.place_members(stack.dynamodb, population.ranking_of(population.family()), scores)
    return sorted(scores, key=lambda name: (-scores[name], name))


def limit(stack: Stack, limits: Limits) -> None:
    """Give the query function other limits."""
    stack.query.__globals__["_reader"].limits = limits


@pytest.mark.parametrize(("value", "bound"), [("true", 1_000), ("false", 10_000)])
def test_anyone_who_may_read_reads_less(engine: Any, monkeypatch: pytest.MonkeyPatch, value: str, bound: int) -> None:
    monkeypatch.setenv("OPEN_READS", value)
    with running(engine, ManualClock(population.NOW), population.BOARDS) as stack:
        names = place(stack, {f"m{n:04}": 5 for n in range(bound + 2)})
        statuses = [
            stack.get(f"{ALL}/rank", member=names[position], method="ordinal")[0] for position in (bound, bound + 1)
        ]

    assert statuses == [200, 400]
    assert (OPEN.equals, Limits().equals) == (1_000, 10_000)


@pytest.mark.parametrize("step", [1, 128, 2**20])
def test_a_dense_rank_where_anyone_may_read_costs_at_most_a_hundred_units(engine: Any, step: int) -> None:
    """With the widest step, each score ahead is in another leaf of the tiers."""
    meter = Meter(engine)
    with running(meter, ManualClock(population.NOW), population.BOARDS) as stack:
        limit(stack, OPEN)
        names = place(stack, {f"m{n:04}": n * step for n in range(OPEN.scores + 2)})
        before = meter.snapshot()
        assert stack.get(f"{ALL}/rank", member=names[OPEN.scores], method="dense")[0] == 200

    assert (meter.snapshot() - before).total.read <= 100


def test_ordinal_ranks_pass_up_to_ten_thousand_equals(stack: Stack) -> None:
    bound = 10_000
    names = place(stack, {"leader": 9, **{f"m{n:05}": 5 for n in range(bound + 2)}, "last": 1})

    def ordinal(member: str) -> tuple[int, Any]:
        status, answer = stack.get(f"{ALL}/rank", member=member, method="ordinal")
        return status, answer.get("rank", answer.get("type"))

    def page(rank: int) -> tuple[int, Any]:
        status, answer = stack.get(ALL, rank=rank, limit=3, method="ordinal")
        entries = [(entry["rank"], entry["member"]) for entry in answer.get("entries", [])]
        return status, entries or answer.get("type")

    for position in (1, 2, bound, bound + 1, bound + 2):
        assert ordinal(names[position - 1]) == (200, position)
        assert page(position) == (200, [(position + n, names[position - 1 + n]) for n in range(3)])
    for position in (bound + 3,):
        assert ordinal(names[position - 1]) == (400, "urn:standings:too-far")
        assert page(position) == (400, "urn:standings:too-far")
    # The last member has another score, so no equals are passed.
    assert ordinal("last") == (200, bound + 4)
    assert page(bound + 4) == (200, [(bound + 4, "last")])
    assert stack.get(f"{ALL}/rank", member=names[bound + 2])[1]["rank"] == 2
    around = stack.get(ALL, around=names[bound // 2], radius=2, method="ordinal")[1]["entries"]
    assert [entry["rank"] for entry in around] == list(range(bound // 2 - 1, bound // 2 + 4))


@pytest.mark.parametrize("source", ["tiers", "entries"])
@pytest.mark.parametrize("seed", range(15))
def test_dense_ranks_are_exact_by_tiers_and_by_entries(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, seed: int, source: str
) -> None:
    print(f"seed {seed}")
    rng = random.Random(seed)
    monkeypatch.setattr(rank_numbering, "ENTRIES_OF_A_NODE", 0 if source == "tiers" else 10**9)
    monkeypatch.setattr(rank_numbering, "_PAGE_SIZE", rng.choice([1, 7, 10_000]))
    width = rng.choice([3, 200, 20_000, 2**50])
    scores = {f"m{n}": rng.randrange(-width, width) // rng.choice([1, 1, 50]) for n in range(120)}
    place(stack, scores)
    ordered = sorted(set(scores.values()), reverse=True)

    for member in rng.sample(sorted(scores), 10):
        rank = stack.get(f"{ALL}/rank", member=member, method="dense")[1]["rank"]
        assert rank == ordered.index(scores[member]) + 1
    between = rng.randrange(-width, width)
    expected = sum(score > between for score in ordered) + 1
    assert stack.get(f"{ALL}/rank", score=between, method="dense")[1]["rank"] == expected
    entries = stack.get(ALL, rank=60, limit=20, method="dense")[1]["entries"]
    assert [entry["rank"] for entry in entries] == [ordered.index(entry["score"]) + 1 for entry in entries]
    group = rng.sample(sorted(scores), 20)
    answered = stack.post(f"{ALL}/ranks", {"members": group}, method="dense")[1]["entries"]
    assert [entry["rank"] for entry in answered] == [ordered.index(scores[member]) + 1 for member in group]


@pytest.mark.parametrize("entries_of_a_node", [0, 36, 10**9])
def test_too_many_different_scores_get_a_400(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, entries_of_a_node: int
) -> None:
    assert Limits().scores >= 100_000
    limit(stack, Limits(scores=500))
    monkeypatch.setattr(rank_numbering, "ENTRIES_OF_A_NODE", entries_of_a_node)
    names = place(stack, {f"m{n:03}": -n // 2 * 128 for n in range(1_010)})

    def dense(position: int) -> tuple[int, Any]:
        status, answer = stack.get(f"{ALL}/rank", member=names[position], method="dense")
        return status, answer.get("rank", answer.get("type"))

    assert dense(0) == (200, 1)
    last = next(position for position in range(990, 1_010) if dense(position)[0] != 200)
    assert dense(last - 1) == (200, 501)
    assert dense(last) == (400, "urn:standings:too-far")
