"""The members of a board are listed, hidden ones too, with a bounded number of reads in each call."""

from collections.abc import Iterator
from typing import Any, Final

import pytest

from standings import members
from tests.support.aws.stack import ManualClock, Stack, running
from tests.support.builders.checks import rows
from tests.support.builders.maintenance import calls
from tests.support.builders.querying import BOARDS, post

MEMBERS: Final = 150


@pytest.fixture
def stack(engine: Any, clock: ManualClock) -> Iterator[Stack]:
    with running(engine, clock, BOARDS) as deployed:
        post(deployed, {f"m{number}": number for number in range(MEMBERS)})
        for number in range(0, MEMBERS, 10):
            assert deployed.put("/boards/b/member", {"hidden": True}, id=f"m{number}")[0] == 200
        assert deployed.delete("/boards/b/member", id="m10")[0] == 204
        yield deployed


def test_each_member_is_listed_once_however_short_the_calls(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    hidden = {f"m{number}" for number in range(0, MEMBERS, 10)} - {"m10"}
    for bounds in ({"PAGE": 2, "MAX_LOOKED_AT": 3}, {"PAGE": 2, "MAX_LISTED": 1}, {}):
        for name, bound in bounds.items():
            monkeypatch.setattr(members, name, bound)
        for is_hidden in (True, False):
            answers = [*calls(stack, "members", board="b", hidden=is_hidden)]
            found = [one["member"] for answer in answers for one in answer["members"] if one["hidden"] or not is_hidden]
            assert sorted(found) == sorted(hidden if is_hidden else {f"m{n}" for n in range(MEMBERS) if n != 10})
            assert {one["member"] for answer in answers for one in answer["members"] if one["hidden"]} == hidden
            assert sum(answer["looked_at"] for answer in answers) == MEMBERS
            assert max(answer["looked_at"] for answer in answers) < (bounds.get("MAX_LOOKED_AT", MEMBERS) + 2)
        monkeypatch.undo()


def test_an_item_that_cannot_be_read_is_named(stack: Stack) -> None:
    (item,) = (row for row in rows(stack.dynamodb, "Scores") if row["sk"]["S"] == "m7")
    stack.dynamodb.put_item(TableName="Scores", Item={"pk": item["pk"], "sk": item["sk"]})
    (answer,) = calls(stack, "members", board="b", hidden=True)
    assert ["'m7' on board 'b' cannot be read" in problem for problem in answer["problems"]] == [True]
