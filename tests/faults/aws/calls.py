"""A call to a service, and the faults that it can meet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from botocore.exceptions import ReadTimeoutError

from tests.support.dynamodb.errors import client_error

if TYPE_CHECKING:
    from collections.abc import Mapping

    from botocore.exceptions import ClientError

    from tests.faults.clockwork import Process, Task

Request = dict[str, Any]
Identity = tuple[str, tuple[str, ...]]

TRANSACT: Final = "transact_write_items"
NAMES: Final = {
    "transact_write_items": "TransactWriteItems",
    "put_item": "PutItem",
    "update_item": "UpdateItem",
    "delete_item": "DeleteItem",
    "get_item": "GetItem",
    "batch_get_item": "BatchGetItem",
    "query": "Query",
    "scan": "Scan",
    "transact_get_items": "TransactGetItems",
    "batch_write_item": "BatchWriteItem",
    "send_message_batch": "SendMessageBatch",
    "put_object": "PutObject",
    "list_objects_v2": "ListObjectsV2",
    "get_object": "GetObject",
    "delete_object": "DeleteObject",
}

# The faults. These names go into the digest of a schedule.
CRASH_BEFORE: Final = "crash before"
CRASH_AFTER: Final = "crash after"
LOST: Final = "lost answer"
UNSENT: Final = "never arrived"
FAILED: Final = "internal error"
FAILED_AFTER: Final = "internal error, done all the same"
THROTTLED: Final = "throttled"
CONFLICT: Final = "conflict or throttle of actions"
SLOW: Final = "slow, and given up by the SDK"
UNPROCESSED: Final = "unprocessed"
STALLED: Final = "never comes back"

Fault = tuple[str, int, float]
"""The name of a fault, the number of tries in a row that meet it, and its relative frequency."""

_ANY: Final[list[Fault]] = [
    (CRASH_BEFORE, 1, 3),
    (CRASH_AFTER, 1, 3),
    (STALLED, 1, 0.7),
    (UNSENT, 1, 1),
    (THROTTLED, 1, 1),
    (THROTTLED, 3, 2),
    (FAILED, 1, 1),
    (FAILED, 3, 1),
]
FAULTS: Final[Mapping[str, list[Fault]]] = {
    TRANSACT: [
        *_ANY,
        (LOST, 1, 6),
        (LOST, 3, 3),
        (FAILED_AFTER, 1, 2),
        (FAILED_AFTER, 3, 2),
        (CONFLICT, 1, 8),
        (SLOW, 1, 3),
        (SLOW, 2, 1),
    ],
    "put_item": [*_ANY, (LOST, 1, 6), (LOST, 3, 3), (FAILED_AFTER, 1, 2)],
    "batch_get_item": [*_ANY, (UNPROCESSED, 1, 6)],
    "send_message_batch": [*_ANY, (LOST, 1, 3), (LOST, 3, 3), (UNPROCESSED, 1, 6)],
}
OTHERS: Final = [*_ANY, (LOST, 1, 1)]


@dataclass(eq=False)
class Call:
    """One try of one call."""

    task: Task
    operation: str
    request: Request
    fault: str | None
    reading: int
    """The last value that the caller read from its wall clock before the call, in milliseconds."""
    heard: bool = False
    """Whether the caller has got an answer or an error."""

    @property
    def process(self) -> Process:
        return self.task.process


def lost() -> Exception:
    """Return the error of an answer that never arrives."""
    return ReadTimeoutError(endpoint_url="https://aws.invalid")


def error_of(call: Call, code: str) -> ClientError:
    """Return the error of a service with a code such as `ThrottlingException`."""
    return client_error(NAMES[call.operation], code, "as the seed says")
