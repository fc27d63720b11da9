"""Compiles conditions to functions of an item and the values of the request."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from tests.support.dynamodb.api.errors import Invalid
from tests.support.dynamodb.expressions.conditions import Condition, Junction, Node, Operand, Test, parse_condition
from tests.support.dynamodb.storage.sizes import value_size
from tests.support.dynamodb.storage.values import MISSING, Value, kind_of, same

Values = Mapping[str, Value]
Fetch = Callable[[Mapping[str, Value], Values], Value]
Holds = Callable[[Mapping[str, Value], Values], bool]

_ORDERED: Final = frozenset({"S", "N", "B"})
_ORDER: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS: Final = frozenset({int, Decimal})
_COMPARABLE: Final = frozenset({int, Decimal, str, bytes})


def comparable(left: Value, right: Value) -> bool:
    """Whether two values can be ordered: two numbers, two texts or two byte strings."""
    one, two = type(left), type(right)
    if one is two:
        return one in _COMPARABLE
    return one in _NUMBERS and two in _NUMBERS


def follow(item: Mapping[str, Value], path: tuple[str | int, ...]) -> Value:
    """Return the value at a document path, or MISSING."""
    value: Value = item
    for part in path:
        if isinstance(part, str):
            if not isinstance(value, (dict, MappingProxyType)) or part not in value:
                return MISSING
        elif type(value) is not tuple or part >= len(value):
            return MISSING
        value = value[part]
    return value


def _size(value: Value) -> Value:
    if type(value) in {str, bytes}:
        return value_size(value)
    if type(value) in {tuple, frozenset, MappingProxyType}:
        return len(value)
    return MISSING


def _fetch(operand: Operand) -> Fetch:
    if operand.size:
        inner = _fetch(Operand(operand.path, operand.placeholder))
        return lambda item, values: _size(inner(item, values))
    if operand.placeholder:
        placeholder = operand.placeholder
        return lambda _, values: values[placeholder]
    path = operand.path
    if len(path) == 1:
        name = str(path[0])
        return lambda item, _: item.get(name, MISSING)
    return lambda item, _: follow(item, path)


def _contains(whole: Value, part: Value) -> bool:
    if type(whole) in {str, bytes}:
        return type(part) is type(whole) and part in whole
    if type(whole) in {tuple, frozenset}:
        return any(same(member, part) for member in whole)
    return False


def _begins(whole: Value, start: Value) -> bool:
    return type(whole) in {str, bytes} and type(start) is type(whole) and whole.startswith(start)


_BINARY: Final[dict[str, Callable[[Value, Value], bool]]] = {
    "=": same,
    "<>": lambda left, right: left is MISSING or not same(left, right),
    "contains": _contains,
    "begins_with": _begins,
    "attribute_type": lambda value, kind: value is not MISSING and kind_of(value) == kind,
}


def _present(name: str, operand: Operand) -> Holds:
    fetch = _fetch(operand)
    if name == "attribute_exists":
        return lambda item, values: fetch(item, values) is not MISSING
    return lambda item, values: fetch(item, values) is MISSING


def _test(node: Test) -> Holds:
    name = node.operator
    if name in {"attribute_exists", "attribute_not_exists"}:
        return _present(name, node.operands[0])
    first, *others = map(_fetch, node.operands)
    second = others[0]
    if name in _ORDER:
        compare = _ORDER[name]

        def ordered(item: Mapping[str, Value], values: Values) -> bool:
            left, right = first(item, values), second(item, values)
            return comparable(left, right) and compare(left, right)

        return ordered
    if name in _BINARY:
        holds = _BINARY[name]
        return lambda item, values: holds(first(item, values), second(item, values))
    if name == "IN":
        return lambda item, values: any(same(first(item, values), other(item, values)) for other in others)

    def between(item: Mapping[str, Value], values: Values) -> bool:
        value, low, high = (fetch(item, values) for fetch in (first, *others))
        return comparable(value, low) and comparable(value, high) and bool(low <= value <= high)

    return between


def _compile(node: Node) -> Holds:
    if isinstance(node, Test):
        return _test(node)
    parts = tuple(map(_compile, node.parts))
    if node.operator == "NOT":
        return lambda item, values: not parts[0](item, values)
    if node.operator == "AND":
        return lambda item, values: all(part(item, values) for part in parts)
    return lambda item, values: any(part(item, values) for part in parts)


@lru_cache(maxsize=1 << 14)
def compiled(kind: str, text: str, names: tuple[tuple[str, str], ...]) -> tuple[Condition, Holds]:
    """Return a parsed condition and its compiled function. Both are cached by the text."""
    condition = parse_condition(kind, text, names)
    return condition, _compile(condition.node)


def check_operands(kind: str, node: Node, values: Values) -> None:
    """Reject operands that DynamoDB rejects before it reads any item."""
    if isinstance(node, Junction):
        for part in node.parts:
            check_operands(kind, part, values)
        return
    for operand in node.operands:
        if operand.placeholder and operand.placeholder not in values:
            raise Invalid(
                f"Invalid {kind}: An expression attribute value used in expression is not "
                f"defined; attribute value: {operand.placeholder}"
            )
    name = node.operator
    fixed = [values[operand.placeholder] for operand in node.operands if operand.placeholder and not operand.size]
    if name in _ORDER or name in {"BETWEEN", "begins_with"}:
        allowed = _ORDERED - {"N"} if name == "begins_with" else _ORDERED
        for value in fixed:
            if kind_of(value) not in allowed:
                raise Invalid(
                    f"Invalid {kind}: Incorrect operand type for operator or function; "
                    f"operator or function: {name}, operand type: {kind_of(value)}"
                )
    if name == "BETWEEN":
        _check_bounds(kind, node, values)


def _check_bounds(kind: str, node: Test, values: Values) -> None:
    low, high = (operand.placeholder for operand in node.operands[1:])
    if not (low and high):
        return
    if not comparable(values[low], values[high]):
        raise Invalid(f"Invalid {kind}: The BETWEEN operator requires same data type for lower and upper bounds")
    if values[low] > values[high]:
        raise Invalid(
            f"Invalid {kind}: The BETWEEN operator requires upper bound to be greater than or equal to lower bound"
        )
