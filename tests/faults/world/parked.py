"""The failure bucket, and somebody who replays its objects later."""

from __future__ import annotations

import json
from datetime import timedelta
from io import BytesIO
from typing import TYPE_CHECKING, Any

from tests.faults.clockwork import DAY, MINUTE, SECOND
from tests.faults.judge import EPOCH
from tests.support.aws.environment import ENVIRONMENT
from tests.support.awslambda.failure_records import TOO_OLD, failure_key, failure_record
from tests.support.dynamodb.errors import client_error

if TYPE_CHECKING:
    from tests.faults.aws.calls import Call

    from .world import World


class Parked:
    """The failure bucket in S3, and somebody who replays its objects."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.objects: dict[str, tuple[bytes, int]] = {}
        """Body and time of each object in the bucket, by key."""
        self.was_used = False
        self._replays = 0

    @property
    def is_empty(self) -> bool:
        return not self.objects and not self._replays

    def do(self, call: Call) -> Any:
        """Execute a call to S3."""
        request = call.request
        assert request["Bucket"] == ENVIRONMENT["FAILURE_BUCKET"]
        if call.operation == "put_object":
            assert request["Key"].startswith("parked/")
            self._world.trap("parked by the projector")
            self._put(request["Key"], request["Body"])
        elif call.operation == "delete_object":
            self.objects.pop(request["Key"], None)
        elif call.operation == "get_object":
            if request["Key"] not in self.objects:
                return client_error("GetObject", "NoSuchKey", "The specified key does not exist.")
            return {"Body": BytesIO(self.objects[request["Key"]][0])}
        else:
            keys = [
                key for key in sorted(self.objects) if key.startswith(request["Prefix"]) and key > request["StartAfter"]
            ]
            modified = {key: EPOCH + timedelta(microseconds=self.objects[key][1]) for key in keys}
            return {"Contents": [{"Key": key, "LastModified": modified[key]} for key in keys[: request["MaxKeys"]]]}
        return {}

    def park(self, records: list[dict[str, Any]], tries: int) -> None:
        """Park records that Lambda has given up after some tries because of their age, as one object."""
        at = self._world.clock.now / SECOND
        key = failure_key("shardId-1", at, f"{self._world.number():06}")
        self._put(key, failure_record(records, TOO_OLD, at, "shardId-1", tries=tries))

    def _put(self, key: str, body: bytes) -> None:
        self.was_used = True
        if not self.objects and not self._replays:
            self._replay_later()
        self.objects[key] = body, self._world.clock.now

    def _replay_later(self) -> None:
        self._replays += 1
        self._world.clock.after(self._world.rng.randint(MINUTE, 2 * DAY), self._replay)

    def _replay(self) -> None:
        """Start a replay of everything that is parked."""
        for body, _ in self.objects.values():
            for record in _records(json.loads(body)):
                parked = self._world.poller.record(record)
                high = self._world.poller.highest.get(parked.key)
                newer = high is not None and high.version > parked.version
                self._world.trap("parked, replayed after newer" if newer else "parked, replayed as the newest")

        def done(_: dict[str, Any]) -> None:
            self._replays -= 1
            if self.objects:
                self._replay_later()

        self._world.people.chore("parked", {"replay": {}}, done)


def _records(document: Any) -> list[dict[str, Any]]:
    return json.loads(document["payload"])["Records"] if "payload" in document else [document["record"]]
