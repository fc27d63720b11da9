"""Converts attribute values from DynamoDB's typed JSON to immutable Python values and back.

A stored value has an immutable Python type, so items can share values safely: S is str, N is int or (with decimals)
Decimal, B is bytes, BOOL is bool, NULL is None, L is tuple, M is a read-only mapping, and a set is a frozenset.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from tests.support.dynamodb.api.errors import Invalid

type_of_set: Final = {str: "SS", bytes: "BS", int: "NS", Decimal: "NS"}
type_of_scalar: Final[dict[type, str]] = {
    str: "S",
    int: "N",
    Decimal: "N",
    bytes: "B",
    bool: "BOOL",
    type(None): "NULL",
    tuple: "L",
    MappingProxyType: "M",
}
Value = Any
Wire = Mapping[str, Any]
Item = dict[str, Value]

EXACT: Final = Context(prec=400, Emax=MAX_EMAX, Emin=MIN_EMIN)
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PLAIN: Final = 10**38
_LARGEST: Final = 125
_SMALLEST: Final = -130
DIGITS: Final = 38


class _Missing:
    """Stands for the value of an attribute that an item does not have."""

    def __repr__(self) -> str:
        return "MISSING"


MISSING: Final = _Missing()


def canonical(number: int | Decimal) -> int | Decimal:
    """Return the canonical form of a number, or reject it as DynamoDB does.

    https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
    """
    if type(number) is int and -_PLAIN < number < _PLAIN:
        return number
    exact = Decimal(number)
    if not exact:
        return 0
    if exact.adjusted() > _LARGEST:
        raise Invalid("Number overflow. Attempting to store a number with magnitude larger than supported range")
    if exact.adjusted() < _SMALLEST:
        raise Invalid("Number underflow. Attempting to store a number with magnitude smaller than supported range")
    text = "".join(map(str, exact.as_tuple().digits)).strip("0")
    if len(text) > DIGITS:
        raise Invalid("DynamoDB only supports precision up to 38 digits")
    exact = exact.normalize(EXACT)
    return exact if int(exact.as_tuple().exponent) < 0 else int(exact)


@lru_cache(maxsize=1 << 16)
def number_from(text: str) -> int | Decimal:
    """Decode the text of an N."""
    if not _NUMBER.fullmatch(text):
        raise Invalid(
            f"The parameter cannot be converted to a numeric value: {text}"
            if text
            else "The parameter cannot be converted to a numeric value"
        )
    return canonical(Decimal(text))


def number_text(number: int | Decimal) -> str:
    """Return a number in plain notation, as DynamoDB answers it."""
    return str(number) if type(number) is int else format(number, "f")


def _set_from(kind: str, members: Any) -> frozenset[Any]:
    if not members:
        raise Invalid("One or more parameter values were invalid: An empty set is not allowed")
    values = [number_from(member) for member in members] if kind == "NS" else list(members)
    distinct = frozenset(values)
    if len(distinct) != len(values):
        raise Invalid("One or more parameter values were invalid: Input collection contains duplicates")
    return distinct


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"expected text as the value of S, got {value!r}")
    return value


_DECODE: Final[dict[str, Callable[[Any], Value]]] = {
    "S": _text,
    "N": number_from,
    "B": bytes,
    "BOOL": bool,
    "NULL": lambda _: None,
    "L": lambda value: tuple(decode(member) for member in value),
    "M": lambda value: MappingProxyType(decode_item(value)),
    "SS": lambda value: _set_from("SS", value),
    "NS": lambda value: _set_from("NS", value),
    "BS": lambda value: _set_from("BS", value),
}


def decode(wire: Wire) -> Value:
    """Decode one typed value of a request."""
    if len(wire) != 1:
        raise Invalid(
            "Supplied AttributeValue has more than one datatypes set, must contain "
            "exactly one of the supported datatypes"
            if wire
            else "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes"
        )
    ((kind, value),) = wire.items()
    return _DECODE[kind](value)


def decode_item(wire: Mapping[str, Wire]) -> Item:
    """Decode a whole item or key."""
    return {name: decode(value) for name, value in wire.items()}


def kind_of(value: Value) -> str:
    """Return the type letter of a value: S, N, B, BOOL, NULL, L, M, SS, NS or BS."""
    kind = type_of_scalar.get(type(value))
    return kind or type_of_set[type(next(iter(value)))]


def encode(value: Value) -> dict[str, Any]:
    """Encode one value as in an answer of the API. The result is a new object."""
    python = type(value)
    if python is int:
        return {"N": str(value)}
    if python is str:
        return {"S": value}
    return _encode_other(value)


def _encode_other(value: Value) -> dict[str, Any]:
    kind = kind_of(value)
    if kind == "N":
        return {"N": number_text(value)}
    if kind == "NULL":
        return {"NULL": True}
    if kind == "L":
        return {"L": [encode(member) for member in value]}
    if kind == "M":
        return {"M": encode_item(value)}
    if type(value) is frozenset:
        members = sorted(value)
        return {kind: [number_text(member) for member in members] if kind == "NS" else members}
    return {kind: value}


def encode_item(item: Mapping[str, Value]) -> dict[str, dict[str, Any]]:
    """Encode a whole item. The result shares nothing mutable with the stored item."""
    return {name: encode(value) for name, value in item.items()}


def json_value(wire: Wire) -> dict[str, Any]:
    """Convert a value of a boto3 answer to the form in a Lambda event, where B is base64 text."""
    ((kind, value),) = wire.items()
    if kind == "B":
        return {"B": base64.b64encode(value).decode("ascii")}
    if kind == "BS":
        return {"BS": [base64.b64encode(member).decode("ascii") for member in value]}
    if kind == "L":
        return {"L": [json_value(member) for member in value]}
    if kind == "M":
        return {"M": {name: json_value(member) for name, member in value.items()}}
    return {kind: value}


def same(left: Value, right: Value) -> bool:
    """Whether two values are equal for DynamoDB: they need the same type, and numbers the same amount."""
    if type(left) is not type(right):
        return False
    if type(left) is tuple:
        return len(left) == len(right) and all(map(same, left, right))
    if type(left) is MappingProxyType:
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    return bool(left == right)


def same_item(left: Item | None, right: Item | None) -> bool:
    """Whether two images are equal. A missing item (None) only equals another missing item."""
    if left is right:
        return True
    if left is None or right is None or left.keys() != right.keys():
        return False
    return all(same(value, right[name]) for name, value in left.items())
