"""Cursors that were altered, forged, are foreign or expired get a 400."""

import json
from typing import Any

import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.domain.windows.calendar import DAY
from standings.read import cursors
from tests.support.aws.stack import Stack
from tests.support.builders.querying import ALL, BOARDS, post


def test_cursors_that_were_altered_or_are_foreign(stack: Stack) -> None:
    post(stack, {f"m{n}": n for n in range(5)})
    post(stack, {f"m{n}": n for n in range(5)}, board="c")
    _, page = stack.get(ALL, limit=2)
    cursor = page["next"]

    for path, bad in [
        ("/boards/c/points/all", cursor),
        ("/boards/b/points/week", cursor),
        (ALL, cursor[:-1]),
        (ALL, cursor + "A"),
        (ALL, cursor + "!"),
        (ALL, cursor + "="),
        *((ALL, cursor[:-1] + letter) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345" if letter != cursor[-1]),
        (ALL, "A" + cursor[1:]),
        (ALL, cursor[:20] + ("A" if cursor[20] != "A" else "B") + cursor[21:]),
    ]:
        status, answer = stack.get(path, limit=2, cursor=bad)
        assert (status, answer["detail"][:7]) == (400, "cursor:"), bad


@pytest.mark.parametrize("window", ["all", "day", "week", "hour", "last-7-days"])
@pytest.mark.parametrize(
    "payload",
    [
        None,
        [],
        [0, True],
        [0, True, "P-m", 1],
        [0, True, 7],
        [0, True, "\u0000"],
        [0, True, "P"],
        [0, True, "Pü"],
        [0, 1, "P-m"],
        ["0", True, "P-m"],
        [True, True, "P-m"],
        [10**30, True, "P-m"],
        [-(10**30), True, "P-m"],
        [-(10**6), True, "P-m"],
        [10**6, False, "P-m"],
        {"a": 1},
        [0, True, "P-m", 7],
        [0, True, "P-" + "m" * 4000],
        [0, True, chr(1) + "-" * 78 + "m"],
        [0, True, "z" + "z" * 43 + "m"],
    ],
    ids=lambda payload: str(payload)[:24],
)
def test_a_forged_cursor_gets_a_400(stack: Stack, payload: Any, window: str) -> None:
    post(stack, {"m": 1})
    family = parse_boards(BOARDS).family("b")
    assert family is not None
    metric = family.metrics["points"]
    ranked = metric.window(window)
    assert ranked is not None
    content = json.dumps([*payload, "competition"] if isinstance(payload, list) else payload).encode()
    forged = cursors._with_checksum(content, cursors._list_of(Ranking("b", metric, ranked, 0)))
    status, answer = stack.get(f"/boards/b/points/{window}", cursor=forged)

    assert status == 400, answer


def test_a_cursor_stays_in_its_period_and_ends_with_it(stack: Stack) -> None:
    post(stack, {f"m{n}": n for n in range(5)})
    _, page = stack.get("/boards/b/points/day", limit=2)
    stack.clock.milliseconds += DAY
    _, tomorrow = stack.get("/boards/b/points/day", limit=2, cursor=page["next"])

    assert tomorrow["period"]["start"] == "2026-11-21T00:00:00Z"
    assert [entry["member"] for entry in tomorrow["entries"]] == ["m2", "m1"]
    assert stack.get("/boards/b/points/day", cursor=page["next"], period="2026-11-22")[0] == 400
    assert stack.get("/boards/b/points/day", cursor=page["next"], period="2026-11-21")[0] == 200
    stack.clock.milliseconds += 60 * DAY
    status, answer = stack.get("/boards/b/points/day", cursor=page["next"])
    assert (status, answer["detail"]) == (400, "cursor: its period is no longer kept")
