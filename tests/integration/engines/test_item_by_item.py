"""A transaction of the engine becomes visible item by item to plain reads, and holds its items until it is done."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dynamodb.comparison import index_contents, refusal, stored
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.things import THINGS, key, numbers, put, texts, update
from tests.support.faults.faulty_client import Faulty, halfway

OLD = {"n": {"N": "1"}}
BOTH = [update("a", "SET n = :n", numbers(n=2)), put("b", n={"N": "2"}, r={"S": "R"}, s={"S": "2"})]


@pytest.fixture
def engine() -> Engine:
    """Return an engine with `a` and `b` in Things, both with the number 1."""
    engine = Engine()
    engine.create_table(**THINGS)
    for pk in "ab":
        engine.put_item(TableName="Things", Item={**key(pk), **OLD, "r": {"S": "R"}, "s": {"S": f"1{pk}"}})
    return engine


def _numbers(items: list[Any]) -> dict[str, str]:
    return {item["pk"]["S"]: item["n"]["N"] for item in items}


def _plain(engine: Engine) -> list[dict[str, str]]:
    """Return what each kind of plain read sees."""
    single = [stored(engine, "Things", key(pk)) for pk in "ab"]
    keys = {"Keys": [key("a"), key("b")], "ConsistentRead": True}
    batch = engine.batch_get_item(RequestItems={"Things": keys})["Responses"]["Things"]
    request = {"KeyConditionExpression": "pk = :p", "ConsistentRead": True}
    queries = [
        engine.query(TableName="Things", ExpressionAttributeValues=texts(p=pk), **request)["Items"][0] for pk in "ab"
    ]
    return [_numbers(items) for items in (single, batch, queries, engine.scan(TableName="Things")["Items"])]


def _at_once(engine: Engine, *pks: str) -> dict[str, str]:
    gets = [{"Get": {"TableName": "Things", "Key": key(pk)}} for pk in pks]
    return _numbers([answer["Item"] for answer in engine.transact_get_items(TransactItems=gets)["Responses"]])


@pytest.mark.parametrize(("first", "seen"), [(0, {"a": "2", "b": "1"}), (1, {"a": "1", "b": "2"})])
def test_a_plain_read_in_the_middle_sees_some_items_written(engine: Engine, first: int, seen: dict[str, str]) -> None:
    transaction = engine.begin(TransactItems=BOTH)
    assert _plain(engine) == [{"a": "1", "b": "1"}] * 4

    transaction.write(first)
    assert _plain(engine) == [seen] * 4

    transaction.finish()
    assert _plain(engine) == [{"a": "2", "b": "2"}] * 4


def test_an_index_is_as_far_as_its_table(engine: Engine) -> None:
    transaction = engine.begin(TransactItems=[update("a", "SET s = :s", texts(s="2")), BOTH[1]])
    transaction.write(1)

    assert [item["s"]["S"] for item in index_contents(engine, "places")] == ["1a", "2"]

    transaction.finish()
    assert [item["s"]["S"] for item in index_contents(engine, "places")] == ["2", "2"]


def test_a_transactional_read_in_the_middle_meets_a_conflict(engine: Engine) -> None:
    engine.put_item(TableName="Things", Item={**key("c"), **OLD})
    transaction = engine.begin(TransactItems=BOTH)
    transaction.write(0)

    error: Any = refusal(lambda: _at_once(engine, "c", "a", "b"))

    assert error.response["Error"]["Code"] == "TransactionCanceledException"
    codes = [reason["Code"] for reason in error.response["CancellationReasons"]]
    assert codes == ["None", "TransactionConflict", "TransactionConflict"]
    assert _at_once(engine, "c") == {"c": "1"}
    transaction.finish()
    assert _at_once(engine, "a", "b") == {"a": "2", "b": "2"}


@pytest.mark.parametrize("written", [0, 1])
def test_another_write_meets_a_conflict_whether_its_item_is_written_or_not(engine: Engine, written: int) -> None:
    transaction = engine.begin(TransactItems=BOTH)
    transaction.write(written)
    thing = {"TableName": "Things", "Key": key("a")}

    for write in (
        lambda: engine.put_item(TableName="Things", Item=key("a"), ConditionExpression="attribute_exists(pk)"),
        lambda: engine.update_item(**thing, UpdateExpression="REMOVE n"),
        lambda: engine.delete_item(**thing),
    ):
        assert refusal(write).response["Error"]["Code"] == "TransactionConflictException"
    other: Any = refusal(lambda: engine.transact_write_items(TransactItems=[put("c"), put("a")]))
    assert [reason["Code"] for reason in other.response["CancellationReasons"]] == ["None", "TransactionConflict"]
    batch = {"Things": [{"DeleteRequest": {"Key": key("a")}}, {"PutRequest": {"Item": key("c")}}]}
    assert engine.batch_write_item(RequestItems=batch)["UnprocessedItems"] == {"Things": batch["Things"][:1]}

    transaction.finish()
    assert _numbers([stored(engine, "Things", key("a"))]) == {"a": "2"}
    engine.delete_item(**thing)


def test_a_checked_item_is_held_too(engine: Engine) -> None:
    check = {"TableName": "Things", "Key": key("a"), "ConditionExpression": "attribute_exists(pk)"}
    transaction = engine.begin(TransactItems=[{"ConditionCheck": check}, put("c")])
    assert transaction.left == [1]

    error = refusal(lambda: engine.delete_item(TableName="Things", Key=key("a")))

    assert error.response["Error"]["Code"] == "TransactionConflictException"
    transaction.finish()
    engine.delete_item(TableName="Things", Key=key("a"))


def test_a_transaction_is_decided_before_its_first_item_is_written(engine: Engine) -> None:
    error = refusal(lambda: engine.begin(TransactItems=[put("c"), put("a", condition="attribute_not_exists(pk)")]))

    assert error.response["Error"]["Code"] == "TransactionCanceledException"
    engine.delete_item(TableName="Things", Key=key("a"))
    assert stored(engine, "Things", key("c")) is None


def test_the_token_of_an_unfinished_transaction_is_in_progress(engine: Engine) -> None:
    request = {"TransactItems": [update("a", "ADD n :n", numbers(n=1))], "ClientRequestToken": "token"}
    transaction = engine.begin(**request)

    error = refusal(lambda: engine.transact_write_items(**request))

    assert error.response["Error"]["Code"] == "TransactionInProgressException"
    transaction.finish()
    engine.transact_write_items(**request)
    assert _numbers([stored(engine, "Things", key("a"))]) == {"a": "2"}


def test_an_item_does_not_expire_while_a_transaction_holds_it(engine: Engine) -> None:
    expiry = {"Enabled": True, "AttributeName": "n"}
    engine.update_time_to_live(TableName="Things", TimeToLiveSpecification=expiry)
    transaction = engine.begin(TransactItems=[update("a", "SET t = :t", texts(t="late"))])

    assert engine.expire("Things", now=5.0) == 1

    assert stored(engine, "Things", key("b")) is None
    transaction.finish()
    assert engine.expire("Things", now=5.0) == 1


def test_a_step_of_a_faulty_client_runs_in_the_middle(engine: Engine) -> None:
    client = Faulty(engine)
    seen: list[Any] = []
    client.steps.append(halfway(lambda: seen.extend(_plain(engine)), 1))

    client.transact_write_items(TransactItems=BOTH)

    assert seen == [{"a": "1", "b": "2"}] * 4
    assert _at_once(engine, "a", "b") == {"a": "2", "b": "2"}
