"""Lists over HTTP: ties, order, pages in both directions, past periods."""

import random
from typing import Any

import pytest

from standings.domain.windows.calendar import DAY
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, http_event, running
from tests.support.builders.querying import ALL, BOARDS, NOW, post
from tests.support.oracle.model import Model, standings


def test_a_list_with_ties(stack: Stack) -> None:
    post(stack, {"a": 5, "c": 7, "b": 7, "d": -1, "e": 0})
    status, page = stack.get(ALL)

    assert status == 200
    assert page == {
        "board": "b",
        "metric": "points",
        "window": "all",
        "period": {"start": None, "end": None},
        "state": "open",
        "final_at": None,
        "order": "descending",
        "method": "competition",
        "as_of": "2026-11-21T10:15:00.000Z",
        "total": 5,
        "entries": [
            {"rank": 1, "member": "b", "score": 7},
            {"rank": 1, "member": "c", "score": 7},
            {"rank": 3, "member": "a", "score": 5},
            {"rank": 4, "member": "e", "score": 0},
            {"rank": 5, "member": "d", "score": -1},
        ],
        "next": None,
        "previous": None,
    }


def test_the_lowest_leads_and_decimals_are_exact(stack: Stack) -> None:
    post(stack, {"a": 71.5, "b": 70.25, "c": 90071992547409.91, "d": -0.01}, board="golf-1", metric="strokes")
    raw = stack.query(http_event("/boards/golf-1/strokes/all"), None)["body"]

    assert [entry["member"] for entry in stack.get("/boards/golf-1/strokes/all")[1]["entries"]] == ["d", "b", "a", "c"]
    assert '"score":70.25' in raw
    assert '"score":-0.01' in raw


def test_a_board_without_events_has_an_empty_list(stack: Stack) -> None:
    status, page = stack.get("/boards/nobody/points/day")

    assert status == 200
    assert (page["entries"], page["total"], page["next"], page["previous"], page["as_of"]) == ([], 0, None, None, None)
    assert page["period"] == {"start": "2026-11-21T00:00:00Z", "end": "2026-11-22T00:00:00Z"}


@pytest.mark.parametrize("limit", [1, 2, 3, 7, 50])
def test_pages_in_both_directions(stack: Stack, limit: int) -> None:
    rng = random.Random(limit)
    scores = {f"m{n:02}": rng.choice([0, 1, 1, 2, 5, 200, 201, 20000]) for n in range(50)}
    post(stack, scores)
    expected = [{"rank": r, "member": m, "score": s} for r, m, s in standings(scores)]

    pages = []
    cursor = None
    while True:
        _, page = stack.get(ALL, limit=limit, cursor=cursor)
        assert page["total"] == 50
        pages.append(page)
        cursor = page["next"]
        if cursor is None:
            break
    assert [entry for page in pages for entry in page["entries"]] == expected
    for page in reversed(pages[:-1]):
        cursor = pages[pages.index(page) + 1]["previous"]
        _, back = stack.get(ALL, limit=limit, cursor=cursor)
        assert back["entries"] == page["entries"]
        assert (back["previous"] is None) == (page is pages[0])
        _, forth = stack.get(ALL, limit=limit, cursor=back["next"])
        assert forth["entries"] == pages[pages.index(page) + 1]["entries"]


def test_a_page_read_on_while_others_move_skips_nobody(stack: Stack) -> None:
    scores = {f"m{n}": 100 - n for n in range(10)}
    post(stack, scores)
    _, first = stack.get(ALL, limit=5)
    post(stack, {"m9": 500, "m0": -500}, days_ago=1)
    _, second = stack.get(ALL, limit=5, cursor=first["next"])

    assert [e["member"] for e in second["entries"]] == ["m5", "m6", "m7", "m8", "m0"]
    assert [e["rank"] for e in second["entries"]] == [6, 7, 8, 9, 10]


def test_cursors_beyond_what_is_left(stack: Stack) -> None:
    post(stack, {"a": 3, "b": 2, "c": 1})
    _, page = stack.get(ALL, limit=2)
    post(stack, {"c": 10}, days_ago=1)
    _, rest = stack.get(ALL, limit=2, cursor=page["next"])

    assert (rest["entries"], rest["next"], rest["total"]) == ([], None, 3)
    _, back = stack.get(ALL, limit=2, cursor=rest["previous"])
    assert [(e["rank"], e["member"]) for e in back["entries"]] == [(2, "a"), (3, "b")]


def test_an_empty_page_skips_no_member(stack: Stack) -> None:
    post(stack, {"a": 9, "b": 8, "c": 7, "d": 6})
    _, second = stack.get(ALL, limit=2, cursor=stack.get(ALL, limit=2)[1]["next"])
    post(stack, {"a": -20, "b": -20}, days_ago=1)
    _, empty = stack.get(ALL, limit=2, cursor=second["previous"])
    assert (empty["entries"], empty["previous"]) == ([], None)
    _, again = stack.get(ALL, limit=2, cursor=empty["next"])
    assert [entry["member"] for entry in again["entries"]] == ["c", "d"]


def test_a_thousand_entries_at_once(stack: Stack) -> None:
    model = Model()
    for n in range(1100):
        model.add(str(n), f"m{n:04}", NOW, n % 300, NOW)
    post(stack, model.scores("all", NOW))
    _, page = stack.get(ALL, limit=1000)

    assert [(e["rank"], e["member"], e["score"]) for e in page["entries"]] == model.standings("all", NOW)[:1000]


def test_past_periods_while_they_are_kept(stack: Stack) -> None:
    post(stack, {"a": 5})
    post(stack, {"a": 1, "b": 2}, days_ago=3)

    def members(window: str, **arguments: Any) -> list[str]:
        return [entry["member"] for entry in stack.get(f"/boards/b/points/{window}", **arguments)[1]["entries"]]

    assert members("day") == ["a"]
    assert members("day", period="2026-11-18") == ["b", "a"]
    assert members("day", period="2026-11-19") == []
    assert members("last-7-days") == ["a", "b"]
    assert members("last-7-days", period="2026-11-18") == ["b", "a"]
    assert members("week", period="2026-11-16") == ["a", "b"]
    assert members("hour", period="2026-11-21T10") == ["a"]
    stack.clock.milliseconds += 40 * DAY
    assert stack.get("/boards/b/points/day", period="2026-11-18")[1]["type"] == "urn:standings:period-gone"
    assert members("last-7-days") == []


def test_a_window_that_came_after_the_first_event_is_not_built(engine: Any) -> None:
    clock = ManualClock(int(NOW.timestamp() * 1000))
    with running(engine, clock, BOARDS) as before:
        post(before, {"a": 1})
    with running(engine, clock, BOARDS.replace('"hour"', '"hour", "month"')) as after:
        post(after, {"b": 1}, board="new")
        assert after.get(ALL)[0] == 200
        assert after.get("/boards/b/points/month")[1]["type"] == "urn:standings:not-built"
        assert after.get("/boards/new/points/month")[0] == 200
