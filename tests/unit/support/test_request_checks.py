"""The engine refuses in any action of a transaction what botocore or DynamoDB would refuse."""

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
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

NOW = 1_795_256_100_000
GOOD = {"Put": {"TableName": "Receipts", "Item": {"pk": {"S": "good"}}}}
MANY = [f"n{number} = n{number} + :one" for number in range(301)]
ONE = {":one": {"N": "1"}}


@pytest.fixture
def engine() -> Any:
    client = Engine()
    create_tables(client)
    return client


def update(expression: str, **more: Any) -> dict[str, Any]:
    action = {"TableName": "Receipts", "Key": {"pk": {"S": "bad"}}, "UpdateExpression": expression}
    return {"Update": {**action, "ExpressionAttributeValues": ONE, **more}}


@pytest.mark.parametrize(
    "action",
    [
        {"Put": {"TableName": "Receipts", "Item": {"pk": {"S": 7}}}},
        {"Put": {"TableName": "Receipts", "Item": {"pk": {"S": "x"}, "n": {"N": 1}}}},
        {"Put": {"TableName": "Receipts", "Item": {"pk": {"S": "x"}, "d": {"B": None}}}},
        {"Put": {"TableName": "Receipts", "Item": {"pk": {"S": "x"}}, "Conditions": "no such parameter"}},
        {"Delete": {"TableName": "Receipts", "Key": {"pk": "x"}}},
        {"Delete": {"Key": {"pk": {"S": "x"}}}},
        {"ConditionCheck": {"TableName": "Receipts", "Key": {"pk": {"S": "x"}}}},
        {"Get": {"TableName": "Receipts", "Key": {"pk": {"S": "x"}}}},
        update("ADD n :one", ExpressionAttributeNames=["#n"]),
    ],
)
def test_botocore_looks_at_every_action(engine: Any, action: dict[str, Any]) -> None:
    with pytest.raises(ParamValidationError, match=r"TransactItems\[1\]"):
        engine.transact_write_items(TransactItems=[GOOD, action])
    assert engine.get_item(TableName="Receipts", Key={"pk": {"S": "good"}}).get("Item") is None


@pytest.mark.parametrize(
    ("actions", "message"),
    [
        ([GOOD] * 101, "less than or equal to 100"),
        ([GOOD, GOOD], "multiple operations on one item"),
        ([GOOD, {"Put": {"TableName": "Receipts", "Item": {"pk": {"S": "x"}, "s": {"NS": []}}}}], "empty set"),
        ([GOOD, {"Put": {"TableName": "Receipts", "Item": {"pk": {"S": ""}}}}], "empty string"),
        ([GOOD, update(f"ADD {'n' * 4100} :one")], "Expression size"),
        ([GOOD, update(f"SET {', '.join(MANY)}")], "Expression size"),
        ([GOOD, update(f"SET {', '.join(MANY).replace(' ', '').replace('one', 'o')}")], "too many operators"),
        ([GOOD, update("ADD n :one", ExpressionAttributeValues={**ONE, ":two": {"N": "2"}})], "unused"),
        ([GOOD, update("ADD n :one", ExpressionAttributeNames={"#n": "n"})], "unused"),
        ([GOOD, update("ADD n :one", ExpressionAttributeValues={})], "must not be empty"),
        ([GOOD, {**update("ADD n :one"), **GOOD}], "can only contain one of"),
        (
            [
                {"Put": {"TableName": "Receipts", "Item": {"pk": {"S": str(n)}, "d": {"B": bytes(390_000)}}}}
                for n in range(11)
            ],
            "cannot exceed 4MB",
        ),
    ],
)
def test_dynamodb_s_own_limits(engine: Any, actions: list[Any], message: str) -> None:
    with pytest.raises(ClientError, match=message) as caught:
        engine.transact_write_items(TransactItems=actions)
    assert caught.value.response["Error"]["Code"] == "ValidationException"


def test_a_token_has_36_characters_at_most(engine: Any) -> None:
    engine.transact_write_items(TransactItems=[GOOD], ClientRequestToken="t" * 36)
    with pytest.raises(ClientError, match="less than or equal to 36"):
        engine.transact_write_items(TransactItems=[GOOD], ClientRequestToken="t" * 37)


def test_a_mistake_of_the_product_in_a_later_action_is_refused(engine: Any) -> None:
    """Without the checks the engine takes a receipt whose expiry is no text, which DynamoDB would not."""
    scores = DynamoScores(engine, "Scores", "Receipts", clock_of(ManualClock(NOW)))
    events = [Event("e1", 0, (), bytes(12)), Event("e2", 0, (), bytes(12))]
    addition = Addition("b", "m", {"a0a": 3}, [], [], [], NOW, 3, known=False)

    def mistaken(original: Any) -> Any:
        def receipt(self: Any, event: Event, *more: Any) -> Any:
            action = original(self, event, *more)
            if event.id == "e2":
                action["Put"]["Item"]["e"] = {"N": 5}
            return action

        return receipt

    with mock.patch.object(DynamoScores, "_receipt", mistaken(DynamoScores._receipt)):
        with pytest.raises(StoreRefusedError, match=r"TransactItems\[1\]\.Put\.Item\.e\.N"):
            scores.apply(events, [addition], NOW)
        with request_checks.checked(0), pytest.raises(TypeError):
            scores.apply(events, [addition], NOW)
    assert scores.apply(events, [addition], NOW) == []


def test_one_of_many_requests_is_checked(engine: Any) -> None:
    bad: Any = [GOOD, {"Delete": {"TableName": "Receipts", "Key": {"pk": {"S": "x"}}, "Typo": 1}}]
    refused = 0
    with request_checks.checked(5):
        for _ in range(20):
            try:
                engine.transact_write_items(TransactItems=bad)
            except ParamValidationError:
                refused += 1
    assert refused == 4
