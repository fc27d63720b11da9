"""Pages of rolling windows are exact and read nobody whom they do not show, when hundreds come and go together."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import orjson
import pytest

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import running
from tests.support.builders.querying import NOW
from tests.support.builders.stages.streaming import apply
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.requests import Requests
from tests.support.dynamodb.tables import create_tables
from tests.support.machine.boards import Board, Sent
from tests.support.oracle.comparing import compare_every_read
from tests.support.oracle.model import Metric
from tests.support.thoroughness import seeds

DAY: Final = timedelta(days=1)
MEMBERS: Final = 300
FEW: Final = 7
"""The members who are still there, or there already, when all others are not."""
Days = Callable[[random.Random, int, int], dict[int, int]]
"""The amounts of a member by day, of a window of so many days. The last day is 0, the earlier ones are negative."""


def just_left(rng: random.Random, member: int, size: int) -> dict[int, int]:
    return {(0 if member < FEW else -size): rng.randint(1, 9_999)}


def just_come(rng: random.Random, member: int, size: int) -> dict[int, int]:
    return {(-size + 1 if member < FEW else 0): rng.randint(1, 9_999)}


def a_point_a_day(_: random.Random, member: int, size: int) -> dict[int, int]:
    return dict.fromkeys(range(0 if member < FEW else -size, 1), 1)


def equals(_: random.Random, member: int, size: int) -> dict[int, int]:
    return {-(member % size): 5}


def at_random(rng: random.Random, _: int, size: int) -> dict[int, int]:
    return {-rng.randrange(2 * size): rng.choice((-3, 1, 1, 2, 500)) for _ in range(rng.randint(1, 4))}


LIVES: Final[dict[str, Days]] = {
    life.__name__: life for life in (just_left, just_come, a_point_a_day, equals, at_random)
}

OFTEN: Final = ("just_left", "equals")
"""The lives that `make test` tries. The others take half a minute."""


@pytest.mark.parametrize(
    "life", [life if life in OFTEN else pytest.param(life, marks=pytest.mark.thorough) for life in LIVES]
)
@pytest.mark.parametrize("seed", seeds(1, 8))
def test_pages_skip_nobody(life: str, seed: int) -> None:
    rng = random.Random(f"{life} {seed}")
    size, shards = rng.choice([7, 16]), rng.choice([1, 7])
    print(f"seed {seed}: last-{size}-days, {shards} shards")
    board = Board({"points": Metric(windows=(f"last-{size}-days",))})
    model = board.model()
    last = NOW + rng.randrange(size) * DAY
    sent = []
    for member in range(MEMBERS):
        for day, amount in LIVES[life](rng, member, size).items():
            name, at = f"m{member:03}", last + day * DAY
            sent.append(Sent(f"e{member}-{day}", at, (("b", name, (("points", amount),), None),)))
    engine = Engine()
    create_tables(engine)
    clock = ManualClock(round(last.timestamp() * 1000))
    with running(Requests(engine), clock, board.toml("b", shards)) as stack:
        for day in range(-2 * size, 1):
            now = last + day * DAY
            clock.milliseconds = round(now.timestamp() * 1000)
            today = [one for one in sent if one.at == now]
            apply(stack, [orjson.loads(one.body({"b": board})) for one in today])
            for one in today:
                ((_, name, amounts, _),) = one.updates
                assert model.add(one.id, name, one.at, dict(amounts), now)
        # Today and a period that ended; then the first second of the next period.
        midnight = last.replace(hour=0, minute=0, second=0, microsecond=0) + DAY
        for now in (last, midnight):
            clock.milliseconds = round(now.timestamp() * 1000)
            compare_every_read(stack, model, "b", now, rng, methods=["competition"])
