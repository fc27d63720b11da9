"""Calls to DynamoDB. They raise the errors of `ports.errors`."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from standings.aws.sdk_errors import error_code
from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.runtime.retry import Clock

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import client as stubs

DynamoDBClient: TypeAlias = "stubs.DynamoDBClient"
Item = Mapping[str, Mapping[str, Any]]  # An item with DynamoDB's type descriptors, as in `{"pk": {"S": "x"}}`
IN_PROGRESS_WAIT: Final = 5.0
MAX_KEYS: Final = 100
UNPROCESSED_TIMEOUT_S: Final = 1.0  # Seconds for which `batch_get` repeats the keys that DynamoDB left unprocessed

# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
_REASONS: Final = {
    "ConditionalCheckFailed": CancelReason.CONDITION,
    "TransactionConflict": CancelReason.BUSY,
    "ProvisionedThroughputExceeded": CancelReason.BUSY,
    "ThrottlingError": CancelReason.BUSY,
    "ValidationError": CancelReason.INVALID,
    "ItemCollectionSizeLimitExceeded": CancelReason.INVALID,
}


class Cancellation(NamedTuple):
    """Why the action at `position` cancelled its transaction. `item` is the stored item, if DynamoDB returned it."""

    position: int
    reason: CancelReason
    item: Item | None
    message: str


@contextmanager
def store_errors() -> Iterator[None]:
    """Raise StoreRefusedError for an invalid request, StoreUnavailableError for all other errors of the SDK."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        code = error_code(error) if isinstance(error, ClientError) else ""
        if code == "ValidationException" or isinstance(error, ParamValidationError):
            raise StoreRefusedError(str(error)) from error
        # An earlier try of this transaction, whose answer was lost, still runs.
        wait = IN_PROGRESS_WAIT if code == "TransactionInProgressException" else 0.0
        raise StoreUnavailableError(str(error), wait) from error


def conditional(table: str, condition: str, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The table and condition of an action. If the condition fails, DynamoDB returns the stored item."""
    action = {"TableName": table, "ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    return {**action, "ExpressionAttributeValues": values} if values else action


def transact(client: DynamoDBClient, actions: Sequence[Any]) -> list[Cancellation]:
    """Do all actions or none. Returns what cancelled them; an empty list if they are done."""
    with store_errors():
        try:
            client.transact_write_items(TransactItems=actions)
        except ClientError as error:
            if error_code(error) != "TransactionCanceledException":
                raise
            return _cancellations(error)
    return []


def _cancellations(error: ClientError) -> list[Cancellation]:
    reasons: Sequence[Mapping[str, Any]] = error.response.get("CancellationReasons", [])
    given = [(index, reason) for index, reason in enumerate(reasons) if reason.get("Code", "None") != "None"]
    if not given or any(reason["Code"] not in _REASONS for _, reason in given):
        raise StoreUnavailableError(str(error)) from error
    return [
        Cancellation(index, _REASONS[why["Code"]], why.get("Item"), f"{why['Code']}: {why.get('Message', '')}")
        for index, why in given
    ]


def get_item(client: DynamoDBClient, table: str, key: Item, *, consistent: bool = False) -> Item | None:
    """One item, or None. The read is eventually consistent by default."""
    with store_errors():
        return client.get_item(TableName=table, Key=key, ConsistentRead=consistent).get("Item")


def batch_get(
    client: DynamoDBClient, table: str, keys: Sequence[Item], clock: Clock, *, consistent: bool = False
) -> list[Item]:
    """The items that exist under some keys, in any order. The reads are eventually consistent by default.

    DynamoDB may leave keys unprocessed. They alone are read again, after a wait. Raises StoreUnavailableError if a
    request returns nothing, or if keys are left after `UNPROCESSED_TIMEOUT_S`.
    """
    backoff = clock.backoff_for(UNPROCESSED_TIMEOUT_S)
    items: list[Item] = []
    for start in range(0, len(keys), MAX_KEYS):
        pending: Sequence[Item] = list(keys[start : start + MAX_KEYS])
        while pending:
            request: Any = {"Keys": pending, "ConsistentRead": True} if consistent else {"Keys": pending}
            with store_errors():
                answer = client.batch_get_item(RequestItems={table: request})
            items.extend(answer["Responses"].get(table, []))
            left = (answer.get("UnprocessedKeys") or {}).get(table, {"Keys": []})["Keys"]
            if left and (len(left) >= len(pending) or not backoff.wait()):
                raise StoreUnavailableError(f"{table} did not return {len(left)} of {len(keys)} items: throttled")
            pending = left
    return items


def query(
    client: DynamoDBClient, limit: int, table: str, condition: str, values: Mapping[str, Any], **options: Any
) -> Iterator[Any]:
    """The answers of a query by key, with up to `limit` items in all. DynamoDB ends an answer at 1 MB."""
    page = {"TableName": table, "KeyConditionExpression": condition, "ExpressionAttributeValues": values, **options}
    while limit > 0:
        with store_errors():
            answer = client.query(**page, Limit=limit)
        yield answer
        if "LastEvaluatedKey" not in answer:
            return
        page["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        limit -= answer["Count"]


def query_items(client: DynamoDBClient, limit: int, *request: Any, **options: Any) -> list[Item]:
    """Up to `limit` items of a `query`."""
    return [item for answer in query(client, limit, *request, **options) for item in answer["Items"]]


def put_if(client: DynamoDBClient, request: Mapping[str, Any]) -> bool:
    """Put an item on a condition. Returns False if the condition does not hold."""
    with store_errors():
        try:
            client.put_item(**request)
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            return False
    return True


def put_version(client: DynamoDBClient, table: str, item: Item, seen: int | None) -> bool:
    """Put an item over its version `seen` (None: no item). Returns False if there is another version."""
    condition: dict[str, Any] = {"ConditionExpression": "attribute_not_exists(pk)"}
    if seen is not None:
        condition = {"ConditionExpression": "v = :v", "ExpressionAttributeValues": {":v": {"N": str(seen)}}}
    return put_if(client, {"TableName": table, "Item": item, **condition})


def update_if(client: DynamoDBClient, request: Mapping[str, Any]) -> tuple[bool, Item | None]:
    """Update an item on a condition. If it does not hold, returns False and the stored item, if there is one."""
    with store_errors():
        try:
            client.update_item(**request)
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            stored: Any = error.response
            return False, stored.get("Item")
    return True, None


def batch_delete(client: DynamoDBClient, table: str, keys: Sequence[str]) -> None:
    """Delete up to 25 items, by partition key. Raises StoreUnavailableError if DynamoDB leaves some unprocessed."""
    requests: Any = [{"DeleteRequest": {"Key": {"pk": {"S": key}}}} for key in keys]
    with store_errors():
        answer = client.batch_write_item(RequestItems={table: requests})
    if left := (answer.get("UnprocessedItems") or {}).get(table):
        raise StoreUnavailableError(f"{table} left {len(left)} items: throttled")
