"""Safeguards of the logs of rolling windows, and of the folds that take their entries into nodes."""

from __future__ import annotations

from contextlib import suppress
from copy import copy
from typing import TYPE_CHECKING, Any, Final

from standings.aws.dynamodb.calls import conditional, get_item, put_if, transact
from standings.aws.dynamodb.keys import DIGITS, log_key, node_key
from standings.aws.dynamodb.rankings.rolling_items import positions
from standings.domain.rolling.count_log import node_deltas
from standings.ports.errors import StoreUnavailableError

from .replacing import Change, Safeguard, unconditional

if TYPE_CHECKING:
    from collections.abc import Callable


def _without_position(original: Callable[..., Any]) -> Callable[..., Any]:
    def update(self: Any, *arguments: Any) -> Any:
        request, name = original(self, *arguments), f"p{self._number}"
        values = {key: value for key, value in request["ExpressionAttributeValues"].items() if key != f":{name}"}
        expression = request["UpdateExpression"].replace(f"{name} = :{name}, ", "")
        return {**request, "UpdateExpression": expression, "ExpressionAttributeValues": values}

    return update


def _unconditional(request: dict[str, Any]) -> dict[str, Any]:
    update: dict[str, Any] = unconditional({"Update": request})["Update"]
    return update


def _seen_unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    def update(*arguments: Any) -> Any:
        request = original(*arguments)
        return request if "attribute_not_exists" in request["ConditionExpression"] else _unconditional(request)

    return update


def _gives_up(original: Callable[..., Any]) -> Callable[..., Any]:
    def bring(*arguments: Any) -> None:
        with suppress(StoreUnavailableError):
            original(*arguments)

    return bring


def _cleans(original: Callable[..., Any]) -> Callable[..., Any]:
    def bring(self: Any, period: int, path: Any, counters: Any) -> None:
        original(self, period, path, counters)
        key = {"pk": {"S": node_key(self._rankings.at(period).key, path)}}
        node = get_item(self._client, self._table, key, consistent=True) or {}
        at = {f"p{number}": position for number, position in positions(node).items()}
        if at and not any(int(node[name]["N"]) for name in DIGITS if name in node):
            values = {f":{name}": {"N": str(position)} for name, position in at.items()}
            condition = conditional(self._table, " AND ".join(f"{name} = :{name}" for name in at), values)
            transact(self._client, [{"Delete": {**condition, "Key": key}}])

    return bring


class _Updates:
    """A client that changes the requests of updates. Nothing is updated where it makes them None."""

    def __init__(self, client: Any, change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> None:
        self._client = client
        self._change = change

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def update_item(self, **request: Any) -> Any:
        changed = self._change(request)
        return self._client.update_item(**changed) if changed is not None else {}


def _with_updates(change: Callable[[dict[str, Any]], dict[str, Any] | None]) -> Callable[[Any], Callable[..., Any]]:
    """Replace a method by one that uses such a client."""

    def make(original: Callable[..., Any]) -> Callable[..., Any]:
        def method(self: Any, *arguments: Any) -> Any:
            other = copy(self)
            other._client = _Updates(self._client, change)
            return original(other, *arguments)

        return method

    return make


def _one_shard(_: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, rankings: self._make(rankings, 0, {"n": {"NS": ["1"]}})


def _made_anew(_: Callable[..., Any]) -> Callable[..., Any]:
    def make(self: Any, rankings: Any, number: int, more: Any) -> bool:
        begun = {"pk": {"S": log_key(rankings.key, number)}, "b": {"N": str(self._clock.now())}}
        return put_if(
            self._client, {"TableName": self._table, "Item": {**begun, "l": {"L": []}, "z": {"N": "0"}, **more}}
        )

    return make


def _first_log_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self, rankings, number, more: number == 0 and original(self, rankings, number, more)


_WINDOWS: Final = "aws.dynamodb.rankings.rolling_windows:DynamoRollingWindows"
_FOLD: Final = "aws.dynamodb.rankings.log_folds:_Fold"

LOGS: Final = (
    Safeguard(
        "a node remembers its position in each log",
        "readers and folds add entries that the node already contains",
        (Change(f"{_FOLD}._update", _without_position),),
    ),
    Safeguard(
        "a fold adds only what a node lacks",
        "two folds add the same entries to a node",
        (Change(f"{_FOLD}._update", lambda original: lambda *arguments: _unconditional(original(*arguments))),),
    ),
    Safeguard(
        "a fold that has read a node updates it only at the position that it read",
        "two folds that have both read the node add the same entries to it",
        (Change(f"{_FOLD}._update", _seen_unconditionally),),
    ),
    Safeguard(
        "a log is cut only when every node has its entries",
        "nodes that the fold could not update lose entries",
        (Change(f"{_FOLD}.bring", _gives_up),),
    ),
    Safeguard(
        "a log is cut only if it still begins where the fold read it",
        "a fold cuts entries that another fold has left in the log",
        (Change(f"{_FOLD}.cut", _with_updates(_unconditional)),),
    ),
    Safeguard(
        "a fold also updates nodes whose changes cancel out",
        "the node keeps the half that an earlier fold added before it stopped",
        (Change("domain.rolling.count_log:fold_deltas", lambda _: node_deltas),),
        written="folded_halfway",
    ),
    Safeguard(
        "an empty node of a rolling window is not removed",
        "its positions are lost, and entries that it already contained are added again",
        (Change(f"{_FOLD}.bring", _cleans),),
    ),
    Safeguard(
        "log 0 lists a shard before a list item is written to it",
        "readers miss entries",
        (Change(f"{_WINDOWS}._prepare", _one_shard),),
        written="rolling_shards_of_another_definition",
    ),
    Safeguard(
        "log 0 names a log before it is used",
        "readers miss counts",
        (Change(f"{_WINDOWS}._change_log", _with_updates(lambda _: None)),),
        written="counted_in_another_log",
    ),
    Safeguard(
        "a log is made only if it does not exist",
        "entries are lost when another function makes the log again",
        (Change(f"{_WINDOWS}._make", _made_anew),),
        written="a_log_made_twice",
    ),
    Safeguard(
        "a log is made before it is named",
        "a log is named that does not exist",
        (Change(f"{_WINDOWS}._make", _first_log_alone),),
        unneeded="No projector can append to a log that does not exist, and readers treat it as empty. A projector "
        "that finds its log missing begins with log 0 again. Making the log first saves transactions that fail.",
    ),
)
