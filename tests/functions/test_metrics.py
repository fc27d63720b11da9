"""The functions' metrics: all are emitted, in lines that CloudWatch accepts, without unbounded dimensions."""

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from functools import partial
from typing import Any, Final, get_args

import orjson
import pytest

from standings.domain.events.event import Rule
from standings.project.outcome import one_by_one
from standings.project.prune_tiers import PrunedRankings
from standings.runtime.logs import metrics
from standings.wiring import projector
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.faults.faulty_client import cancelled

NOW: Final = int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000)
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
MAX_METRICS: Final = 100
MAX_DIMENSIONS: Final = 30
MAX_LINE_LENGTH: Final = 1_048_576
BOARD_COUNT: Final = 40
BOARDS: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }'

OF_WRITER: Final = {"EventsApplied", "EventsDuplicate", "EventsFailed", "EventsRefused", "WriterConflicts"}
OF_PROJECTOR: Final = {"GapsHealed", "Moves", "MovesKnown", "ProjectorConflicts", "RecordsParked", "TiersRemoved"}
UNITS: Final = {
    **dict.fromkeys(OF_WRITER | OF_PROJECTOR, "Count"),
    **dict.fromkeys(("QueueToScore", "WriteToRank"), "Milliseconds"),
}
Emitted = Callable[[], tuple[dict[str, float], dict[str, dict[str, float]]]]


@pytest.fixture
def stack(engine: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stack]:
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "false")
    metrics.clear_metrics()  # Other tests have metrics disabled, so theirs are still here.
    with running(engine, clock, BOARDS) as deployed:
        yield deployed


@pytest.fixture
def emitted(capsys: pytest.CaptureFixture[str]) -> Emitted:
    """Return what was emitted since the last call: the service's metrics, and those of each rule."""

    def read() -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        found = [metrics_of(line) for line in capsys.readouterr().out.splitlines() if '"_aws"' in line]
        service = [values for dimensions, values in found if dimensions == {"service": "standings"}]
        by_rule = {dimensions["rule"]: values for dimensions, values in found if "rule" in dimensions}
        assert all(dimensions.keys() <= {"service", "rule"} for dimensions, _ in found)
        assert len(service) == 1
        assert len(found) == 1 + len(by_rule), "emitted twice"
        return service[0], by_rule

    return read


def metrics_of(line: str) -> tuple[dict[str, str], dict[str, float]]:
    """The dimensions and metrics of a line, after checking it against the specification."""
    assert len(line.encode()) <= MAX_LINE_LENGTH
    root = json.loads(line)
    assert isinstance(root["_aws"]["Timestamp"], int)
    (directive,) = root["_aws"]["CloudWatchMetrics"]
    assert directive["Namespace"] == "Standings"
    (names,) = directive["Dimensions"]
    assert len(names) <= MAX_DIMENSIONS
    assert all(isinstance(root[name], str) and 1 <= len(root[name]) <= 1024 for name in names)
    assert 1 <= len(directive["Metrics"]) <= MAX_METRICS
    values: dict[str, float] = {}
    for metric in directive["Metrics"]:
        value = root[metric["Name"]]
        # One number for each metric: CloudWatch accepts at most a hundred in a line.
        (values[metric["Name"]],) = value if isinstance(value, list) else [value]
        assert UNITS[metric["Name"]] == metric["Unit"]
    return {name: root[name] for name in names}, values


def message(number: int, body: Any, waited: int = 0) -> dict[str, Any]:
    text = body if isinstance(body, str) else orjson.dumps(body).decode()
    return {"messageId": f"id-{number}", "body": text, "attributes": {"SentTimestamp": str(NOW - waited)}}


def event(event_id: str, member: str = "m", points: Any = 1, **other: Any) -> dict[str, Any]:
    at = "2026-11-21T10:15:00Z"
    return {"id": event_id, "board": "b", "member": member, "at": at, "metrics": {"points": points}, **other}


def test_the_writer_emits_what_became_of_events_and_the_lag(stack: Stack, engine: Any, emitted: Emitted) -> None:
    conflicts = [["None", "TransactionConflict"]]

    def busy_once(operation: str, request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems" and conflicts:
            raise cancelled((conflicts.pop() * len(request["TransactItems"]))[: len(request["TransactItems"])])

    engine.before.append(busy_once)
    bodies = [event("1"), event("1"), event("2", "n"), event("3", points="3"), event("4", colour=1), "{"]
    stack.writer({"Records": [message(n, body, waited=100 * n) for n, body in enumerate(bodies)]}, Context())

    # The lag is that of event 2: refused events and duplicates do not count. It includes the retry.
    assert emitted() == (
        {
            "EventsApplied": 2,
            "EventsDuplicate": 1,
            "EventsFailed": 0,
            "EventsRefused": 3,
            "QueueToScore": 200 + stack.clock() - NOW,
            "WriterConflicts": 1,
        },
        {rule: {"EventsRefused": 1} for rule in ("amount", "unknown", "json")},
    )


def test_a_batch_that_counted_nothing_tells_no_lag(stack: Stack, emitted: Emitted) -> None:
    stack.writer({"Records": [message(0, event("1"))]}, Context())
    emitted()
    stack.writer({"Records": [message(0, event("1"), waited=500), message(1, "{", waited=500)]}, Context())

    assert emitted()[0].keys() == OF_WRITER


def test_the_projector_tells_moves_what_it_parked_and_the_lag(stack: Stack, engine: Any, emitted: Emitted) -> None:
    stack.writer({"Records": [message(0, event("1")), message(1, event("2", "n"))]}, Context())
    emitted()
    (shard,) = engine.stream("Scores")
    records = [orjson.loads(orjson.dumps(record)) for record in shard]
    bad = next(record for record in records if record["dynamodb"]["Keys"]["sk"]["S"] == "m")
    bad["dynamodb"]["NewImage"]["v"] = {"N": "not a number"}
    stack.clock.milliseconds += 700
    stack.projector({"Records": records}, Context())
    found = emitted()[0]

    assert found.keys() == {*OF_PROJECTOR, "WriteToRank"}
    assert (found["RecordsParked"], found["WriteToRank"], found["ProjectorConflicts"]) == (1, 700, 0)
    assert found["Moves"] > 0
    stack.projector({"Records": [record for record in records if record is not bad]}, Context())
    again = emitted()[0]
    assert (again["Moves"], again["MovesKnown"]) == (0, found["Moves"])


@pytest.fixture
def cleaning(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make projectors prune after every move."""
    monkeypatch.setattr(projector, "PrunedRankings", partial(PrunedRankings, chance=1, worth=0))


def records_of(stack: Stack, points: int, boards: int) -> list[Any]:
    """Write an event on each of some boards, and return its records without projecting them."""
    bodies = [event(f"{points} {n}", points=points, board=f"b{n:02}") for n in range(boards)]
    stack.writer({"Records": [message(n, body) for n, body in enumerate(bodies)]}, Context())
    (shard,) = stack.dynamodb.stream("Scores")
    found = shard[stack.projected.get(0, 0) :]
    stack.projected[0] = len(shard)
    return [record for record in found if record["dynamodb"]["Keys"]["pk"]["S"] != "#boards"]


@pytest.fixture
def in_turn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make projectors work on one board after the other."""
    monkeypatch.setattr(projector, "run_parallel", lambda: one_by_one)


@pytest.mark.usefixtures("cleaning", "in_turn")
def test_tiers_that_a_call_removed_count_in_no_other(
    stack: Stack, engine: Any, capsys: pytest.CaptureFixture[str], emitted: Emitted
) -> None:
    """The call fails at the second board, after it has removed the first board's tiers."""
    removals = []

    def breaks(operation: str, request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems":
            removals.append(any("Delete" in action for action in request["TransactItems"]))
            if "b01" in str(request):
                raise MemoryError

    stack.projector({"Records": records_of(stack, 300, 2)}, Context())
    moved = records_of(stack, 20_000, 2)
    engine.before.append(breaks)
    with pytest.raises(MemoryError):
        stack.projector({"Records": moved}, Context())
    engine.before.clear()
    capsys.readouterr()
    stack.projector({"Records": moved[:1]}, Context())

    assert removals == [False, True, False]
    found, _ = emitted()
    assert (found["MovesKnown"], found["TiersRemoved"]) == (1, 0)


@pytest.mark.usefixtures("cleaning")
def test_tiers_removed_by_threads_side_by_side_all_count(
    stack: Stack, capsys: pytest.CaptureFixture[str], emitted: Emitted
) -> None:
    stack.projector({"Records": records_of(stack, 300, BOARD_COUNT)}, Context())
    moved = records_of(stack, 20_000, BOARD_COUNT)
    capsys.readouterr()
    stack.projector({"Records": moved}, Context())

    found, _ = emitted()
    assert (found["Moves"], found["TiersRemoved"]) == (BOARD_COUNT, 2 * BOARD_COUNT)


def test_the_largest_batch_is_told_in_few_lines(stack: Stack, emitted: Emitted) -> None:
    """A thousand refused messages emit a line for each rule, and one for all."""
    wrong: list[dict[str, Any]] = [
        *({"points": True}, {"member": ""}, {"board": "/"}, {"metrics": {}}, {"x": 1}),
        *({"at": "now"}, {"at": "2027-11-21T10:15:00Z"}),
    ]
    broken = ["{", event(""), {"id": "a"}, {"id": "a", "at": "2026-11-21T10:15:00Z", "updates": []}]
    broken += [event("a", **one) for one in wrong]
    stack.writer({"Records": [message(n, broken[n % len(broken)]) for n in range(1000)]}, Context())
    found, by_rule = emitted()

    assert found["EventsRefused"] == sum(values["EventsRefused"] for values in by_rule.values()) == 1000
    assert len(by_rule) == len(broken)
    assert by_rule.keys() <= set(get_args(Rule))
