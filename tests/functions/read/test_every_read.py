"""Every read of boards with many members is that of a sort, as the model makes it; the state machine has few."""

import random
from collections.abc import Callable
from datetime import timedelta
from typing import Final

import orjson
import pytest

from tests.support.aws.stack import ManualClock, Stack, apply, project, running
from tests.support.builders.querying import NOW, deployed
from tests.support.dynamodb.requests import Requests
from tests.support.dynamodb.tables import engine_with_tables
from tests.support.machine.boards import BOARDS, Board, Sent, whole
from tests.support.oracle.comparing import compare_every_read
from tests.support.oracle.model import BoardModel, Metric
from tests.support.thoroughness import seeds

CROWD = Board({"points": Metric(windows=("all", "day", "last-7-days")), "best": Metric("max", windows=("all",))})
DAYS_AGO = (0, 0, 0, 1, 2, 8, 40)


def live(stack: Stack, model: BoardModel, name: str, board: Board, rng: random.Random) -> None:
    """Give points to 35 members and take three out: of 32, some percentiles have more decimals than are shown."""
    units = rng.choice([(0, 1, 1, 2, 5, 200, 201, 20_000), range(-40_000, 40_000, 7)])
    events = []
    for number in range(120):
        member, metric = f"m{number % 35:02}", rng.choice(sorted(board.metrics))
        amount, note = rng.choice(units), rng.choice((None, 1, 2)) if board.metrics[metric].notes else None
        amounts = {metric: amount} | {each: rng.choice(units) for each in board.metrics[metric].companions}
        amounts = whole(board, amounts)
        at = NOW - timedelta(days=rng.choice(DAYS_AGO), minutes=rng.randrange(4))
        updates = ((name, member, tuple(amounts.items()), note),)
        events.append(Sent(f"e{number}", at, updates).body({name: board}))
        if model.registered:
            stack.put(f"/boards/{name}/member", id=member)
            model.put(member)
        model.count(f"e{number}", member, at, amounts, NOW, note and {"n": note})
    apply(stack, [orjson.loads(event) for event in events])
    for member in ("m03", "m07"):
        stack.put(f"/boards/{name}/member", {"hidden": True}, id=member)
        model.put(member, hidden=True)
    stack.delete(f"/boards/{name}/member", id="m11")
    model.remove("m11")
    project(stack)


@pytest.mark.parametrize("name", ["crowd", *sorted(BOARDS.keys() - {"bounds", "twenty"})])  # the machine has those two
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_every_read_is_that_of_a_sort(name: str, seed: int) -> None:
    rng = random.Random(f"{name} {seed}")
    board = BOARDS.get(name, CROWD)
    model = board.model()
    with deployed(board.toml(name, rng.choice([1, 3]))) as stack:
        live(stack, model, name, board, rng)
        for days in (0, 1):
            stack.clock.milliseconds += days * 24 * 3_600_000
            compare_every_read(stack, model, name, NOW + timedelta(days=days), rng)


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


LIVES: Final[dict[str, Days]] = {one.__name__: one for one in (just_left, just_come, a_point_a_day, equals, at_random)}
SHAPES: Final = ((7, 7), (16, 1), (7, 1), (16, 7))
"""By seed: days of the window, and shards."""
OFTEN, OTHERS = ("just_left", "equals"), ("just_come", "a_point_a_day", "at_random")
"""The lives that `make test` tries. The others take half a minute."""


@pytest.mark.parametrize("life", [*OFTEN, *(pytest.param(one, marks=pytest.mark.thorough) for one in OTHERS)])
@pytest.mark.parametrize("seed", seeds(1, 4))
def test_pages_skip_nobody(life: str, seed: int) -> None:
    rng = random.Random(f"{life} {seed}")
    size, shards = SHAPES[seed % len(SHAPES)]
    board = Board({"points": Metric(windows=(f"last-{size}-days",))})
    model = board.model()
    last = NOW + rng.randrange(size) * DAY
    sent = []
    for member in range(MEMBERS):
        for day, amount in LIVES[life](rng, member, size).items():
            name, at = f"m{member:03}", last + day * DAY
            sent.append(Sent(f"e{member}-{day}", at, (("b", name, (("points", amount),), None),)))
    engine = engine_with_tables()
    clock = ManualClock(round(last.timestamp() * 1000))
    with running(Requests(engine), clock, board.toml("b", shards)) as stack:
        for day in range(-2 * size, 1):
            now = last + day * DAY
            clock.milliseconds = round(now.timestamp() * 1000)
            today = [one for one in sent if one.at == now]
            apply(stack, [orjson.loads(one.body({"b": board})) for one in today])
            for one in today:
                ((_, name, amounts, _),) = one.updates
                model.count(one.id, name, one.at, dict(amounts), now)
        # Today and a period that ended; then the first second of the next period.
        midnight = last.replace(hour=0, minute=0, second=0, microsecond=0) + DAY
        for now in (last, midnight):
            clock.milliseconds = round(now.timestamp() * 1000)
            compare_every_read(stack, model, "b", now, rng, methods=["competition"])
