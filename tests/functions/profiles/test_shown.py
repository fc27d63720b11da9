"""`profiles=true` adds profiles to every answer that names members; without it a call costs what it did."""

from typing import Any

import pytest

from standings.read.dispatch import PROFILE_TTL_S
from tests.support.aws.stack import Stack
from tests.support.builders.maintenance import before, throttle
from tests.support.builders.querying import ALL, MEMBER, post
from tests.support.dynamodb.requests import metered

ADA = {"name": "Ada", "picture": None, "country": "DE", "data": {"team": "red"}}
EMPTY = dict.fromkeys(ADA)
PROFILES = {"u1": ADA, "u2": None, "u3": EMPTY}
MINUTE = 60_000
READING = ("BatchGetItem", "'Profiles'")


CLIENT = metered  # requests and read units are counted


READS: list[tuple[str, dict[str, Any]]] = [
    *((ALL, page) for page in ({}, {"limit": 2}, {"rank": 2, "limit": 1}, {"around": "u2", "radius": 1})),
    *((f"{ALL}/rank", one) for one in ({"member": "u1"}, {"member": "u2", "previous": "true"})),
    *((MEMBER, one) for one in ({"id": "u3"}, {"id": "u1", "ranks": "true"})),
]


@pytest.fixture(autouse=True)
def people(stack: Stack) -> None:
    """Three members: one with a profile, one without, and one whose profile is empty."""
    post(stack, {"u1": 30, "u2": 20, "u3": 10})
    stack.put("/members", ADA, id="u1")
    stack.put("/members", {"name": None}, id="u3")


def expected(answer: dict[str, Any]) -> dict[str, Any]:
    if "entries" in answer:
        return {**answer, "entries": [expected(entry) for entry in answer["entries"]]}
    return {**answer, "profile": PROFILES.get(answer["member"])}


@pytest.mark.parametrize(("path", "arguments"), READS, ids=range(len(READS)))
def test_each_member_has_its_profile_for_one_request_more(stack: Stack, path: str, arguments: dict[str, Any]) -> None:
    stack.get(path, **arguments)  # fills the caches of what a board ranks
    stack.dynamodb.take()
    start = stack.dynamodb.snapshot()
    status, plain = stack.get(path, **arguments)
    without, units = stack.dynamodb.take(), (stack.dynamodb.snapshot() - start).total.read
    assert (status, "profile" in str(plain)) == (200, False)
    assert not [table for _, table in without if table == "Profiles"]
    assert stack.get(path, **arguments, profiles="false") == (200, plain)
    stack.dynamodb.take()
    start = stack.dynamodb.snapshot()
    assert stack.get(path, **arguments, profiles="true") == (200, expected(plain))
    assert stack.dynamodb.take() == {**without, ("batch_get_item", "Profiles"): 1}
    assert (stack.dynamodb.snapshot() - start).total.read == units + len(plain.get("entries", [plain])) / 2


def test_each_member_of_a_group_and_of_a_page_by_its_cursor_has_its_profile(stack: Stack) -> None:
    _, without = stack.post(f"{ALL}/ranks", {"members": ["u3", "nobody", "u1"]})
    assert stack.post(f"{ALL}/ranks", {"members": ["u3", "nobody", "u1"]}, profiles="true") == (200, expected(without))

    _, first = stack.get(ALL, limit=1, profiles="true")
    _, second = stack.get(ALL, limit=1, cursor=first["next"], profiles="true")
    assert [entry["profile"] for entry in first["entries"] + second["entries"]] == [ADA, None]


def test_a_function_keeps_profiles_for_less_than_a_minute(stack: Stack) -> None:
    def shown() -> list[Any]:
        return [entry["profile"] for entry in stack.get(ALL, profiles="true")[1]["entries"]]

    assert shown() == [ADA, None, EMPTY]
    stack.dynamodb.take()
    stack.put("/members", {"name": "Zoë"}, id="u1")
    stack.put("/members", {"name": "Bob"}, id="u2")
    # Also that there is none is kept, but not for those who ask for the profile itself or search.
    assert shown() == [ADA, None, EMPTY]
    assert stack.dynamodb.take().get(("batch_get_item", "Profiles")) is None
    assert stack.get("/members", id="u1")[1]["name"] == "Zoë"
    assert stack.get("/members", name="zo")[1]["members"][0]["profile"]["name"] == "Zoë"
    stack.clock.milliseconds += MINUTE - 1_000

    assert shown() == [{**ADA, "name": "Zoë"}, {**EMPTY, "name": "Bob"}, EMPTY]


def test_profiles_are_kept_from_the_moment_before_they_were_read(stack: Stack, engine: Any) -> None:
    began = stack.clock()
    with before(engine, lambda: stack.clock.sleep(2), *READING):
        assert stack.get(ALL, profiles="true")[0] == 200
    stack.put("/members", {"name": "Zoë"}, id="u1")
    stack.clock.milliseconds = began + round(PROFILE_TTL_S * 1000)

    assert stack.get(ALL, profiles="true")[1]["entries"][0]["profile"]["name"] == "Zoë"


def test_only_members_that_are_not_kept_are_read(stack: Stack, engine: Any) -> None:
    keys: list[list[str]] = []

    def note(operation: str, request: dict[str, Any]) -> None:
        if operation == "BatchGetItem" and "Profiles" in request["RequestItems"]:
            keys.append([key["pk"]["S"] for key in request["RequestItems"]["Profiles"]["Keys"]])

    engine.before.append(note)
    stack.get(f"{ALL}/rank", member="u2", profiles="true")
    stack.get(ALL, profiles="true")
    stack.get(ALL, profiles="true")

    assert keys == [["u2"], ["u1", "u3"]]


def test_profiles_that_cannot_be_read_are_tried_again_and_then_a_503(stack: Stack, engine: Any) -> None:
    twice: list[Any] = [throttle, throttle]
    with before(engine, lambda: twice and twice.pop()(), *READING):
        assert stack.get(ALL, profiles="true")[0] == 200
    stack.clock.milliseconds += MINUTE
    began = stack.clock()
    with before(engine, throttle, *READING):
        assert stack.get(ALL, profiles="true")[1]["type"] == "urn:standings:unavailable"
        assert stack.clock() - began <= 10_000
        assert stack.get(ALL)[0] == 200
