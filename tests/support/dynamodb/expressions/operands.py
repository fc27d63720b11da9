"""Computes the values that an update stores from the old item and the values of the request."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.api.errors import INVALID_PATH, MISSING_OPERAND, WRONG_OPERAND, Invalid, InvalidForItem
from tests.support.dynamodb.expressions.evaluation import Values
from tests.support.dynamodb.storage.values import EXACT, MISSING, Value, canonical, kind_of

if TYPE_CHECKING:
    from collections.abc import Collection

Compute = Callable[[Mapping[str, Value], Values], Value]
_PLAIN: Final = 10**38


def _sum(left: Value, right: Value) -> int | Decimal:
    if type(left) is int and type(right) is int:
        total = left + right
        if -_PLAIN < total < _PLAIN:
            return total
    try:
        return canonical(EXACT.add(Decimal(left), Decimal(right)))
    except Invalid as refusal:
        raise InvalidForItem(refusal.message) from refusal


def added(held: Value, value: Value) -> Value:
    """Return what ADD stores: a sum, or the union of two sets."""
    if held is MISSING:
        return value
    if type(held) is int and type(value) is int:
        return _sum(held, value)
    if kind_of(held) != kind_of(value):
        raise InvalidForItem(WRONG_OPERAND)
    return held | value if type(held) is frozenset else _sum(held, value)


def without(held: Value, places: Collection[int]) -> Value:
    """Return a list without the members at some places. Places behind its end are no error."""
    if type(held) is not tuple:
        raise InvalidForItem(INVALID_PATH)
    return tuple(member for place, member in enumerate(held) if place not in places)


def present(value: Value) -> Value:
    """Return a value that is not missing."""
    if value is MISSING:
        raise InvalidForItem(MISSING_OPERAND)
    return value


def arithmetic(left: Compute, right: Compute, *, minus: bool) -> Compute:
    """Return the sum or the difference of two operands."""

    def compute(item: Mapping[str, Value], values: Values) -> Value:
        one, two = present(left(item, values)), present(right(item, values))
        if kind_of(one) != "N" or kind_of(two) != "N":
            raise InvalidForItem(WRONG_OPERAND)
        return _sum(one, (-two if type(two) is int else two.copy_negate()) if minus else two)

    return compute


def joined(first: Compute, second: Compute) -> Compute:
    """Return two lists as one."""

    def compute(item: Mapping[str, Value], values: Values) -> Value:
        one, two = present(first(item, values)), present(second(item, values))
        if type(one) is not tuple or type(two) is not tuple:
            raise InvalidForItem(WRONG_OPERAND)
        whole: tuple[Any, ...] = one + two
        return whole

    return compute
