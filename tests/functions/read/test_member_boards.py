"""The boards of a member are those on which it has an item now; an index only says where to look."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from benchmarks.harness.meter import Meter, Units
from standings.domain.boards import MAX_MEMBER_BYTES
from standings.domain.windows import DAY
from standings.read import board_list
from tests.support.aws.stack import ManualClock, Stack, project, running
from tests.support.builders.maintenance import calls
from tests.support.builders.querying import BOARDS, post

BOUNDS: Final = '[boards."later"]\nmetrics.runs = { aggregate = "sum" }\n'
PATH: Final = "/members/boards"


@pytest.fixture
def meter(engine: Any) -> Meter:
    return Meter(engine)


@pytest.fixture
def stack(meter: Meter, clock: ManualClock) -> Iterator[Stack]:
    with running(meter, clock, BOARDS + BOUNDS) as deployed:
        yield deployed


def boards(stack: Stack, member: str = "ada", limit: int = 100, **arguments: Any) -> list[dict[str, Any]]:
    """All boards of a member, page by page."""
    found: list[dict[str, Any]] = []
    cursor = None
    while True:
        status, page = stack.get(PATH, id=member, limit=limit, cursor=cursor, **arguments)
        assert (status, page.get("member")) == (200, member), page
        assert len(page["boards"]) <= limit
        found += page["boards"]
        if (cursor := page["next"]) is None:
            return found


def names(stack: Stack, member: str = "ada", limit: int = 100) -> list[str]:
    return [board["board"] for board in boards(stack, member, limit)]


@pytest.mark.parametrize("limit", [1, 2, 100])
def test_they_are_those_of_its_items(stack: Stack, limit: int) -> None:
    """Whatever is named like what; boards that it left, or that are being deleted, are not among them."""
    for board in ("b", "b-2", "b.1", "b:1", "B", "zed", "left", "gone"):
        post(stack, {"ada": 3, "zed": 1, "b": 1}, board=board)
    stack.put("/boards/later/member", id="ada")
    stack.put("/boards/zed/member", {"hidden": True}, id="ada")
    stack.delete("/boards/left/member", id="ada")
    post(stack, {"ada": 1}, board="left-and-back")
    stack.delete("/boards/left-and-back/member", id="ada")
    post(stack, {"ada": 2}, board="left-and-back")
    next(calls(stack, "delete", board="gone", seconds=10))

    expected = sorted(["b", "b-2", "b.1", "b:1", "B", "zed", "later", "left-and-back"])
    assert boards(stack, limit=limit) == [{"board": name, "hidden": name == "zed"} for name in expected]
    # Records of boards have the same sort keys as members with such names have.
    assert names(stack, "zed", limit) == sorted({*expected, "left"} - {"later", "left-and-back"})
    assert names(stack, "nobody") == []


def test_with_ranks_each_board_is_the_card_of_that_window(stack: Stack) -> None:
    for board, ahead in (("b", 1), ("b-2", 2), ("hidden", 1)):
        post(stack, {"ada": 3, **{f"m{number}": 9 for number in range(ahead)}}, board=board)
    post(stack, {"ada": 70.5, "bob": 71}, board="golf-1", metric="strokes", days_ago=1)
    stack.put("/boards/hidden/member", {"hidden": True}, id="ada")
    stack.put("/boards/later/member", id="ada")
    project(stack)

    for window in ("all", "day", "last-7-days", "year"):
        expected = []
        for board in ("b", "b-2", "golf-1", "hidden", "later"):
            card = stack.get(f"/boards/{board}/member", id="ada", ranks="true")[1]
            metrics = [
                {**metric, "windows": shown}
                for metric in card["metrics"]
                if (shown := [one for one in metric["windows"] if one["window"] == window])
            ]
            expected.append({"board": board, "hidden": card["hidden"], "metrics": metrics})
        assert boards(stack, ranks="true", window=window) == expected
        if window == "all":
            assert boards(stack, ranks="true") == expected


def test_a_page_with_ranks_is_bounded(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    for board in ("a", "b", "c", "golf-1", "later", "z"):
        stack.put(f"/boards/{board}/member", id="ada")
    monkeypatch.setattr(board_list, "MAX_RANKINGS", 2)

    first = stack.get(PATH, id="ada", ranks="true")[1]
    assert [board["board"] for board in first["boards"]] == ["a", "b"]
    assert [board["board"] for board in boards(stack, ranks="true")] == ["a", "b", "c", "golf-1", "later", "z"]
    monkeypatch.setattr(board_list, "MAX_RANKINGS", 0)  # Each page has one with a rank nevertheless
    assert [board["board"] for board in boards(stack, ranks="true")] == ["a", "b", "c", "golf-1", "later", "z"]


def test_an_index_that_lags_shows_nobody_who_left(stack: Stack, engine: Any) -> None:
    """One that has come within the lag is missing, and one that has left is not shown, though the index names it."""
    post(stack, {"ada": 3}, board="stays")
    post(stack, {"ada": 3}, board="left")
    assert names(stack) == ["left", "stays"]
    index = engine.table("Scores").indexes["boards"]
    index.behind, index.clock = 2.0, stack.clock.monotonic
    post(stack, {"ada": 3}, board="new")
    stack.delete("/boards/left/member", id="ada")

    assert names(stack) == ["stays"]
    stack.clock.milliseconds += 2_000
    assert names(stack) == ["new", "stays"]


def test_an_index_that_is_being_built_says_so(stack: Stack, engine: Any) -> None:
    engine.table("Scores").indexes["boards"].is_built = False
    status, problem = stack.get(PATH, id="ada")

    assert (status, problem["type"]) == (404, "urn:standings:not-built")
    del engine.table("Scores").indexes["boards"]  # As of a stack of 0.3
    assert stack.get(PATH, id="ada") == (404, problem)


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({}, "id: is missing"),
        ({"id": ""}, "id: expected 1 to 256 bytes of UTF-8"),
        ({"id": "x" * (MAX_MEMBER_BYTES + 1)}, "id: expected 1 to 256 bytes of UTF-8"),
        ({"id": "ada", "window": "all"}, "window: is only valid with ranks=true"),
        ({"id": "ada", "ranks": "true", "window": "fortnight"}, "window: expected all, hour"),
        ({"id": "ada", "limit": 101}, "limit: expected from 1 to 100"),
        ({"id": "ada", "cursor": "x"}, "cursor: is altered, or of another list"),
    ],
)
def test_what_is_wrong_is_refused(stack: Stack, arguments: dict[str, Any], why: str) -> None:
    status, problem = stack.get(PATH, **arguments)

    assert (status, problem["type"]) == (400, "urn:standings:bad-argument")
    assert problem["detail"].startswith(why)


def test_a_cursor_is_of_one_member(stack: Stack) -> None:
    for board in ("a", "b"):
        stack.put(f"/boards/{board}/member", id="ada")
    cursor = stack.get(PATH, id="ada", limit=1)[1]["next"]
    assert stack.get(PATH, id="bob", cursor=cursor)[0] == 400


# ---- what it costs


def test_the_index_costs_a_unit_when_a_member_first_comes_to_a_board(stack: Stack, meter: Meter) -> None:
    def written() -> float:
        return meter.snapshot().tables.get("Scores/boards", Units()).write

    post(stack, {"ada": 3})
    new_board = written()
    assert new_board == 2  # The member, and the board's record
    post(stack, {"bob": 3, "eve": 4})
    assert written() == new_board + 2
    stack.clock.milliseconds += DAY
    post(stack, {"ada": 5, "bob": 1, "eve": 2})
    stack.put("/boards/b/member", {"hidden": True}, id="ada")
    stack.delete("/boards/b/member", id="bob")
    post(stack, {"bob": 7})
    project(stack)
    assert written() == new_board + 2


@pytest.mark.parametrize(("count", "trips"), [(1, 4), (100, 5)])
def test_a_page_costs_a_unit_for_each_board(stack: Stack, meter: Meter, count: int, trips: int) -> None:
    """And half a unit for 4 KB of the index; with ranks also what a rank costs on each. Boards' records are cached."""
    for number in range(count):
        post(stack, {"ada": 3}, board=f"board-with-a-name-{number:03}")
    project(stack)
    boards(stack, ranks="true")
    before = meter.snapshot()
    assert len(boards(stack)) == count
    plain = meter.snapshot() - before
    assert (plain.total.read, plain.total.round_trips) == (count + 0.5, 2)
    before = meter.snapshot()
    boards(stack, ranks="true")
    ranked = meter.snapshot() - before
    # The entry, the root, and the one node of a score below 128.
    assert (ranked.total.read, ranked.total.round_trips) == (count + 0.5 + 1.5 * count, trips)
