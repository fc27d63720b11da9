"""The services behind the calls: the tables, the dead-letter queue, the failure bucket."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from botocore.exceptions import ClientError

from tests.support.aws.environment import ENVIRONMENT

from .calls import UNPROCESSED

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.faults.world.world import World

    from .begun import Begun
    from .calls import Call, Identity, Request


class Services:
    """Passes each call to its service."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.refused: dict[str, list[str]] = {}
        """The reasons in the dead-letter queue, by body of the message."""

    def perform(self, call: Call, busy: Mapping[Identity, str], begun: Begun | None = None) -> Any:
        """Execute a call now, or finish its transaction; return its answer or its error.

        `busy` are the items that conflict.
        """
        if call.operation == "send_message_batch":
            return self._send(call)
        if call.operation.endswith(("_object", "_objects_v2")):
            return self._world.parked.do(call)
        if call.fault == UNPROCESSED:
            self._world.store.leave_undone(lambda: self._world.rng.random() < 0.5)
        answer = self._world.store.do(call.operation, call.request, busy) if begun is None else begun.finish()
        self._world.store.leave_undone(None)
        writes = self._world.store.writes()
        if writes:
            self._world.watch.committed(call, writes)
        if isinstance(answer, ClientError):
            return answer
        if call.operation == "batch_get_item":
            if answer.get("UnprocessedKeys"):
                self._world.trap("unprocessed keys")
            if not call.request["RequestItems"].get("Scores", {}).get("ConsistentRead"):
                self._world.watch.make_stale(answer)
        return answer

    def directly(self, operation: str, request: Request) -> Any:
        """Execute a request from outside all processes at once and without faults. Raise its error."""
        answer = self._world.store.do(operation, request, {})
        self._world.store.writes()
        if isinstance(answer, ClientError):
            raise answer
        return answer

    def _send(self, call: Call) -> Any:
        entries = call.request["Entries"]
        assert call.request["QueueUrl"] == ENVIRONMENT["DEAD_LETTER_QUEUE_URL"]
        failed = [entry for entry in entries if call.fault == UNPROCESSED and self._world.rng.random() < 0.5]
        for entry in entries:
            if entry not in failed:
                reason = entry["MessageAttributes"]["reason"]["StringValue"]
                self.refused.setdefault(entry["MessageBody"], []).append(reason)
        return {
            "Successful": [{"Id": entry["Id"]} for entry in entries if entry not in failed],
            "Failed": [{"Id": entry["Id"], "Code": "InternalError", "SenderFault": False} for entry in failed],
        }
