"""The failure bucket: stream records that can never be applied, and messages too large for the dead-letter queue."""

from typing import TYPE_CHECKING

from botocore.exceptions import BotoCoreError, ClientError

from standings.services.store import StoreUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from mypy_boto3_s3.client import S3Client


class FailureBucket:
    """Keeps objects whole. The client is made when it is first needed, which is hardly ever."""

    def __init__(self, client: "Callable[[], S3Client]", bucket: str) -> None:
        self._make_client = client
        self._client: S3Client | None = None
        self._bucket = bucket

    def keep(self, key: str, content: bytes) -> str:
        """Store an object under a key and return its address; StoreUnavailableError where that cannot be done now."""
        try:
            if self._client is None:
                self._client = self._make_client()
            self._client.put_object(Bucket=self._bucket, Key=key, Body=content, ContentType="application/json")
        except (ClientError, BotoCoreError) as error:
            raise StoreUnavailableError(f"failure bucket: {error}") from error
        return f"s3://{self._bucket}/{key}"
