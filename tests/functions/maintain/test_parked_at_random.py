"""Records that are parked and replayed at random."""

import random
from typing import Any

import pytest

from standings.domain.windows.calendar import DAY
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.failures.maintenance import parked_care, soon
from tests.support.builders.failures.parking import BOARDS, NOW, give_up, park, scores, unprojected, write
from tests.support.thoroughness import seeds


def anything(stack: Stack, rng: random.Random, number: int) -> None:
    """An event, a ban, a return or a removal; nothing is projected."""
    member = rng.choice("abcd")
    what = rng.random()
    if what < 0.8:
        write(stack, f"e{number}", member, rng.choice([-1, 0, 1, 127, 128, 300]))
    elif what < 0.9:
        assert stack.put("/boards/b/member", {"hidden": rng.random() < 0.5}, id=member)[0] == 200
    else:
        assert stack.delete("/boards/b/member", id=member)[0] in {204, 404}
    stack.clock.milliseconds += rng.choice([0, 1, 1000, 3_600_000])


def lose(stack: Stack, rng: random.Random) -> list[Any]:
    """Park some of the unprojected records, one by one or as a batch; return the others."""
    found = unprojected(stack)
    lost = [record for record in found if rng.random() < 0.4]
    if len(lost) > 1 and rng.random() < 0.5:
        give_up(stack, lost)
    else:
        for record in lost:
            park(stack, record)
    return [record for record in found if record not in lost]


def by_the_items(stack: Stack) -> dict[str, dict[str, int]]:
    """The expected rankings: the members' scores as their items have them."""
    today = stack.clock() // DAY - int(NOW.timestamp() * 1000) // DAY
    said: dict[str, dict[str, int]] = {}
    for member in "abcd":
        status, answer = stack.get("/boards/b/member", id=member)
        for window in answer["metrics"][0]["windows"] if status == 200 and not answer["hidden"] else []:
            name = f"{window['window']} {today if window['window'] != 'all' else 0}"
            if window["score"] is not None:
                said.setdefault(name, {})[member] = window["score"]
    return said


@pytest.mark.parametrize("seed", seeds(6, 30))
def test_any_records_parked_and_replayed_at_any_time(engine: Any, seed: int) -> None:
    """The projector parks random records. Replays come at random, also twice and before the other records."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as stack:
        care = parked_care(stack, BOARDS)
        for number in range(60):
            anything(stack, rng, number)
            if rng.random() < 0.4:
                others = lose(stack, rng)
                if rng.random() < 0.3:
                    care.replay(soon(stack.clock))
                assert stack.projector({"Records": others}, Context()) == {"batchItemFailures": []}
            if rng.random() < 0.1:
                before = dict(stack.bucket.objects)
                care.replay(soon(stack.clock))
                stack.bucket.objects.update(before)
        for record in unprojected(stack):
            park(stack, record)
        replayed = care.replay(soon(stack.clock))
        expected = by_the_items(stack)
        found = scores(stack)

    assert (replayed["done"], replayed["left"], stack.bucket.objects) == (True, 0, {})
    assert {name: found.get(name) for name in expected} == expected
