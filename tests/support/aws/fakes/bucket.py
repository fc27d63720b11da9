"""S3 for tests: the failure bucket and the bucket of results, in memory."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

from botocore.exceptions import ClientError

from tests.support.aws.environment import ENVIRONMENT


@dataclass
class Bucket:
    """The failure bucket in memory. `results` are the objects of the bucket of results."""

    clock: Callable[[], int] = lambda: 0
    objects: dict[str, bytes] = field(default_factory=dict)
    written: dict[str, int] = field(default_factory=dict)
    results: dict[str, bytes] = field(default_factory=dict)

    def put_object(self, Bucket: str, Key: str, Body: bytes, ContentType: str, **condition: str) -> None:  # noqa: N803
        objects = self._objects(Bucket)
        if Bucket == ENVIRONMENT["FAILURE_BUCKET"]:
            assert ContentType == "application/json"
        if condition == {"IfNoneMatch": "*"} and Key in objects:
            raise ClientError({"Error": {"Code": "PreconditionFailed", "Message": "there is one"}}, "PutObject")
        objects[Key] = Body
        self.written[Key] = self.clock()

    def list_objects_v2(self, Bucket: str, Prefix: str, StartAfter: str, MaxKeys: int) -> dict[str, Any]:  # noqa: N803
        objects = self._objects(Bucket)
        keys = sorted(key for key in objects if key.startswith(Prefix) and key > StartAfter)[:MaxKeys]
        times = {key: datetime.fromtimestamp(self.written.get(key, 0) / 1000, UTC) for key in keys}
        return {"Contents": [{"Key": key, "LastModified": times[key]} for key in keys]} if keys else {}

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        objects = self._objects(Bucket)
        if Key not in objects:
            raise ClientError({"Error": {"Code": "NoSuchKey", "Message": "no such key"}}, "GetObject")
        return {"Body": BytesIO(objects[Key])}

    def delete_object(self, Bucket: str, Key: str) -> None:  # noqa: N803
        self._objects(Bucket).pop(Key, None)

    def _objects(self, bucket: str) -> dict[str, bytes]:
        if bucket == ENVIRONMENT["RESULTS_BUCKET"]:
            return self.results
        assert bucket == ENVIRONMENT["FAILURE_BUCKET"]
        return self.objects
