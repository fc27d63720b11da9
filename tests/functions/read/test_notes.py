"""Notes: what a read shows beside a score is what the event said from which the score came."""

from typing import Any

import pytest

from benchmarks.harness.meter import Meter, Units
from tests.support.aws.stack import Stack, count, project
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.dynamodb.items import item_size

NOW = 1_795_256_100_000
BOARDS = """
[boards."*"]
metrics.best = { aggregate = "max", notes = true, windows = ["all", "day", "last-3-days"] }
metrics.time = { aggregate = "min", notes = true, order = "ascending", precision = 1, windows = ["all"] }
metrics.level = { aggregate = "last", notes = true, windows = ["all"] }
metrics.runs = { aggregate = "sum", windows = ["all"] }
"""
CLIENT = Meter
TODAY, YESTERDAY = "2026-11-21T10:00:00Z", "2026-11-20T10:00:00Z"


def send(stack: Stack, *events: dict[str, Any]) -> None:
    """Post events, each by itself, write them and project them."""
    for event in events:
        assert stack.post("/events", {"at": TODAY, "board": "b", "member": "m", **event})[0] == 202
    count(stack)


def noted(stack: Stack) -> Any:
    """The score and the note of the member."""
    answer = stack.get("/boards/b/best/all/rank", member="m", notes="true")[1]
    return answer["score"], answer["note"]


def test_every_read_that_shows_scores_shows_notes(stack: Stack) -> None:
    send(stack, {"id": "1", "metrics": {"best": 5}, "note": {"n": 1}})
    send(stack, {"id": "2", "member": "other", "metrics": {"best": 4}})
    first = {"rank": 1, "member": "m", "score": 5, "note": {"n": 1}}
    entries = [first, {"rank": 2, "member": "other", "score": 4, "note": None}]

    for arguments in ({}, {"rank": 1}, {"around": "m"}):
        assert stack.get("/boards/b/best/all", notes="true", **arguments)[1]["entries"] == entries
    cursor = stack.get("/boards/b/best/day", limit=1)[1]["next"]
    assert stack.get("/boards/b/best/day", notes="true", cursor=cursor)[1]["entries"] == entries[1:]
    page = stack.get("/boards/b/best/all", notes="true", me="other")[1]["me"]
    assert (page["note"], page["ahead"]["note"]) == (None, {"n": 1})
    group = stack.post("/boards/b/best/all/ranks", {"members": ["nobody", "m"]}, notes="true")[1]["entries"]
    assert [entry["note"] for entry in group] == [None, {"n": 1}]
    card = stack.get("/boards/b/member", id="m", notes="true")[1]["metrics"]
    shown = [(one["note"], [window["note"] for window in one["windows"]]) for one in card]
    assert shown == [({"n": 1}, [{"n": 1}] * 3), *[(None, [None])] * 3]
    assert "note" not in stack.get("/boards/b/best/all")[1]["entries"][0]


def test_a_note_of_another_score_than_the_one_shown_is_not_shown(stack: Stack) -> None:
    """The item is ahead of the list until its change is projected."""
    send(stack, {"id": "1", "metrics": {"best": 5}, "note": {"n": 1}})
    better = {"id": "2", "at": TODAY, "board": "b", "member": "m", "metrics": {"best": 7}, "note": {"n": 2}}
    assert stack.post("/events", better)[0] == 202
    stack.writer({"Records": stack.activity.records()}, Context())

    assert noted(stack) == (5, None)
    project(stack)
    assert noted(stack) == (7, {"n": 2})


@pytest.mark.parametrize("value", ["1e400", "-1E+309", "[" * 300 + "]" * 300], ids=range(3))
def test_a_note_that_parsers_cannot_hold_is_refused(stack: Stack, value: str) -> None:
    """Both where it is posted and in a message that somebody else put on the queue."""
    note = f'"note": {{"n": {value}}}'
    body = f'{{"id": "1", "at": "{TODAY}", "board": "b", "member": "m", "metrics": {{"best": 1}}, {note}}}'
    (result,) = stack.post("/events", body)[1]["results"]
    record = {"messageId": "1", "body": body, "messageAttributes": {}}
    assert stack.writer({"Records": [record]}, Context()) == {"batchItemFailures": []}

    assert result["detail"].startswith("note: expected an object with fewer levels, and no number beyond")
    assert stack.dead_letters.reasons() == [result["detail"]]


def test_notes_cost_at_most_a_unit_for_each_kb_of_the_items_and_nothing_where_nobody_asks(stack: Stack) -> None:
    meter = stack.dynamodb
    note = {"n": "x" * 240}
    for day in range(12, 21):  # each day adds a number, with the note and the id of an event
        amounts = {"best": day, "time": 50 - day, "level": day}
        send(stack, {"id": f"{day:0128}", "at": f"2026-11-{day}T10:00:00Z", "metrics": amounts, "note": note})
    send(stack, {"id": "small", "member": "other", "metrics": {"best": 1}, "note": {}})
    sizes = [item_size(item) for item in rows(meter, "Scores") if item["sk"]["S"] in {"m", "other"}]
    kilobytes = sum(-(-size // 1024) for size in sizes)

    def cost(**arguments: Any) -> tuple[float, float]:
        before = meter.snapshot()
        assert stack.get("/boards/b/best/all", **arguments)[0] == 200
        spent = meter.snapshot() - before
        return spent.total.read, spent.tables.get("Scores", Units()).read

    cost()  # the board's record is read once a minute
    without, with_notes = cost(), cost(notes="true")

    assert max(sizes) > 4 * 1024
    assert without[1] == 0
    assert with_notes[0] - without[0] == with_notes[1] == sum(-(-size // 4096) / 2 for size in sizes) <= kilobytes
