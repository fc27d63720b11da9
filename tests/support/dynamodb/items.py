"""The values of items: from DynamoDB's typed JSON to immutable Python values and back, and their sizes.

A stored value has an immutable Python type, so items can share values safely: S is str, N is int, B is bytes, BOOL is
bool, L is tuple, and NS is a frozenset of int. The engine has no other types, and whole numbers below 10^38 only.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

import base64
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from tests.support.dynamodb.errors import Invalid

_KINDS: Final[dict[type, str]] = {str: "S", int: "N", bytes: "B", bool: "BOOL", tuple: "L", frozenset: "NS"}
Value = Any
Wire = Mapping[str, Any]
Item = dict[str, Value]

_NUMBER: Final = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]+)?")
DIGITS: Final = 38
TOO_LARGE: Final = 10**DIGITS
ITEM_LIMIT: Final = 400 * 1024
_NESTED: Final = 3
_READ_BYTES: Final = 4096


class _Missing:
    """Stands for the value of an attribute that an item does not have."""

    def __eq__(self, other: object) -> bool:
        return False  # not even another attribute that is missing

    __hash__ = object.__hash__


MISSING: Final = _Missing()


@lru_cache(maxsize=1 << 16)
def number_from(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise Invalid(f"The parameter cannot be converted to a numeric value: {text}")
    number = Decimal(text)
    if number.adjusted() >= DIGITS or number != number.to_integral_value():
        raise NotImplementedError(f"the engine has whole numbers below 10^38 only, got {text}")
    return int(number)


def _set_from(members: Any) -> frozenset[int]:
    values = frozenset(map(number_from, members))
    if not values or len(values) != len(members):
        raise Invalid("One or more parameter values were invalid: a set must not be empty or contain duplicates")
    return values


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text as the value of S, got {value!r}")
    return value


_DECODE: Final[dict[str, Callable[[Any], Value]]] = {
    "S": _text,
    "N": number_from,
    "B": bytes,
    "BOOL": bool,
    "L": lambda value: tuple(decode(member) for member in value),
    "NS": _set_from,
}


def decode(wire: Wire) -> Value:
    if len(wire) != 1:
        raise Invalid("Supplied AttributeValue must contain exactly one of the supported datatypes")
    ((kind, value),) = wire.items()
    if kind not in _DECODE:
        raise NotImplementedError(f"the engine has no values of the type {kind}")
    return _DECODE[kind](value)


def decode_item(wire: Mapping[str, Wire]) -> Item:
    """Decode a whole item or key, or the values of a request."""
    return {name: decode(typed) for name, typed in wire.items()}


def encode(value: Value) -> dict[str, Any]:
    """Encode one value as in an answer of the API. The result is a new object."""
    kind = _KINDS[type(value)]
    if kind == "N":
        return {"N": str(value)}
    if kind == "L":
        return {"L": [encode(member) for member in value]}
    return {kind: [str(member) for member in sorted(value)] if kind == "NS" else value}


def encode_item(item: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
    """Encode a whole item. The result shares nothing mutable with the stored item."""
    return {name: encode(value) for name, value in item.items()}


def json_value(wire: Wire) -> dict[str, Any]:
    """Convert a value of a boto3 answer to the form in a Lambda event, where B is base64 text."""
    ((kind, value),) = wire.items()
    if kind == "B":
        return {"B": base64.b64encode(value).decode("ascii")}
    return {kind: [json_value(member) for member in value] if kind == "L" else value}


def same(left: Value, right: Value) -> bool:
    """Whether two values are equal for DynamoDB: they need the same type."""
    if type(left) is tuple and type(right) is tuple:
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


def same_item(left: Item | None, right: Item | None) -> bool:
    """Whether two images are equal. A missing item (None) only equals another missing item."""
    if left is right:
        return True
    # For Python, true equals 1; what Python finds different is different.
    if left is None or right is None or left != right:
        return False
    return all(same(value, right[name]) for name, value in left.items())


@lru_cache(maxsize=1 << 16)
def _number_size(number: int) -> int:
    """Return the size of a number: one byte per two digits and one more, as DynamoDB Local counts.

    Two digits share a byte only if they belong to the same power of 100. A negative number takes one byte more. The
    documentation leaves both out and says "approximately".
    """
    if not number:
        return 1
    digits = str(abs(number))
    kept = len(digits.rstrip("0"))
    return (kept + ((len(digits) - kept) & 1) + 1) // 2 + 1 + (number < 0)


def value_size(value: Value) -> int:
    """Return the size of a value in bytes, without its name."""
    kind = type(value)
    if kind is str:
        return len(value) if value.isascii() else len(value.encode())
    if kind is int:
        return _number_size(value)
    if kind is bytes:
        return len(value)
    if kind is tuple:
        return _NESTED + sum(1 + value_size(member) for member in value)
    return 1 if kind is bool else sum(map(value_size, value))


def stored_size(item: Mapping[str, Value]) -> int:
    """Return the size in bytes of an item in the engine's form."""
    return sum((len(name) if name.isascii() else len(name.encode())) + value_size(item[name]) for name in item)


def read_units(size: int, *, consistent: bool) -> float:
    """Return the units of a read of so many bytes: an item, or a page of a query. A missing item has 0."""
    units = max(1, -(-size // _READ_BYTES))
    return float(units) if consistent else units / 2


def item_size(item: Mapping[str, Mapping[str, Any]]) -> int:
    """Return the size in bytes of an item in the form of requests and answers."""
    return stored_size(decode_item(item))
