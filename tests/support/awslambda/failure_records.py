"""The objects that Lambda writes to S3 for batches of a stream that it gives up.

https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Final

from tests.support.aws.documented import documented

OUT_OF_TRIES: Final = "RetryAttemptsExhausted"
TOO_OLD: Final = "RecordAgeExceeded"
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
    document = documented("stream-failure")
    document["requestContext"] |= {"condition": condition, "approximateInvokeCount": tries}
    document["timestamp"] = _instant(at, "milliseconds")
    document["payload"] = json.dumps({"Records": list(records)})
    document["DDBStreamBatchInfo"] = {
        "shardId": shard,
        "startSequenceNumber": records[0]["dynamodb"]["SequenceNumber"],
        "endSequenceNumber": records[-1]["dynamodb"]["SequenceNumber"],
        "approximateArrivalOfFirstRecord": _arrival(records[0]),
        "approximateArrivalOfLastRecord": _arrival(records[-1]),
        "batchSize": len(records),
        "streamArn": records[0].get("eventSourceARN", ""),
    }
    if error is None:
        del document["responseContext"]["functionError"]
    if not tries:
        del document["responseContext"]
    return json.dumps(document).encode()


def _arrival(record: dict[str, Any]) -> str:
    return _instant(record["dynamodb"]["ApproximateCreationDateTime"], "seconds")


def _instant(at: float, precision: str) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec=precision).replace("+00:00", "Z")
