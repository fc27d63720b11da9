"""Events of history: they count in each period that can be read, closed or not, and in no settled one."""

from random import Random
from typing import Any, Final

import orjson
import pytest

from standings.domain.events import WITHOUT_HISTORY
from standings.domain.windows import DAY, instant
from tests.support.aws.stack import ManualClock, Stack, http_event, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.maintenance import finish
from tests.support.builders.stages import writers
from tests.support.builders.stages.writers import event, reason, scores
from tests.support.dynamodb.requests import Requests
from tests.support.dynamodb.tables import engine_with_tables
from tests.support.thoroughness import seeds

BOARDS: Final = """
[boards."settles"]
late = "1 day"
keep = "60 days"
settle = ["day", "month"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "month", "last-7-days"], tie_breaks = ["penalty"] }
metrics.penalty = { aggregate = "sum", order = "ascending", least = 0 }
metrics.best = { aggregate = "max", windows = ["all", "day"] }
[boards."*"]
late = "1 day"
keep = "60 days"
metrics.points = { aggregate = "sum", windows = ["all", "day", "month", "last-7-days"] }
"""
CLIENT: Final = Requests


def send(stack: Stack, *events: dict[str, Any], history: bool = True) -> None:
    """Give events to the writer in one batch, which takes them all."""
    assert writers.send(stack, *events, history=history) == []


def known(stack: Stack, *events: dict[str, Any]) -> list[str | None]:
    """What a dry run says of known events that come as history: None where nothing is missing."""
    results = stack.post("/events", list(events), dry_run="true", history="true")[1]["results"]
    assert {one["status"] for one in results} == {"known"}
    return [one["detail"] for one in results]


def settle(stack: Stack, window: str, period: str, **more: Any) -> Any:
    about = {"board": "settles", "window": window, "period": period, "metric": "points", **more}
    return finish(stack, "settle", **about)["rankings"][-1]


def test_history_counts_in_closed_periods_that_can_be_read(stack: Stack, clock: ManualClock) -> None:
    """A day of 20 days ago, its month, and rolling periods that contain it; an event of years ago in `all` alone."""
    old: dict[str, Any] = {"at": instant(clock() - 20 * DAY)}
    send(stack, event("now", 1, board="b"), history=False)
    send(stack, event("late", 2, "n", board="b", **old), history=False)
    send(stack, event("h", 5, board="b", **old), event("older", 7, board="b", at="2019-01-01T00:00:00Z"))
    assert scores(stack, "b/points/all") == {"m": 13, "n": 2}
    assert scores(stack, "b/points/day", "2026-11-01") == {"m": 5}
    assert scores(stack, "b/points/month") == {"m": 6, "n": 2}
    send(stack, event("week", 3, board="b", at=instant(clock() - 3 * DAY)))
    assert scores(stack, "b/points/last-7-days") == {"m": 4}
    # A known row stays known; what counted in `all` alone is corrected with history.
    send(stack, event("late", 2, "n", board="b", **old))
    assert scores(stack, "b/points/day", "2026-11-01") == {"m": 5}
    late, whole = event("late", 2, "n", board="b", **old), event("h", 5, board="b", **old)
    assert known(stack, late, whole, event("now", 1, board="b")) == [WITHOUT_HISTORY, None, None]
    again = {"id": "c", "correct": "late", "board": "b", "member": "n", "metrics": {"points": 2}}
    send(stack, again)
    assert scores(stack, "b/points/day", "2026-11-01") == {"m": 5, "n": 2}
    assert known(stack, late, whole) == [None, None]
    send(stack, {"id": "r", "retract": "h"}, history=False)
    assert "points in day 2026-11-01 has closed: post the difference with a new id, or, unless it" in reason(stack)
    send(stack, {"id": "r2", "retract": "h"})
    assert scores(stack, "b/points/day", "2026-11-01") == {"n": 2, "m": 0}
    assert stack.dead_letters.reasons() == []


def test_a_settled_period_takes_none(stack: Stack, clock: ManualClock) -> None:
    """Its rolling windows and its month do. A tie-break goes with the ranking that it orders."""
    at: dict[str, Any] = {"at": instant(clock() - 3 * DAY), "board": "settles"}
    first = event("first", 4, "n", **at, metrics={"points": 4, "penalty": 0})
    send(stack, first)
    assert scores(stack, "settles/points/day", "2026-11-18") == {"n": 4}
    assert settle(stack, "day", "2026-11-18")["settled"]
    send(stack, event("h", 5, **at), event("p", 5, "o", **at, metrics={"points": 1, "penalty": 2, "best": 3}))
    assert scores(stack, "settles/points/day", "2026-11-18") == {"n": 4}
    assert scores(stack, "settles/best/day", "2026-11-18") == {"o": 3}
    assert scores(stack, "settles/points/month") == {"n": 4, "m": 5, "o": 1}
    assert scores(stack, "settles/points/last-7-days") == {"n": 4, "m": 5, "o": 1}
    assert known(stack, first, event("h", 5, **at)) == [None, None], "nothing can be mended"
    send(stack, {"id": "c", "retract": "first"})
    advice = "post the difference with a new id (if it is below `least` of penalty, lower that in boards.toml for that"
    assert f"a period in which it counted is settled: {advice} time)" in reason(stack)
    send(stack, {"id": "c2", "retract": "h"})
    assert scores(stack, "settles/points/last-7-days") == {"n": 4, "o": 1, "m": 0}
    assert settle(stack, "day", "2026-11-18", again=True)["summary"]["members"] == 1


@pytest.mark.parametrize("notes", ["settle", "schedule", "list"])
def test_a_period_that_version_0_3_settled_takes_none_and_others_do(
    stack: Stack, clock: ManualClock, notes: str
) -> None:
    """Its records of boards do not say what is settled: the maintenance function looks for the files."""
    old: dict[str, Any] = {"at": instant(clock() - 3 * DAY), "board": "settles"}
    older = {**old, "at": instant(clock() - 4 * DAY)}
    send(stack, event("first", 4, "n", **old), event("other", 4, "n", **older))
    assert settle(stack, "day", "2026-11-18")["settled"]
    forget_what_is_settled(stack)
    sent = [event("h", 5, **old), event("h2", 5, **older), {"id": "c", "retract": "other"}]
    for one in sent:
        send(stack, one)
        assert "nobody has noted yet which periods of its board are settled" in reason(stack)
    if notes == "settle":
        assert settle(stack, "day", "2026-11-18")["settled"]
    elif notes == "schedule":
        assert stack.maintenance({"settlements": {"next": {}}}, Context(seconds=900))["done"]
    else:
        listed = stack.maintenance({"settlements": {"list": {"board": "settles"}}}, Context(seconds=900))
        assert [one["period"] for one in listed["results"]] == ["2026-11-18"]
    send(stack, *sent)
    assert scores(stack, "settles/points/day", "2026-11-18") == {"n": 4}
    assert scores(stack, "settles/points/day", "2026-11-17") == {"n": 0, "m": 5}
    assert scores(stack, "settles/points/all") == {"n": 4, "m": 10}


def test_a_family_that_begins_to_settle_locks_nothing(engine: Any, clock: ManualClock) -> None:
    at: dict[str, Any] = {"at": instant(clock() - 3 * DAY), "board": "settles"}
    with running(engine, clock, BOARDS.replace('settle = ["day", "month"]\n', "")) as stack:
        send(stack, event("first", 4, "n", **at))
    with running(engine, clock, BOARDS) as stack:
        assert not stack.maintenance({"settlements": {"list": {"board": "settles"}}}, Context(seconds=900))["results"]
        send(stack, event("h", 5, **at), {"id": "c", "retract": "first"})
        assert stack.dead_letters.reasons() == []
        assert scores(stack, "settles/points/day", "2026-11-18") == {"n": 0, "m": 5}


def forget_what_is_settled(stack: Stack) -> None:
    """Make the board's record one of version 0.3."""
    key = {"pk": {"S": "#boards"}, "sk": {"S": "settles"}}
    record = stack.dynamodb.get_item(TableName="Scores", Key=key)["Item"]
    content = orjson.loads(record["d"]["S"])
    assert content.pop("settled")
    stack.dynamodb.put_item(TableName="Scores", Item={**record, "d": {"S": orjson.dumps(content).decode()}})


@pytest.mark.parametrize(("scope", "status"), [("standings/write", 403), ("standings/write standings/admin", 202)])
def test_history_over_http_is_for_administrators(stack: Stack, scope: str, status: int) -> None:
    request = http_event("/events", "history=true", "POST", event("h", board="b"))
    request["requestContext"]["authorizer"] = {"jwt": {"claims": {"scope": scope}, "scopes": None}}
    assert stack.command(request, None)["statusCode"] == status
    attributes = [message["MessageAttributes"] for message in stack.activity.messages]
    assert [one["history"]["StringValue"] for one in attributes] == ["true"] * (status == 202)


@pytest.mark.parametrize("seed", seeds(2, 20))
def test_a_file_of_two_years_gives_the_lists_of_events_on_time(seed: int, clock: ManualClock) -> None:
    """Posted at once with history, in any order; compared whole in every period that can be read."""
    rng, end = Random(seed), clock()
    late = 'late = "1 day"\nkeep = "400 days"'
    boards = BOARDS.replace('[boards."*"]\nlate = "1 day"\nkeep = "60 days"', f'[boards."*"]\n{late}')
    times = sorted(end - round(rng.random() ** 3 * 700 * DAY) for _ in range(150))
    events = [
        event(f"e{n}", rng.randint(0, 9), rng.choice("abcde"), board="b", at=instant(at)) for n, at in enumerate(times)
    ]
    found = []
    for is_on_time in (True, False):
        with running(Requests(engine_with_tables()), clock, boards) as stack:
            for at, one in zip(times, events, strict=True) if is_on_time else ():
                clock.milliseconds = at
                send(stack, one, history=False)
            clock.milliseconds = end
            send(stack, *([] if is_on_time else rng.sample(events, len(events))))
            found.append(lists(stack))
    assert found[0] == found[1]
    assert sum(map(bool, found[0].values())) > 20


def lists(stack: Stack) -> dict[tuple[str, str], Any]:
    """Every list of the board in every period that can be read."""
    answers: dict[tuple[str, str], Any] = {}
    for window in ("all", "day", "month", "last-7-days"):
        period: str | None = None
        while window != "all" or not answers:
            status, page = stack.get(f"/boards/b/points/{window}", period=period, limit=1000)
            if status != 200:
                break
            answers[window, page["period"]["name"] or ""] = [(one["member"], one["score"]) for one in page["entries"]]
            period = page["period"]["previous"]
            if period is None:
                break
    return answers


def test_an_empty_period_that_was_left_takes_history(stack: Stack, clock: ManualClock) -> None:
    """Nothing of it is sealed, so a settlement that leaves it may not close it."""
    at: dict[str, Any] = {"at": instant(clock() - 3 * DAY), "board": "settles"}
    send(stack, event("first", 4, "n", board="settles"))
    left = settle(stack, "day", "2026-11-18")
    assert (left["settled"], left["empty"]) == (False, True)
    send(stack, event("h", 5, **at))
    assert scores(stack, "settles/points/day", "2026-11-18") == {"m": 5}
    assert settle(stack, "day", "2026-11-18")["summary"]["members"] == 1
    send(stack, event("h2", 5, "n", **at))
    assert scores(stack, "settles/points/day", "2026-11-18") == {"m": 5}
