"""The objects that Lambda writes to S3 for batches of a stream that it gives up.

https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Sequence

OUT_OF_TRIES: Final = "RetryAttemptsExhausted"
TOO_OLD: Final = "RecordAgeExceeded"
_ARN: Final = "arn:aws:lambda:us-east-1:123456789012:function:projector"
_MAPPING: Final = "0a1b2c3d-4444-5555-6666-777788889999"


def failure_key(shard: str, at: float, unique: str) -> str:
    """Return the key of an object: mapping, shard, day, and the second with a part that no other key has."""
    moment = datetime.fromtimestamp(at, UTC)
    return f"aws/lambda/{_MAPPING}/{shard}/{moment:%Y/%m/%d}/{moment:%Y-%m-%dT%H.%M.%S}-{unique}"


def failure_record(
    records: Sequence[dict[str, Any]],
    condition: str,
    at: float,
    shard: str,
    *,
    tries: int = 1,
    error: str | None = None,
) -> bytes:
    """Return the object of a batch, given up at an instant in seconds since 1970 after a number of tries.

    `error` says how the last try failed as a whole (`Unhandled`); None if the function answered.
    """
    last = {"statusCode": 200, "executedVersion": "$LATEST", **({"functionError": error} if error else {})}
    first, final = records[0], records[-1]
    document = {
        "requestContext": {
            "requestId": f"316aa6d0-8154-xmpl-9af7-{int(at):012d}"[:36],
            "functionArn": _ARN,
            "condition": condition,
            "approximateInvokeCount": tries,
        },
        **({"responseContext": last} if tries else {}),
        "version": "1.0",
        "timestamp": _instant(at, "milliseconds"),
        "DDBStreamBatchInfo": {
            "shardId": shard,
            "startSequenceNumber": first["dynamodb"]["SequenceNumber"],
            "endSequenceNumber": final["dynamodb"]["SequenceNumber"],
            "approximateArrivalOfFirstRecord": _arrival(first),
            "approximateArrivalOfLastRecord": _arrival(final),
            "batchSize": len(records),
            "streamArn": first.get("eventSourceARN", ""),
        },
        "payload": json.dumps({"Records": list(records)}),
    }
    return json.dumps(document).encode()


def _arrival(record: dict[str, Any]) -> str:
    return _instant(record["dynamodb"]["ApproximateCreationDateTime"], "seconds")


def _instant(at: float, precision: str) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec=precision).replace("+00:00", "Z")
