"""Pages of a list: each is a part of the sorted list, by cursors, positions and neighbours, also while members move."""

import json
from collections.abc import Mapping
from itertools import chain, pairwise
from random import Random
from typing import Any, Final

import pytest

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.domain.windows.calendar import DAY as A_DAY
from standings.read import cursors
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, http_event, running
from tests.support.builders.querying import ALL, BOARDS, DAY, MEMBER, post
from tests.support.builders.stages.streaming import apply, project

YESTERDAY: Final = "2026-11-20"


def numbered(scores: Mapping[str, int], method: str = "competition") -> list[dict[str, Any]]:
    """The sorted list with its ranks."""
    ordered = sorted(scores.items(), key=lambda one: (-one[1], one[0]))
    lines = []
    for place, (member, score) in enumerate(ordered):
        better = [other for _, other in ordered[:place] if other > score]
        ahead = {"competition": len(better), "ordinal": place, "dense": len(set(better))}[method]
        lines.append({"rank": 1 + ahead, "member": member, "score": score})
    return lines


def members(page: Mapping[str, Any]) -> list[str]:
    return [entry["member"] for entry in page["entries"]]


def test_a_list_with_ties(stack: Stack) -> None:
    post(stack, {"a": 5, "c": 7, "b": 7, "d": -1, "e": 0})

    assert stack.get(ALL) == (
        200,
        {
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
        },
    )


def test_the_lowest_leads_and_decimals_are_exact(stack: Stack) -> None:
    post(stack, {"a": 71.5, "b": 70.25, "c": 90071992547409.91, "d": -0.01}, board="golf-1", metric="strokes")
    raw = stack.query(http_event("/boards/golf-1/strokes/all"), None)["body"]

    assert members(stack.get("/boards/golf-1/strokes/all")[1]) == ["d", "b", "a", "c"]
    assert '"score":70.25' in raw
    assert '"score":-0.01' in raw


def test_an_answer_is_as_of_the_latest_event_that_changed_it(stack: Stack) -> None:
    post(stack, {"a": 5})
    stack.clock.milliseconds += 60_000
    post(stack, {"b": 20_000})

    assert stack.get(ALL)[1]["as_of"] == "2026-11-21T10:16:00.000Z"
    # Its entry and the nodes that count it are older, but not the root.
    assert stack.get(f"{ALL}/rank", member="a")[1]["as_of"] == "2026-11-21T10:16:00.000Z"


def test_a_board_without_events_has_an_empty_list(stack: Stack) -> None:
    status, page = stack.get("/boards/nobody/points/day")

    assert status == 200
    assert (page["entries"], page["total"], page["next"], page["previous"], page["as_of"]) == ([], 0, None, None, None)
    assert page["period"] == {"start": "2026-11-21T00:00:00Z", "end": "2026-11-22T00:00:00Z"}


@pytest.mark.parametrize("method", ["competition", "ordinal", "dense"])
@pytest.mark.parametrize("limit", [1, 3, 7, 40])
def test_every_page_is_a_part_of_the_sorted_list(stack: Stack, limit: int, method: str) -> None:
    rng = Random(limit)
    scores = {f"m{n:02}": rng.choice([0, 1, 1, 2, 5, 200, 201, 20000]) for n in range(40)}
    post(stack, scores)
    expected = numbered(scores, method)
    _, first = stack.get(ALL, limit=limit, method=method)
    pages = [first]
    # A cursor keeps the method.
    while cursor := pages[-1]["next"]:
        pages.append(stack.get(ALL, limit=limit, cursor=cursor)[1])
    assert [entry for page in pages for entry in page["entries"]] == expected
    assert {(page["total"], page["method"]) for page in pages} == {(40, method)}
    assert first["previous"] is None
    for page, following in reversed([*pairwise(pages)]):
        _, back = stack.get(ALL, limit=limit, cursor=following["previous"])
        assert back["entries"] == page["entries"]
        assert (back["previous"] is None) == (page is first)
        assert stack.get(ALL, limit=limit, cursor=back["next"])[1]["entries"] == following["entries"]
    for place in (0, 1, 2, 20, 39, 40):
        _, page = stack.get(ALL, rank=place + 1, limit=limit, method=method)
        assert page["entries"] == expected[place : place + limit]
        before = stack.get(ALL, limit=limit, cursor=page["previous"])[1]["entries"] if page["previous"] else []
        assert before == expected[max(0, place - limit) : place]
    for place in range(0, 40, 3):
        line = expected[place]
        _, around = stack.get(ALL, around=line["member"], radius=limit, method=method, me=line["member"])
        begin, end = max(0, place - limit), place + limit + 1
        assert around["entries"] == expected[begin:end]
        for cursor, beyond in (
            (around["previous"], expected[max(0, begin - limit) : begin]),
            (around["next"], expected[end : end + limit]),
        ):
            assert (stack.get(ALL, limit=limit, cursor=cursor)[1]["entries"] if cursor else []) == beyond
        percentile = stack.get(f"{ALL}/rank", member=line["member"])[1]["percentile"]
        ahead = expected[place - 1] if place else None
        assert around["me"] == {**line, "percentile": percentile, "ahead": ahead}


def test_a_thousand_entries_at_once(engine: Any) -> None:
    scores = {f"m{n:04}": n % 300 for n in range(1_001)}
    population.place_members(engine, population.ranking_of(population.family()), scores)
    with running(engine, ManualClock(population.NOW), population.BOARDS) as stack:
        _, page = stack.get(f"/boards/{population.BOARD}/points/all", limit=1_000)

    assert page["entries"] == numbered(scores)[:1_000]
    assert page["next"] is not None


def test_a_page_read_on_while_others_move_skips_nobody(stack: Stack) -> None:
    post(stack, {f"m{n}": 100 - n for n in range(10)})
    _, first = stack.get(ALL, limit=5)
    post(stack, {"m9": 500, "m0": -500}, days_ago=1)
    _, second = stack.get(ALL, limit=5, cursor=first["next"])

    assert members(second) == ["m5", "m6", "m7", "m8", "m0"]
    assert [entry["rank"] for entry in second["entries"]] == [6, 7, 8, 9, 10]


def test_cursors_beyond_what_is_left(stack: Stack) -> None:
    post(stack, {"a": 3, "b": 2, "c": 1})
    _, page = stack.get(ALL, limit=2)
    post(stack, {"c": 10}, days_ago=1)
    _, rest = stack.get(ALL, limit=2, cursor=page["next"])

    assert (rest["entries"], rest["next"], rest["total"]) == ([], None, 3)
    _, back = stack.get(ALL, limit=2, cursor=rest["previous"])
    assert [(entry["rank"], entry["member"]) for entry in back["entries"]] == [(2, "a"), (3, "b")]


def test_an_empty_page_skips_no_member(stack: Stack) -> None:
    post(stack, {"a": 9, "b": 8, "c": 7, "d": 6})
    _, second = stack.get(ALL, limit=2, cursor=stack.get(ALL, limit=2)[1]["next"])
    post(stack, {"a": -20, "b": -20}, days_ago=1)
    _, empty = stack.get(ALL, limit=2, cursor=second["previous"])

    assert (empty["entries"], empty["previous"]) == ([], None)
    assert members(stack.get(ALL, limit=2, cursor=empty["next"])[1]) == ["c", "d"]


def test_an_emptied_ranking_has_no_previous_page(stack: Stack) -> None:
    """Its root exists, but all counters are 0."""
    post(stack, {"a": 5})
    assert stack.delete(MEMBER, id="a")[0] == 204
    project(stack)
    _, page = stack.get(ALL, rank=2)

    assert (page["total"], page["entries"], page["next"], page["previous"]) == (0, [], None, None)


def test_past_periods_while_they_are_kept(stack: Stack) -> None:
    post(stack, {"a": 5})
    post(stack, {"a": 1, "b": 2}, days_ago=3)

    def listed(window: str, **arguments: Any) -> list[str]:
        return members(stack.get(f"/boards/b/points/{window}", **arguments)[1])

    assert listed("day") == ["a"]
    assert listed("day", period="2026-11-18") == ["b", "a"]
    assert listed("day", period="2026-11-19") == []
    assert listed("last-7-days") == ["a", "b"]
    assert listed("last-7-days", period="2026-11-18") == ["b", "a"]
    assert listed("week", period="2026-11-16") == ["a", "b"]
    assert listed("hour", period="2026-11-21T10") == ["a"]
    stack.clock.milliseconds += 40 * A_DAY
    assert stack.get(DAY, period="2026-11-18")[1]["type"] == "urn:standings:period-gone"
    assert listed("last-7-days") == []


def test_a_window_that_came_after_the_first_event_is_not_built(engine: Any) -> None:
    clock = ManualClock(population.NOW)
    with running(engine, clock, BOARDS) as before:
        post(before, {"a": 1})
    with running(engine, clock, BOARDS.replace('"hour"', '"hour", "month"')) as after:
        post(after, {"b": 1}, board="new")
        assert after.get(ALL)[0] == 200
        assert after.get("/boards/new/points/month")[0] == 200
        for path in ("month", "month/history"):
            status, problem = after.get(f"/boards/b/points/{path}", **({"member": "a"} if "history" in path else {}))
            assert (status, problem["type"]) == (404, "urn:standings:not-built")
            assert "it can be read once the board has been rebuilt" in problem["detail"]


def test_altered_and_foreign_cursors(stack: Stack) -> None:
    post(stack, {f"m{n}": n for n in range(5)})
    post(stack, {f"m{n}": n for n in range(5)}, board="c")
    cursor = stack.get(ALL, limit=2)[1]["next"]
    other = "A" if cursor[20] != "A" else "B"

    for path, bad in [
        ("/boards/c/points/all", cursor),
        ("/boards/b/points/week", cursor),
        (ALL, cursor[:-1]),
        (ALL, cursor + "A"),
        (ALL, cursor + "!"),
        (ALL, cursor + "="),
        *((ALL, cursor[:-1] + letter) for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345" if letter != cursor[-1]),
        (ALL, "A" + cursor[1:]),
        (ALL, cursor[:20] + other + cursor[21:]),
    ]:
        status, answer = stack.get(path, limit=2, cursor=bad)
        assert (status, answer["detail"]) == (400, "cursor: is altered, or of another list"), bad
    status, answer = stack.get(ALL, cursor=cursor, method="dense")
    assert (status, answer["detail"]) == (400, "cursor: is of a list numbered by competition, not by dense")


FORGED: Final[dict[str, list[Any]]] = {
    "no four values": [None, [], {"a": 1}, [0, True], [0, True, "P-m", 1]],
    "other types": [[0, True, 7], [0, 1, "P-m"], ["0", True, "P-m"], [True, True, "P-m"]],
    "no such period": [[10**30, True, ""], [-(10**30), True, ""], [-(10**6), True, ""], [10**6, False, ""]],
    "no such key": [[0, True, key] for key in ("\u0000", "P", "Pü", f"P-{'m' * 4000}", f"\u0001{'-' * 78}m", "z" * 45)],
}
CALENDARS: Final = BOARDS.replace('"all", "day"', '"all", "day", "month", "year"', 1)


def forge(window: str, content: Any, period: int = 0) -> str:
    """A cursor with the right checksum."""
    family = parse_boards(CALENDARS).family("b")
    assert family is not None
    metric = family.metrics["points"]
    ranked = metric.window(window)
    assert ranked is not None
    return cursors._with_checksum(json.dumps(content).encode(), cursors._list_of(Ranking("b", metric, ranked, period)))


def test_forged_cursors(engine: Any) -> None:
    with running(engine, ManualClock(population.NOW), CALENDARS) as stack:
        post(stack, {"m": 1})
        for window in ("all", "day", "week", "hour", "last-7-days"):
            for payload in chain(*FORGED.values()):
                forged = forge(window, [*payload, "competition"] if isinstance(payload, list) else payload)
                status, answer = stack.get(f"/boards/b/points/{window}", cursor=forged)
                assert (status, answer["type"]) == (400, "urn:standings:bad-argument"), payload
        # Python has no dates for periods before all calendars.
        for window, period in (("year", -1), ("year", 2_026 - 99_999), ("month", -50)):
            forged = forge(window, [period, True, "", "competition"], period)
            assert stack.get(f"/boards/b/points/{window}", cursor=forged)[0] == 400
        # The store rejects such a name as a key.
        for name in ("", "x" * 1_025):
            assert stack.get("/boards", cursor=cursors.encode_name(name, ""))[0] == 400


def test_a_cursor_stays_in_its_period_and_ends_with_it(stack: Stack) -> None:
    post(stack, {f"m{n}": n for n in range(5)})
    _, page = stack.get(DAY, limit=2)
    stack.clock.milliseconds += A_DAY
    _, tomorrow = stack.get(DAY, limit=2, cursor=page["next"])

    assert tomorrow["period"]["start"] == "2026-11-21T00:00:00Z"
    assert members(tomorrow) == ["m2", "m1"]
    status, answer = stack.get(DAY, cursor=page["next"], period="2026-11-22")
    assert (status, answer["detail"]) == (400, "cursor: is of another period than the one named")
    assert stack.get(DAY, cursor=page["next"], period="2026-11-21")[0] == 200
    stack.clock.milliseconds += 60 * A_DAY
    status, answer = stack.get(DAY, cursor=page["next"])
    assert (status, answer["detail"]) == (400, "cursor: its period is no longer kept")


def test_me_is_on_every_kind_of_page_that_asks_for_it(stack: Stack) -> None:
    post(stack, {"a": 9, "b": 8, "c": 7, "d": 6})
    _, first = stack.get(ALL, limit=1, me="d")
    expected = first["me"]

    assert (expected["rank"], expected["ahead"]["member"]) == (4, "c")
    assert "me" not in stack.get(ALL, limit=1, cursor=first["next"])[1]
    _, second = stack.get(ALL, limit=1, cursor=first["next"], me="d")
    for arguments in ({"cursor": second["previous"], "limit": 1}, {"rank": 99}, {"around": "a", "radius": 0}):
        assert stack.get(ALL, **arguments, me="d")[1]["me"] == second["me"] == expected


def test_me_is_of_the_pages_period_and_null_where_the_member_is_not_ranked(stack: Stack) -> None:
    post(stack, {"a": 5, "b": 7})
    post(stack, {"a": 3, "c": 4}, days_ago=1)

    def me(member: str, path: str = DAY, **arguments: Any) -> Any:
        return stack.get(path, me=member, **arguments)[1]["me"]

    found = me("a", period=YESTERDAY)
    assert (found["rank"], found["score"], found["ahead"]["member"]) == (2, 3, "c")
    cursor = stack.get(DAY, period=YESTERDAY, limit=1)[1]["next"]
    assert me("a", cursor=cursor) == found
    assert me("b", period=YESTERDAY) is None
    assert me("nobody") is None
    assert me("nobody", "/boards/nobody/points/all") is None
    stack.put(MEMBER, {"hidden": True}, id="a")
    apply(stack, [])
    assert me("a") is None


def test_a_text_that_is_no_member_is_refused_before_anything_is_read(
    stack: Stack, engine: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    post(stack, {"a": 5})
    stack.get(ALL)
    for read in ("get_item", "batch_get_item", "query"):
        monkeypatch.setattr(engine, read, None)

    assert stack.get(ALL, me="用" * 86)[0] == 400


@pytest.mark.parametrize("kind", ["few equals", "many equals", "4 shards"])
def test_me_costs_what_a_rank_and_one_more_entry_cost(engine: Any, kind: str) -> None:
    shards = 4 if kind == "4 shards" else 1
    scores = (population.lognormal if kind == "many equals" else population.finegrained)(Random(1), 500)
    text, path = population.sharded(shards), f"/boards/{population.BOARD}/points/all"
    population.place_members(engine, population.ranking_of(population.family(text)), scores)
    meter = Meter(engine)
    with running(meter, ManualClock(population.NOW), text) as stack:
        stack.get(path)  # the board's record and the number of shards
        entry = 0.5 * shards
        assert units(stack, meter, path, limit=1) <= 0.5 + entry
        some = Random(2).sample(sorted(scores), 12)
        for method in ("competition", "dense"):
            for page in ({"limit": 10}, {"rank": 250, "limit": 10}, {"around": some[0]}):
                without = units(stack, meter, path, method=method, **page)
                for member in some:
                    extra = units(stack, meter, path, method=method, me=member, **page) - without
                    assert extra <= units(stack, meter, f"{path}/rank", member=member, method=method) + entry


def units(stack: Stack, meter: Meter, path: str, **arguments: Any) -> float:
    """The read units that an answer costs."""
    before = meter.snapshot()
    assert stack.get(path, **arguments)[0] == 200
    return (meter.snapshot() - before).total.read
