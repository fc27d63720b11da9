"""A transaction of a schedule is written item by item, visibly for plain reads, whatever becomes of its sender."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any
from unittest import mock

from botocore.exceptions import ClientError

from tests.faults import aws
from tests.faults.clockwork import Process
from tests.faults.world import Options, World

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = [f"b#x#m{number}" for number in range(6)]
KEYS = [{"pk": {"S": name}} for name in NAMES]
SEEDS = range(20)
ALL, NONE = frozenset(NAMES), frozenset[str]()
Seen = frozenset[str] | str
"""The items that are there, or the code of an error."""


def _names(items: list[Any]) -> Seen:
    return frozenset(item["pk"]["S"] for item in items if item)


def _plainly(world: World) -> Seen:
    answer = world.sdk.batch_get_item(RequestItems={"Rankings": {"Keys": KEYS, "ConsistentRead": True}})
    return _names(answer["Responses"]["Rankings"])


def _at_once(world: World) -> Seen:
    gets = [{"Get": {"TableName": "Rankings", "Key": key}} for key in KEYS]
    return _names([each.get("Item") for each in world.sdk.transact_get_items(TransactItems=gets)["Responses"]])


def _writing(world: World) -> Seen:
    world.sdk.put_item(TableName="Rankings", Item=KEYS[0], ConditionExpression="attribute_exists(pk)")
    return ALL


def _beside(seed: int, call: Callable[[World], Seen], dies_after: int | None = None) -> list[Seen]:
    """Return what a process sees again and again while another one commits a transaction, and perhaps dies."""
    world = World(seed, Options(fault_rate=0))
    sender, other = (Process(name, name, world.clock.now) for name in ("sends", "calls"))
    seen: list[Seen] = []

    def send() -> None:
        world.sdk.transact_write_items(TransactItems=[{"Put": {"TableName": "Rankings", "Item": key}} for key in KEYS])

    def calls() -> None:
        for _ in range(20):
            try:
                seen.append(call(world))
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


def test_a_plain_read_sees_some_items_and_not_others_and_what_it_has_seen_stays() -> None:
    runs = [_beside(seed, _plainly) for seed in SEEDS]

    assert all(seen[-1] == ALL for seen in runs)
    assert len({names for seen in runs for names in seen} - {NONE, ALL}) >= 3
    assert all(set(before) <= set(after) for seen in runs for before, after in pairwise(seen))


def test_a_transactional_read_sees_all_items_or_none_or_meets_a_conflict() -> None:
    seen = {names for seed in SEEDS for names in _beside(seed, _at_once)}
    assert seen == {NONE, ALL, "TransactionCanceledException"}


def test_a_transaction_completes_although_its_sender_dies_in_the_middle() -> None:
    ends = [_beside(seed, _plainly, dies_after=6_000)[-1] for seed in SEEDS]

    # A sender that dies early may not have sent it at all.
    assert set(ends) <= {NONE, ALL}
    assert ends.count(ALL) > len(SEEDS) / 2


def test_another_write_meets_a_conflict_until_the_transaction_is_done() -> None:
    seen = {code for seed in SEEDS for code in _beside(seed, _writing)}
    assert seen == {"ConditionalCheckFailedException", "TransactionConflictException", ALL}
