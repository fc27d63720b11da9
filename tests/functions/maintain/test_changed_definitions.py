"""Changed definitions: old and new functions run side by side, and old numbers stay."""

from typing import Any

import orjson
import pytest

from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.boards.definitions import Metric
from standings.domain.windows.calendar import DAY
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.awslambda.pollers import Context
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000
TODAY = "2026-11-21T10:15:00Z"
ALL = '[boards."b"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
ANOTHER_FAMILY = '[boards."c"]\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
ROLLING = '[boards."b"]\nmetrics.points = { aggregate = "sum", windows = ["all", "last-7-days"] }\n'
BEST = '[boards."b"]\nmetrics.points = { aggregate = "max", ties = "TIES", windows = ["all"] }\n'


def write(stack: Stack, event_id: str, member: str, at: str = TODAY, **amounts: int) -> None:
    body = orjson.dumps({"id": event_id, "at": at, "board": "b", "member": member, "metrics": amounts}).decode()
    record = {"messageId": event_id, "body": body, "messageAttributes": {}}
    assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}
    assert stack.dead_letters.reasons() == []


def project(stack: Stack) -> None:
    """Deliver the whole stream; parked records count as done."""
    assert stack.projector({"Records": stack.dynamodb.stream("Scores")[0][:]}, Context()) == {"batchItemFailures": []}


def test_a_board_that_an_older_function_does_not_know_is_parked_whole(engine: Any) -> None:
    """The writer has the new definition, one projector the old one."""
    with running(engine, ManualClock(NOW), ANOTHER_FAMILY + ALL) as new:
        write(new, "1", "m", points=5)
    with running(engine, ManualClock(NOW), ANOTHER_FAMILY) as old:
        project(old)

    (parked,) = old.bucket.objects.values()
    assert orjson.loads(parked)["reason"] == "no family in boards.toml matches 'b'"


def test_a_best_that_was_improved_while_nobody_kept_marks_is_not_dated_by_the_one_before(engine: Any) -> None:
    """The tie key of the 10 does not apply to the 12, which has none."""
    ties_by_instant, plain = BEST.replace("TIES", "first"), BEST.replace("TIES", "member")
    with running(engine, ManualClock(NOW), ties_by_instant) as stack:
        write(stack, "1", "m", "2026-11-21T08:00:00Z", points=10)
    with running(engine, ManualClock(NOW), plain) as stack:
        write(stack, "2", "m", "2026-11-21T10:00:00Z", points=12)
    image = DynamoScores(engine, "Scores", "Receipts", faulty_client.Time(NOW).clock()).image(("b", "m"))
    assert image is not None
    assert list(image.values.values()) == [12]
    assert dict(image.tie_keys) == {}


def test_an_equal_best_changes_nothing_where_marks_are_left_over(engine: Any) -> None:
    ties_by_instant, plain = BEST.replace("TIES", "first"), BEST.replace("TIES", "member")
    scores_ = DynamoScores(engine, "Scores", "Receipts", faulty_client.Time(NOW).clock())
    with running(engine, ManualClock(NOW), ties_by_instant) as stack:
        write(stack, "1", "m", points=10)
    with running(engine, ManualClock(NOW), plain) as stack:
        write(stack, "2", "m", points=10)
        once = scores_.image(("b", "m"))
        write(stack, "3", "m", points=10)
        write(stack, "4", "m", points=10)
    assert scores_.image(("b", "m")) == once


def test_an_accumulator_that_goes_takes_its_mark_along(engine: Any) -> None:
    """An event that only adds removes it, while another metric has tie keys."""
    boards = (
        '[boards."b"]\nlate = "1 day"\nkeep = "1 day"\nmetrics.points = { aggregate = "sum", windows = ["all"] }\n'
        'metrics.latest = { aggregate = "last", windows = ["all", "day"] }\n'
    )
    with running(engine, ManualClock(NOW), boards) as stack:
        write(stack, "1", "m", latest=1)
    with running(engine, ManualClock(NOW + 10 * DAY), boards) as stack:
        write(stack, "2", "m", "2026-12-01T10:15:00Z", points=1)
    image = DynamoScores(engine, "Scores", "Receipts", faulty_client.Time(NOW).clock()).image(("b", "m"))
    assert image is not None
    assert image.tie_keys.keys() <= image.values.keys()


def test_a_sum_that_was_added_to_while_nobody_kept_marks_is_dated_by_none(engine: Any) -> None:
    ties_by_instant = '[boards."b"]\nmetrics.points = { aggregate = "sum", ties = "first", windows = ["all"] }\n'
    with running(engine, ManualClock(NOW), ties_by_instant) as stack:
        write(stack, "1", "m", "2026-11-21T08:00:00Z", points=10)
    with running(engine, ManualClock(NOW), ALL) as stack:
        write(stack, "2", "m", "2026-11-21T10:00:00Z", points=2)
    image = DynamoScores(engine, "Scores", "Receipts", faulty_client.Time(NOW).clock()).image(("b", "m"))
    assert image is not None
    assert (list(image.values.values()), dict(image.tie_keys)) == ([12], {})


def test_a_rolling_window_of_a_board_of_0_1_is_not_built_until_the_board_is_rebuilt(
    engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.1 stored rolling windows in another way, so an upgraded board must not read as an empty one."""
    clock = ManualClock(NOW)
    with monkeypatch.context() as patches, running(engine, clock, ROLLING) as stack:
        patches.setattr(Metric, "ranking_codes", property(_codes_of_0_1))
        write(stack, "1", "m", points=5)
        project(stack)
    with running(engine, clock, ROLLING) as stack:
        assert stack.get("/boards/b/points/all")[1]["total"] == 1
        status, problem = stack.get("/boards/b/points/last-7-days")
        assert (status, problem["type"]) == (404, "urn:standings:not-built")

        answer = stack.maintenance({"rebuild": {"board": "b"}}, Context())
        while not answer["done"]:
            clock.milliseconds += round(answer["wait"] * 1000)
            answer = stack.maintenance({"rebuild": {"board": "b", "begin": False}}, Context())
        assert stack.entries("/boards/b/points/last-7-days") == [{"rank": 1, "member": "m", "score": 5}]


def _codes_of_0_1(metric: Metric) -> dict[str, str]:
    return {
        window.name: metric._code_of("ranking", window.unit, metric.order, metric.ties) for window in metric.windows
    }
