"""S3 for tests: the failure bucket, in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from botocore.exceptions import ClientError

from tests.support.aws.environment import ENVIRONMENT


@dataclass
class Bucket:
    """The failure bucket in memory."""

    clock: Callable[[], int] = lambda: 0
    objects: dict[str, bytes] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)

    def put_object(self, Bucket: str, Key: str, Body: bytes, ContentType: str) -> None:  # noqa: N803
        assert (Bucket, ContentType) == (ENVIRONMENT["FAILURE_BUCKET"], "application/json")
        self.objects[Key] = Body
        self.written[Key] = self.clock()

    def list_objects_v2(self, Bucket: str, Prefix: str, StartAfter: str, MaxKeys: int) -> dict[str, Any]:  # noqa: N803
        assert Bucket == ENVIRONMENT["FAILURE_BUCKET"]
        keys = sorted(key for key in self.objects if key.startswith(Prefix) and key > StartAfter)[:MaxKeys]
        times = {key: datetime.fromtimestamp(self.written.get(key, 0) / 1000, UTC) for key in keys}
        return {"Contents": [{"Key": key, "LastModified": times[key]} for key in keys]} if keys else {}

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        assert Bucket == ENVIRONMENT["FAILURE_BUCKET"]
        if Key not in self.objects:
            raise ClientError({"Error": {"Code": "NoSuchKey", "Message": "no such key"}}, "GetObject")
        return {"Body": BytesIO(self.objects[Key])}

    def delete_object(self, Bucket: str, Key: str) -> None:  # noqa: N803
        assert Bucket == ENVIRONMENT["FAILURE_BUCKET"]
        self.objects.pop(Key, None)
