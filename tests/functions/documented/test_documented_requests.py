"""What AWS documents of requests over HTTP and of cancelled transactions, on both sides: emulators and product."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import orjson
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError
from botocore.session import get_session

from standings.aws.dynamodb.calls import Cancellation, transact
from standings.ports.errors import CancelReason, StoreUnavailableError
from tests.support.aws.documented import documented, shape
from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack, http_event, running
from tests.support.awslambda.pollers import Context
from tests.support.builders.stages.streaming import project

NOON = datetime(2026, 11, 20, 12, tzinfo=UTC)
CREDENTIALS: dict[str, Any] = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
CODES = [reason["Code"] for reason in documented("cancelled-transaction")["CancellationReasons"]]


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOON.timestamp() * 1000))) as deployed:
        yield deployed


@pytest.mark.parametrize("name", ["http-iam", "http-jwt"])
def test_the_requests_of_the_tests_are_part_of_a_documented_one(name: str) -> None:
    expected = documented(name)
    request = expected["requestContext"]["http"]
    found = http_event(request["path"], expected["rawQueryString"], request["method"], expected.get("body"))

    assert shape(found).items() <= shape(expected).items()


def test_the_functions_take_documented_requests(stack: Stack) -> None:
    assert stack.writer(documented("queue-batch"), Context()) == {"batchItemFailures": []}
    posted = stack.command(documented("http-jwt"), Context())
    assert stack.writer({"Records": stack.activity.records()}, Context()) == {"batchItemFailures": []}
    project(stack)
    answer = stack.query(documented("http-iam"), Context())

    assert (posted["statusCode"], orjson.loads(posted["body"])["results"][0]["status"]) == (202, "queued")
    body = orjson.loads(answer["body"])
    assert (answer["statusCode"], body["rank"], body["total"]) == (200, 2, 2)


def answering(content: Any) -> Any:
    """Return a real client to which DynamoDB answers 400 with a content."""
    client: Any = get_session().create_client("dynamodb", region_name="eu-central-1", **CREDENTIALS)

    def answer(request: Any, **_: Any) -> AWSResponse:
        raw: Any = BytesIO(orjson.dumps(content))
        raw.stream = lambda: [raw.getvalue()]
        return AWSResponse(request.url, 400, {}, raw)  # type: ignore[arg-type]

    client.meta.events.register("before-send.dynamodb", answer)
    return client


def puts(count: int) -> list[Any]:
    return [{"Put": {"TableName": "Receipts", "Item": {"pk": {"S": f"e{number}"}}}} for number in range(count)]


def test_the_file_has_every_code_that_aws_documents() -> None:
    model: Any = get_session().get_service_model("dynamodb")
    text = model.shape_for("TransactionCanceledException").documentation

    assert re.findall(r"Code: <code>(\w+)</code>", text) == CODES


def test_the_product_understands_every_documented_reason() -> None:
    reasons = documented("cancelled-transaction")["CancellationReasons"]
    found = transact(answering(documented("cancelled-transaction")), puts(len(reasons)))

    assert [one.position for one in found] == list(range(1, len(reasons)))
    assert [one.reason for one in found] == [
        CancelReason.CONDITION,
        CancelReason.INVALID,
        CancelReason.BUSY,
        CancelReason.BUSY,
        CancelReason.BUSY,
        CancelReason.INVALID,
    ]
    assert [one.item for one in found] == [reason.get("Item") for reason in reasons[1:]]
    assert [one.message for one in found] == [f"{reason['Code']}: {reason['Message']}" for reason in reasons[1:]]


@pytest.mark.parametrize("code", ["DuplicateItem", "AccessDenied", "RequestLimitExceeded"])
def test_a_reason_that_is_not_documented_for_transactions_is_an_outage(code: str) -> None:
    """The codes are those of single statements. Nobody knows what they would mean here, so the batch is tried again."""
    content = documented("cancelled-transaction")
    content["CancellationReasons"][1]["Code"] = code

    with pytest.raises(StoreUnavailableError, match="Transaction cancelled"):
        transact(answering(content), puts(7))


def outcome(client: Any, actions: list[Any]) -> tuple[dict[str, str], list[Cancellation]]:
    """Return the shape of the error of a cancelled transaction, and what the product makes of it."""
    with pytest.raises(ClientError) as caught:
        client.transact_write_items(TransactItems=actions)
    response: Any = caught.value.response
    return shape({**response, "ResponseMetadata": {}}), transact(client, actions)


@pytest.mark.parametrize("code", CODES[1:])
def test_the_engine_cancels_as_documented(engine: Any, code: str) -> None:
    content = documented("cancelled-transaction")
    content["CancellationReasons"] = [
        reason for reason in content["CancellationReasons"] if reason["Code"] in ("None", code)
    ]
    actions = puts(2)
    if code == "ConditionalCheckFailed":
        engine.put_item(**actions[1]["Put"])
        more = {"ConditionExpression": "attribute_not_exists(pk)", "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
        actions[1]["Put"] |= more
    elif code == "ValidationError":
        engine.put_item(TableName="Receipts", Item={"pk": {"S": "e1"}, "n": {"S": "a text"}})
        update = {"UpdateExpression": "ADD n :n", "ExpressionAttributeValues": {":n": {"N": "1"}}}
        actions[1] = {"Update": {"TableName": "Receipts", "Key": {"pk": {"S": "e1"}}, **update}}
    else:
        engine.busy = {("Receipts", ("e1",)): code}
    (found, (engines,)), (expected, (dynamodbs,)) = outcome(engine, actions), outcome(answering(content), actions)

    assert found == expected
    assert (engines.position, engines.reason) == (dynamodbs.position, dynamodbs.reason)
    assert type(engines.item) is type(dynamodbs.item)
