"""A transaction of a schedule is written item by item, visibly for plain reads, whatever becomes of its sender."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from tests.faults import aws
from tests.faults.clockwork import Process
from tests.faults.world import Options, World

NAMES = [f"b#x#m{number}" for number in range(6)]
KEYS: list[Any] = [{"pk": {"S": name}} for name in NAMES]
ALL, NONE = frozenset(NAMES), frozenset[str]()
Seen = frozenset[str] | str
"""The items that are there, or the code of an error."""


def plainly(sdk: Any) -> list[Any]:
    found: list[Any] = sdk.batch_get_item(RequestItems={"Rankings": {"Keys": KEYS}})["Responses"]["Rankings"]
    return found


def at_once(sdk: Any) -> list[Any]:
    gets = [{"Get": {"TableName": "Rankings", "Key": key}} for key in KEYS]
    return [each["Item"] for each in sdk.transact_get_items(TransactItems=gets)["Responses"] if each]


def writing(sdk: Any) -> list[Any]:
    sdk.put_item(TableName="Rankings", Item=KEYS[0], ConditionExpression="attribute_exists(pk)")
    return KEYS


def beside(seed: int, call: Callable[[Any], list[Any]], dies_after: int | None) -> list[Seen]:
    """Return what a process sees again and again while another one commits a transaction, and perhaps dies."""
    world = World(seed, Options())
    world.fault_rate = 0
    sender, other = (Process(name, name, world.clock.now) for name in ("sends", "calls"))
    seen: list[Seen] = []

    def send() -> None:
        world.sdk.transact_write_items(TransactItems=[{"Put": {"TableName": "Rankings", "Item": key}} for key in KEYS])

    def calls() -> None:
        for _ in range(20):
            try:
                seen.append(frozenset(item["pk"]["S"] for item in call(world.sdk)))
            except ClientError as error:
                seen.append(error.response["Error"]["Code"])

    with mock.patch.object(aws, "ONE_BY_ONE", 1):
        world.clock.start(sender, send)
        world.clock.start(other, calls)
        if dies_after is not None:
            world.clock.after(dies_after, world.clock.die, sender)
        world.clock.run()
    assert world.server.is_idle
    assert world.judge.differences == []
    return seen


@pytest.mark.parametrize(
    ("call", "expected", "dies_after"),
    [
        (plainly, {NONE, "some", ALL}, None),
        (plainly, {NONE, "some", ALL}, 6_000),  # A sender that dies early may not have sent it at all
        (at_once, {NONE, ALL, "TransactionCanceledException"}, None),
        (writing, {"ConditionalCheckFailedException", "TransactionConflictException", ALL}, None),
    ],
)
def test_what_others_see_of_a_transaction(call: Any, expected: set[Seen], dies_after: int | None) -> None:
    runs = [beside(seed, call, dies_after) for seed in range(20)]

    kinds = {each if isinstance(each, str) or each in (NONE, ALL) else "some" for seen in runs for each in seen}
    assert kinds == expected
    assert {seen[-1] for seen in runs} <= ({NONE, ALL} if dies_after else {ALL})
    assert sum(seen[-1] == ALL for seen in runs) > len(runs) / 2
    if call is plainly:  # What it has seen stays, and it sees several parts
        assert len({names for seen in runs for names in seen}) >= 5
        assert all(set(before) <= set(after) for seen in runs for before, after in pairwise(seen))
