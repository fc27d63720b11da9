"""Schedules of replays."""

from __future__ import annotations

from typing import Any, Final

from standings.domain.windows.calendar import SECOND
from tests.support.faults.faulty_client import Faulty

from .rig import rig


def parked_and_hidden() -> None:
    """The parked record hides a member, so the replay must take the member out of its ranking."""
    with rig() as pipeline:
        stack = pipeline.functions()
        pipeline.send(stack, "a", 10)
        pipeline.project(stack, *pipeline.records())
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        (second,) = pipeline.records()
        pipeline.park(stack, second)
        pipeline.replay(stack)
        assert pipeline.scores(stack) == {}


def parked_a_moment_ago() -> None:
    """A replay runs right after the change, when an eventually consistent read still returns the old item."""

    class Behind(Faulty):
        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803 - the name in boto3
            request = RequestItems.get("Scores", {})
            answer = self.client.batch_get_item(RequestItems=RequestItems)
            if request.get("Keys") == [first["dynamodb"]["Keys"]] and not request.get("ConsistentRead"):
                answer["Responses"]["Scores"] = [first["dynamodb"]["NewImage"]]
            return answer

    with rig() as pipeline:
        writer = pipeline.functions()
        stack = pipeline.functions(client=Behind(pipeline.engine))
        pipeline.send(writer, "a", 10)
        (first,) = pipeline.records()
        pipeline.project(stack, first)
        pipeline.send(writer, "a", 2)
        (second,) = pipeline.records()
        pipeline.park(stack, second)
        pipeline.replay(stack)
        assert pipeline.scores(stack) == {"a": 12}


def parked_beside_a_rebuild() -> None:
    """A record is parked after a rebuild has placed all members. The replay must update both generations."""
    with rig() as pipeline:
        stack = pipeline.functions()
        pipeline.send(stack, "a", 10)
        pipeline.project(stack, *pipeline.records())
        pipeline.rebuild(stack, until="switched")
        pipeline.clock.milliseconds += 61 * SECOND
        pipeline.send(stack, "a", 2)
        pipeline.park(stack, *pipeline.records())
        pipeline.replay(stack)
        assert pipeline.scores(stack) == {"a": 12}


SCHEDULES: Final = (
    parked_and_hidden,
    parked_a_moment_ago,
    parked_beside_a_rebuild,
)
