"""Ranks of members, a member's card and the list of boards over HTTP."""

from typing import Any

import pytest

from tests.support.aws.stack import Stack
from tests.support.builders.querying import ALL, post


def test_a_rank(stack: Stack) -> None:
    post(stack, {"a": 5, "c": 7, "b": 7})
    status, answer = stack.get(f"{ALL}/rank", member="a")

    assert status == 200
    assert {name: answer[name] for name in ("member", "rank", "score", "percentile", "total")} == {
        "member": "a",
        "rank": 3,
        "score": 5,
        "percentile": 33.33,
        "total": 3,
    }
    assert stack.get(f"{ALL}/rank", member="c")[1]["percentile"] == 100


def test_a_percentile_is_rounded_half_up(stack: Stack) -> None:
    post(stack, {f"m{n:02}": n for n in range(32)})

    # 100/32 = 3.125 and 500/32 = 15.625: a half is rounded up, whatever the digit before it.
    for member, expected in {"m00": 3.13, "m04": 15.63, "m02": 9.38, "m31": 100}.items():
        assert stack.get(f"{ALL}/rank", member=member)[1]["percentile"] == expected, member


def test_hostile_names_are_only_names(stack: Stack) -> None:
    names = ["images/1.jpg", "a,b", "用户", "<script>", "x y+z&w=1", "%2F", "\u0000", "a#b", "x" * 256]
    post(stack, {name: n for n, name in enumerate(names)})

    for n, name in enumerate(names):
        status, answer = stack.get(f"{ALL}/rank", member=name)
        assert (status, answer["member"], answer["score"]) == (200, name, n)


@pytest.mark.parametrize("body", ["", "[]", "{}", {"members": []}, {"members": ["a", "a"]}, {"members": [1]}, "\ud800"])
def test_an_invalid_group(stack: Stack, body: Any) -> None:
    status, answer = stack.post(f"{ALL}/ranks", body.encode(errors="surrogatepass") if isinstance(body, str) else body)

    assert (status, answer["type"]) == (400, "urn:standings:bad-body")


def test_a_member_card(stack: Stack) -> None:
    post(stack, {"a": 5, "b": 7})
    post(stack, {"a": 1}, days_ago=1)
    post(stack, {"a": 70.5}, board="golf-1", metric="strokes")
    status, answer = stack.get("/boards/b/member", id="a", ranks="true")

    assert status == 200
    ((metric),) = answer["metrics"]
    assert (answer["hidden"], metric["metric"], metric["score"]) == (False, "points", 6)
    windows = {window["window"]: (window["score"], window["rank"], window["total"]) for window in metric["windows"]}
    assert windows == {
        "all": (6, 2, 2),
        "day": (5, 2, 2),
        "week": (6, 2, 2),
        "hour": (5, 2, 2),
        "last-7-days": (6, 2, 2),
        "last-24-hours": (5, 2, 2),
    }
    golf = stack.get("/boards/golf-1/member", id="a")[1]["metrics"]
    assert [(one["metric"], one["score"], len(one["windows"])) for one in golf] == [
        ("strokes", 70.5, 2),
        ("rounds", None, 0),
    ]


def test_the_list_of_boards_and_a_definition(stack: Stack) -> None:
    for board in ("b", "b-2", "b-3", "golf-1"):
        post(stack, {"a": 1}, board=board, metric="strokes" if board == "golf-1" else "points")
    first = stack.get("/boards", prefix="b", limit=2)[1]
    second = stack.get("/boards", prefix="b", limit=2, cursor=first["next"])[1]

    assert [board["board"] for board in first["boards"] + second["boards"]] == ["b", "b-2", "b-3"]
    assert second["next"] is None
    assert stack.get("/boards", prefix="g", limit=2, cursor=first["next"])[0] == 400
    definition = stack.get("/boards/golf-nobody")[1]
    assert {name: definition[name] for name in ("family", "timezone", "members", "late", "keep", "shards")} == {
        "family": "golf-*",
        "timezone": "Europe/Berlin",
        "members": "open",
        "late": "7 days",
        "keep": "35 days",
        "shards": 1,
    }
    assert definition["metrics"][0] == {
        "metric": "strokes",
        "aggregate": "sum",
        "precision": 2,
        "order": "ascending",
        "ties": "member",
        "least": -99.99,
        "most": None,
        "notes": False,
        "windows": [
            {"window": "all", "period": {"start": None, "end": None}},
            {
                "window": "day",
                "period": {"start": "2026-11-21T00:00:00+01:00", "end": "2026-11-22T00:00:00+01:00"},
            },
        ],
    }
