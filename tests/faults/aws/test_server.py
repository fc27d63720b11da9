"""The server of the schedules shows a transaction item by item to plain reads, whatever becomes of its sender."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError

from tests.faults.aws import server
from tests.faults.clockwork import Process
from tests.faults.world import Options
from tests.faults.world.world import World
from tests.support.dynamodb.errors import error_class

if TYPE_CHECKING:
    from collections.abc import Callable

NAMES = [f"b#x#m{number}" for number in range(6)]
SEEDS = range(20)
ALL, NONE = set(NAMES), set[str]()


def _put(name: str) -> dict[str, Any]:
    return {"TableName": "Rankings", "Item": {"pk": {"S": name}}}


def _commit(world: World) -> None:
    world.sdk.transact_write_items(TransactItems=[{"Put": _put(name)} for name in NAMES])


def _names(items: list[Any]) -> set[str]:
    return {item["pk"]["S"] for item in items if item}


def _batch(world: World) -> set[str]:
    keys = [{"pk": {"S": name}} for name in NAMES]
    answer = world.sdk.batch_get_item(RequestItems={"Rankings": {"Keys": keys, "ConsistentRead": True}})
    return _names(answer["Responses"]["Rankings"])


def _single(world: World) -> set[str]:
    keys = [{"pk": {"S": name}} for name in NAMES]
    return _names([world.sdk.get_item(TableName="Rankings", Key=key, ConsistentRead=True).get("Item") for key in keys])


def _at_once(world: World) -> set[str] | None:
    """Return what one transaction reads, None if it meets a conflict."""
    gets = [{"Get": {"TableName": "Rankings", "Key": {"pk": {"S": name}}}} for name in NAMES]
    try:
        answers = world.sdk.transact_get_items(TransactItems=gets)["Responses"]
    except error_class("TransactionCanceledException"):
        return None
    return _names([answer.get("Item") for answer in answers])


def _beside(
    seed: int, read: Callable[[World], set[str] | None], *, dies_after: int | None = None, often: int = 10
) -> list[set[str] | None]:
    """Return what a process reads again and again while another one commits a transaction, and perhaps dies."""
    world = World(seed, Options(fault_rate=0))
    writer, reader = (Process(name, name, world.clock.now) for name in ("sends", "reads"))
    seen: list[set[str] | None] = []
    with mock.patch.object(server, "ONE_BY_ONE", 1):
        world.clock.start(writer, lambda: _commit(world))
        world.clock.start(reader, lambda: seen.extend(read(world) for _ in range(often)))
        if dies_after is not None:
            world.clock.after(dies_after, world.clock.die, writer)
        world.clock.run()
    assert world.server.is_idle
    assert world.judge.differences == []
    return seen


@pytest.mark.parametrize("read", [_batch, _single])
def test_a_plain_read_sees_some_items_of_a_transaction_and_not_others(read: Callable[[World], set[str]]) -> None:
    runs = [_beside(seed, read) for seed in SEEDS]

    assert all(seen[-1] == ALL for seen in runs)
    halves = [names for seen in runs for names in seen if names not in (NONE, ALL)]
    assert len({frozenset(names or ()) for names in halves}) >= 3


def test_a_transactional_read_sees_all_items_or_none_or_meets_a_conflict() -> None:
    seen = [names for seed in SEEDS for names in _beside(seed, _at_once)]

    assert {None if names is None else frozenset(names) for names in seen} == {frozenset(), frozenset(ALL), None}


def test_what_a_plain_read_has_seen_stays() -> None:
    for seed in SEEDS:
        seen = [names or NONE for names in _beside(seed, _batch)]
        assert all(before <= after for before, after in pairwise(seen))


def test_a_transaction_completes_although_its_sender_dies_in_the_middle() -> None:
    ends = [_beside(seed, _batch, dies_after=6_000, often=20)[-1] for seed in SEEDS]

    # A sender that dies early may not have sent it at all.
    assert {frozenset(end or ()) for end in ends} <= {frozenset(), frozenset(ALL)}
    assert ends.count(ALL) > len(SEEDS) / 2


def test_another_write_meets_a_conflict_until_the_transaction_is_done() -> None:
    codes: list[str] = []

    def write(world: World) -> set[str]:
        try:
            world.sdk.put_item(**_put(NAMES[0]), ConditionExpression="attribute_exists(pk)")
        except ClientError as error:
            codes.append(error.response["Error"]["Code"])
            return NONE
        return ALL

    for seed in SEEDS:
        _beside(seed, write)

    assert set(codes) == {"ConditionalCheckFailedException", "TransactionConflictException"}
