"""The functions' metrics: all are emitted, in lines that CloudWatch accepts, without unbounded dimensions."""

import json
from collections import Counter
from collections.abc import Iterator
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

NOW = int(datetime(2026, 11, 21, 10, 15, tzinfo=UTC).timestamp() * 1000)
# https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html
MAX_METRICS: Final = 100
MAX_DIMENSIONS: Final = 30
MAX_LINE_LENGTH: Final = 1_048_576
BOARD_COUNT: Final = 40
SERVICE: Final = (("service", "standings"),)

WRITER: Final = {
    "EventsApplied": "Count",
    "EventsDuplicate": "Count",
    "EventsFailed": "Count",
    "EventsRefused": "Count",
    "QueueToScore": "Milliseconds",
    "WriterConflicts": "Count",
}
PROJECTOR: Final = {
    "GapsHealed": "Count",
    "Moves": "Count",
    "MovesKnown": "Count",
    "ProjectorConflicts": "Count",
    "RecordsParked": "Count",
    "TiersRemoved": "Count",
    "WriteToRank": "Milliseconds",
}


@pytest.fixture(autouse=True)
def enabled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("POWERTOOLS_METRICS_DISABLED", "false")
    # Other tests have metrics disabled, so theirs are still here.
    metrics.clear_metrics()


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock) as deployed:
        yield deployed


@pytest.fixture
def emitted(capsys: pytest.CaptureFixture[str]) -> Any:
    """Return the metrics that were emitted since the last call, by the dimensions of their line."""

    def read() -> dict[tuple[tuple[str, str], ...], dict[str, float]]:
        found: dict[tuple[tuple[str, str], ...], dict[str, float]] = {}
        for line in (line for line in capsys.readouterr().out.splitlines() if '"_aws"' in line):
            dimensions, values = metrics_of(line)
            assert dimensions not in found, "emitted twice"
            found[dimensions] = values
        return found

    return read


def metrics_of(line: str) -> tuple[tuple[tuple[str, str], ...], dict[str, float]]:
    """Return the dimensions and metrics of a line, after checking it against the specification."""
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
        assert metric["Unit"] in {"Count", "Milliseconds"}
        assert {**WRITER, **PROJECTOR}[metric["Name"]] == metric["Unit"]
    return tuple(sorted((name, root[name]) for name in names)), values


def message(number: int, body: Any, waited: int = 0) -> dict[str, Any]:
    return {
        "messageId": f"id-{number}",
        "body": body if isinstance(body, str) else orjson.dumps(body).decode(),
        "attributes": {"SentTimestamp": str(NOW - waited)},
    }


def event(event_id: str, member: str = "m", points: Any = 1, **other: Any) -> dict[str, Any]:
    at = datetime.fromtimestamp(NOW / 1000, UTC).isoformat()
    return {"id": event_id, "board": "b", "member": member, "at": at, "metrics": {"points": points}, **other}


def test_the_writer_emits_what_became_of_events_and_the_lag(stack: Stack, engine: Any, emitted: Any) -> None:
    conflicts = [["None", "TransactionConflict"]]

    def busy_once(operation: str, request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems" and conflicts:
            raise cancelled((conflicts.pop() * len(request["TransactItems"]))[: len(request["TransactItems"])])

    engine.before.append(busy_once)
    bodies = [event("1"), event("1"), event("2", "n"), event("3", points="3"), event("4", colour=1), "{"]
    stack.writer({"Records": [message(n, body, waited=100 * n) for n, body in enumerate(bodies)]}, Context())

    found = emitted()
    # The lag is that of event 2: refused events and duplicates do not count. It includes the retry.
    assert found.pop(SERVICE) == {
        "EventsApplied": 2,
        "EventsDuplicate": 1,
        "EventsFailed": 0,
        "EventsRefused": 3,
        "QueueToScore": 200 + stack.clock() - NOW,
        "WriterConflicts": 1,
    }
    by_rule = {dict(dimensions)["rule"]: values for dimensions, values in found.items()}
    assert by_rule == {rule: {"EventsRefused": 1} for rule in ("amount", "unknown", "json")}
    assert all(dict(dimensions).keys() == {"rule", "service"} for dimensions in found)


def test_a_batch_that_counted_nothing_tells_no_lag(stack: Stack, emitted: Any) -> None:
    stack.writer({"Records": [message(0, event("1"))]}, Context())
    emitted()
    stack.writer({"Records": [message(0, event("1"), waited=500), message(1, "{", waited=500)]}, Context())

    assert emitted()[SERVICE].keys() == WRITER.keys() - {"QueueToScore"}


def test_the_projector_tells_moves_what_it_parked_and_the_lag(stack: Stack, engine: Any, emitted: Any) -> None:
    stack.writer({"Records": [message(0, event("1")), message(1, event("2", "n"))]}, Context())
    emitted()
    (shard,) = engine.stream("Scores")
    records = [orjson.loads(orjson.dumps(record)) for record in shard]
    bad = next(record for record in records if record["dynamodb"]["Keys"]["sk"]["S"] == "m")
    bad["dynamodb"]["NewImage"]["v"] = {"N": "not a number"}
    stack.clock.milliseconds += 700
    stack.projector({"Records": records}, Context())
    found = emitted()[SERVICE]

    assert found.keys() == PROJECTOR.keys()
    assert (found["RecordsParked"], found["WriteToRank"], found["ProjectorConflicts"]) == (1, 700, 0)
    assert found["Moves"] > 0
    stack.projector({"Records": [record for record in records if record is not bad]}, Context())
    again = emitted()[SERVICE]
    assert (again["Moves"], again["MovesKnown"]) == (0, found["Moves"])


CLEANED: Final = '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }'


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


@pytest.mark.usefixtures("cleaning")
def test_tiers_that_a_call_removed_count_in_no_other(
    engine: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], emitted: Any
) -> None:
    """The call fails at the second board, after it has removed the first board's tiers."""
    monkeypatch.setattr(projector, "run_parallel", lambda: one_by_one)
    removals = []

    def breaks(operation: str, request: dict[str, Any]) -> None:
        if operation == "TransactWriteItems":
            removals.append(any("Delete" in action for action in request["TransactItems"]))
            if "b01" in str(request):
                raise MemoryError

    with running(engine, ManualClock(NOW), CLEANED) as stack:
        stack.projector({"Records": records_of(stack, 300, 2)}, Context())
        moved = records_of(stack, 20_000, 2)
        engine.before.append(breaks)
        with pytest.raises(MemoryError):
            stack.projector({"Records": moved}, Context())
        engine.before.clear()
        capsys.readouterr()
        stack.projector({"Records": moved[:1]}, Context())

    assert removals == [False, True, False]
    found = emitted()[SERVICE]
    assert (found["MovesKnown"], found["TiersRemoved"]) == (1, 0)


@pytest.mark.usefixtures("cleaning")
def test_tiers_removed_by_threads_side_by_side_all_count(
    engine: Any, capsys: pytest.CaptureFixture[str], emitted: Any
) -> None:
    with running(engine, ManualClock(NOW), CLEANED) as stack:
        stack.projector({"Records": records_of(stack, 300, BOARD_COUNT)}, Context())
        moved = records_of(stack, 20_000, BOARD_COUNT)
        capsys.readouterr()
        stack.projector({"Records": moved}, Context())

    found = emitted()[SERVICE]
    assert (found["Moves"], found["TiersRemoved"]) == (BOARD_COUNT, 2 * BOARD_COUNT)


def test_the_largest_batch_is_told_in_few_lines(stack: Stack, emitted: Any) -> None:
    """A thousand refused messages emit a line for each rule, and one for all."""
    broken: list[Any] = [
        "{",
        event("", "m"),
        event("a", points=True),
        event("a", ""),
        event("a", board="/"),
        event("a", metrics={}),
        event("a", x=1),
        event("a", at="now"),
        event("a", at="2027-11-21T10:15:00Z"),
        {"id": "a", "at": "2026-11-21T10:15:00Z", "updates": []},
        {"id": "a"},
    ]
    records = [message(n, broken[n % len(broken)]) for n in range(1000)]
    stack.writer({"Records": records}, Context())
    found = emitted()
    refused = found.pop(SERVICE)["EventsRefused"]
    by_rule = Counter({dict(dimensions)["rule"]: values["EventsRefused"] for dimensions, values in found.items()})

    assert refused == by_rule.total() == 1000
    assert len(by_rule) == len(broken)
    assert by_rule.keys() <= set(get_args(Rule))
