"""A search finds members by the beginning of their names, on a board or in all of the stack."""

from typing import Any

import pytest

from benchmarks.harness.meter import Meter
from standings.read.profiles.search import STEP
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import Stack, running
from tests.support.builders.querying import BOARDS, MEMBER, post
from tests.support.builders.stages.streaming import project
from tests.support.dynamodb.requests import Requests


def name(stack: Stack, **names: str) -> None:
    for member, value in names.items():
        assert stack.put("/members", {"name": value}, id=member)[0] == 200


def search(stack: Stack, beginning: str, **arguments: Any) -> tuple[list[str], bool]:
    status, answer = stack.get("/members", name=beginning, **arguments)
    assert status == 200, answer
    assert all(one["profile"]["name"] for one in answer["members"])
    return [one["member"] for one in answer["members"]], answer["complete"]


def test_names_are_found_by_their_beginning_in_their_order(stack: Stack) -> None:
    name(stack, u1="Ádám", u2="ADA", u3="Ada Lovelace", u4="Adam", u5="Bob", u6="Za")

    assert search(stack, "AD") == (["u2", "u3", "u1", "u4"], True)
    assert search(stack, "adam") == (["u1", "u4"], True)
    assert search(stack, "ada ") == (["u2", "u3", "u1", "u4"], True)
    assert search(stack, "ada l") == (["u3"], True)
    assert search(stack, "da") == ([], True)


def test_what_a_search_leaves_out_it_says(stack: Stack) -> None:
    name(stack, **{f"u{number:02}": f"Ada {number:02}" for number in range(21)})

    assert search(stack, "ada", limit=20) == ([f"u{number:02}" for number in range(20)], False)
    assert search(stack, "ada", limit=1) == (["u00"], False)
    stack.delete("/members", id="u20")
    assert search(stack, "ada") == ([f"u{number:02}" for number in range(20)], True)


def test_on_a_board_only_its_members_that_are_not_hidden_are_found(stack: Stack) -> None:
    post(stack, {"u1": 1, "u2": 2, "u3": 3})
    stack.put("/boards/other/member", id="u5")
    name(stack, u1="Ada", u2="Adam", u3="Adele", u4="Adrian", u5="Ady")
    stack.put(MEMBER, {"hidden": True}, id="u2")
    stack.delete(MEMBER, id="u3")

    assert search(stack, "ad", board="b") == (["u1"], True)
    assert search(stack, "ad", board="other") == (["u5"], True)
    assert search(stack, "ad", board="nobody-played") == ([], True)
    stack.put(MEMBER, {"hidden": False}, id="u2")
    project(stack)
    assert search(stack, "ad", board="b", limit=1) == (["u1"], False)
    assert search(stack, "ad", board="b", limit=2) == (["u1", "u2"], True)


@pytest.mark.parametrize(("before", "found", "complete"), [(199, True, True), (200, False, False)])
def test_on_a_board_two_hundred_profiles_are_looked_at(
    stack: Stack, requests: Requests, meter: Meter, before: int, found: bool, complete: bool
) -> None:
    post(stack, {"last": 1})
    name(stack, **{f"u{number:03}": f"Ada {number:03}" for number in range(before)}, last="Adam")
    requests.take()
    start = meter.snapshot()

    assert search(stack, "ada", board="b") == (["last"] if found else [], complete)
    assert (meter.snapshot() - start).total.read <= 200 / 2 + 15
    assert requests.take() == {("query", "names"): 200 / STEP + 1, ("batch_get_item", "Scores"): 200 / STEP}


def test_a_search_looks_no_further_than_it_must(stack: Stack, requests: Requests, meter: Meter) -> None:
    members = [f"u{number:03}" for number in range(100)]
    post(stack, dict.fromkeys(members, 1))
    name(stack, **{member: f"Ada {member}" for member in members})
    requests.take()
    assert search(stack, "ada", board="b") == (members[:20], False)
    assert requests.take() == {("query", "names"): 1, ("batch_get_item", "Scores"): 1}

    start = meter.snapshot()
    assert search(stack, "ada") == (members[:20], False)
    assert requests.take() == {("query", "names"): 1}
    assert (meter.snapshot() - start).total.read <= 1


@pytest.mark.parametrize(
    ("reads", "searches", "needs_board"),
    [("false", "false", False), ("false", "true", False), ("true", "false", True), ("true", "true", False)],
)
def test_where_anyone_may_read_a_search_needs_a_board_unless_it_is_open(
    stack: Stack, monkeypatch: pytest.MonkeyPatch, reads: str, searches: str, needs_board: bool
) -> None:
    post(stack, {"u1": 1})
    name(stack, u1="Ada", u2="Adam")
    monkeypatch.setitem(ENVIRONMENT, "OPEN_READS", reads)
    monkeypatch.setitem(ENVIRONMENT, "OPEN_SEARCH", searches)
    with running(stack.dynamodb, stack.clock, BOARDS) as deployed:
        status, answer = deployed.get("/members", name="ad")
        assert status == (400 if needs_board else 200)
        if needs_board:
            assert answer["detail"].startswith("board: is missing: where anyone may read, say on which board")
            assert "OpenSearch" in answer["detail"]
        assert search(deployed, "ad", board="b") == (["u1"], True)
        assert deployed.get("/members", id="u2")[0] == 200
