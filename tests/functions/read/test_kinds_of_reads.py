"""Every kind of read: no answer contradicts itself while members move, and none costs more than is allowed."""

from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any, Final

import pytest

from standings.read.session import PUBLIC_LIMITS
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import Stack, project, running
from tests.support.builders.maintenance import apart
from tests.support.builders.querying import MEMBER, post
from tests.support.dynamodb.requests import metered
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


PAGES: Final[dict[str, Ask]] = {
    "all of it": pages(limit=100),
    "the first": pages(limit=3),
    "from a position": pages(rank=4, limit=3),
    "from a position on": pages(rank=4, limit=100),
    "the last": pages(rank=-1, limit=4),
    "nearly the last": pages(rank=-3, limit=3),
    "from a score": pages(score=5, limit=100),
    "around": pages(around="m4", limit=5),
    "around with a radius": pages(around="m4", radius=1),
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


READS: Final[dict[str, Ask]] = {
    **PAGES,
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
    """Members of a board, of whom some come, go or move before requests of the reading functions."""

    def __init__(self, stack: Stack, rng: Random) -> None:
        self.stack, self.rng = stack, rng
        self.hidden: set[str] = set()
        self.left, self.is_acting = -1, False
        post(stack, dict(zip(MEMBERS, SCORES, strict=False)))
        stack.dynamodb.before.append(self.hook)

    def hook(self, *_: Any) -> None:
        """Act before the request that a test named, and before some later ones."""
        if self.is_acting:
            return
        self.left -= 1
        if self.left == -1 or (self.left < -1 and self.rng.random() < 0.1):
            self.is_acting = True
            with apart():
                for _number in range(self.rng.choice([1, 1, 4])):
                    self.act()
            self.is_acting = False

    def act(self) -> None:
        """Let a member come or go, or move to another score."""
        member = self.rng.choice(MEMBERS)
        if member in self.hidden or self.rng.random() < 0.4:
            self.stack.put(MEMBER, {"hidden": member not in self.hidden}, id=member)
            self.hidden ^= {member}
            project(self.stack)
        else:
            post(self.stack, {member: self.rng.choice((-9, -2, 1, 4, 300, -300))}, days_ago=self.rng.randrange(2))


def definitions(shards: int) -> str:
    windows = ["all", "day", "last-7-days", "last-30-days"]
    return f'[boards."*"]\nshards = {shards}\nmetrics.points = {{ aggregate = "sum", windows = {windows} }}'


@pytest.mark.parametrize("shards", [1, 3])
@pytest.mark.parametrize("seed", seeds(1, 20))
def test_no_answer_contradicts_itself(engine: Any, clock: Any, seed: int, shards: int) -> None:
    """The items of a batch are read one by one, so that anything can happen between them too."""
    print(f"seed {seed}")
    rng, boards = Random(f"{seed} {shards}"), definitions(shards)
    reading = ItemByItem(engine, is_consistent=False)
    with running(engine, clock, boards) as stack, running(reading, clock, boards) as reader:
        crowd = Crowd(stack, rng)
        for name, ask in READS.items():
            window, method = rng.choice(WINDOWS), rng.choice(METHODS)
            for request in range(40):
                clock.milliseconds += 1
                more = {"method": method, "me": rng.choice(MEMBERS)} if rng.random() < 0.8 else {"method": method}
                crowd.left = request
                status, answer = ask(reader, more, f"/boards/b/points/{window}")
                where = f"{name} {more} of {window}, acting before request {request}"
                assert status in (200, 404), (where, answer)
                assert status == 404 or contradictions(answer) == [], f"{where}: {answer}"
                if crowd.left >= 0:
                    break


MOST_UNITS: Final = PUBLIC_LIMITS.queries / 2 + 150
"""A query of few entries costs half a unit."""
MOST_SHARDS: Final = (64, "last-30-days")


@pytest.mark.parametrize(
    ("shards", "window", "method"),
    [
        pytest.param(*one, marks=[] if one == (*MOST_SHARDS, "competition") else pytest.mark.thorough)
        for one in product((1, 5, 16, 64), ("all", "last-7-days", "last-30-days"), METHODS)
    ],
)
def test_no_read_of_many_shards_is_beyond_the_bound_where_anyone_may_read(
    engine: Any, clock: Any, monkeypatch: pytest.MonkeyPatch, shards: int, window: str, method: str
) -> None:
    """Some are refused: ordinal ranks, which count equals in each shard, and `around` beside another member's `me`."""
    monkeypatch.setitem(ENVIRONMENT, "OPEN_READS", "true")
    client = metered(engine)
    with running(client, clock, definitions(shards)) as stack:
        post(stack, {f"m{number}": 1_000 * (number // 3) for number in range(60)})
        for (name, ask), me in product(READS.items(), ("", "m9", "m4")):
            if me and name not in PAGES:
                continue
            before, _ = client.snapshot(), client.take()
            more = {"method": method, **({"me": me} if me else {})}
            status, answer = ask(stack, more, f"/boards/b/points/{window}")
            queries = client.counts["query", "places"]
            what = f"{name} {more}: {queries} queries, {answer}"
            # The pages from cursors are two requests.
            assert queries <= PUBLIC_LIMITS.queries * (1 + (name in ("next", "previous"))), what
            assert (client.snapshot() - before).total.read <= MOST_UNITS * (1 + (name in ("next", "previous"))), what
            is_refused = (shards, window) == MOST_SHARDS and name.startswith("around") and me == "m9"
            if is_refused and method != "ordinal":
                assert (status, answer["type"], queries) == (400, "urn:standings:too-far", 0), what
                assert "9 parts in each of 64 shards, so this takes 1,728 queries" in answer["detail"]
            elif not is_refused:
                assert status == 200 or (method == "ordinal" and shards > 1), what


def test_who_may_read_by_a_key_reads_all_shards(engine: Any, clock: Any) -> None:
    with running(engine, clock, definitions(64)) as stack:
        post(stack, {f"m{number}": 5 for number in range(9)})
        for name in ("around", "group", "history"):
            status, _ = READS[name](stack, {"method": "ordinal", "me": "m7"}, "/boards/b/points/last-30-days")
            assert status == 200, name
