"""The items of a rolling window come back from what is stored, and damaged ones are refused."""

import pytest

from standings.aws.dynamodb.rolling import (
    EXPIRY_MARGIN,
    ROW_LIFETIME,
    decode_steps,
    list_item,
    listed_member,
    row_item,
    row_of,
)
from standings.domain.rolling import Block, Step, Steps, list_key
from standings.domain.scoring import Place
from standings.domain.windows import DAY
from standings.stores import ListItem, RollingRow, RowChange
from tests.support.builders.rolling.random_items import rolling_window

WINDOW = rolling_window("last-7-days")
TODAY = 20_778


@pytest.mark.parametrize(
    "text",
    [
        *(
            *("", "x", "5", "null", "[]", "{}", '"12"', "[null]", "[1.5]", "[true]", '["1"]', "[1,2]", '[1,"234"]'),
            "[1,[]]",
        ),
        *("[1,[2,3]]", "[1,[2,3,4,5,6]]", "[1,[2,3,null]]", '[1,[2,3,"x"]]', "[1,[2,3,4.5]]", "[1,[2,3,4,5.5]]"),
        "[1,[2,0,4]]",
    ],
)
def test_any_other_text_is_no_steps(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        decode_steps(text)
    item = row_item(WINDOW, RowChange("m", RollingRow(5, Steps(1)), 0, None))
    assert row_of(item) == RollingRow(5, Steps(1))
    for damaged in ({**item, "p": {"S": text}}, {**item, "p": {}}, {**item, "v": {}}):
        problem = row_of(damaged)
        assert isinstance(problem, str)
        assert "#m' is damaged" in problem


def test_a_row_stays_until_its_last_step_has_been_read_and_no_older_change_can_come() -> None:
    written_at_ms = TODAY * DAY
    steps = Steps(TODAY, (Step(TODAY, TODAY + 1, Place(1)), Step(TODAY + 1, TODAY + 400, Place(2))))

    def expiry(row: Steps) -> int:
        return int(row_item(WINDOW, RowChange("m", RollingRow(5, row), written_at_ms, None))["e"]["N"]) * 1000

    assert expiry(steps) == WINDOW.readable_until(TODAY + 399) + EXPIRY_MARGIN
    assert expiry(Steps(TODAY)) == expiry(Steps(TODAY, steps.steps[:1])) == written_at_ms + ROW_LIFETIME


@pytest.mark.parametrize("length", [1, 4])
def test_a_list_item_is_in_the_index_as_long_as_it_has_a_place(length: int) -> None:
    block, member = Block(TODAY, length), "a#b/x4#"
    item = list_item(WINDOW, ListItem(member, block, Place(-7), 5, 99))

    assert listed_member(WINDOW, item["pk"]["S"]) == (block, member)
    assert item["r"]["S"] == list_key(WINDOW, block)
    assert {"r", "s", "v", "t", "e", "pk"} == item.keys()
    # It stays as long as an older change could bring back a place there.
    assert int(item["e"]["N"]) * 1000 == WINDOW.readable_until(TODAY + length - 1) + EXPIRY_MARGIN
    gone = list_item(WINDOW, ListItem(member, block, None, 6, 99))
    assert gone == {name: item[name] for name in ("pk", "t", "e")} | {"v": {"N": "6"}}
    assert listed_member(WINDOW._replace(generation=1), item["pk"]["S"]) is None
