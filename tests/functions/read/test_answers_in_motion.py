"""No answer contradicts itself, whoever joins, leaves or moves between two requests of a read.

The items of a batch are read one by one, so that anything can happen between them too.
"""

from collections.abc import Callable
from random import Random
from typing import Any, Final

import pytest

from tests.support.aws.stack import Stack, project, running
from tests.support.builders.maintenance import apart
from tests.support.builders.querying import MEMBER, post
from tests.support.faults.faulty_client import ItemByItem
from tests.support.oracle.comparing import contradictions
from tests.support.thoroughness import seeds

SCORES: Final = (9, 9, 9, 5, 5, 300, 2, 20_000, 1, 0)
METHODS: Final = ("competition", "ordinal", "dense")
MEMBERS: Final = tuple(f"m{number}" for number in range(16))
WINDOWS: Final = ("all", "day", "last-7-days")
Ask = Callable[[Stack, dict[str, Any], str], tuple[int, dict[str, Any]]]


def pages(**start: Any) -> Ask:
    return lambda stack, more, path: stack.get(path, **start, **more)


def from_a_cursor(side: str) -> Ask:
    """The page after or before the one in the middle; the cursor was given before anybody moves."""

    def ask(stack: Stack, more: dict[str, Any], path: str) -> tuple[int, dict[str, Any]]:
        cursor = stack.get(path, rank=5, limit=2, method=more["method"])[1][side]
        return stack.get(path, cursor=cursor, limit=4, **more)

    return ask


READS: Final[dict[str, Ask]] = {
    "all of it": pages(limit=100),
    "the first": pages(limit=3),
    "from a position": pages(rank=4, limit=3),
    "from a position on": pages(rank=4, limit=100),
    "the last": pages(rank=-1, limit=4),
    "nearly the last": pages(rank=-3, limit=3),
    "from a score": pages(score=5, limit=100),
    "around": pages(around="m4", limit=5),
    "around with a radius": pages(around="m6", radius=1),
    "next": from_a_cursor("next"),
    "previous": from_a_cursor("previous"),
}


def beside(what: str, **named: Any) -> Ask:
    return lambda stack, more, path: stack.get(f"{path}/{what}", **named, method=more["method"])


def card(stack: Stack, more: dict[str, Any], _: str) -> tuple[int, dict[str, Any]]:
    """Each window of a member's card, as an answer of its own."""
    status, answer = stack.get(MEMBER, id="m2", ranks="true", method=more["method"])
    if status != 200:
        return status, answer
    (metric,) = answer["metrics"]
    periods = [{"rank": each["rank"], "total": each["total"] or 1} for each in metric["windows"]]
    return 200, {"method": more["method"], "order": "descending", "total": 0, "periods": periods}


READS |= {
    "rank": beside("rank", member="m8"),
    "rank and previous": beside("rank", member="m5", previous="true"),
    "rank of a score": beside("rank", score=5),
    "rank of the last score": beside("rank", score=-1),
    "history": beside("history", member="m1", periods=4),
    "percentile": beside("percentile", p=60),
    "distribution": beside("distribution", buckets=4),
    "group": lambda stack, more, path: stack.post(
        f"{path}/ranks", {"members": list(MEMBERS)}, previous="true", method=more["method"]
    ),
    "card": card,
}


class Crowd:
    """Members of a board, of whom some come, go or move before a request of the reading functions."""

    def __init__(self, stack: Stack, rng: Random) -> None:
        self.stack, self.rng = stack, rng
        self.hidden: set[str] = set()
        self.left, self.most = -1, 0
        stack.dynamodb.before.append(self.hook)
        post(stack, dict(zip(MEMBERS, SCORES, strict=False)))

    def hook(self, *_: Any) -> None:
        self.left -= 1
        if self.left == -1 or (self.left < -1 and self.rng.random() < 0.1):
            with apart():
                for _number in range(self.rng.choice([1, 1, 4])):
                    self.act()

    def act(self) -> None:
        """Let a member come or go, or move to another score."""
        member = self.rng.choice(MEMBERS)
        if member in self.hidden or self.rng.random() < 0.4:
            self.stack.put(MEMBER, {"hidden": member not in self.hidden}, id=member)
            self.hidden ^= {member}
            project(self.stack)
        else:
            post(self.stack, {member: self.rng.choice((-9, -2, 1, 4, 300, -300))}, days_ago=self.rng.randrange(2))

    def before(self, request: int) -> None:
        """Act before that request, counted from 0."""
        self.left = request


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_no_answer_contradicts_itself(engine: Any, clock: Any, seed: int, shards: int) -> None:
    print(f"seed {seed}")
    rng = Random(f"{seed} {shards}")
    boards = f'[boards."*"]\nshards = {shards}\nmetrics.points = {{ aggregate = "sum", windows = {list(WINDOWS)} }}'
    reading = ItemByItem(engine, is_consistent=False)
    with running(engine, clock, boards) as stack, running(reading, clock, boards) as reader:
        crowd = Crowd(stack, rng)
        for name, ask in READS.items():
            window, method = rng.choice(WINDOWS), rng.choice(METHODS)
            for request in range(40):
                clock.milliseconds += 1
                more = {"method": method, "me": rng.choice(MEMBERS)} if rng.random() < 0.8 else {"method": method}
                crowd.before(request)
                status, answer = ask(reader, more, f"/boards/b/points/{window}")
                where = f"{name} {more} of {window}, acting before request {request}"
                assert status in (200, 404), (where, answer)
                assert status == 404 or contradictions(answer) == [], f"{where}: {answer}"
                if crowd.left >= 0:
                    break
