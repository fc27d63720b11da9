"""Computes the sizes of items by the published rules.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.storage.values import Value, decode_item, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

ITEM_LIMIT: Final = 400 * 1024
_NESTED: Final = 3
_READ_BYTES: Final = 4096
_LARGEST_NUMBER: Final = 22
LARGEST_CHARACTER: Final = 4


def _number_size(number: int | Decimal) -> int:
    """Return the size of a number: one byte per two digits and one more, as DynamoDB Local counts.

    Two digits share a byte only if they belong to the same power of 100. A negative number takes one byte more. The
    documentation leaves both out and says "approximately".
    """
    if not number:
        return 1
    if isinstance(number, int):
        digits = str(number)
        sign = 1 if digits[0] == "-" else 0
        whole = len(digits) - sign
        kept = len(digits.rstrip("0")) - sign
        odd = (whole - kept) & 1
    else:
        parts = number.as_tuple()
        sign = parts.sign
        kept = len(parts.digits)
        odd = int(parts.exponent) & 1
    return (kept + odd + 1) // 2 + 1 + sign


def _document_size(value: Value) -> int:
    letter = kind_of(value)
    if letter == "L":
        return _NESTED + sum(1 + value_size(member) for member in value)
    if letter == "M":
        return _NESTED + sum(1 + len(name.encode()) + value_size(member) for name, member in value.items())
    return sum(map(value_size, value))


def value_size(value: Value) -> int:
    """Return the size of a value in bytes, without its name."""
    kind = type(value)
    if kind is str:
        return len(value) if value.isascii() else len(value.encode())
    if kind is int or kind is Decimal:
        return _number_size(value)
    if kind is bytes:
        return len(value)
    return 1 if kind is bool or value is None else _document_size(value)


def size_bound(value: Value) -> int:
    """Return an upper bound of the size of a value. For texts and integers it is quick."""
    kind = type(value)
    if kind is int:
        return _LARGEST_NUMBER
    if kind is str:
        return LARGEST_CHARACTER * len(value)
    return value_size(value)


def name_size(name: str) -> int:
    return len(name) if name.isascii() else len(name.encode())


def attribute_size(name: str, value: Value) -> int:
    """Return the size of a value and its name in bytes."""
    return name_size(name) + value_size(value)


def stored_size(item: Mapping[str, Value]) -> int:
    """Return the size in bytes of an item in the engine's form."""
    return sum(attribute_size(name, value) for name, value in item.items())


def read_units(size: int, *, consistent: bool) -> float:
    """Return the units of a read of so many bytes: an item, or a page of a query. A missing item has 0."""
    units = max(1, -(-size // _READ_BYTES))
    return float(units) if consistent else units / 2


def item_size(item: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the size in bytes of an item in the form of requests and answers."""
    return stored_size(decode_item(item))
