"""The query function over HTTP, its own handler: lists, ranks, cursors, periods, and every kind of no."""

import json
import random
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import quote
from zlib import crc32

import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.ranking import Ranking
from standings.domain.windows.calendar import DAY
from standings.read import cursors
from tests.support.aws.stack import ManualClock, Stack, http_event, running
from tests.support.builders.streaming import apply
from tests.support.oracle.model import Model, standings

NOW = datetime(2026, 11, 21, 10, 15, tzinfo=UTC)
BOARDS = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all", "day", "week", "hour", "last-7-days", "last-24-hours"] }
[boards."golf-*"]
timezone = "Europe/Berlin"
metrics.strokes = { aggregate = "sum", order = "ascending", precision = 2, windows = ["all", "day"] }
metrics.rounds = { aggregate = "sum" }
"""
ALL = "/boards/b/points/all"


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as deployed:
        yield deployed


def post(
    stack: Stack, scores: Mapping[str, float], *, board: str = "b", metric: str = "points", days_ago: int = 0
) -> None:
    at = (datetime.fromtimestamp(stack.clock() / 1000, UTC) - timedelta(days=days_ago)).isoformat()
    apply(
        stack,
        [
            {
                "id": str(crc32(f"{board}/{member}/{days_ago}".encode())),
                "board": board,
                "member": member,
                "at": at,
                "metrics": {metric: score},
            }
            for member, score in scores.items()
        ],
    )


def test_a_list_with_ties(stack: Stack) -> None:
    post(stack, {"a": 5, "c": 7, "b": 7, "d": -1, "e": 0})
    status, page = stack.get(ALL)

    assert status == 200
    assert page == {
        "board": "b",
        "metric": "points",
        "window": "all",
        "period": {"start": None, "end": None},
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


def test_hostile_names_are_only_names(stack: Stack) -> None:
    names = ["images/1.jpg", "a,b", "用户", "<script>", "x y+z&w=1", "%2F", "\u0000", "a#b", "x" * 256]
    post(stack, {name: n for n, name in enumerate(names)})

    for n, name in enumerate(names):
        status, answer = stack.get(f"{ALL}/rank", member=name)
        assert (status, answer["member"], answer["score"]) == (200, name, n)


NO = [
    (404, "no-such-board", "/boards/a%20b/points/all", {}, "'a b'"),
    (404, "no-such-metric", "/boards/b/goals/all", {}, "no metric 'goals'; there are: points"),
    (404, "no-such-window", "/boards/b/points/year", {}, "windows: all, day"),
    (404, "no-such-window", "/boards/golf-1/rounds/all", {}, "windows: none"),
    (404, "no-such-member", f"{ALL}/rank", {"member": "nobody"}, "no member 'nobody'"),
    (404, "not-ranked", "/boards/b/points/day/rank", {"member": "old"}, "'old' has no event in this period"),
    (
        404,
        "period-gone",
        "/boards/b/points/day",
        {"period": "2026-01-01"},
        "could be read until 2026-02-06T00:00:00.000Z",
    ),
    (404, "no-such-path", "/", {}, "at /"),
    (404, "no-such-path", "/boards/b/points", {}, "/boards/b/points"),
    (404, "no-such-path", "/boards/b/points/all/rank/x", {}, ""),
    (400, "bad-argument", ALL, {"limit": 0}, "limit: must be from 1 to 1000, is 0"),
    (400, "bad-argument", ALL, {"limit": 1001}, "limit: must be from 1 to 1000"),
    (400, "bad-argument", ALL, {"limit": "ten"}, "limit: must be a whole number of up to 15 digits, is 'ten'"),
    (400, "bad-argument", ALL, {"limit": "9" * 5000}, "limit: must be a whole number"),
    (400, "bad-argument", ALL, {"limit": "²"}, "limit: must be a whole number"),
    (400, "bad-argument", ALL, {"colour": "red"}, "colour: no such argument; there are period, method, limit"),
    (400, "bad-argument", ALL, {"method": "magic"}, "method: "),
    (400, "bad-argument", ALL, {"period": "2026-11-20"}, "period: the window 'all' has no periods"),
    (400, "bad-argument", "/boards/b/points/day", {"period": "yesterday"}, "named by a day such as 2026-11-20"),
    (400, "bad-argument", "/boards/b/points/day", {"period": "2026-11-22"}, "period: 2026-11-22 has not begun"),
    (400, "bad-argument", "/boards/b/points/hour", {"period": "2026-11-20"}, "an hour such as 2026-11-20T15"),
    (400, "bad-argument", f"{ALL}/rank", {}, "member: is missing"),
    (400, "bad-argument", f"{ALL}/rank", {"member": ""}, "member: must have 1 to 256 bytes"),
    (400, "bad-argument", f"{ALL}/rank", {"member": "x" * 5000}, "member: must have 1 to 256 bytes"),
    (404, "no-such-board", "/boards/../points/all", {}, "'..' is no name of a board"),
    (404, "no-such-board", "/boards/" + "b" * 129 + "/points/all", {}, "is no name of a board"),
    (400, "bad-argument", ALL, {"rank": 2, "around": "a"}, "around: a page begins at one place"),
    (400, "bad-argument", ALL, {"cursor": "x", "rank": 1}, "rank: a page begins at one place"),
    (400, "bad-argument", ALL, {"rank": 0}, "rank: must be at least 1"),
    (400, "bad-argument", ALL, {"around": "a", "limit": 5}, "limit: around a member"),
    (400, "bad-argument", ALL, {"around": "a", "radius": 101}, "radius: must be from 0 to 100"),
    (400, "bad-argument", ALL, {"radius": 5}, "radius: is that of the neighbours"),
    (400, "bad-argument", ALL, {"around": ""}, "around: must have 1 to 256 bytes"),
    (404, "no-such-member", ALL, {"around": "nobody"}, "no member 'nobody'"),
    (400, "bad-argument", f"{ALL}/rank", {"score": 1, "member": "a"}, "member: cannot go with score"),
    (400, "bad-argument", f"{ALL}/rank", {"score": 1, "previous": "true"}, "previous: cannot go with score"),
    (400, "bad-argument", f"{ALL}/rank", {"member": "a", "previous": "yes"}, "previous: must be true or false"),
    (400, "bad-argument", f"{ALL}/rank", {"score": "1.5"}, "score: must be a whole number"),
    (400, "bad-argument", f"{ALL}/rank", {"score": "1e16"}, "score: is beyond"),
    (400, "bad-argument", f"{ALL}/rank", {"score": "NaN"}, "score: must be a number"),
    (400, "bad-argument", f"{ALL}/percentile", {}, "p: is missing"),
    (400, "bad-argument", f"{ALL}/percentile", {"p": "0"}, "p: must be above 0"),
    (400, "bad-argument", f"{ALL}/percentile", {"p": "100.0000000001"}, "p: must be above 0 and at most 100"),
    (400, "bad-argument", f"{ALL}/distribution", {"buckets": 0}, "buckets: must be from 1 to 1000"),
    (400, "bad-argument", "/boards/b/member", {}, "id: is missing"),
    (400, "bad-argument", "/boards/b/member", {"id": "a", "method": "dense"}, "method: "),
    (404, "no-such-member", "/boards/b/member", {"id": "nobody"}, "no member 'nobody'"),
    (400, "bad-argument", "/boards", {"prefix": "a/b"}, "prefix: no name of a board begins"),
    (400, "bad-argument", "/boards", {"cursor": "x"}, "cursor: is altered"),
    (404, "no-such-board", "/boards/..", {}, "no name of a board"),
    (400, "bad-argument", ALL, {"cursor": "x"}, "cursor: is altered"),
    (400, "bad-argument", ALL, {"cursor": ""}, "cursor: is altered"),
    (400, "bad-argument", ALL, {"cursor": "ü"}, "cursor: is altered"),
]


@pytest.mark.parametrize(("status", "kind", "path", "arguments", "detail"), NO, ids=range(len(NO)))
def test_every_no_says_what_to_do(
    stack: Stack, status: int, kind: str, path: str, arguments: dict[str, Any], detail: str
) -> None:
    post(stack, {"old": 1}, days_ago=2)
    post(stack, {"old": 1}, board="golf-1", metric="rounds")
    answer = stack.query(
        http_event(path.replace("%20", " "), "&".join(f"{k}={quote(str(v))}" for k, v in arguments.items())), None
    )

    assert answer["statusCode"] == status
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    said = stack.get(path.replace("%20", " "), **arguments)[1]
    assert said["type"] == f"urn:standings:{kind}"
    assert said["status"] == status
    assert detail in said["detail"]


def test_an_argument_given_twice(stack: Stack) -> None:
    answer = stack.query(http_event(ALL, "limit=1&limit=2"), None)

    assert answer["statusCode"] == 400
    assert "limit: is given more than once" in answer["body"]


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


def test_an_empty_page_passes_nobody(stack: Stack) -> None:
    post(stack, {"a": 9, "b": 8, "c": 7, "d": 6})
    _, second = stack.get(ALL, limit=2, cursor=stack.get(ALL, limit=2)[1]["next"])
    post(stack, {"a": -20, "b": -20}, days_ago=1)
    _, empty = stack.get(ALL, limit=2, cursor=second["previous"])
    assert (empty["entries"], empty["previous"]) == ([], None)
    _, again = stack.get(ALL, limit=2, cursor=empty["next"])
    assert [entry["member"] for entry in again["entries"]] == ["c", "d"]


@pytest.mark.parametrize("window", ["all", "day", "week", "hour", "last-7-days"])
@pytest.mark.parametrize(
    "said",
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
    ids=lambda said: str(said)[:24],
)
def test_whoever_forges_a_cursor_gets_a_no(stack: Stack, said: Any, window: str) -> None:
    post(stack, {"m": 1})
    family = parse_boards(BOARDS).family("b")
    assert family is not None
    metric = family.metrics["points"]
    found = metric.window(window)
    assert found is not None
    content = json.dumps([*said, "competition"] if isinstance(said, list) else said).encode()
    forged = cursors._with_checksum(content, cursors._list_of(Ranking("b", metric, found, 0)))
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


def test_a_window_that_came_after_the_first_event_is_not_built(engine: Any) -> None:
    clock = ManualClock(int(NOW.timestamp() * 1000))
    with running(engine, clock, BOARDS) as before:
        post(before, {"a": 1})
    with running(engine, clock, BOARDS.replace('"hour"', '"hour", "month"')) as after:
        post(after, {"b": 1}, board="new")
        assert after.get(ALL)[0] == 200
        assert after.get("/boards/b/points/month")[1]["type"] == "urn:standings:not-built"
        assert after.get("/boards/new/points/month")[0] == 200


def test_a_thousand_entries_at_once(stack: Stack) -> None:
    model = Model()
    for n in range(1100):
        model.add(str(n), f"m{n:04}", NOW, n % 300, NOW)
    post(stack, model.scores("all", NOW))
    _, page = stack.get(ALL, limit=1000)

    assert [(e["rank"], e["member"], e["score"]) for e in page["entries"]] == model.standings("all", NOW)[:1000]


@pytest.mark.parametrize("body", ["", "[]", "{}", {"members": []}, {"members": ["a", "a"]}, {"members": [1]}, "\ud800"])
def test_a_group_that_is_none(stack: Stack, body: Any) -> None:
    status, answer = stack.post(f"{ALL}/ranks", body.encode(errors="surrogatepass") if isinstance(body, str) else body)

    assert (status, answer["type"]) == (400, "urn:standings:bad-body")


def test_a_member_in_everything(stack: Stack) -> None:
    post(stack, {"a": 5, "b": 7})
    post(stack, {"a": 1}, days_ago=1)
    post(stack, {"a": 70.5}, board="golf-1", metric="strokes")
    status, answer = stack.get("/boards/b/member", id="a", ranks="true")

    assert status == 200
    ((metric),) = answer["metrics"]
    assert (answer["hidden"], metric["metric"], metric["score"]) == (False, "points", 6)
    found = {window["window"]: (window["score"], window["rank"], window["total"]) for window in metric["windows"]}
    assert found == {
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


def test_boards_there_are_and_what_they_count(stack: Stack) -> None:
    for board in ("b", "b-2", "b-3", "golf-1"):
        post(stack, {"a": 1}, board=board, metric="strokes" if board == "golf-1" else "points")
    first = stack.get("/boards", prefix="b", limit=2)[1]
    second = stack.get("/boards", prefix="b", limit=2, cursor=first["next"])[1]

    assert [board["board"] for board in first["boards"] + second["boards"]] == ["b", "b-2", "b-3"]
    assert second["next"] is None
    assert stack.get("/boards", prefix="g", limit=2, cursor=first["next"])[0] == 400
    said = stack.get("/boards/golf-nobody")[1]
    assert {name: said[name] for name in ("family", "timezone", "members", "late", "keep", "shards")} == {
        "family": "golf-*",
        "timezone": "Europe/Berlin",
        "members": "open",
        "late": "7 days",
        "keep": "35 days",
        "shards": 1,
    }
    assert said["metrics"][0] == {
        "metric": "strokes",
        "aggregate": "sum",
        "precision": 2,
        "order": "ascending",
        "ties": "member",
        "windows": [
            {"window": "all", "period": {"start": None, "end": None}},
            {
                "window": "day",
                "period": {"start": "2026-11-21T00:00:00+01:00", "end": "2026-11-22T00:00:00+01:00"},
            },
        ],
    }
