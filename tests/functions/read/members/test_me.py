"""`me=` on pages: the rank of one member beside any page, and the entry just before it."""

from collections.abc import Iterator
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, running
from tests.support.builders.querying import ALL, BOARDS, NOW, post

RANK = ("member", "rank", "score", "percentile")
LIST = f"/boards/{population.BOARD}/points/all"


def me(stack: Stack, member: str, path: str = ALL, **arguments: Any) -> dict[str, Any] | None:
    status, page = stack.get(path, me=member, **arguments)
    assert status == 200, page
    found: dict[str, Any] | None = page["me"]
    return found


def test_it_is_the_members_rank_and_the_entry_before_it(stack: Stack) -> None:
    post(stack, {"a": 5, "c": 7, "b": 7, "d": -1, "e": 0})

    for member in "abcde":
        found = me(stack, member, limit=1)
        rank = stack.get(f"{ALL}/rank", member=member)[1]
        assert found is not None
        assert {name: found[name] for name in RANK} == {name: rank[name] for name in RANK}
    ahead = {member: (me(stack, member, limit=1) or {})["ahead"] for member in "abcde"}
    assert ahead == {
        "b": None,
        "c": {"rank": 1, "member": "b", "score": 7},
        "a": {"rank": 1, "member": "c", "score": 7},
        "e": {"rank": 3, "member": "a", "score": 5},
        "d": {"rank": 4, "member": "e", "score": 0},
    }


@pytest.mark.parametrize(("method", "rank", "ahead"), [("competition", 4, 2), ("ordinal", 4, 3), ("dense", 3, 2)])
def test_ranks_are_numbered_as_those_of_the_page(stack: Stack, method: str, rank: int, ahead: int) -> None:
    post(stack, {"a": 900, "b": 7, "c": 7, "d": 1})
    found = me(stack, "d", method=method)

    assert found is not None
    assert (found["rank"], found["ahead"]) == (rank, {"rank": ahead, "member": "c", "score": 7})
    around = stack.get(ALL, around="d", radius=1, method=method)[1]["entries"]
    assert [found["ahead"]["rank"], found["rank"]] == [entry["rank"] for entry in around]


def test_every_kind_of_page_has_it(stack: Stack) -> None:
    post(stack, {"a": 9, "b": 8, "c": 7, "d": 6})
    first = stack.get(ALL, limit=1, me="d")[1]
    expected = first["me"]

    assert expected["ahead"]["member"] == "c"
    # A cursor keeps period and method, but it is of nobody.
    assert "me" not in stack.get(ALL, limit=1, cursor=first["next"])[1]
    second = stack.get(ALL, limit=1, cursor=first["next"], me="d")[1]
    back = stack.get(ALL, limit=1, cursor=second["previous"], me="d")[1]
    assert ([entry["member"] for entry in back["entries"]], second["me"], back["me"]) == (["a"], expected, expected)
    assert me(stack, "d", around="a", radius=0) == expected
    assert me(stack, "d", rank=2, limit=1) == expected
    assert me(stack, "d", rank=99) == expected


def test_it_is_of_the_pages_period(stack: Stack) -> None:
    post(stack, {"a": 5, "b": 7})
    post(stack, {"a": 3, "c": 4}, days_ago=1)
    yesterday = "2026-11-20"
    found = me(stack, "a", "/boards/b/points/day", period=yesterday)

    assert found is not None
    assert (found["rank"], found["score"], found["ahead"]["member"]) == (2, 3, "c")
    assert me(stack, "b", "/boards/b/points/day", period=yesterday) is None
    _, first = stack.get("/boards/b/points/day", period=yesterday, limit=1)
    assert me(stack, "a", "/boards/b/points/day", cursor=first["next"]) == found


def test_it_is_null_where_the_member_is_not_ranked(stack: Stack) -> None:
    post(stack, {"a": 5})

    assert me(stack, "nobody") is None
    assert me(stack, "nobody", "/boards/nobody/points/all") is None
    stack.put("/boards/b/member", {"hidden": True}, id="a")
    post(stack, {"b": 1})
    assert me(stack, "a") is None


@pytest.mark.parametrize("member", ["", "用" * 86])
def test_a_text_that_is_no_member_is_refused_before_anything_is_read(
    engine: Any, member: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as stack:
        post(stack, {"a": 5})
        stack.get(ALL)
        for read in ("get_item", "batch_get_item", "query"):
            monkeypatch.setattr(engine, read, None)
        status, problem = stack.get(ALL, me=member)

    assert (status, problem["detail"].partition(":")[0]) == (400, "me")


@pytest.fixture(params=["few equals", "many equals", "4 shards"])
def metered(engine: Any, request: pytest.FixtureRequest) -> Iterator[tuple[Stack, Meter, int, list[str]]]:
    """A stack with 2,000 members, its meter, its shards, and some of its members."""
    shards = 4 if request.param == "4 shards" else 1
    draw = population.lognormal if request.param == "many equals" else population.finegrained
    scores = draw(Random(1), 2_000)
    text = population.sharded(shards)
    population.place_members(engine, population.ranking_of(population.family(text)), scores)
    meter = Meter(engine)
    with running(meter, ManualClock(population.NOW), text) as stack:
        yield stack, meter, shards, Random(2).sample(sorted(scores), 40)


def test_it_costs_what_a_rank_and_one_more_entry_cost(metered: tuple[Stack, Meter, int, list[str]]) -> None:
    stack, meter, shards, members = metered

    def units(path: str, **arguments: Any) -> float:
        before = meter.snapshot()
        assert stack.get(path, **arguments)[0] == 200
        return (meter.snapshot() - before).total.read

    units(LIST)  # the board's record and the number of shards
    entry = 0.5 * shards
    assert units(LIST, limit=1) <= 0.5 + entry
    for method in ("competition", "dense"):
        for page in ({"limit": 10}, {"rank": 1_000, "limit": 10}, {"around": members[0]}):
            arguments = {"method": method, **page}
            for member in members:
                extra = units(LIST, me=member, **arguments) - units(LIST, **arguments)
                assert extra <= units(f"{LIST}/rank", member=member, method=method) + entry


def test_in_a_rolling_window_too(engine: Any) -> None:
    meter = Meter(engine)
    path = "/boards/b/points/last-7-days"
    with running(meter, ManualClock(int(NOW.timestamp() * 1000)), BOARDS) as stack:
        scores = population.finegrained(Random(1), 300)
        post(stack, scores)
        stack.get(path)
        for member in Random(3).sample(sorted(scores), 20):
            snapshots = [meter.snapshot()]
            for rest, arguments in (("", {"me": member}), ("", {}), ("/rank", {"member": member})):
                assert stack.get(path + rest, **arguments)[0] == 200
                snapshots.append(meter.snapshot())
            with_me, page, rank = ((b - a).total.read for a, b in pairwise(snapshots))
            assert with_me <= page + rank + 0.5
