"""The failure bucket: stream records that can never be applied, and messages too large for the dead-letter queue."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from standings.ports.errors import StoreUnavailableError
from standings.ports.objects import StoredObject

if TYPE_CHECKING:
    from mypy_boto3_s3.client import S3Client


class FailureBucket:
    """Keeps objects whole (`ports.objects.Objects`). The client is made when it is first needed: hardly ever."""

    def __init__(self, client: "Callable[[], S3Client]", bucket: str) -> None:
        self._make_client = client
        self._client: S3Client | None = None
        self._bucket = bucket

    def keep(self, key: str, content: Any) -> str:
        """Store a JSON value under a key and return its address; StoreUnavailableError where that cannot be done now.

        In Python's JSON, which holds all that Lambda's events can: half a character, NaN, a number of any length.
        """
        body = json.dumps(content).encode()
        with _errors():
            self._s3.put_object(Bucket=self._bucket, Key=key, Body=body, ContentType="application/json")
        return f"s3://{self._bucket}/{key}"

    def listed(self, prefix: str, after: str, limit: int) -> list[StoredObject]:
        with _errors():
            answer = self._s3.list_objects_v2(Bucket=self._bucket, Prefix=prefix, StartAfter=after, MaxKeys=limit)
        return [
            StoredObject(found["Key"], round(found["LastModified"].timestamp() * 1000))
            for found in answer.get("Contents", [])
        ]

    def content(self, key: str) -> bytes | None:
        with _errors():
            try:
                return bytes(self._s3.get_object(Bucket=self._bucket, Key=key)["Body"].read())
            except ClientError as error:
                if error.response.get("Error", {}).get("Code") == "NoSuchKey":
                    return None
                raise

    def delete(self, key: str) -> None:
        with _errors():
            self._s3.delete_object(Bucket=self._bucket, Key=key)

    @property
    def _s3(self) -> "S3Client":
        if self._client is None:
            self._client = self._make_client()
        return self._client


@contextmanager
def _errors() -> Iterator[None]:
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        raise StoreUnavailableError(f"failure bucket: {error}") from error
