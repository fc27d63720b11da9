"""S3: the bucket of what failed, and the bucket of settled files."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple

from botocore.exceptions import ClientError

from standings.aws.sdk_errors import error_code, errors_as_unavailable

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client

MAX_KEYS: Final = 1_000  # Keys that one call lists


class StoredObject(NamedTuple):
    """An object: its key, and when it was written, in milliseconds since 1970."""

    key: str
    at: int


class _Bucket:
    """Reads and deletes objects. Most processes never need a bucket, so the first call makes the client.

    Each method raises StoreUnavailableError; its text begins with the bucket's kind, such as `failure bucket`.
    """

    _IS: ClassVar[str]

    def __init__(self, client: Callable[[], "S3Client"], bucket: str) -> None:
        self._s3 = cache(client)
        self.name = bucket

    def content(self, key: str) -> bytes | None:
        """Read an object; None if it does not exist."""
        with self._errors():
            try:
                return bytes(self._s3().get_object(Bucket=self.name, Key=key)["Body"].read())
            except ClientError as error:
                if error_code(error) == "NoSuchKey":
                    return None
                raise

    def delete(self, key: str) -> None:
        """Delete an object if it exists."""
        with self._errors():
            self._s3().delete_object(Bucket=self.name, Key=key)

    def listed(self, prefix: str, after: str, limit: int = MAX_KEYS) -> list[StoredObject]:
        """List objects below a prefix whose keys sort after `after`. Fewer than `limit`: these are the last."""
        with self._errors():
            answer = self._s3().list_objects_v2(Bucket=self.name, Prefix=prefix, StartAfter=after, MaxKeys=limit)
        entries = answer.get("Contents", [])
        return [StoredObject(entry["Key"], round(entry["LastModified"].timestamp() * 1000)) for entry in entries]

    def following(self, retry: Callable[..., list[StoredObject]], prefix: str, after: str) -> Iterator[StoredObject]:
        """All objects below a prefix whose keys sort after `after`, in order. `retry` calls what lists some of them."""
        while True:
            page = retry(self.listed, prefix, after)
            yield from page
            if len(page) < MAX_KEYS:
                return
            after = page[-1].key

    def _errors(self) -> AbstractContextManager[None]:
        return errors_as_unavailable(self._IS)


class FailureBucket(_Bucket):
    """Stream records that can never be applied, and messages too large for the dead-letter queue."""

    _IS = "failure bucket"

    def keep(self, key: str, content: Any) -> str:
        """Store a JSON value under a key and return its `s3://` address.

        Python's own JSON encoder takes all that Lambda's events can hold: lone surrogates, NaN, numbers of any length.
        """
        body = json.dumps(content).encode()
        with self._errors():
            self._s3().put_object(Bucket=self.name, Key=key, Body=body, ContentType="application/json")
        return f"s3://{self.name}/{key}"


class ResultsBucket(_Bucket):
    """The files of settled periods."""

    _IS = "results bucket"

    def put(self, key: str, content: bytes, *, is_new: bool = False) -> None:
        """Write an object, or replace the one with that key. With `is_new`, leave the one that is there."""
        condition: Any = {"IfNoneMatch": "*"} if is_new else {}
        kind = "application/gzip" if key.endswith(".gz") else "application/json"
        with self._errors():
            try:
                self._s3().put_object(Bucket=self.name, Key=key, Body=content, ContentType=kind, **condition)
            except ClientError as error:
                if error_code(error) != "PreconditionFailed":
                    raise
