"""Reads the expressions of one request with their names and values."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.api.errors import Invalid
from tests.support.dynamodb.expressions.evaluation import Holds, Values, check_operands, compiled
from tests.support.dynamodb.expressions.grammar import Reader
from tests.support.dynamodb.expressions.updates import Update, parse_update
from tests.support.dynamodb.storage.values import Item, decode

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tests.support.dynamodb.expressions.conditions import Condition, Node

_PARSED: Final = frozenset({"UpdateExpression", "ConditionExpression", "KeyConditionExpression", "FilterExpression"})
_NO_VALUES: Final[Values] = {}


@dataclass(slots=True)
class Expressions:
    """The expressions of a request, parsed and checked against its names and values."""

    values: Values
    update: Update | None = None
    condition: Holds | None = None
    filter: Holds | None = None
    filter_node: Node | None = None
    key_node: Node | None = None
    projection: tuple[str, ...] | None = None

    def hold_for(self, item: Item | None) -> bool:
        return self.condition is None or self.condition(item or {}, self.values)


def _projection(text: str, names: Mapping[str, str], used: set[str]) -> tuple[str, ...]:
    reader = Reader("ProjectionExpression", text, names)
    paths = [reader.path()]
    while reader.accept(","):
        paths.append(reader.path())
    reader.end()
    if any(len(path) > 1 for path in paths):
        raise NotImplementedError("the engine projects top-level attributes only")
    attributes = tuple(str(path[0]) for path in paths)
    if len(set(attributes)) != len(attributes):
        raise reader.invalid("Two document paths overlap with each other")
    used |= reader.used_names
    return attributes


def _read_values(wire: Mapping[str, Any]) -> Values:
    values = {}
    for name, value in wire.items():
        try:
            values[name] = decode(value)
        except Invalid as refusal:
            raise Invalid(
                f"ExpressionAttributeValues contains invalid value: {refusal.message} for key {name}"
            ) from refusal
    return values


def _check_given(request: Mapping[str, Any], expressions: tuple[str, ...]) -> None:
    for parameter in ("ExpressionAttributeNames", "ExpressionAttributeValues"):
        if parameter not in request:
            continue
        if not request[parameter]:
            raise Invalid(f"{parameter} must not be empty")
        if not any(request.get(name) is not None for name in expressions):
            raise Invalid(f"{parameter} can only be specified when using expressions: {expressions[0]} is null")


def _check_used(parameter: str, used: frozenset[str] | set[str], supplied: Any) -> None:
    if supplied.keys() != used:
        unused = ", ".join(sorted(supplied.keys() - used))
        raise Invalid(f"Value provided in {parameter} unused in expressions: keys: {{{unused}}}")


@dataclass(frozen=True, slots=True)
class _Plan:
    """The parsed expressions of a request, and all placeholders that they use."""

    update: Update | None
    conditions: tuple[tuple[str, Condition, Holds], ...]
    names: frozenset[str]
    values: frozenset[str]


@lru_cache(maxsize=1 << 14)
def _plan(texts: tuple[tuple[str, str], ...], names: tuple[tuple[str, str], ...]) -> _Plan:
    update = None
    conditions = []
    used_names: frozenset[str] = frozenset()
    used_values: frozenset[str] = frozenset()
    for kind, text in texts:
        if kind == "UpdateExpression":
            update = parse_update(text, names)
            used_names |= update.names
            used_values |= update.values
        else:
            condition, holds = compiled(kind, text, names)
            conditions.append((kind, condition, holds))
            used_names |= condition.names
            used_values |= condition.values
    return _Plan(update, tuple(conditions), used_names, used_values)


def _fill(read: Expressions, kind: str, condition: Condition, holds: Holds) -> None:
    check_operands(kind, condition.node, read.values)
    if kind == "ConditionExpression":
        read.condition = holds
    elif kind == "FilterExpression":
        read.filter, read.filter_node = holds, condition.node
    else:
        read.key_node = condition.node


def read_expressions(request: Mapping[str, Any], allowed: tuple[str, ...]) -> Expressions:
    """Parse and check the expressions of a request. ``allowed`` names the parameters that may hold one."""
    wire_values = request.get("ExpressionAttributeValues")
    wire_names = request.get("ExpressionAttributeNames")
    if wire_values is not None or wire_names is not None:
        _check_given(request, allowed)
    names = tuple(wire_names.items()) if wire_names else ()
    read = Expressions(_read_values(wire_values) if wire_values else _NO_VALUES)
    texts = [(kind, text) for kind in allowed if (text := request.get(kind)) is not None and kind in _PARSED]
    plan = _plan(tuple(texts), names)
    if plan.update is not None:
        read.update = plan.update
        plan.update.check(read.values)
    for condition in plan.conditions:
        _fill(read, *condition)
    used_names: set[str] | frozenset[str] = plan.names
    text = request.get("ProjectionExpression")
    if text is not None:
        used_names = set(plan.names)
        read.projection = _projection(text, wire_names or {}, used_names)
    if wire_names:
        _check_used("ExpressionAttributeNames", used_names, wire_names)
    if wire_values:
        _check_used("ExpressionAttributeValues", plan.values, wire_values)
    return read
