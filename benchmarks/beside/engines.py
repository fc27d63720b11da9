"""What engines of DynamoDB do with the requests that Standings lives by.

Each check creates what it needs, and says in a few words what it saw.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

KEY = [{"AttributeName": "id", "KeyType": "HASH"}]
TYPES = [{"AttributeName": "id", "AttributeType": "S"}]
STREAM = {"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"}


class NoTransactionsError(Exception):
    """The engine knows none."""


class Engine:
    """An engine at an address. `things` is a table with a stream."""

    def __init__(self, address: str | None) -> None:
        once = Config(
            retries={"total_max_attempts": 1}, account_id_endpoint_mode="disabled", parameter_validation=False
        )
        made: Any = {"endpoint_url": address, "region_name": "us-east-1", "config": once}
        made |= {"aws_access_key_id": "testing", "aws_secret_access_key": "testing"}
        self.client: Any = boto3.client("dynamodb", **made)
        self.streams: Any = boto3.client("dynamodbstreams", **made)

    def table(self) -> None:
        while names := self.client.list_tables()["TableNames"]:
            for name in names:
                with suppress(ClientError):  # it is being deleted
                    self.client.delete_table(TableName=name)
            time.sleep(0.1)
        said = {"TableName": "things", "KeySchema": KEY, "AttributeDefinitions": TYPES}
        self.client.create_table(**said, BillingMode="PAY_PER_REQUEST", StreamSpecification=STREAM)
        while self.client.describe_table(TableName="things")["Table"]["TableStatus"] != "ACTIVE":
            time.sleep(0.2)

    def put(self, name: str, **numbers: int) -> None:
        item = {"id": {"S": name}, **{key: {"N": str(number)} for key, number in numbers.items()}}
        self.client.put_item(TableName="things", Item=item)

    def number(self, name: str) -> str:
        item = self.client.get_item(TableName="things", Key={"id": {"S": name}}, ConsistentRead=True).get("Item", {})
        return str(item.get("n", {}).get("N", "none"))

    def transact(self, *actions: dict[str, Any], **more: Any) -> None:
        try:
            self.client.transact_write_items(TransactItems=list(actions), **more)
        except ClientError as error:
            if error.response["Error"]["Code"] == "UnknownOperationException":
                raise NoTransactionsError from error
            raise

    def records(self) -> list[dict[str, Any]]:
        """All records of the stream."""
        found: list[dict[str, Any]] = []
        arn = self.client.describe_table(TableName="things")["Table"]["LatestStreamArn"]
        for shard in self.streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]:
            about = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
            iterator = self.streams.get_shard_iterator(**about)["ShardIterator"]
            for _ in range(4):
                answer = self.streams.get_records(ShardIterator=iterator) if iterator else {"Records": []}
                found += answer["Records"]
                iterator = answer.get("NextShardIterator")
        return found


def add(name: str, amount: int = 1, **more: Any) -> dict[str, Any]:
    values = {":a": {"N": str(amount)}, **more.pop("values", {})}
    update = {"TableName": "things", "Key": {"id": {"S": name}}, "UpdateExpression": "ADD n :a"}
    return {"Update": {**update, "ExpressionAttributeValues": values, **more}}


def same_token(engine: Engine) -> str:
    for _ in range(2):
        engine.transact(add("a"), ClientRequestToken="token-1")
    return {"1": "counts once", "2": "counts twice"}.get(engine.number("a"), engine.number("a"))


def other_content(engine: Engine) -> str:
    engine.transact(add("a"), ClientRequestToken="token-2")
    return refused(lambda: engine.transact(add("a", 2), ClientRequestToken="token-2")) or "taken"


def reasons(engine: Engine) -> str:
    engine.put("a", n=1)
    failing = add(
        "a", ConditionExpression="n > :b", values={":b": {"N": "5"}}, ReturnValuesOnConditionCheckFailure="ALL_OLD"
    )
    try:
        engine.transact(add("b"), failing)
    except ClientError as error:
        found = error.response.get("CancellationReasons", [])
        codes = ", ".join(reason.get("Code", "?") for reason in found) or "no reasons"
        return f"{codes}; {'with' if any('Item' in reason for reason in found) else 'without'} the old item"
    return "taken"


def nothing_applied(engine: Engine) -> str:
    failing = add("a", ConditionExpression="attribute_exists(id)")
    refused(lambda: engine.transact(add("b"), failing))
    return "nothing is written" if engine.number("b") == "none" else "the other update is written"


def one_item_twice(engine: Engine) -> str:
    return refused(lambda: engine.transact(add("a"), add("a"))) or f"taken, n = {engine.number('a')}"


def records_of_a_transaction(engine: Engine) -> str:
    engine.transact(add("a"), add("b"))
    time.sleep(1)
    seen = engine.records()
    different = len({record["eventID"] for record in seen})
    return f"{different} records{'' if different == len(seen) else f', {len(seen)} times'}"


def unchanged(engine: Engine) -> str:
    engine.put("a", n=1)
    engine.put("a", n=1)
    engine.transact(add("a", 0))
    time.sleep(1)
    seen = len(engine.records())
    return "no record" if seen == 1 else f"{seen - 1} records"


def numeric_order(engine: Engine) -> str:
    engine.put("a", n=9_007_199_254_740_993)
    engine.transact(add("a"))
    return "exact" if engine.number("a") == "9007199254740994" else f"rounded: {engine.number('a')}"


def large_transaction(engine: Engine) -> str:
    for number in range(12):
        item = {"id": {"S": str(number)}, "text": {"S": "x" * 380_000}}
        engine.client.put_item(TableName="things", Item=item)
    return refused(lambda: engine.transact(*(add(str(number)) for number in range(12)))) or "taken"


def hundred_and_one(engine: Engine) -> str:
    return refused(lambda: engine.transact(*(add(str(number)) for number in range(101)))) or "taken"


def large_item(engine: Engine) -> str:
    item = {"id": {"S": "a"}, "text": {"S": "x" * 410_000}}
    return refused(lambda: engine.client.put_item(TableName="things", Item=item)) or "taken"


def reserved_word(engine: Engine) -> str:
    update = {"TableName": "things", "Key": {"id": {"S": "a"}}, "UpdateExpression": "SET name = :a"}
    return refused(lambda: engine.client.update_item(**update, ExpressionAttributeValues={":a": {"N": "1"}})) or "taken"


def unused_value(engine: Engine) -> str:
    update = add("a", values={":unused": {"N": "1"}})["Update"]
    return refused(lambda: engine.client.update_item(**update)) or "taken"


def empty_set(engine: Engine) -> str:
    item = {"id": {"S": "a"}, "set": {"SS": []}}
    return refused(lambda: engine.client.put_item(TableName="things", Item=item)) or "taken"


def refused(call: Callable[[], Any]) -> str:
    """The name of the error; empty if there is none."""
    try:
        call()
    except ClientError as error:
        return str(error.response["Error"]["Code"]).rpartition("#")[2]
    return ""


CHECKS: dict[str, Callable[[Engine], str]] = {
    "a transaction twice, with one token": same_token,
    "another transaction with that token": other_content,
    "the second condition of a transaction fails": reasons,
    "the same, and what is written": nothing_applied,
    "one item twice in a transaction": one_item_twice,
    "101 actions in a transaction": hundred_and_one,
    "12 small updates of items of 4.6 MB together": large_transaction,
    "stream records of a transaction of two items": records_of_a_transaction,
    "stream records of two writes that change nothing": unchanged,
    "2^53 + 1, and 1 added": numeric_order,
    "an item of 410 kB": large_item,
    "a reserved word in an expression": reserved_word,
    "a value that no expression uses": unused_value,
    "an empty set": empty_set,
}


def seen_by(address: str | None) -> Iterator[tuple[str, str]]:
    """Yield each check with what it saw, each on a table of its own. Without an address it asks what boto3 asks."""
    engine = Engine(address)
    for name, check in CHECKS.items():
        try:
            engine.table()
            yield name, check(engine)
        except NoTransactionsError:
            yield name, "no transactions"
        except (ClientError, BotoCoreError, KeyError) as error:
            code = error.response["Error"]["Code"].rpartition("#")[2] if isinstance(error, ClientError) else repr(error)
            yield name, f"fails: {code}"[:120]
