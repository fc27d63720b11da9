"""What the engine has beside DynamoDB Local: hooks, a clock, transactions that show item by item, limits and errors."""

from __future__ import annotations

from typing import Any
from unittest import mock

import pytest
from botocore.exceptions import ClientError, ParamValidationError

from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.events.event import Event
from standings.ports.errors import StoreRefusedError
from standings.ports.scores import Addition
from tests.support.aws.manual_clock import ManualClock
from tests.support.builders.failures.maintenance import clock_of
from tests.support.dynamodb import request_checks
from tests.support.dynamodb.comparison import index_contents, refusal, stored
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.dynamodb.things import THINGS, key, numbers, put, texts, update
from tests.support.faults.faulty_client import Faulty, halfway

NOW = 1_795_256_100_000
OLD = {"n": {"N": "1"}}
BOTH = [update("a", "SET n = :n", numbers(n=2)), put("b", n={"N": "2"}, r={"S": "R"}, s={"S": "2"})]
BAD = {"TableName": "Things", "Key": key("bad")}
ONE = numbers(o=1)


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock(0)


@pytest.fixture
def engine(clock: ManualClock) -> Engine:
    """An engine with `a` and `b` in Things, both with the number 1."""
    made = Engine(shards=3, clock=clock.monotonic)
    made.create_table(**THINGS)
    for pk in "ab":
        made.put_item(TableName="Things", Item={**key(pk), **OLD, "r": {"S": "R"}, "s": {"S": f"1{pk}"}})
    return made


def _numbers(items: list[Any]) -> dict[str, str]:
    return {item["pk"]["S"]: item["n"]["N"] for item in items}


def _places(engine: Engine) -> list[str]:
    return [item["s"]["S"] for item in index_contents(engine, "places")]


def _plain(engine: Engine) -> list[dict[str, str]]:
    """What each kind of plain read sees."""
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


# Hooks, clocks and streams


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


def test_keys_of_a_batch_can_be_left_unprocessed(engine: Engine) -> None:
    engine.unprocessed.append(lambda _, __, key: key["pk"]["S"] == "a")
    answer = engine.batch_get_item(RequestItems={"Things": {"Keys": [key("a"), key("b")], "ConsistentRead": True}})

    assert _numbers(answer["Responses"]["Things"]) == {"b": "1"}
    assert answer["UnprocessedKeys"] == {"Things": {"Keys": [key("a")], "ConsistentRead": True}}


def test_what_a_caller_changes_later_changes_no_item(engine: Engine) -> None:
    item = {**key("c"), "l": {"L": [{"S": "one"}]}}
    engine.put_item(TableName="Things", Item=item)
    item["l"]["L"].append({"S": "two"})
    for _ in range(2):
        read = stored(engine, "Things", key("c"))
        assert read == {**key("c"), "l": {"L": [{"S": "one"}]}}
        read["l"]["L"].clear()


def test_an_index_can_be_behind_its_table(engine: Engine, clock: ManualClock) -> None:
    index = engine._tables["Things"].indexes["places"]
    assert (_places(engine), index.is_behind) == (["1a", "1b"], False)
    index.behind = 60.0
    for seconds, place in ((0, "2"), (59, "3")):
        clock.milliseconds = seconds * 1000
        engine.put_item(TableName="Things", Item={**key(place), "r": {"S": "R"}, "s": {"S": place}})
    assert (_places(engine), index.is_behind) == (["1a", "1b"], True)
    clock.milliseconds = 60_000
    assert (_places(engine), index.is_behind) == (["1a", "1b", "2"], True)
    index.behind = 0.0
    assert (_places(engine), index.is_behind) == (["1a", "1b", "2", "3"], False)


def test_a_stream_has_each_change_in_the_form_that_lambda_delivers(engine: Engine) -> None:
    item = {**key("c"), "raw": {"B": b"\x00\xff"}, "v": {"N": "1"}}
    engine.put_item(TableName="Things", Item=item)
    # Nothing changes here, so there is no record.
    engine.put_item(TableName="Things", Item={**item, "v": {"N": "1.0"}})
    engine.put_item(TableName="Things", Item={**item, "v": {"BOOL": True}})
    engine.delete_item(TableName="Things", Key=key("c"))
    records = [one for shard in engine.stream("Things") for one in shard if one["dynamodb"]["Keys"] == key("c")]
    image = {**key("c"), "raw": {"B": "AP8="}, "v": {"N": "1"}}

    inserted, modified, removed = records
    assert [record["eventName"] for record in records] == ["INSERT", "MODIFY", "REMOVE"]
    assert inserted["dynamodb"]["NewImage"] == modified["dynamodb"]["OldImage"] == image
    assert modified["dynamodb"]["NewImage"] == removed["dynamodb"]["OldImage"] == {**image, "v": {"BOOL": True}}
    assert ("OldImage" in inserted["dynamodb"], "NewImage" in removed["dynamodb"]) == (False, False)
    assert int(inserted["dynamodb"]["SequenceNumber"]) < int(removed["dynamodb"]["SequenceNumber"])
    assert inserted["eventSourceARN"].startswith("arn:aws:dynamodb:us-east-1:000000000000:table/Things/stream/")
    assert "userIdentity" not in removed


def test_changes_of_one_item_stay_in_one_shard_in_order(engine: Engine) -> None:
    for version in range(10):
        for member in range(10):
            engine.put_item(TableName="Things", Item={**key(f"m{member}"), "n": {"N": str(version)}})
    homes: dict[str, list[tuple[str, int]]] = {}
    for shard in engine.stream("Things"):
        order = [int(record["dynamodb"]["SequenceNumber"]) for record in shard]
        assert order == sorted(set(order))
        for record in shard:
            image = record["dynamodb"]["NewImage"]
            homes.setdefault(image["pk"]["S"], []).append((shard.shard_id, int(image["n"]["N"])))

    for member in range(10):
        (home,) = {shard for shard, _ in homes[f"m{member}"]}
        assert homes[f"m{member}"] == [(home, version) for version in range(10)]
    assert len({shard for changes in homes.values() for shard, _ in changes}) > 1


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


# Transactions that show item by item


@pytest.mark.parametrize(("first", "seen"), [(0, {"a": "2", "b": "1"}), (1, {"a": "1", "b": "2"})])
def test_a_plain_read_in_the_middle_sees_some_items_written(engine: Engine, first: int, seen: dict[str, str]) -> None:
    transaction = engine.begin(TransactItems=BOTH)
    assert _plain(engine) == [{"a": "1", "b": "1"}] * 4
    transaction.write(first)
    assert _plain(engine) == [seen] * 4
    assert _places(engine) == (["1a", "1b"] if first == 0 else ["1a", "2"])
    transaction.finish()
    assert _plain(engine) == [{"a": "2", "b": "2"}] * 4
    assert _places(engine) == ["1a", "2"]


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
    assert isinstance(error, engine.exceptions.TransactionConflictException)
    transaction.finish()
    engine.delete_item(TableName="Things", Key=key("a"))


def test_a_transaction_is_decided_before_its_first_item_is_written(engine: Engine) -> None:
    error = refusal(lambda: engine.begin(TransactItems=[put("c"), put("a", condition="attribute_not_exists(pk)")]))

    assert error.response["Error"]["Code"] == "TransactionCanceledException"
    engine.delete_item(TableName="Things", Key=key("a"))
    assert stored(engine, "Things", key("c")) is None


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


def test_a_step_of_a_faulty_client_runs_in_the_middle(engine: Engine) -> None:
    client = Faulty(engine)
    seen: list[Any] = []
    client.steps.append(halfway(lambda: seen.extend(_plain(engine)), 1))
    client.transact_write_items(TransactItems=BOTH)

    assert seen == [{"a": "1", "b": "2"}] * 4
    assert _at_once(engine, "a", "b") == {"a": "2", "b": "2"}


# Limits and errors


def _change(expression: str, **more: Any) -> dict[str, Any]:
    return {"Update": {**BAD, "UpdateExpression": expression, "ExpressionAttributeValues": ONE, **more}}


@pytest.mark.parametrize(
    "action",
    [
        {"Put": {"TableName": "Things", "Item": {"pk": {"S": 7}}}},
        {"Put": {"TableName": "Things", "Item": {**key("x"), "n": {"N": 1}}}},
        {"Put": {"TableName": "Things", "Item": {**key("x"), "d": {"B": None}}}},
        {"Put": {"TableName": "Things", "Item": {**key("x"), "l": {"L": [{"M": {"a": {"S": b"x"}}}]}}}},
        {"Put": {"TableName": "Things", "Item": {**key("x"), "l": {"M": {"a": {"Z": "x"}}}}}},
        {"Put": {"TableName": "Things", "Item": key("x"), "Conditions": "no such parameter"}},
        {"Put": {"TableName": "", "Item": key("x")}},
        {"Delete": {"TableName": "Things", "Key": {"pk": "x"}}},
        {"Delete": {"Key": key("x")}},
        {"ConditionCheck": BAD},
        {"Get": BAD},
        _change("ADD n :o", ExpressionAttributeNames=["#n"]),
    ],
    ids=str,
)
def test_botocore_looks_at_every_action(engine: Any, action: dict[str, Any]) -> None:
    with pytest.raises(ParamValidationError, match=r"TransactItems\[1\]"):
        engine.transact_write_items(TransactItems=[put("good"), action])
    assert stored(engine, "Things", key("good")) is None
    with request_checks.checked(5):
        refused = sum(_is_refused(engine, action) for _ in range(20))
    assert refused >= 4


def _is_refused(engine: Any, action: dict[str, Any]) -> bool:
    try:
        engine.transact_write_items(TransactItems=[put("good"), action])
    except ParamValidationError:
        return True
    except Exception:  # noqa: BLE001 - without the check anything may happen
        return False
    return False


def test_an_argument_that_the_engine_does_not_know_is_refused(engine: Engine) -> None:
    with pytest.raises(ParamValidationError, match="Unknown parameter"):
        engine.put_item(TableName="Things", Item=key("a"), Expected={})


MANY = [f"n{number} = n{number} + :o" for number in range(301)]


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([put("a")] * 101, "less than or equal to 100"),
        ([put("a"), put("a")], "multiple operations on one item"),
        ([put("b", s={"NS": []})], "empty set"),
        ([put("")], "empty string"),
        ([put("p" * 2049)], "maximum size limit of 2048 bytes"),
        ([put("p", "s" * 1025)], "size limit of 1024 bytes"),
        ([put("b", x={"S": "x" * 409_600})], "exceeded the maximum allowed size"),
        ([put("b", x={"N": "9" * 39})], "up to 38 digits"),
        ([_change(f"ADD {'n' * 4100} :o")], "Expression size"),
        ([_change(f"SET {', '.join(MANY)}")], "Expression size"),
        ([_change(f"SET {','.join(MANY).replace(' ', '')}")], "too many operators"),
        ([_change("ADD n :o", ExpressionAttributeValues=numbers(o=1, p=2))], "unused"),
        ([_change("ADD n :o", ExpressionAttributeNames={"#n": "n"})], "unused"),
        ([_change("ADD n :o", ExpressionAttributeValues={})], "must not be empty"),
        ([_change("ADD n :o, m :p")], "not defined; attribute value: :p"),
        ([_change("ADD #n :o")], "not defined; attribute name: #n"),
        ([_change("ADD n :o", ConditionExpression="status = :o")], "reserved keyword: status"),
        ([_change("SET n = :o, n = :o")], "overlap"),
        ([_change("SET n :o")], "Syntax error"),
        ([_change("ADD n :o", ExpressionAttributeValues=texts(o="x"))], "operand type: S"),
        ([{**_change("ADD n :o"), **put("a")}], "can only contain one of"),
        ([put(str(number), d={"B": bytes(390_000)}) for number in range(11)], "cannot exceed 4MB"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_dynamodb_s_own_limits(engine: Any, actions: list[Any], message: str) -> None:
    codes = ("ValidationException", "TransactionCanceledException")
    with pytest.raises(ClientError, match=message) as caught:
        engine.transact_write_items(TransactItems=actions)
    assert caught.value.response["Error"]["Code"] in codes


def test_a_mistake_of_the_product_in_a_later_action_is_refused() -> None:
    """Without the checks the engine takes a receipt whose expiry is no text, which DynamoDB would not."""
    engine: Any = Engine()
    create_tables(engine)
    scores = DynamoScores(engine, "Scores", "Receipts", clock_of(ManualClock(NOW)))
    events = [Event("e1", 0, (), bytes(12)), Event("e2", 0, (), bytes(12))]
    addition = Addition("b", "m", {"a0a": 3}, [], [], [], NOW, 3, known=False)
    original: Any = DynamoScores._receipt

    def mistaken(self: Any, event: Event, *more: Any) -> Any:
        action = original(self, event, *more)
        if event.id == "e2":
            action["Put"]["Item"]["e"] = {"N": 5}
        return action

    with mock.patch.object(DynamoScores, "_receipt", mistaken):
        with pytest.raises(StoreRefusedError, match=r"TransactItems\[1\]\.Put\.Item\.e\.N"):
            scores.apply(events, [addition], NOW)
        with request_checks.checked(0), pytest.raises(TypeError):
            scores.apply(events, [addition], NOW)
    assert scores.apply(events, [addition], NOW) == []
