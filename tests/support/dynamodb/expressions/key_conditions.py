"""Key conditions: the partition that a Query reads, and the range of places in it.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.KeyConditionExpressions.html
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import total_ordering
from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.api.errors import Invalid
from tests.support.dynamodb.expressions.conditions import Node, Operand, Test
from tests.support.dynamodb.storage.table import Place

if TYPE_CHECKING:
    from sortedcontainers import SortedList  # type: ignore[import-untyped]  # no type stubs

    from tests.support.dynamodb.expressions.evaluation import Values
    from tests.support.dynamodb.storage.table import Ordered
    from tests.support.dynamodb.storage.values import Value

_MIRRORED: Final = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_TWO: Final = 2


@total_ordering
class _Above:
    """Greater than every value. With ``prefix``, greater than every value that begins with it."""

    def __init__(self, prefix: str | bytes | None = None) -> None:
        self._prefix = prefix

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = object.__hash__

    def __gt__(self, other: Any) -> bool:
        return self._prefix is None or bool(other[: len(self._prefix)] <= self._prefix)


_TOP: Final = _Above()
Bounds = tuple[Place | None, Place | None]


@dataclass(frozen=True, slots=True)
class KeyCondition:
    """The partition that a Query reads, and the bounds of the places in it: from the first, up to the second."""

    value: Value
    bounds: Bounds = (None, None)

    def stretch(self, partition: SortedList[Place]) -> tuple[int, int]:
        low, high = self.bounds
        return (
            0 if low is None else partition.bisect_left(low),
            len(partition) if high is None else partition.bisect_left(high),
        )


def _sides(node: Test) -> tuple[str, Operand, list[Operand]]:
    """Return operator, attribute and values. A comparison is mirrored if its value comes first."""
    first, *others = node.operands
    if first.placeholder and node.operator in _MIRRORED:
        return _MIRRORED[node.operator], others[0], [first]
    return node.operator, first, others


def _bounds(operator: str, values: list[Value]) -> Bounds:
    low = values[0]
    if operator == "BETWEEN":
        return (low,), (values[1], _TOP)
    if operator == "begins_with":
        return (low,), (_Above(low),)
    return {
        "=": ((low,), (low, _TOP)),
        "<": (None, (low,)),
        "<=": (None, (low, _TOP)),
        ">": ((low, _TOP), None),
        ">=": ((low,), None),
    }[operator]


def _key_tests(node: Node) -> list[Test]:
    if isinstance(node, Test):
        return [node]
    if node.operator != "AND":
        raise Invalid(f"Invalid operator used in KeyConditionExpression: {node.operator}")
    tests = [part for part in node.parts if isinstance(part, Test)]
    if len(tests) != len(node.parts) or len(tests) > _TWO:
        raise Invalid("Conditions can be of length 1 or 2 only")
    return tests


def _key_test(test: Test, rows: Ordered, values: Values) -> tuple[str, str, list[Value]]:
    """Return attribute, operator and values of one part of a key condition."""
    key = rows.key
    operator, attribute, others = _sides(test)
    if operator not in {*_MIRRORED, "BETWEEN", "begins_with"}:
        raise Invalid(f"Invalid operator used in KeyConditionExpression: {operator}")
    name = str(attribute.path[0]) if len(attribute.path) == 1 else ""
    if name not in key.names or attribute.size or not all(operand.placeholder for operand in others):
        raise Invalid("Query condition missed key schema element")
    place = key.names.index(name)
    operands = [values[operand.placeholder] for operand in others]
    for value in operands:
        if not key.fits(place, value):
            raise Invalid(
                "One or more parameter values were invalid: Condition parameter type does not match schema type"
            )
        key.check_value(place, value)
    return name, operator, operands


def key_condition(node: Node, rows: Ordered, values: Values) -> KeyCondition:
    """Read a KeyConditionExpression and check it against the key of the table or index."""
    key = rows.key
    tests: dict[str, tuple[str, list[Value]]] = {}
    for test in _key_tests(node):
        name, operator, operands = _key_test(test, rows, values)
        if name in tests:
            raise Invalid("KeyConditionExpressions must only contain one condition per key")
        tests[name] = operator, operands
    if key.hash not in tests:
        raise Invalid("Query condition missed key schema element")
    operator, operands = tests[key.hash]
    if operator != "=":
        raise Invalid("Query key condition not supported")
    if key.range is None or key.range not in tests:
        return KeyCondition(operands[0])
    return KeyCondition(operands[0], _bounds(*tests[key.range]))
