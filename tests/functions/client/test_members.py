"""The client's changes of members and profiles go to the API, also where it reads the tables."""

from decimal import Decimal
from typing import Any

import pytest

from standings.client import BadArgument, NotAllowed, NotFound, Standings
from tests.functions.client.conftest import Clients, Connect
from tests.support.aws.stack import Stack, project
from tests.support.cli.signing import answering

BOARDS = """
[boards."*"]
members = "registered"
metrics.points = { aggregate = "sum", windows = ["all"] }
"""


@pytest.mark.parametrize("reads", ["tables", "api"])
def test_a_member_is_registered_hidden_shown_and_removed(clients: Clients, stack: Stack, reads: str) -> None:
    client: Standings = getattr(clients, reads)
    board = client.board("club")

    def ranked() -> list[str]:
        project(stack)
        return [entry["member"] for entry in board.top()["entries"]]

    for change, hidden, others in (
        (board.register, False, ["a/1"]),
        (board.hide, True, []),
        (board.show, False, ["a/1"]),
    ):
        answer = change("a/1")
        assert answer == {"board": "club", "member": "a/1", "hidden": hidden}
        assert ranked() == others
    board.hide("a/1")
    assert board.register("a/1")["hidden"]
    assert board.remove("a/1") is None  # type: ignore[func-returns-value]
    assert ranked() == []
    for name in ("a/1", "nobody"):
        with pytest.raises(NotFound, match="has no member") as raised:
            board.remove(name)
        assert raised.value.kind == "no-such-member"


@pytest.mark.parametrize("reads", ["tables", "api"])
def test_a_board_is_deleted(clients: Clients, stack: Stack, reads: str) -> None:
    client: Standings = getattr(clients, reads)
    client.board("club").register("a/1")
    assert client.board("club").delete() == {"board": "club", "status": "deleting"}
    assert [event for _, event in stack.later.calls] == [{"delete": {"board": "club", "begin": False, "calls": 12}}]
    with pytest.raises(NotFound) as raised:
        client.board("nobodys").delete()
    assert raised.value.kind == "no-such-board"


def test_a_profile_is_put_field_by_field(clients: Clients) -> None:
    for client in (clients.tables, clients.api):
        data = {"team": ["red"], "km": Decimal("0.5")}
        profile = client.put_profile("u7", name=" Ada ", country="DE", data=data)
        assert profile == {"name": "Ada", "picture": None, "country": "DE", "data": {"team": ["red"], "km": 0.5}}
        assert client.put_profile("u7", name=None)["name"] is None
        assert client.profile("u7") == {**profile, "name": None}


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({}, "expected at least one of name, picture, country, data"),
        ({"nmae": "Ada"}, "nmae: no such field"),
        ({"country": "Germany"}, "country: expected two capital letters"),
        ({"data": {"team": {1, 2}}}, r"data\.team: expected what JSON can hold"),
        ({"name": "\ud800"}, "name: expected text that UTF-8 can hold"),
    ],
)
def test_a_wrong_field_is_named_before_anything_is_sent(clients: Clients, fields: dict[str, Any], said: str) -> None:
    with pytest.raises(BadArgument, match=said):
        clients.tables.put_profile("u7", **fields)
    with pytest.raises(BadArgument, match="member: expected 1 to 256 bytes"):
        clients.tables.board("club").hide("")
    assert clients.requests.take() == {}


def test_it_needs_the_api_and_the_right_to_change_members(connected: Connect) -> None:
    with pytest.raises(BadArgument, match="api_url: is missing"):
        connected().board("club").register("a")
    with (
        answering((403, '{"message":"Forbidden"}')) as server,
        pytest.raises(NotAllowed, match="token that was given was not"),
    ):
        connected(api_url=server.address, token=server.address).board("club").register("a")
