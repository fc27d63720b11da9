"""The errors of DynamoDB, in the shape that botocore gives them.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

ITEM_TOO_LARGE = "Item size has exceeded the maximum allowed size"
UPDATED_ITEM_TOO_LARGE = "Item size to update has exceeded the maximum allowed size"
WRONG_OPERAND = "An operand in the update expression has an incorrect data type"
MISSING_OPERAND = "The provided expression refers to an attribute that does not exist in the item"
CONDITION_FAILED = "The conditional request failed"


class Refusal(Exception):
    """A request that DynamoDB refuses, before it is known which operation it came with."""

    def __init__(self, code: str, message: str, **extra: Any) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.extra = extra

    def as_client_error(self, operation: str) -> ClientError:
        return client_error(operation, self.code, self.message, **self.extra)


class Invalid(Refusal):
    """A request that is wrong whatever the tables hold: always a ValidationException."""

    def __init__(self, message: str) -> None:
        super().__init__("ValidationException", message)


class InvalidForItem(Invalid):
    """A request that is wrong for the item it meets: in a transaction a cancellation reason."""


class ConditionFailed(Refusal):
    """The condition of a single write did not hold."""

    def __init__(self, item: Mapping[str, Any] | None) -> None:
        extra = {} if item is None else {"Item": item}
        super().__init__("ConditionalCheckFailedException", CONDITION_FAILED, **extra)


def cancelled(reasons: Sequence[Mapping[str, Any]]) -> Refusal:
    """Build the cancellation of a transaction, its reasons in the order of its actions."""
    codes = ", ".join(str(reason["Code"]) for reason in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    return Refusal(
        "TransactionCanceledException",
        message,
        Message=message,
        CancellationReasons=list(reasons),
    )


@cache
def error_class(code: str) -> type[ClientError]:
    """Return the one exception class of a code, as ``client.exceptions`` has it."""
    return type(code, (ClientError,), {})


def client_error(operation: str, code: str, message: str, **extra: Any) -> ClientError:
    """Build the exception that a botocore client raises for ``operation`` (CamelCase)."""
    response: dict[str, Any] = {
        "Error": {"Message": message, "Code": code},
        "ResponseMetadata": {
            "RequestId": "engine",
            "HTTPStatusCode": 500 if code == "InternalServerError" else 400,
            "HTTPHeaders": {},
            "RetryAttempts": 0,
        },
        **extra,
    }
    return error_class(code)(response, operation)  # type: ignore[arg-type]


class Exceptions:
    """Stands for ``client.exceptions``: an attribute for every error code."""

    def __getattr__(self, code: str) -> type[ClientError]:
        return ClientError if code == "ClientError" else error_class(code)
