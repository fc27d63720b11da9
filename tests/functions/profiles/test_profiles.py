"""A profile is written field by field, read at once, and removed. A search finds members by the beginning of their
names, on a board or in all of the stack."""

from typing import Any

import pytest

from standings.read.profiles import STEP
from tests.support.aws.environment import ENVIRONMENT
from tests.support.aws.stack import Stack, project, running
from tests.support.builders.checks import rows
from tests.support.builders.querying import ALL, BOARDS, MEMBER, post
from tests.support.dynamodb.requests import metered

ADA = {"name": "Ada", "picture": "https://pictures.example/ada.png", "country": "DE", "data": {"team": ["red", 7]}}


CLIENT = metered  # requests and read units are counted


def test_given_fields_are_set_those_that_are_null_removed_and_others_stay(stack: Stack) -> None:
    """A strongly consistent read costs twice as much, and shows what was just written."""
    stack.put("/members", ADA, id="u1")

    changed = {**ADA, "picture": None, "data": {"team": "blue"}}
    assert stack.put("/members", {"picture": None, "data": {"team": "blue"}}, id="u1") == (200, changed)
    before = stack.dynamodb.snapshot()
    assert stack.get("/members", id="u1") == (200, changed)
    assert (stack.dynamodb.snapshot() - before).total.read == 1
    nothing = dict.fromkeys(ADA)
    assert stack.put("/members", nothing, id="u1") == (200, nothing)
    assert stack.get("/members", id="u1") == (200, nothing)


def test_the_search_form_goes_with_the_name(stack: Stack, engine: Any) -> None:
    def found(name: str) -> list[str]:
        return [one["member"] for one in stack.get("/members", name=name)[1]["members"]]

    stack.put("/members", {"name": "Ádám"}, id="u1")
    assert found("ADA") == ["u1"]
    stack.put("/members", {"name": "Zoë"}, id="u1")
    assert (found("ad"), found("zoe")) == ([], ["u1"])
    stack.put("/members", {"country": "DE"}, id="u1")
    assert found("zo") == ["u1"]
    stack.put("/members", {"name": None}, id="u1")
    assert found("zo") == []
    assert rows(engine, "Profiles") == [{"pk": {"S": "u1"}, "c": {"S": "DE"}}]


def test_a_removed_profile_is_gone_with_its_name(stack: Stack, engine: Any) -> None:
    post(stack, {"u1": 5})
    stack.put("/members", ADA, id="u1")

    for _ in range(2):
        assert stack.delete("/members", id="u1") == (204, None)
    assert stack.get("/members", id="u1")[0] == 404
    assert stack.get("/members", name="ada")[1] == {"members": [], "complete": True}
    assert rows(engine, "Profiles") == []
    # Boards and profiles do not depend on each other.
    assert [entry["member"] for entry in stack.entries(ALL)] == ["u1"]
    stack.put("/members", ADA, id="u1")
    assert stack.delete(MEMBER, id="u1")[0] == 204
    assert stack.get("/members", id="u1") == (200, ADA)


@pytest.mark.parametrize("member", ["images/1.jpg", "用户", "a,b", "x y+z&w=1", "x" * 256])
def test_any_member_may_have_a_profile(stack: Stack, member: str) -> None:
    stack.put("/members", ADA, id=member)

    assert stack.get("/members", id=member) == (200, ADA)
    assert stack.get("/members", name="ada")[1]["members"] == [{"member": member, "profile": ADA}]


def test_the_longest_profile_is_stored_and_found(stack: Stack) -> None:
    # Four bytes in UTF-8, and eighteen characters in the search form
    longest = {"name": "\U0001f600" * 64, "picture": "https://a.example/" + "x" * 494, "data": {"x": "y" * 1016}}
    expanding = {**longest, "name": "\ufdfa" * 64}
    for member, profile in (("a" * 256, longest), ("b" * 256, expanding)):
        assert stack.put("/members", profile, id=member) == (200, {"country": None, **profile})
        found = stack.get("/members", name=profile["name"])[1]["members"]
        assert [one["member"] for one in found] == [member]
    assert stack.get("/members", name="\ufdfa" * 63 + "x")[1]["members"] == []


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
def test_on_a_board_two_hundred_profiles_are_looked_at(stack: Stack, before: int, found: bool, complete: bool) -> None:
    post(stack, {"last": 1})
    name(stack, **{f"u{number:03}": f"Ada {number:03}" for number in range(before)}, last="Adam")
    stack.dynamodb.take()
    start = stack.dynamodb.snapshot()

    assert search(stack, "ada", board="b") == (["last"] if found else [], complete)
    assert (stack.dynamodb.snapshot() - start).total.read <= 200 / 2 + 15
    assert stack.dynamodb.take() == {("query", "names"): 200 / STEP + 1, ("batch_get_item", "Scores"): 200 / STEP}


def test_a_search_looks_no_further_than_it_must(stack: Stack) -> None:
    members = [f"u{number:03}" for number in range(100)]
    post(stack, dict.fromkeys(members, 1))
    name(stack, **{member: f"Ada {member}" for member in members})
    stack.dynamodb.take()
    assert search(stack, "ada", board="b") == (members[:20], False)
    assert stack.dynamodb.take() == {("query", "names"): 1, ("batch_get_item", "Scores"): 1}

    start = stack.dynamodb.snapshot()
    assert search(stack, "ada") == (members[:20], False)
    assert stack.dynamodb.take() == {("query", "names"): 1}
    assert (stack.dynamodb.snapshot() - start).total.read <= 1


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
