"""What the engine has beside DynamoDB Local: hooks, a clock, half-written transactions, checks of requests."""

from typing import Any

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from tests.support.aws.stack import ManualClock
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.things import THINGS, key, numbers, put, refusal, stored, texts, update

BOTH = [update("a", "SET n = :n", numbers(n=2)), put("b", n={"N": "2"}, r={"S": "R"}, s={"S": "2"})]
BAD = {"TableName": "Things", "Key": key("bad")}


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


@pytest.fixture
def engine(clock: ManualClock) -> Engine:
    """An engine with `a` and `b` in Things, both with the number 1."""
    made = Engine(shards=3, clock=clock.monotonic)
    made.create_table(**THINGS)
    for pk in "ab":
        made.put_item(TableName="Things", Item={**key(pk), "n": {"N": "1"}, "r": {"S": "R"}, "s": {"S": f"1{pk}"}})
    return made


def _numbers(items: list[Any]) -> dict[str, str]:
    return {item["pk"]["S"]: item["n"]["N"] for item in items}


def test_a_hook_before_a_call_prevents_it_and_one_after_it_loses_the_answer(engine: Engine) -> None:
    calls = []

    def fail(name: str, request: dict[str, Any]) -> None:
        calls.append((name, sorted(request)))
        raise ConnectionError

    for hooks, left in ((engine.before, None), (engine.after, key("c"))):
        hooks.append(fail)
        with pytest.raises(ConnectionError):
            engine.put_item(TableName="Things", Item=key("c"))
        hooks.clear()
        assert stored(engine, "Things", key("c")) == left
    assert calls == [("PutItem", ["Item", "TableName"])] * 2


def test_what_a_caller_changes_later_changes_no_item(engine: Engine) -> None:
    item = {**key("c"), "l": {"L": [{"S": "one"}]}}
    engine.put_item(TableName="Things", Item=item)
    item["l"]["L"].append({"S": "two"})
    for _ in range(2):
        read = stored(engine, "Things", key("c"))
        assert read == {**key("c"), "l": {"L": [{"S": "one"}]}}
        read["l"]["L"].clear()


def test_the_service_deletes_expired_items_that_no_transaction_holds(engine: Engine) -> None:
    expiry = {"Enabled": True, "AttributeName": "n"}
    engine.update_time_to_live(TableName="Things", TimeToLiveSpecification=expiry)
    engine.put_item(TableName="Things", Item={**key("later"), "n": {"N": "5"}})
    transaction = engine.begin(TransactItems=[update("a", "SET t = :t", texts(t="late"))])

    assert engine.expire("Things", now=5.0) == 1
    assert [pk for pk in ("a", "b", "later") if stored(engine, "Things", key(pk))] == ["a", "later"]
    (gone,) = [one for shard in engine.stream("Things") for one in shard if one["eventName"] == "REMOVE"]
    assert gone["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    transaction.finish()
    assert engine.expire("Things", now=5.0) == 1


def test_a_token_applies_its_transaction_once_in_ten_minutes(engine: Engine, clock: ManualClock) -> None:
    request = {"TransactItems": [update("a", "ADD n :n", numbers(n=1))], "ClientRequestToken": "t" * 36}
    transaction = engine.begin(**request)
    error = refusal(lambda: engine.transact_write_items(**request))
    assert error.response["Error"]["Code"] == "TransactionInProgressException"
    transaction.finish()
    for seconds, number in ((0, "2"), (599, "2"), (600, "3")):
        clock.milliseconds = seconds * 1000
        engine.transact_write_items(**request)
        assert _numbers([stored(engine, "Things", key("a"))]) == {"a": number}

    error = refusal(lambda: engine.transact_write_items(**{**request, "TransactItems": [put("c")]}))
    assert error.response["Error"]["Code"] == "IdempotentParameterMismatchException"
    with pytest.raises(ClientError, match="less than or equal to 36"):
        engine.transact_write_items(TransactItems=BOTH, ClientRequestToken="t" * 37)


@pytest.mark.parametrize(
    "action",
    [
        {"Put": {"TableName": "Things", "Item": {"pk": {"S": 7}}}},
        {"Put": {"TableName": "Things", "Item": {**key("x"), "n": {"N": 1}}}},
        {"Put": {"TableName": "Things", "Item": {**key("x"), "d": {"B": None}}}},
        {"Put": {"TableName": "Things", "Item": {**key("x"), "l": {"L": [{"M": {"a": {"S": b"x"}}}]}}}},
        {"Put": {"TableName": "Things", "Item": key("x"), "Conditions": "no such parameter"}},
        {"Put": {"TableName": "", "Item": key("x")}},
        {"Delete": {"Key": key("x")}},
        {"ConditionCheck": BAD},
        {"Get": BAD},
        {"Update": {**BAD, "UpdateExpression": "ADD n :o", "ExpressionAttributeNames": ["#n"]}},
    ],
    ids=str,
)
def test_botocore_looks_at_every_action(engine: Any, action: dict[str, Any]) -> None:
    """The product sends requests without this check (`LightClient`), and the engine would take some of them."""
    with pytest.raises(ParamValidationError, match=r"TransactItems\[1\]"):
        engine.transact_write_items(TransactItems=[put("good"), action])
    assert stored(engine, "Things", key("good")) is None


@pytest.mark.parametrize(
    "item",
    [{"n": {"N": "1.5"}}, {"n": {"N": "1" + "0" * 38}}, {"n": {"M": {}}}, {"n": {"NULL": True}}, {"n": {"SS": ["a"]}}],
    ids=str,
)
def test_what_the_engine_does_not_have_is_an_error_of_the_test(engine: Engine, item: dict[str, Any]) -> None:
    with pytest.raises(NotImplementedError):
        engine.put_item(TableName="Things", Item={**key("c"), **item})
    with pytest.raises(ParamValidationError, match="unknown parameters"):
        engine.put_item(TableName="Things", Item=key("c"), Expected={})
    for expression in ("SET n = s - n", "SET n = a.b", "SET l[1] = n", "DELETE n :n", "SET n = :n :m", ""):
        with pytest.raises(NotImplementedError):
            engine.update_item(**BAD, UpdateExpression=expression)
