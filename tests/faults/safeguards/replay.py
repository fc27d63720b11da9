"""Replays, which place the members of parked records by their current items."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from standings.domain.rolling.shifts import Shift
from standings.domain.windows.calendar import SECOND
from standings.runtime.retry import with_retry
from tests.support.faults.faulty_client import Faulty

from .replacing import Change, Safeguard
from .rig import on_a_rig

if TYPE_CHECKING:
    from collections.abc import Callable

    from standings.domain.members.moves import Move

    from .rig import Rig

# ---- schedules that need them


@on_a_rig
def parked_and_hidden(pipeline: Rig) -> None:
    """The parked record hides a member, so the replay must take the member out of its ranking."""
    stack = pipeline.functions()
    pipeline.count(stack, "a", 10)
    pipeline.hide(stack, "a")
    (second,) = pipeline.records()
    pipeline.park(stack, second)
    pipeline.replay(stack)
    assert pipeline.scores(stack) == {}


@on_a_rig
def parked_a_moment_ago(pipeline: Rig) -> None:
    """A replay runs right after the change, when an eventually consistent read still returns the old item."""

    class Behind(Faulty):
        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803 - the name in boto3
            request = RequestItems.get("Scores", {})
            answer = self.client.batch_get_item(RequestItems=RequestItems)
            if request.get("Keys") == [first["dynamodb"]["Keys"]] and not request.get("ConsistentRead"):
                answer["Responses"]["Scores"] = [first["dynamodb"]["NewImage"]]
            return answer

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


@on_a_rig
def parked_beside_a_rebuild(pipeline: Rig) -> None:
    """A record is parked after a rebuild has placed all members. The replay must update both generations."""
    stack = pipeline.functions()
    pipeline.count(stack, "a", 10)
    pipeline.rebuild(stack, until="switched")
    pipeline.clock.milliseconds += 61 * SECOND
    pipeline.send(stack, "a", 2)
    pipeline.park(stack, *pipeline.records())
    pipeline.replay(stack)
    assert pipeline.scores(stack) == {"a": 12}


# ---- how each is taken away


def _ranked_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: (move for move in original(*arguments) if _is_ranked(move))


def _is_ranked(move: Move | Shift) -> bool:
    return bool(move.steps.steps) if isinstance(move, Shift) else move.new is not None


def _one_generation_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    def moves(*arguments: Any) -> Any:
        placed = list(original(*arguments))
        return [move for move in placed if move.ranking.generation == placed[0].ranking.generation]

    return moves


def _read_eventually(_: Any) -> Callable[..., Any]:
    def image(self: Any, parked: Any, backoff: Any) -> Any:
        key = (parked.board, parked.member)
        return with_retry(lambda: self.scores.images([key]).get(key), backoff)

    return image


REPLAYING: Final = (
    Safeguard(
        "a replay updates the member in every ranking",
        "the member stays in rankings that it has left",
        (Change("maintain.failures.parked:ParkedCare._moves", _ranked_alone),),
        written=parked_and_hidden,
    ),
    Safeguard(
        "a replay reads the item consistently",
        "the member is placed as it was before the record",
        (Change("maintain.failures.parked:ParkedCare._image", _read_eventually),),
        written=parked_a_moment_ago,
    ),
    Safeguard(
        "a replay updates every generation that is being written",
        "a rebuilt board lacks the parked changes",
        (Change("maintain.failures.parked:ParkedCare._moves", _one_generation_alone),),
        written=parked_beside_a_rebuild,
    ),
)
