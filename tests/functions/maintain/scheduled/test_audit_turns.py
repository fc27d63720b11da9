"""A schedule audits all boards in turn, within its read units, on from where it was."""

import random
from collections.abc import Callable
from typing import Final

import orjson
import pytest

from benchmarks.harness.meter import Meter
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.audit.turns import BOARDS, PLENTY, TRIFLING, fill, logged, lose_a_row, names, run, shown
from tests.support.builders.stages.streaming import apply, event
from tests.support.thoroughness import seeds

A_STEP: Final = 60  # Read units: more than any page of members or leaf here takes
RECORDS: Final = 5  # Read units of a run beside the audit: names and records of boards, and the turn


def test_a_run_with_plenty_audits_each_board_once_and_the_next_run_begins_anew(stack: Stack) -> None:
    fill(stack, "a", "b", "c")

    for _ in range(2):
        answer = run(stack)
        assert (names(answer), answer["done"], answer["drift"]) == (["a", "b", "c"], True, 0)
    last = shown(stack)["last"]
    assert (last["boards"], last["drift"], last["failed"], last["until"]) == (3, 0, [], stack.clock())
    assert last["read_units"] == answer["read_units"]


def test_without_boards_there_is_nothing_to_do(stack: Stack) -> None:
    assert shown(stack)["ran_at"] is None

    answer = run(stack)

    assert (answer["boards"], answer["done"], answer["read_units"]) == ([], True, 0)
    assert shown(stack)["ran_at"] == stack.clock()


@pytest.mark.parametrize("read_units", [1, 70, 300])
def test_a_run_spends_no_more_than_its_units_and_a_step(stack: Stack, meter: Meter, read_units: int) -> None:
    fill(stack, "large", "small", members=120)
    looked_at, runs, done = 0, 0, False
    while not done:
        runs += 1
        before = meter.snapshot()
        answer = run(stack, read_units)
        used = (meter.snapshot() - before).total.read
        assert used <= read_units + A_STEP + RECORDS
        assert answer["read_units"] <= used <= answer["read_units"] + RECORDS
        assert answer["drift"] == 0
        looked_at += sum(board["looked_at"]["members"] for board in answer["boards"])
        done = answer["done"]

    assert runs > 600 // (read_units + A_STEP)
    assert looked_at == 240
    assert shown(stack)["last"]["boards"] == 2


def test_a_run_ends_when_its_time_does(stack: Stack) -> None:
    fill(stack, "a", "b")

    answer = stack.maintenance({"audits": {"next": {"read_units": PLENTY}}}, Context(seconds=0))

    assert (answer["done"], answer["board"], answer["read_units"]) == (False, "a", 1)
    assert names(run(stack)) == ["a", "b"]


@pytest.mark.parametrize("seed", seeds(3, 15))
def test_what_happens_between_runs_is_no_difference(stack: Stack, seed: int) -> None:
    """Members move, come and go, and some changes have not come through the stream yet."""
    print(f"seed {seed}")
    rng = random.Random(seed)
    fill(stack, "a", members=60)
    drift = 0
    for number in range(1000):
        answer = run(stack, TRIFLING)
        drift += answer["drift"]
        if answer["done"]:
            break
        member = f"m{rng.randrange(80)}"
        if rng.random() < 0.2:
            stack.delete("/boards/a/member", id=member)
        else:
            body = {**event(member, rng.randrange(-300, 20_000)), "board": "a", "id": f"later-{number}"}
            body["at"] = "2026-11-21T11:00:00Z"
            records = [{"messageId": "1", "body": orjson.dumps(body).decode(), "messageAttributes": {}}]
            assert stack.writer({"Records": records}, Context()) == {"batchItemFailures": []}
        if rng.random() < 0.5:
            apply(stack, [])
        stack.clock.milliseconds += 20_000

    assert answer["done"]
    assert number > 20
    assert drift == 0


def test_a_difference_is_counted_in_the_metric_and_named_in_the_log(
    stack: Stack, drift: Callable[[], float], caplog: pytest.LogCaptureFixture
) -> None:
    fill(stack, "a", "b", "c")
    lose_a_row(stack, "b")
    drift()

    answers = [run(stack, TRIFLING)]
    while not answers[-1]["done"]:
        answers.append(run(stack, TRIFLING))

    assert drift() == sum(answer["drift"] for answer in answers) == shown(stack)["last"]["drift"] > 0
    lines = logged(caplog, "rankings differ from scores")
    assert {line["board"] for line in lines} == {"b"}
    assert "m3" in {example.get("member") for line in lines for example in line["examples"]}


def test_boards_come_and_go_between_runs(stack: Stack) -> None:
    fill(stack, "a", "c", "d", members=2)
    first = run(stack, TRIFLING)
    assert (first["board"], first["done"]) == ("a", False)

    # The turn is in the middle of the board that goes.
    begin = True
    while not (answer := stack.maintenance({"delete": {"board": "a", "begin": begin}}, Context(seconds=900)))["done"]:
        stack.clock.milliseconds += round(1000 * answer["wait"])
        begin = False
    fill(stack, "b", members=2)
    answer = run(stack)

    assert (names(answer), answer["done"]) == (["b", "c", "d"], True)
    assert names(run(stack)) == ["b", "c", "d"]


def test_a_board_of_no_family_any_more_is_passed_over(meter: Meter, stack: Stack, clock: ManualClock) -> None:
    fill(stack, "a", "z")
    assert run(stack, TRIFLING)["board"] == "a"

    with running(meter, clock, BOARDS.replace('"*"', '"z*"')) as narrower:
        answer = run(narrower)

    assert (names(answer), answer["done"]) == (["z"], True)
