"""An event with `"set": true` makes totals what it says, and counts the difference; it replaces bests.

`tests/properties/test_machine.py` and `tests/faults/test_schedules.py` set numbers beside all that can happen.
"""

import random
from typing import Any, Final

from standings.domain.events import TO_LOWER
from standings.domain.windows import DAY, SECOND
from tests.support.aws.stack import ManualClock, Stack, apply, count, deliver
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.writers import AT, event
from tests.support.dynamodb.requests import Requests

BOARDS: Final = """
[boards."limited"]
metrics.points = { aggregate = "sum", precision = 1, least = -2, most = 5, windows = ["all"] }
[boards."club"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
[boards."bests"]
late = "1 day"
keep = "40 days"
seasons = [{ name = "autumn", starts = "2026-11-01", ends = "2026-12-01" }]
metrics.weight = { with = "points", order = "ascending" }
[boards."bests".metrics.points]
aggregate = "max"
least = 0
most = 200
notes = true
tie_breaks = ["weight"]
windows = ["all", "day", "last-7-days", "season", "week"]
[boards."*"]
late = "1 day"
metrics.points = { aggregate = "sum", windows = ["all", "day"] }
metrics.runs = { aggregate = "sum", ties = "first", windows = ["all"] }
[boards."plain"]
metrics.points = { aggregate = "sum", windows = ["all"] }
"""
CLIENT: Final = Requests


def scores(stack: Stack, board: str = "b") -> dict[str, float]:
    """The member's score in each window."""
    _, card = stack.get(f"/boards/{board}/member", id="m")
    (windows,) = (one["windows"] for one in card["metrics"] if one["metric"] == "points")
    return {one["window"]: one["score"] for one in windows}


def best(event_id: str, points: int, day: int, member: str = "m", **more: Any) -> dict[str, Any]:
    """A lift on a day of November; its note has the event's id."""
    metrics = {"points": points, "weight": day}
    about: dict[str, Any] = {
        "board": "bests",
        "at": f"2026-11-{day}T09:00:00Z",
        "note": {"of": event_id},
        "metrics": metrics,
    }
    return event(event_id, member=member, **about, **more)


def bests(stack: Stack, **period: str) -> list[float | None]:
    """The member's best in all, the day, the last seven days, the season and the week."""
    answers = [
        stack.get(f"/boards/bests/points/{window}/rank", member="m", **(period if window == "day" else {}))[1]
        for window in ("all", "day", "last-7-days", "season", "week")
    ]
    return [answer.get("score") for answer in answers]


def total(stack: Stack, member: str) -> int:
    return int(next(one["score"] for one in stack.entries("/boards/b/points/all") if one["member"] == member))


def test_several_totals_are_set_together_or_none(stack: Stack) -> None:
    apply(stack, [event("1", 7, board=["b", "plain"], at="2026-11-20T10:00:00Z")])
    shares: list[dict[str, Any]] = [
        {"board": ["b", "plain"], "member": "m", "metrics": {"points": 2}, "set": True},
        {"board": "b", "member": "n", "metrics": {"points": 3, "runs": 1}},
    ]
    apply(stack, [{"id": "2", "at": AT, "updates": shares}])
    assert (scores(stack), scores(stack, "plain")) == ({"all": 2, "day": -5}, {"all": 2})

    shares = [{**shares[0], "board": "b"}, {"board": "club", "member": "m", "metrics": {"points": 3}, "set": True}]
    deliver(stack, [{"id": "3", "at": AT, "updates": [{**shares[0], "metrics": {"points": 9}}, shares[1]]}])
    assert (scores(stack)["all"], stack.dead_letters.reasons()) == (
        2,
        ["member: 'm' is not registered on board 'club'"],
    )


def test_of_several_totals_that_of_the_latest_at_stays_in_whichever_order_they_come(stack: Stack) -> None:
    """Of equal ones the one with the greatest id. Lists over HTTP without `at` have a millisecond more each."""
    rng = random.Random(7)
    for number in range(30):
        times = [f"2026-11-21T10:0{rng.randint(0, 2)}:00Z" for _ in range(4)]
        sets = [
            event(f"{number}-{k}", k, f"m{number}", board=rng.choice(("b", ["b", "plain"])), at=at, set=True)
            for k, at in enumerate(times)
        ]
        latest = max(range(4), key=lambda k: (times[k], k))
        for batch in ([sets[:2], sets[2:]], [sets[2:], sets[:2]], [sets])[number % 3]:
            apply(stack, rng.sample(batch, len(batch)))
        assert total(stack, f"m{number}") == latest
    untimed = [event(f"u{k}", k, "u", board=("b", ["b", "plain"])[k % 2], set=True) for k in range(4)]
    stack.post("/events", [{name: value for name, value in one.items() if name != "at"} for one in untimed])
    count(stack)
    assert total(stack, "u") == 3


def test_a_total_that_comes_too_late_says_so_for_good_and_a_removal_forgets_it(stack: Stack) -> None:
    late = event("late", 3, at="2026-11-20T10:00:00Z", set=True)
    apply(stack, [event("first", 8, set=True)])
    apply(stack, [event("more", 1, at="2026-11-19T10:00:00Z"), late, late])
    assert scores(stack)["all"] == 9
    known = {name: stack.get("/events", id=name)[1].get("superseded") for name in ("first", "more", "late")}
    assert known == {"first": None, "more": None, "late": True}

    stack.delete("/boards/b/member", id="m")
    apply(stack, [event("later", 2, at="2026-11-20T10:00:00Z", set=True)])
    assert scores(stack) == {"all": 2, "day": None}


def test_a_best_is_replaced_in_all_and_in_the_open_periods_that_contain_its_time(
    stack: Stack, clock: ManualClock
) -> None:
    clock.milliseconds -= 3 * DAY
    apply(stack, [best("1", 120, 18)])
    clock.milliseconds += 3 * DAY
    apply(stack, [best("2", 150, 20), best("3", 90, 21)])
    assert bests(stack) == [150, 90, 150, 150, 150]

    apply(stack, [best("right", 100, 20, set=True)])
    assert bests(stack) == [100, 90, 120, 100, 100]
    assert bests(stack, period="2026-11-20")[1] == 100
    page = stack.get("/boards/bests/points/week", notes="true")[1]["entries"]
    assert page == [{"rank": 1, "member": "m", "score": 100, "tie_breaks": {"weight": 20}, "note": {"of": "right"}}]
    # One of a closed day; in all periods that are open, another one is later.
    apply(stack, [best("older", 70, 18, set=True)])
    assert [*bests(stack), bests(stack, period="2026-11-18")[1]] == [100, 90, 120, 100, 100, 120]
    known = {name: stack.get("/events", id=name)[1].get("superseded") for name in ("right", "older")}
    assert known == {"right": None, "older": True}
    stack.post("/events", [best("history", 70, 18, set=True)], history="true")
    count(stack)
    assert [*bests(stack), bests(stack, period="2026-11-18")[1]] == [100, 90, 100, 100, 100, 70]

    # What it replaced stays known; what comes later and is better counts, whatever its time.
    apply(stack, [best("2", 150, 20), best("better", 130, 17)])
    for task in ("rebuild", "audit"):
        payload: dict[str, Any] = {"board": "bests", "begin": True} if task == "rebuild" else {"board": "bests"}
        while not (answer := stack.maintenance({task: payload}, Context()))["done"]:
            clock.milliseconds += round(answer.get("wait", 0) * SECOND)
            payload |= {"begin": False} if task == "rebuild" else {"cursor": answer["cursor"]}
        assert not answer.get("drift")
    assert bests(stack) == [130, 90, 130, 130, 130]


def test_bests_that_are_set_stay_by_their_time_in_each_period(stack: Stack) -> None:
    """In whichever order they come, alone or together."""
    rng = random.Random(11)
    for number in range(12):
        days = [rng.choice((20, 21)) for _ in range(4)]
        of = [
            [best(f"{number}{k}{who}", k, day, f"{who}{number}", set=True) for k, day in enumerate(days)]
            for who in "ab"
        ]
        apply(stack, of[0])
        for one in rng.sample(of[1], 4):
            apply(stack, [one])
        stay = {day: k for k, day in enumerate(days)}
        for who in "ab":
            for window, period, expected in (
                ("all", None, stay[max(days)]),
                *(("day", f"2026-11-{day}", k) for day, k in stay.items()),
                ("last-7-days", None, max(stay.values())),
                ("week", None, stay[max(days)]),
            ):
                path = f"/boards/bests/points/{window}/rank"
                about = {} if period is None else {"period": period}
                assert stack.get(path, member=f"{who}{number}", **about)[1]["score"] == expected


def test_least_and_most_bound_the_change_of_a_total_and_a_best_itself(stack: Stack) -> None:
    apply(stack, [best("best", 200, 21, set=True)])
    deliver(stack, [best("beyond", 201, 21, set=True)])
    assert (bests(stack)[0], stack.dead_letters.reasons()) == (
        200,
        ["metrics.points: expected at least 0 and at most 200 on board 'bests', got 201"],
    )
    stack.dead_letters.messages.clear()
    apply(stack, [event("1", 5, board="limited", set=True), event("2", 10, board="limited", set=True)])
    assert scores(stack, "limited") == {"all": 10}
    deliver(stack, [event("3", 15.1, board="limited", set=True), event("4", 7.9, board="limited", set=True)])
    bounds = "metrics.points: expected a change of at least -2 and at most 5 on board 'limited'"
    more, less = stack.dead_letters.reasons()
    assert more == f"{bounds}, got a change of 5.1 (from 10 to 15.1)"
    assert less == f"{bounds}{TO_LOWER}, got a change of -2.1 (from 10 to 7.9)"
    assert scores(stack, "limited") == {"all": 10}


def test_it_is_a_read_and_a_write_of_the_item(stack: Stack) -> None:
    """As an event of a best score. Other events of such a board still read nothing."""
    apply(stack, [event("1", 5, board="plain")])
    costs = []
    for one in (event("2", 5, board="plain"), event("3", 5, board="plain", set=True)):
        stack.dynamodb.counts.clear()
        apply(stack, [one])
        costs.append({name: count for (name, table), count in stack.dynamodb.counts.items() if table == "Scores"})
    assert costs[1] == {**costs[0], "batch_get_item": costs[0].get("batch_get_item", 0) + 1}
