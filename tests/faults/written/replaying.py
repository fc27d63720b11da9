"""Schedules of replays."""

from __future__ import annotations

from typing import Any, Final

from standings.domain.windows.calendar import SECOND
from tests.support.faults.faulty_client import Faulty

from .rig import rig


def parked_and_hidden() -> None:
    """What was parked is that somebody is hidden: no place is what it has to be brought to."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 10)
        all_.project(stack, *all_.records())
        stack.put("/boards/b/member", {"hidden": True}, id="a")
        (second,) = all_.records()
        all_.park(stack, second)
        all_.replay(stack)
        assert all_.scores(stack) == {}


def parked_a_moment_ago() -> None:
    """A replay right after the change: an eventually consistent read does not see it yet."""

    class Behind(Faulty):
        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803 - as the client has it
            asked = RequestItems.get("Scores", {})
            answer = self.client.batch_get_item(RequestItems=RequestItems)
            if asked.get("Keys") == [first["dynamodb"]["Keys"]] and not asked.get("ConsistentRead"):
                answer["Responses"]["Scores"] = [first["dynamodb"]["NewImage"]]
            return answer

    with rig() as all_:
        writer = all_.functions()
        stack = all_.functions(client=Behind(all_.engine))
        all_.send(writer, "a", 10)
        (first,) = all_.records()
        all_.project(stack, first)
        all_.send(writer, "a", 2)
        (second,) = all_.records()
        all_.park(stack, second)
        all_.replay(stack)
        assert all_.scores(stack) == {"a": 12}


def parked_beside_a_rebuild() -> None:
    """What is parked when a rebuild has placed everyone is placed in the old generation and in the new."""
    with rig() as all_:
        stack = all_.functions()
        all_.send(stack, "a", 10)
        all_.project(stack, *all_.records())
        all_.rebuild(stack, until="switched")
        all_.clock.milliseconds += 61 * SECOND
        all_.send(stack, "a", 2)
        all_.park(stack, *all_.records())
        all_.replay(stack)
        assert all_.scores(stack) == {"a": 12}


SCHEDULES: Final = (
    parked_and_hidden,
    parked_a_moment_ago,
    parked_beside_a_rebuild,
)
