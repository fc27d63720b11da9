"""Corrections of events by their ids: what moves, what stays known, which ones wait, and which are refused and why."""

from typing import Any, Final

import pytest

from benchmarks.harness.meter import Meter
from standings.aws.dynamodb.scores import RECEIPT_LIFETIME
from standings.domain.windows import DAY, MINUTE, instant
from tests.support.aws.stack import ManualClock, Stack, project, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.writers import event, reason, scores, send
from tests.support.dynamodb.items import item_size
from tests.support.dynamodb.requests import Requests

BOARDS: Final = """
[boards."club"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
[boards."bests"]
metrics.points = { aggregate = "max", windows = ["all"] }
[boards."runs"]
late = "1 day"
metrics.points = { aggregate = "sum", windows = ["all", "day", "last-7-days"], least = 0, tie_breaks = ["penalty"] }
metrics.penalty = { aggregate = "sum", order = "ascending" }
[boards."firsts"]
metrics.points = { aggregate = "sum", windows = ["all"], ties = "first" }
[boards."rolling"]
late = "1 day"
metrics.points = { aggregate = "sum", windows = ["all", "last-30-days"] }
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
"""
CLIENT: Final = Requests


def correct(of: str, points: float, own: str = "c1", **other: Any) -> dict[str, Any]:
    """A correction that keeps the `at` of its event."""
    content = {"board": "b", "member": "m", "metrics": {"points": points}, **other}
    return {"id": own, "correct": of, **content}


def retract(of: str, own: str = "c1") -> dict[str, Any]:
    return {"id": own, "retract": of}


def test_a_correction_replaces_what_its_event_counted_in_every_window(stack: Stack, clock: ManualClock) -> None:
    """The other member and the tie-break move along; the event's `at` stays unless the correction has another."""
    first: dict[str, Any] = {"metrics": {"points": 10, "penalty": 3}, "board": "runs"}
    send(stack, event("e1", **first), event("e2", 7, "n", board="runs"))
    right: dict[str, Any] = {"board": "runs", "metrics": {"points": 6, "penalty": 1}}
    assert send(stack, correct("e1", 0, **right)) == []

    for path in ("runs/points/all", "runs/points/day", "runs/points/last-7-days"):
        entries = stack.entries(f"/boards/{path}")
        assert [(one["member"], one["score"], one["tie_breaks"]) for one in entries] == [
            ("n", 7, {"penalty": 0}),
            ("m", 6, {"penalty": 1}),
        ]
    yesterday = instant(clock() - DAY)
    send(stack, correct("e1", 0, "c2", board="runs", member="n", at=yesterday, metrics={"points": 5}))
    assert scores(stack, "runs/points/all") == {"n": 12, "m": 0}
    assert scores(stack, "runs/points/day") == {"n": 7, "m": 0}
    assert scores(stack, "runs/points/day", "2026-11-20") == {"n": 5}
    send(stack, retract("e1", "c3"))
    assert scores(stack, "runs/points/all") == {"n": 7, "m": 0}
    assert scores(stack, "runs/points/day", "2026-11-20") == {"n": 0}
    assert stack.dead_letters.reasons() == []


def test_an_event_and_its_corrections_stay_known_whatever_comes_again(stack: Stack) -> None:
    """The first content, the one that counts now, and each correction; other content is refused."""
    first, second, third = event("e1", 5), correct("e1", 8), correct("e1", 9, "c2")
    # Of one batch, the correction counts after its event.
    send(stack, second, first)
    assert scores(stack) == {"m": 8}
    send(stack, third)
    for known in (first, second, third, {**first, "metrics": {"points": 9}}):
        assert send(stack, known, known) == []
        assert scores(stack) == {"m": 9}
    # Both contents in one batch, too.
    send(stack, first, {**first, "metrics": {"points": 9}}, first)
    assert (scores(stack), stack.dead_letters.reasons()) == ({"m": 9}, [])
    send(stack, first, {**first, "metrics": {"points": 8}})
    assert "used before, for an event with other content" in reason(stack)
    send(stack, {**second, "metrics": {"points": 1}})
    assert "used before, for an event with other content" in reason(stack)
    send(stack, retract("e1", "c3"))
    for known in (first, second, third, retract("e1", "c3")):
        send(stack, known)
        assert scores(stack) == {"m": 0}
    send(stack, correct("e1", 4, "c4"), first)
    assert scores(stack) == {"m": 4}


def test_the_status_of_an_event_says_when_and_by_what_it_was_corrected(stack: Stack, clock: ManualClock) -> None:
    def status(event_id: str) -> dict[str, Any]:
        code, content = stack.get("/events", id=event_id)
        assert code == 200
        return {name: value for name, value in content.items() if name not in ("id", "status")}

    counted = instant(clock())
    send(stack, event("e1"))
    clock.milliseconds += 7 * MINUTE
    send(stack, correct("e1", 2))
    corrected = {"corrected": {"at": instant(clock()), "by": "c1"}}
    assert status("e1") == {"at": counted, **corrected}
    assert status("c1") == {"at": instant(clock()), "corrects": "e1"}
    clock.milliseconds += MINUTE
    send(stack, retract("e1", "c2"))
    assert status("e1") == {"at": counted, "retracted": {"at": instant(clock()), "by": "c2"}}


def test_a_correction_that_comes_first_waits_for_a_quarter_of_an_hour(stack: Stack, clock: ManualClock) -> None:
    sent = clock()
    assert send(stack, correct("e1", 8), sent=sent) == ["c1"]
    clock.milliseconds += 15 * MINUTE - 1
    assert send(stack, correct("e1", 8), retract("e2", "c2"), sent=sent) == ["c1", "c2"]
    send(stack, event("e1", 5))
    clock.milliseconds += 1
    assert send(stack, correct("e1", 8), retract("e2", "c2"), sent=sent) == []
    assert scores(stack) == {"m": 8}
    assert reason(stack).startswith("correct: the event 'e2' cannot be corrected: it has not counted: post it")


def test_a_pair_whose_member_was_removed_is_left_out(stack: Stack, clock: ManualClock) -> None:
    """By a retraction. Another content is refused, whether or not the member is back."""
    pair: dict[str, Any] = {"board": ["b", "c"]}
    send(stack, event("e1", 5, **pair), event("e2", 3))
    assert stack.delete("/boards/b/member", id="m")[0] == 204
    send(stack, correct("e1", 8, **pair))
    assert "'m' was removed from board 'b' since: take it back, then post the right content" in reason(stack)
    send(stack, event("e3", 1))
    send(stack, correct("e1", 8, "c2", **pair))
    assert "'m' was removed from board 'b' since" in reason(stack)
    send(stack, retract("e1", "c3"), retract("e2", "c4"))
    assert (scores(stack), scores(stack, "c/points/all")) == ({"m": 1}, {"m": 0})
    # What was taken back stays known, even if all its members were removed since; so does what was corrected.
    send(stack, event("e4", 7), correct("e4", 6, "c5"))
    stack.delete("/boards/b/member", id="m")
    clock.milliseconds += 2 * MINUTE
    send(stack, event("e2", 3), event("e4", 7))
    assert scores(stack) == {}
    # The content that counted last counts again, and the first stays known.
    send(stack, event("e4", 7), event("e4", 6))
    send(stack, event("e4", 7), event("e4", 6), correct("e4", 6, "c5"))
    assert scores(stack) == {"m": 6}
    send(stack, correct("e4", 2, "c6"))
    assert scores(stack) == {"m": 2}


def test_what_a_merged_member_counted_is_neither_corrected_nor_taken_back(stack: Stack, clock: ManualClock) -> None:
    """The other member has it. What either counts afterwards is corrected as ever."""
    send(stack, event("e1", 5), event("e2", 3, "n"))
    clock.milliseconds += 1_000
    merge = {"merge": {"board": "b", "old": "m", "new": "n"}}
    assert stack.maintenance(merge, Context())["merged"]
    project(stack)
    for wrong in (correct("e1", 8), retract("e1", "c2")):
        send(stack, wrong)
        assert "'m' of board 'b' was merged into another member since: post the difference for that" in reason(stack)
    assert scores(stack) == {"n": 8}
    send(stack, retract("e2", "c3"), event("e3", 2), correct("e3", 4, "c4"))
    assert scores(stack) == {"m": 4, "n": 5}


@pytest.mark.parametrize(
    ("first", "instead", "expected"),
    [
        (event("e1", set=True), retract("e1"), "it set a total or a best: set the right one with a new id"),
        (event("e1", board="bests"), retract("e1"), "another aggregate than sum: set the right max or min"),
        (event("e1"), correct("e1", 1, board="bests"), "metrics.points: expected an amount of a metric with aggregate"),
        (event("e1"), correct("e1", 1, set=True), "set: expected an amount of a metric with aggregate sum"),
        (
            event("e1", board="runs"),
            correct("e1", -1, board="runs"),
            "expected at least 0 on board 'runs' (to lower a score, correct its event",
        ),
        (event("e1"), correct("e1", 1, board="club"), "member: 'm' is not registered on board 'club'"),
        (event("e1"), {**retract("e1"), "at": "2026-11-21T10:15:00Z"}, "at: no such field; there are id, retract"),
        (event("e1"), {**retract("e1"), "retract": 7}, "retract: expected text, got 7"),
        (event("e1"), {**retract("e1"), "retract": ""}, "retract: expected the id of an event, 1 to 128 characters"),
        (event("e1"), correct("c1", 1), "id: expected an id of its own in a correction"),
        (event("e1"), correct("e1", 1, metrics={"nothing": 1}), "board 'b' has no metric 'nothing'"),
        (
            {
                "id": "e1",
                "at": "2026-11-21T10:15:00Z",
                "updates": [
                    {"board": "b", "member": f"a member with a rather long id {n}", "metrics": {"points": n}}
                    for n in range(20)
                ],
            },
            retract("e1"),
            "it counted in more places than its receipt has room for: post what is missing",
        ),
        (
            event("e1"),
            {
                "id": "c1",
                "correct": "e1",
                "updates": [
                    {"board": "b", "member": f"a member with a rather long id {n}", "metrics": {"points": n}}
                    for n in range(20)
                ],
            },
            "the new content counts in more places than a receipt has room for",
        ),
    ],
)
def test_a_correction_is_refused_with_what_to_do(
    stack: Stack, first: dict[str, Any], instead: dict[str, Any], expected: str
) -> None:
    send(stack, first)
    assert send(stack, instead) == []
    assert expected in reason(stack)


def test_a_correction_cannot_be_corrected_and_an_event_only_for_thirty_days(stack: Stack, clock: ManualClock) -> None:
    send(stack, event("e1"), correct("e1", 2))
    send(stack, retract("c1", "c2"))
    assert "it is a correction: correct 'e1', which it corrects" in reason(stack)
    clock.milliseconds += RECEIPT_LIFETIME
    send(stack, retract("e1", "c3"))
    assert "it counted more than 30 days ago: post the difference with a new id" in reason(stack)


def test_a_closed_period_stays_as_it_is(stack: Stack, clock: ManualClock) -> None:
    """A day until `late` after it; a rolling window as long as nothing that has closed can be read."""
    send(stack, event("e1", 5, board="runs"), event("e2", 5, board="rolling"))
    clock.milliseconds += 2 * DAY - 10 * 3_600_000 - 15 * MINUTE - MINUTE
    send(stack, correct("e1", 6, board="runs"))
    assert scores(stack, "runs/points/day", "2026-11-21") == {"m": 6}
    clock.milliseconds += 2 * MINUTE
    send(stack, correct("e1", 7, "c2", board="runs"))
    why = reason(stack)
    assert "points in day 2026-11-21 has closed: post the difference with a new id (if it is below `least` of" in why
    assert why.endswith("lower that in boards.toml for that time), or, unless it is settled, correct it with history")
    assert scores(stack, "runs/points/day", "2026-11-21") == {"m": 6}
    clock.milliseconds += 10 * DAY
    send(stack, correct("e2", 8, "c3", board="rolling"))
    assert scores(stack, "rolling/points/last-30-days") == {"m": 8}
    # What came late counts in open periods alone, and is corrected there.
    send(stack, event("e3", 1, "n", board="rolling"))
    send(stack, correct("e3", 2, "c4", member="n", board="rolling"))
    assert scores(stack, "rolling/points/last-30-days") == {"m": 8, "n": 2}
    clock.milliseconds += 3 * DAY
    send(stack, event("e4", 1, "o", board="rolling"))
    send(stack, retract("e3", "c5"))
    assert scores(stack, "rolling/points/last-30-days") == {"m": 8, "n": 0, "o": 1}


def test_among_equals_the_time_of_the_latest_event_stays(stack: Stack) -> None:
    at = {"board": "firsts", "at": "2026-11-21T09:00:00Z"}
    send(stack, event("e1", 5, "a", **at), event("e2", 5, "z", **{**at, "at": "2026-11-21T08:00:00Z"}))
    send(stack, event("e3", 1, "z", board="firsts"))
    send(stack, retract("e3"))
    assert list(scores(stack, "firsts/points/all").items()) == [("a", 5), ("z", 5)]


def test_a_receipt_takes_one_write_unit_whatever_it_holds(stack: Stack) -> None:
    """That of an event, and that of a corrected one, as long as it has room for the content."""
    for number in range(32):
        member, own = "m" * (3 * number), ("🏃" if number % 2 else "x") * (4 * number)
        updates = [{"board": "b", "member": f"{member}{n}", "metrics": {"points": n}} for n in range(number % 20 + 1)]
        first = {"id": f"{own}{number}", "at": "2026-11-21T10:15:00Z", "updates": updates}
        send(stack, first, {"id": f"{own}c{number}", "correct": first["id"], "updates": updates})
    receipts = stack.dynamodb.scan(TableName="Receipts")["Items"]
    assert max(map(item_size, receipts)) <= 1_024
    assert sum("b" in receipt for receipt in receipts) >= 10
    assert sum(receipt.get("c") == {"S": "large"} for receipt in receipts) >= 5


@pytest.mark.parametrize("pairs", [1, 2, 5])
@pytest.mark.parametrize("board", ["b", "runs"])
def test_a_correction_costs_at_most_two_events(engine: Any, clock: ManualClock, board: str, pairs: int) -> None:
    """In write units, from the writer to the index: of the same members, of others, and taken back.

    The content of the event, in its receipt, costs none: a receipt is one unit in any case, two in a transaction.
    """
    meter = Meter(engine)

    def spent(*events: dict[str, Any]) -> float:
        before = meter.snapshot()
        send(stack, *events)
        spent = meter.snapshot() - before
        return sum(units.write for units in spent.operations.values())

    def updates(first: int, points: int) -> list[dict[str, Any]]:
        members = range(first, first + pairs)
        return [{"board": board, "member": f"m{n}", "metrics": {"points": points}} for n in members]

    with running(Requests(meter), clock, BOARDS) as stack:
        for first in (0, pairs):
            send(stack, *({**event(f"x{first}-{n}"), **updates(first, 50)[n]} for n in range(pairs)))
        one = spent({"id": "e1", "at": "2026-11-21T10:15:00Z", "updates": updates(0, 40)})
        receipt = engine.get_item(TableName="Receipts", Key={"pk": {"S": "e1"}})["Item"]
        assert "c" in receipt
        corrections = (
            {"id": "c1", "correct": "e1", "updates": updates(0, 7)},
            {"id": "c2", "correct": "e1", "updates": updates(pairs, 40)},
            retract("e1", "c3"),
        )
        for correction in corrections:
            assert spent(correction) <= 2 * one
