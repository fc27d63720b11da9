"""Announcements under faults: calls fail and die, two functions run at once, messages come twice, the index lags."""

import random
from typing import Any

import pytest

from tests.support.builders.announcing import AnnouncingStack
from tests.support.thoroughness import seeds

MEMBERS = [f"m{number}" for number in range(12)]


def _live(stack: AnnouncingStack, rng: random.Random, steps: int) -> None:
    for _ in range(steps):
        stack.now += rng.choice((0, 1, 30, 400, 2_000))
        action = rng.random()
        if action < 0.4:
            points = None if rng.random() < 0.1 else rng.randrange(5)
            stack.change(rng.choice(MEMBERS), points, hidden=rng.random() < 0.1)
        elif action < 0.7:
            stack.run_projector()
        else:
            stack.run_announcer()


def _check_story(stack: AnnouncingStack) -> None:
    """Each number comes with one id and one content, none is left out, and each top follows from the one before."""
    by_seq: dict[int, dict[str, Any]] = {}
    for event in stack.events:
        assert by_seq.setdefault(event["seq"], event) == event
        assert event["seq"] <= len(by_seq), "a number came before the one ahead of it"
    assert len({event["id"] for event in by_seq.values()}) == len(by_seq)
    assert sorted(by_seq) == list(range(1, len(by_seq) + 1))
    ranks: dict[str, int] = {}
    for seq in sorted(by_seq):
        event = by_seq[seq]
        now = {line["member"]: line["rank"] for line in event["top"]}
        assert {line["member"] for line in event["entered"]} == now.keys() - ranks.keys()
        assert {(line["member"], line["was"]) for line in event["left"]} == {
            (member, rank) for member, rank in ranks.items() if member not in now
        }
        assert {(line["member"], line["was"], line["rank"]) for line in event["moved"]} == {
            (member, ranks[member], rank) for member, rank in now.items() if ranks.get(member, rank) != rank
        }
        ranks = now


def _last_announced(stack: AnnouncingStack) -> list[tuple[int, str, int]]:
    last: dict[str, Any] = max(stack.events, key=lambda event: event["seq"], default={"top": []})
    return [(line["rank"], line["member"], line["score"]) for line in last["top"]]


@pytest.mark.parametrize("seed", seeds(40, 400))
def test_the_last_list_announced_is_the_list(engine: Any, seed: int) -> None:
    rng = random.Random(seed)
    stack = AnnouncingStack(
        engine, seed, top=rng.choice((1, 3, 5, 20)), ties=rng.choice(("member", "first")), shards=rng.choice((1, 3))
    )
    stack.trouble = rng.choice((0.0, 0.02, 0.1, 0.3))
    for _ in range(rng.randint(1, 4)):
        _live(stack, rng, rng.randrange(80))
        if rng.random() < 0.3:
            trouble = stack.trouble
            stack.catch_up()
            assert _last_announced(stack) == stack.list(), f"seed {seed}"
            stack.trouble = trouble
    stack.catch_up()
    assert _last_announced(stack) == stack.list(), f"seed {seed}"
    _check_story(stack)


def test_a_top_that_changes_back_while_it_is_written_down_is_announced_as_it_is_in_the_end(engine: Any) -> None:
    """The look at the second change finds what was announced last, since the first look has not written yet."""
    stack = AnnouncingStack(engine, 1, top=3)
    stack.change("ann", 1)
    stack.catch_up()
    stack.now += 2_000
    put_item = stack.put_item

    def slow(**request: Any) -> Any:
        stack.__dict__["put_item"] = put_item
        stack.now += 1_500
        stack.change("ann", 1)
        stack.catch_up()
        return put_item(**request)

    stack.change("ann", 2)
    stack.run_projector()
    stack.__dict__["put_item"] = slow
    stack.catch_up()
    assert stack.__dict__["put_item"] is put_item
    assert _last_announced(stack) == stack.list() == [(1, "ann", 1)]
    _check_story(stack)
