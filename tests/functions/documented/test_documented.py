"""What AWS documents: requests, batches, what Lambda gives up, cancelled transactions. The emulators of the tests send
the same, and the functions take it. So they take the samples in `events/`."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, Final

import orjson
import pytest
from botocore.awsrequest import AWSResponse
from botocore.exceptions import ClientError
from botocore.session import get_session

from standings.aws.dynamodb.tables import Cancellation, transact
from standings.stores import CancelReason, StoreUnavailableError
from tests.e2e.test_lambda_runtime import EVENTS, invoke_all
from tests.support.aws.documented import FOLDER, documented, page, shape
from tests.support.aws.fakes import Queue
from tests.support.aws.stack import ManualClock, Stack, count, http_event, project, running, url_event
from tests.support.awslambda.failure_records import OUT_OF_TRIES, failure_key, failure_record
from tests.support.awslambda.pollers import Context

NOON: Final = datetime(2026, 11, 20, 12, tzinfo=UTC)
SHARD: Final = "shardId-00000001573689847184-864758bb"
POINTS: Final = "/boards/berlin-2026/points/all"
DONE: Final[dict[str, Any]] = {"batchItemFailures": []}
CODES: Final = [reason["Code"] for reason in documented("cancelled-transaction")["CancellationReasons"]]


@pytest.fixture
def stack(engine: Any) -> Iterator[Stack]:
    with running(engine, ManualClock(int(NOON.timestamp() * 1000))) as deployed:
        yield deployed


def listed(stack: Stack) -> list[tuple[str, int]]:
    return [(entry["member"], entry["score"]) for entry in stack.entries(POINTS)]


def test_each_file_names_the_page_that_shows_it() -> None:
    names = [path.stem for path in FOLDER.glob("*.json")]
    assert len(names) == 7
    assert all(page(name).startswith(("AWS ", "Amazon ")) and "//" not in page(name) for name in names)


def test_each_sample_does_what_its_name_says(stack: Stack) -> None:
    """`sam local invoke` sends them."""

    def catch_up() -> None:
        stack.writer({"Records": stack.activity.records()}, Context())
        project(stack)

    def run(function: str, sample: str) -> dict[str, Any]:
        event = orjson.loads((EVENTS / f"{sample}.json").read_bytes())
        answer: dict[str, Any] = getattr(stack, function.removesuffix("Function").lower())(event, Context(seconds=900))
        return answer

    invoke_all(catch_up, run)


@pytest.mark.parametrize("name", ["http-iam", "http-jwt"])
def test_the_requests_of_the_tests_are_part_of_a_documented_one(name: str) -> None:
    expected = documented(name)
    request = expected["requestContext"]["http"]
    found = http_event(request["path"], expected["rawQueryString"], request["method"], expected.get("body"))

    assert shape(found).items() <= shape(expected).items()


def test_the_requests_to_a_function_url_of_the_tests_are_part_of_a_documented_one() -> None:
    expected = documented("url-iam")

    assert shape(url_event(expected["rawPath"], expected["rawQueryString"])).items() <= shape(expected).items()


def test_the_functions_take_documented_messages_and_requests(stack: Stack) -> None:
    assert stack.writer(documented("queue-batch"), Context()) == DONE
    project(stack)
    assert listed(stack) == [("u7", 12), ("u123", 3)]
    (refused,) = stack.dead_letters.messages
    assert refused["MessageGroupId"] == "tenant-8"
    assert "'many'" in stack.dead_letters.reasons()[0]
    posted = stack.command(documented("http-jwt"), Context())
    assert (posted["statusCode"], orjson.loads(posted["body"])["results"][0]["status"]) == (202, "queued")
    count(stack)
    for name in ("http-iam", "url-iam"):
        answer = stack.query(documented(name), Context())
        body = orjson.loads(answer["body"])
        assert (answer["statusCode"], body["rank"], body["total"]) == (200, 2, 2)


def test_the_projector_takes_a_documented_batch(stack: Stack) -> None:
    assert stack.projector(documented("stream-batch"), Context()) == DONE
    assert stack.bucket.objects == {}
    assert listed(stack) == [("u123", 8)]


def test_a_replay_takes_a_documented_object(stack: Stack) -> None:
    assert stack.writer(documented("queue-batch"), Context()) == DONE
    key = failure_key(SHARD, NOON.timestamp(), "x")
    stack.bucket.put_object("failures", key, orjson.dumps(documented("stream-failure")), "application/json")
    (shown,) = stack.maintenance({"parked": {"list": {}}}, Context())["objects"]
    replayed = stack.maintenance({"parked": {"replay": {}}}, Context())

    assert (shown["reason"], shown["records"]) == ("given up by Lambda: RetryAttemptsExhausted", 2)
    assert shown["members"] == [{"board": "berlin-2026", "member": "u123"}]
    assert (replayed["done"], replayed["placed"], replayed["removed"], replayed["problems"]) == (True, 1, 1, [])
    assert listed(stack) == [("u123", 3)]


def test_the_stream_of_the_engine_has_the_documented_records(engine: Any) -> None:
    key = {"pk": {"S": "b#00"}, "sk": {"S": "m"}}
    for expiry in (2, 1):
        engine.put_item(TableName="Scores", Item={**key, "v": {"N": "1"}, "e": {"N": str(NOON.timestamp() + expiry)}})
    engine.expire("Scores", now=NOON.timestamp() + 60)

    for record, expected in zip(engine.stream("Scores")[0][0:], documented("stream-batch")["Records"], strict=True):
        assert record["eventName"] == expected["eventName"]
        assert shape(record) == shape(expected)


@pytest.mark.parametrize("error", ["Unhandled", None])
def test_what_the_emulators_give_up_is_a_documented_object(error: str | None) -> None:
    records = documented("stream-batch")["Records"][:2]
    found = orjson.loads(failure_record(records, OUT_OF_TRIES, NOON.timestamp(), SHARD, tries=3, error=error))
    expected = documented("stream-failure")

    assert shape(found) == {
        path: kind for path, kind in shape(expected).items() if error is not None or "functionError" not in path
    }
    assert found["payload"] == expected["payload"]
    info = "startSequenceNumber", "endSequenceNumber", "approximateArrivalOfFirstRecord", "batchSize", "shardId"
    for name in info:
        assert found["DDBStreamBatchInfo"][name] == expected["DDBStreamBatchInfo"][name]
    # aws/lambda/<ESM-UUID>/<shardID>/YYYY/MM/DD/YYYY-MM-DDTHH.MM.SS-<Random UUID>
    key = failure_key(SHARD, NOON.timestamp(), "x")
    assert re.fullmatch(rf"aws/lambda/[^/]+/{SHARD}/2026/11/20/2026-11-20T12\.00\.00-x", key)


def test_the_queues_of_the_tests_deliver_documented_messages() -> None:
    plain, grouped, _ = documented("queue-batch")["Records"]
    attributes = {"at_filled_in": {"DataType": "String", "StringValue": "true"}}
    queue = Queue("activity")
    queue.put({"MessageBody": grouped["body"], "MessageAttributes": attributes, "MessageGroupId": "tenant-7"})
    queue.put({"MessageBody": plain["body"]})

    with_attributes, found = queue.records()
    assert shape(found) == shape(plain)
    assert found["md5OfBody"] == plain["md5OfBody"]
    assert shape(with_attributes) == shape(grouped)


@pytest.fixture(scope="module")
def answering() -> Any:
    """A real client to which DynamoDB answers 400 with `content`."""
    credentials: dict[str, Any] = {"aws_access_key_id": "none", "aws_secret_access_key": "none"}
    client: Any = get_session().create_client("dynamodb", region_name="eu-central-1", **credentials)

    def answer(request: Any, **_: Any) -> AWSResponse:
        raw: Any = BytesIO(orjson.dumps(client.content))
        raw.stream = lambda: [raw.getvalue()]
        return AWSResponse(request.url, 400, {}, raw)  # type: ignore[arg-type]

    client.meta.events.register("before-send.dynamodb", answer)
    client.content = documented("cancelled-transaction")
    return client


@pytest.fixture
def content(answering: Any) -> Any:
    """What the client is answered: reasons that a test may change."""
    answering.content = documented("cancelled-transaction")
    return answering.content


def puts(count: int) -> list[Any]:
    return [{"Put": {"TableName": "Receipts", "Item": {"pk": {"S": f"e{number}"}}}} for number in range(count)]


def test_the_file_has_every_code_that_aws_documents() -> None:
    model: Any = get_session().get_service_model("dynamodb")
    text = model.shape_for("TransactionCanceledException").documentation

    assert re.findall(r"Code: <code>(\w+)</code>", text) == CODES


def test_the_product_understands_every_documented_reason(answering: Any, content: Any) -> None:
    _, *reasons = content["CancellationReasons"]
    busy = [CancelReason.BUSY] * 3
    kinds = [CancelReason.CONDITION, CancelReason.INVALID, *busy, CancelReason.INVALID]

    assert transact(answering, puts(len(CODES))) == [
        Cancellation(position, kind, reason.get("Item"), f"{reason['Code']}: {reason['Message']}")
        for position, (kind, reason) in enumerate(zip(kinds, reasons, strict=True), start=1)
    ]


@pytest.mark.parametrize("code", ["DuplicateItem", "AccessDenied", "RequestLimitExceeded"])
def test_a_reason_that_is_not_documented_for_transactions_is_an_outage(answering: Any, content: Any, code: str) -> None:
    """The codes are those of single statements. Nobody knows what they would mean here, so the batch is tried again."""
    content["CancellationReasons"][1]["Code"] = code

    with pytest.raises(StoreUnavailableError, match="Transaction cancelled"):
        transact(answering, puts(len(CODES)))


def outcome(client: Any, actions: list[Any]) -> tuple[dict[str, str], list[Cancellation]]:
    """The shape of the error of a cancelled transaction, and what the product makes of it."""
    with pytest.raises(ClientError) as caught:
        client.transact_write_items(TransactItems=actions)
    response: Any = caught.value.response
    return shape({**response, "ResponseMetadata": {}}), transact(client, actions)


@pytest.mark.parametrize("code", CODES[1:])
def test_the_engine_cancels_as_documented(engine: Any, answering: Any, content: Any, code: str) -> None:
    content["CancellationReasons"] = [one for one in content["CancellationReasons"] if one["Code"] in ("None", code)]
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
    (found, (engines,)), (expected, (dynamodbs,)) = outcome(engine, actions), outcome(answering, actions)

    assert found == expected
    assert (engines.position, engines.reason) == (dynamodbs.position, dynamodbs.reason)
    assert type(engines.item) is type(dynamodbs.item)
