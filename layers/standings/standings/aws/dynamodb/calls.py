"""Calls DynamoDB, and says in the services' words what stood in the way."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.runtime.retry import Clock

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from mypy_boto3_dynamodb.client import DynamoDBClient


Item = Mapping[str, Mapping[str, Any]]
"""An item with DynamoDB's type descriptors, as the low-level client and the stream have it."""

IN_PROGRESS_WAIT: Final = 5.0
MAX_KEYS: Final = 100
UNPROCESSED_TIMEOUT_S: Final = 1.0
"""Seconds for which a batch that was answered in part asks for the rest."""

# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
_HINDRANCE: Final = {
    "ConditionalCheckFailed": CancelReason.CONDITION,
    "TransactionConflict": CancelReason.BUSY,
    "ProvisionedThroughputExceeded": CancelReason.BUSY,
    "ThrottlingError": CancelReason.BUSY,
    "ValidationError": CancelReason.INVALID,
    "ItemCollectionSizeLimitExceeded": CancelReason.INVALID,
}


class Cancellation(NamedTuple):
    """Why one action of a transaction kept it from being done, with the item that it met where there is one."""

    position: int
    reason: CancelReason
    item: Item | None
    message: str


def store_error(error: ClientError | BotoCoreError) -> StoreUnavailableError | StoreRefusedError:
    """What an error of the SDK means: only a request that is wrong in itself is refused for good."""
    if isinstance(error, ParamValidationError):
        return StoreRefusedError(str(error))
    if not isinstance(error, ClientError):
        return StoreUnavailableError(str(error))
    code = error.response.get("Error", {}).get("Code", "")
    if code == "ValidationException":
        return StoreRefusedError(str(error))
    # The same transaction, asked for by a try whose answer was lost, is still going on.
    wait = IN_PROGRESS_WAIT if code == "TransactionInProgressException" else 0.0
    return StoreUnavailableError(str(error), wait)


def transact(client: "DynamoDBClient", actions: Sequence[Any]) -> list[Cancellation]:
    """Do all actions or none: what stood in the way, or an empty list when it is done."""
    try:
        client.transact_write_items(TransactItems=actions)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") != "TransactionCanceledException":
            raise store_error(error) from error
        found = list(_cancellations(error))
        if not found:
            raise StoreUnavailableError(str(error)) from error
        return found
    except BotoCoreError as error:
        raise store_error(error) from error
    return []


def _cancellations(error: ClientError) -> "Iterable[Cancellation]":
    reasons: Sequence[Mapping[str, Any]] = error.response.get("CancellationReasons", [])
    for index, reason in enumerate(reasons):
        code = reason.get("Code", "None")
        if code == "None":
            continue
        if code not in _HINDRANCE:
            raise StoreUnavailableError(str(error)) from error
        message = f"{code}: {reason.get('Message', '')}"
        yield Cancellation(index, _HINDRANCE[code], reason.get("Item"), message)


def get_item(client: "DynamoDBClient", table: str, key: Item, *, consistent: bool = False) -> Item | None:
    """One item, eventually consistent unless asked for otherwise; None where there is none."""
    try:
        answer = client.get_item(TableName=table, Key=key, ConsistentRead=consistent)
    except (ClientError, BotoCoreError) as error:
        raise store_error(error) from error
    return answer.get("Item")


def batch_get(
    client: "DynamoDBClient", table: str, keys: Sequence[Item], pacing: Clock, *, consistent: bool = False
) -> list[Item]:
    """The items that there are of those keys, in no order; eventually consistent unless asked for otherwise.

    DynamoDB may answer a batch in part. What it has read is not read again: only the rest is asked for, after a wait.
    StoreUnavailableError if it reads nothing, or if a part is still missing after a while.
    """
    backoff = pacing.backoff_for(UNPROCESSED_TIMEOUT_S)
    items: list[Item] = []
    for start in range(0, len(keys), MAX_KEYS):
        wanted: Sequence[Item] = list(keys[start : start + MAX_KEYS])
        while wanted:
            try:
                asked: Any = {"Keys": wanted, "ConsistentRead": True} if consistent else {"Keys": wanted}
                answer = client.batch_get_item(RequestItems={table: asked})
            except (ClientError, BotoCoreError) as error:
                raise store_error(error) from error
            items.extend(answer["Responses"].get(table, []))
            left = (answer.get("UnprocessedKeys") or {}).get(table, {"Keys": []})["Keys"]
            if left and (len(left) >= len(wanted) or not backoff.wait()):
                raise StoreUnavailableError(f"{table} did not return {len(left)} of {len(keys)} items: throttled")
            wanted = left
    return items


def query(client: "DynamoDBClient", request: Mapping[str, Any], limit: int) -> "Iterator[Any]":
    """The answers of a query, up to so many items: a page ends at 1 MB."""
    asked = dict(request)
    while limit > 0:
        try:
            answer = client.query(**asked, Limit=limit)
        except (ClientError, BotoCoreError) as error:
            raise store_error(error) from error
        yield answer
        if "LastEvaluatedKey" not in answer:
            return
        asked["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        limit -= answer["Count"]


def put_if(client: "DynamoDBClient", request: Mapping[str, Any]) -> bool:
    """Put an item on a condition; False where that does not hold."""
    try:
        client.put_item(**request)
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") == "ConditionalCheckFailedException":
            return False
        raise store_error(error) from error
    except BotoCoreError as error:
        raise store_error(error) from error
    return True


def batch_delete(client: "DynamoDBClient", table: str, keys: Sequence[str]) -> None:
    """Delete up to 25 items of a table whose key is one text; StoreUnavailableError where some are left."""
    requests: Any = [{"DeleteRequest": {"Key": {"pk": {"S": key}}}} for key in keys]
    try:
        answer = client.batch_write_item(RequestItems={table: requests})
    except (ClientError, BotoCoreError) as error:
        raise store_error(error) from error
    if left := (answer.get("UnprocessedItems") or {}).get(table):
        raise StoreUnavailableError(f"{table} left {len(left)} items: throttled")
