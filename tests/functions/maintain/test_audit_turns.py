"""A schedule audits all boards in turn: within its read units, on from where it was, and past boards that fail."""

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

import orjson
import pytest

from benchmarks.harness.meter import Meter
from standings.aws.dynamodb.keys import AUDIT
from standings.maintain.audit.turn import LEASE_MARGIN
from standings.runtime.logs import metrics
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.context import Killed
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import apply, event
from tests.support.thoroughness import seeds

BOARDS: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "last-3-days"] }
"""
PLENTY: Final = 1_000_000
TRIFLING: Final = 10
A_STEP: Final = 60  # Read units: more than any page of members or leaf here takes
RECORDS: Final = 5  # Read units of a run beside the audit: names and records of boards, and the turn


@pytest.fixture
def meter(engine: Any) -> Meter:
    return Meter(engine)


@pytest.fixture
def stack(meter: Meter, clock: ManualClock) -> Iterator[Stack]:
    with running(meter, clock, BOARDS) as deployed:
        yield deployed


def fill(stack: Stack, *boards: str, members: int = 5) -> None:
    apply(
        stack,
        [{**event(f"m{n}", 7 * n), "board": board, "id": f"{board}-{n}"} for board in boards for n in range(members)],
    )
    stack.clock.milliseconds += 3_600_000


def run(stack: Stack, read_units: int = PLENTY) -> dict[str, Any]:
    return stack.maintenance({"audits": {"next": {"read_units": read_units}}}, Context(seconds=900))


def shown(stack: Stack) -> dict[str, Any]:
    return stack.maintenance({"audits": {"show": {}}}, Context())


def names(answer: dict[str, Any]) -> list[str]:
    return [board["board"] for board in answer["boards"]]


def lose_a_row(stack: Stack, board: str) -> None:
    items = stack.dynamodb.scan(TableName="Rankings")["Items"]
    key = next(item["pk"] for item in items if item["pk"]["S"].startswith(f"{board}#") and "#m3" in item["pk"]["S"])
    stack.dynamodb.delete_item(TableName="Rankings", Key={"pk": key})


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


@pytest.fixture
def drift(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[[], float]:
    """Returns the sum of the metric since the last call."""
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "false")
    metrics.clear_metrics()

    def read() -> float:
        lines = [orjson.loads(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
        return sum(sum(line.get("Drift", [])) for line in lines)

    return read


def logged(caplog: pytest.LogCaptureFixture, message: str) -> list[dict[str, Any]]:
    return [vars(record) for record in caplog.records if record.message == message]


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


def test_a_run_beside_another_does_nothing(stack: Stack, engine: Any) -> None:
    fill(stack, "a", "b")
    lose_a_row(stack, "b")
    beside: list[dict[str, Any]] = []

    def begin(operation: str, request: dict[str, Any]) -> None:
        if operation == "Query" and not beside and "'b#" in str(request["ExpressionAttributeValues"]):
            beside.append({})
            beside[:] = [run(stack)]

    engine.before.append(begin)
    answer = run(stack)

    assert beside == [{"done": False, "running": True, "board": None, "read_units": 0, "drift": 0, "boards": []}]
    assert shown(stack)["last"]["drift"] == answer["drift"] > 0


def test_of_two_runs_that_begin_at_once_one_does_the_work(stack: Stack, engine: Any) -> None:
    fill(stack, "a")
    first: list[dict[str, Any]] = []

    def overtake(operation: str, request: dict[str, Any]) -> None:
        if operation == "PutItem" and request["Item"]["pk"]["S"] == AUDIT and not first:
            first.append({})
            first[:] = [run(stack)]

    engine.before.append(overtake)
    late = run(stack)

    assert (first[0]["done"], names(first[0])) == (True, ["a"])
    assert (late["running"], late["boards"]) == (True, [])


def damage(stack: Stack, board: str) -> None:
    item = next(one for one in stack.dynamodb.scan(TableName="Scores")["Items"] if one["pk"]["S"].startswith(board))
    stack.dynamodb.put_item(TableName="Scores", Item={**item, "v": {"S": "?"}})


def test_a_board_that_fails_twice_is_left_out_and_the_turn_goes_on(
    stack: Stack, caplog: pytest.LogCaptureFixture
) -> None:
    fill(stack, "a", "b", "c")
    damage(stack, "b#")

    for _ in range(2):
        with pytest.raises(KeyError):
            run(stack)
    answer = run(stack)

    assert (names(answer), answer["done"]) == (["c"], True)
    assert shown(stack)["last"]["failed"] == ["b"]
    lines = logged(caplog, "board not audited")
    assert [(line["board"], line["tries"]) for line in lines] == [("b", 1), ("b", 2)]


def test_what_was_found_before_an_error_counts(stack: Stack, drift: Callable[[], float]) -> None:
    fill(stack, "a", "b")
    lose_a_row(stack, "a")
    damage(stack, "b#")
    drift()

    with pytest.raises(KeyError):
        run(stack)

    assert drift() > 0
    assert shown(stack)["turn"]["drift"] > 0


@pytest.mark.parametrize("board", ["a", "b"])
def test_a_run_that_dies_twice_at_a_board_holds_up_no_other(stack: Stack, engine: Any, board: str) -> None:
    """As a leaf does that takes longer than the function may run."""
    fill(stack, "a", "b", "c")

    def die(operation: str, request: dict[str, Any]) -> None:
        if operation == "Query" and f"'{board}#" in str(request["ExpressionAttributeValues"]):
            raise Killed

    engine.before.append(die)
    for _ in range(2):
        with pytest.raises(Killed):
            run(stack)
        assert run(stack)["running"]
        stack.clock.milliseconds += 900_000 + LEASE_MARGIN
    answer = run(stack)

    assert names(answer) == [name for name in "abc" if name > board]
    assert answer["done"]
    assert shown(stack)["last"]["failed"] == [board]


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
