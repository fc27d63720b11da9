"""S3: the bucket of what failed, and the bucket of settled files."""

import json
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

from botocore.exceptions import ClientError

from standings.aws.sdk_errors import error_code, errors_as_unavailable
from standings.stores import MAX_KEYS

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


# The failure bucket: stream records that can never be applied, and messages too large for the dead-letter queue.

_FAILURE_ERRORS = errors_as_unavailable("failure bucket")


class StoredObject(NamedTuple):
    """An object: its key, and when it was written, in milliseconds since 1970."""

    key: str
    at: int


class FailureBucket:
    """Stores objects. Most processes never need it, so the first call makes the client."""

    def __init__(self, client: Callable[[], "S3Client"], bucket: str) -> None:
        self._s3 = cache(client)
        self._bucket = bucket

    @_FAILURE_ERRORS
    def keep(self, key: str, content: Any) -> str:
        """Store a JSON value under a key and return its `s3://` address. Raises StoreUnavailableError.

        Python's own JSON encoder takes all that Lambda's events can hold: lone surrogates, NaN, numbers of any length.
        """
        body = json.dumps(content).encode()
        self._s3().put_object(Bucket=self._bucket, Key=key, Body=body, ContentType="application/json")
        return f"s3://{self._bucket}/{key}"

    @_FAILURE_ERRORS
    def listed(self, prefix: str, after: str, limit: int) -> list[StoredObject]:
        """List objects below a prefix whose keys sort after `after`. Fewer than `limit`: these are the last."""
        answer = self._s3().list_objects_v2(Bucket=self._bucket, Prefix=prefix, StartAfter=after, MaxKeys=limit)
        return [
            StoredObject(entry["Key"], round(entry["LastModified"].timestamp() * 1000))
            for entry in answer.get("Contents", [])
        ]

    @_FAILURE_ERRORS
    def content(self, key: str) -> bytes | None:
        """Read an object; None if it does not exist."""
        try:
            return bytes(self._s3().get_object(Bucket=self._bucket, Key=key)["Body"].read())
        except ClientError as error:
            if error_code(error) == "NoSuchKey":
                return None
            raise

    @_FAILURE_ERRORS
    def delete(self, key: str) -> None:
        """Delete an object if it exists."""
        self._s3().delete_object(Bucket=self._bucket, Key=key)


# The bucket of results: what settled periods ended with.

_RESULTS_ERRORS = errors_as_unavailable("results bucket")


class ResultsBucket:
    """Writes, reads and lists objects. The first call makes the client: most processes never need it.

    Each method raises StoreUnavailableError.
    """

    def __init__(self, client: Callable[[], "S3Client"], bucket: str) -> None:
        self._s3 = cache(client)
        self.name = bucket

    @_RESULTS_ERRORS
    def put(self, key: str, content: bytes) -> None:
        """Write an object, in the place of another one of that key."""
        self._s3().put_object(Bucket=self.name, Key=key, Body=content, ContentType=_type_of(key))

    @_RESULTS_ERRORS
    def put_new(self, key: str, content: bytes) -> bool:
        """Write an object if there is none of that key. False if there is one."""
        try:
            self._s3().put_object(Bucket=self.name, Key=key, Body=content, ContentType=_type_of(key), IfNoneMatch="*")
        except ClientError as error:
            if error_code(error) == "PreconditionFailed":
                return False
            raise
        return True

    @_RESULTS_ERRORS
    def content(self, key: str) -> bytes | None:
        """Read an object; None if there is none."""
        try:
            return bytes(self._s3().get_object(Bucket=self.name, Key=key)["Body"].read())
        except ClientError as error:
            if error_code(error) == "NoSuchKey":
                return None
            raise

    @_RESULTS_ERRORS
    def keys(self, prefix: str, after: str = "") -> list[str]:
        """List keys that begin with `prefix` and sort after `after`. Fewer than `MAX_KEYS`: these are the last."""
        answer = self._s3().list_objects_v2(Bucket=self.name, Prefix=prefix, StartAfter=after, MaxKeys=MAX_KEYS)
        return [entry["Key"] for entry in answer.get("Contents", [])]

    @_RESULTS_ERRORS
    def delete(self, key: str) -> None:
        """Delete an object if there is one."""
        self._s3().delete_object(Bucket=self.name, Key=key)


def _type_of(key: str) -> str:
    return "application/gzip" if key.endswith(".gz") else "application/json"
