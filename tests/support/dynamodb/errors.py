"""The errors of DynamoDB, in the form in which botocore raises them.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

from collections.abc import Mapping, Sequence
from typing import Any

from botocore.exceptions import ClientError

ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATED_ITEM_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
WRONG_OPERAND = "An operand in the update expression has an incorrect data type"
MISSING_OPERAND = "The provided expression refers to an attribute that does not exist in the item"
INVALID_PATH = "The document path provided in the update expression is invalid for update"
CONDITION_FAILED = "The conditional request failed"


class Refusal(Exception):
    """DynamoDB rejects the request. The operation's name is added by `as_client_error`."""

    def __init__(self, code: str, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.extra = extra

    def as_client_error(self, operation: str) -> ClientError:
        return client_error(operation, self.code, self.message, **self.extra)


class Invalid(Refusal):
    """The request is invalid whatever the tables contain: always a ValidationException."""

    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", message)


class InvalidForItem(Invalid):
    """The request is invalid for the item it names. In a transaction this is a cancellation reason."""


class ConditionFailed(Refusal):
    """The condition of a single write is false."""

    def __init__(self, item: Mapping[str, Any] | None) -> None:
        extra = {} if item is None else {"Item": item}
        super().__init__("ConditionalCheckFailedException", CONDITION_FAILED, **extra)


def cancelled(reasons: Sequence[Mapping[str, Any]]) -> Refusal:
    """Return the error of a cancelled transaction. The reasons are in the order of its actions."""
    codes = ", ".join(str(reason["Code"]) for reason in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return Refusal("TransactionCanceledException", message, Message=message, CancellationReasons=list(reasons))


def client_error(operation: str, code: str, message: str, **extra: Any) -> ClientError:
    """Return the exception that a botocore client raises for ``operation`` (CamelCase)."""
    response: Any = {
        "Error": {"Message": message, "Code": code},
        "ResponseMetadata": {"HTTPStatusCode": 500 if code == "InternalServerError" else 400},
        **extra,
    }
    return ClientError(response, operation)
