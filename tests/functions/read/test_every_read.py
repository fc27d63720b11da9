"""Every read of a board with many members is that of a sort, which the model makes; the state machine has few."""

import random
from datetime import timedelta

import orjson
import pytest

from tests.support.aws.stack import Stack
from tests.support.builders.querying import NOW, deployed
from tests.support.builders.stages.streaming import apply, project
from tests.support.machine.boards import BOARDS, Board, Sent
from tests.support.oracle.comparing import compare_every_read
from tests.support.oracle.model import BoardModel, Metric
from tests.support.thoroughness import seeds

CROWD = Board({"points": Metric(windows=("all", "day", "last-7-days")), "best": Metric("max", windows=("all",))})
DAYS_AGO = (0, 0, 0, 1, 2, 8, 40)


def live(stack: Stack, model: BoardModel, name: str, board: Board, rng: random.Random) -> None:
    """Give points to 35 members and take three out: of 32, some percentiles are half a hundredth."""
    units = rng.choice([(0, 1, 1, 2, 5, 200, 201, 20_000), range(-40_000, 40_000, 7)])
    events = []
    for number in range(120):
        member, metric = f"m{number % 35:02}", rng.choice(sorted(board.metrics))
        amount, note = rng.choice(units), rng.choice((None, 1, 2)) if board.metrics[metric].notes else None
        at = NOW - timedelta(days=rng.choice(DAYS_AGO), minutes=rng.randrange(90))
        events.append(Sent(f"e{number}", at, ((name, member, ((metric, amount),), note),)).body({name: board}))
        if model.registered:
            stack.put(f"/boards/{name}/member", id=member)
            model.put(member)
        model.add_all(f"e{number}", at, {member: {metric: amount}}, NOW, {member: note and {"n": note}})
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
