"""A profile is written field by field, read at once, and removed."""

from typing import Any

import pytest

from benchmarks.harness.meter import Meter
from tests.support.aws.stack import Stack
from tests.support.builders.checks import rows
from tests.support.builders.querying import ALL, MEMBER, post

ADA = {"name": "Ada", "picture": "https://pictures.example/ada.png", "country": "DE", "data": {"team": ["red", 7]}}


def test_a_profile_by_itself_is_read_strongly_consistently(stack: Stack, meter: Meter) -> None:
    """Such a read costs twice as much, and shows what was just written."""
    stack.put("/members", ADA, id="u1")
    before = meter.snapshot()
    stack.get("/members", id="u1")

    assert (meter.snapshot() - before).total.read == 1


def test_given_fields_are_set_those_that_are_null_removed_and_others_stay(stack: Stack) -> None:
    stack.put("/members", ADA, id="u1")

    changed = {**ADA, "picture": None, "data": {"team": "blue"}}
    assert stack.put("/members", {"picture": None, "data": {"team": "blue"}}, id="u1") == (200, changed)
    assert stack.get("/members", id="u1") == (200, changed)
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
