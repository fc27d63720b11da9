"""What the engine adds to DynamoDB: hooks, a clock that tests set, and direct access to the stream."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dynamodb.comparison import stored
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.dynamodb.things import numbers


def _key(pk: str, sk: str = "member") -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


@pytest.fixture
def engine() -> Engine:
    moment = iter(range(1_000_000))
    made = Engine(shards=3, clock=lambda: float(next(moment)))
    create_tables(made)
    return made


def test_a_hook_before_a_call_prevents_it_and_one_after_it_loses_the_answer(engine: Engine) -> None:
    calls = []

    def fail(name: str, request: dict[str, Any]) -> None:
        calls.append((name, sorted(request)))
        raise ConnectionError

    engine.before.append(fail)
    with pytest.raises(ConnectionError):
        engine.put_item(TableName="Scores", Item=_key("a"))
    engine.before.clear()
    assert stored(engine, "Scores", _key("a")) is None
    engine.after.append(fail)
    with pytest.raises(ConnectionError):
        engine.put_item(TableName="Scores", Item=_key("a"))
    engine.after.clear()

    assert stored(engine, "Scores", _key("a")) == _key("a")
    assert calls == [("PutItem", ["Item", "TableName"])] * 2


def test_keys_of_a_batch_can_be_left_unprocessed(engine: Engine) -> None:
    for sk in "abc":
        engine.put_item(TableName="Scores", Item=_key("p", sk))
    keys = [_key("p", sk) for sk in "abc"]
    engine.unprocessed.append(lambda _, __, key: key["sk"]["S"] != "b")

    answer = engine.batch_get_item(RequestItems={"Scores": {"Keys": keys, "ConsistentRead": True}})

    assert answer["Responses"] == {"Scores": [_key("p", "b")]}
    left = answer["UnprocessedKeys"]["Scores"]
    assert sorted(key["sk"]["S"] for key in left["Keys"]) == ["a", "c"]
    assert left["ConsistentRead"] is True


def test_an_argument_that_the_engine_does_not_know_is_refused(engine: Engine) -> None:
    with pytest.raises(Exception, match="Unknown parameter"):
        engine.put_item(TableName="Scores", Item=_key("a"), Expected={})


def test_an_index_can_be_behind_its_table() -> None:
    now = 0.0
    made = Engine(clock=lambda: now)
    create_tables(made)
    index = made._tables["Rankings"].indexes["places"]

    def listed() -> list[str]:
        query = {"KeyConditionExpression": "r = :r", "ExpressionAttributeValues": {":r": {"S": "list"}}}
        return [item["s"]["S"] for item in made.query(TableName="Rankings", IndexName="places", **query)["Items"]]

    def put(name: str) -> None:
        made.put_item(TableName="Rankings", Item={"pk": {"S": name}, "r": {"S": "list"}, "s": {"S": name}})

    put("a")
    assert (listed(), index.is_behind) == (["a"], False)
    index.behind = 60.0
    put("b")
    now = 59.0
    put("c")
    assert (listed(), index.is_behind) == (["a"], True)
    now = 60.0
    assert (listed(), index.is_behind) == (["a", "b"], True)
    index.behind = 0.0
    assert (listed(), index.is_behind) == (["a", "b", "c"], False)


def test_a_token_is_forgotten_after_ten_minutes() -> None:
    moment = 0.0
    made = Engine(clock=lambda: moment)
    made.create_table(
        TableName="Plain",
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
    )
    add = {
        "TableName": "Plain",
        "Key": {"pk": {"S": "m"}},
        "UpdateExpression": "ADD v :v",
        "ExpressionAttributeValues": numbers(v=1),
    }
    for at in (0.0, 599.0, 601.0):
        moment = at
        made.transact_write_items(TransactItems=[{"Update": add}], ClientRequestToken="token")

    assert stored(made, "Plain", {"pk": {"S": "m"}}) == {"pk": {"S": "m"}, "v": {"N": "2"}}


def test_a_stream_has_each_change_in_the_form_that_lambda_delivers(engine: Engine) -> None:
    engine.put_item(TableName="Scores", Item={**_key("a"), "raw": {"B": b"\x00\xff"}, "v": {"N": "1"}})
    engine.update_item(
        TableName="Scores",
        Key=_key("a"),
        UpdateExpression="SET v = :v",
        ExpressionAttributeValues=numbers(v="1.0"),
    )
    engine.delete_item(TableName="Scores", Key=_key("a"))
    (shard,) = [shard for shard in engine.stream("Scores") if len(shard)]
    image = {**_key("a"), "raw": {"B": "AP8="}, "v": {"N": "1"}}

    inserted, removed = shard

    assert (inserted["eventName"], removed["eventName"]) == ("INSERT", "REMOVE")
    assert inserted["dynamodb"]["NewImage"] == removed["dynamodb"]["OldImage"] == image
    assert "OldImage" not in inserted["dynamodb"]
    assert "NewImage" not in removed["dynamodb"]
    assert inserted["dynamodb"]["Keys"] == _key("a")
    assert int(inserted["dynamodb"]["SequenceNumber"]) < int(removed["dynamodb"]["SequenceNumber"])
    assert inserted["eventSourceARN"].startswith("arn:aws:dynamodb:us-east-1:000000000000:table/Scores/stream/")
    assert "userIdentity" not in removed


def test_one_items_changes_stay_in_one_shard_in_order(engine: Engine) -> None:
    for version in range(30):
        for member in range(10):
            engine.update_item(
                TableName="Scores",
                Key=_key(f"b#{member}", "m"),
                UpdateExpression="SET v = :v",
                ExpressionAttributeValues=numbers(v=version),
            )
    seen: dict[str, list[int]] = {}
    homes: dict[str, set[str]] = {}
    for shard in engine.stream("Scores"):
        numbers_seen = [int(record["dynamodb"]["SequenceNumber"]) for record in shard]
        assert numbers_seen == sorted(set(numbers_seen))
        for record in shard:
            member = record["dynamodb"]["Keys"]["pk"]["S"]
            seen.setdefault(member, []).append(int(record["dynamodb"]["NewImage"]["v"]["N"]))
            homes.setdefault(member, set()).add(shard.shard_id)

    assert seen == {f"b#{member}": list(range(30)) for member in range(10)}
    assert all(len(home) == 1 for home in homes.values())
    assert len(set.union(*homes.values())) > 1


def test_the_service_deletes_expired_items(engine: Engine) -> None:
    for sk, expiry in (("past", "1000"), ("future", "3000")):
        engine.put_item(TableName="Scores", Item={**_key("a", sk), "e": {"N": expiry}})

    assert engine.expire("Scores", now=2000.0) == 1

    (shard,) = [shard for shard in engine.stream("Scores") if len(shard)]
    assert shard[-1]["eventName"] == "REMOVE"
    assert shard[-1]["userIdentity"] == {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
    assert stored(engine, "Scores", _key("a", "future")) is not None
