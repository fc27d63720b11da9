"""The values of items: from DynamoDB's typed JSON to immutable Python values and back, and their sizes.

A stored value has an immutable Python type, so items can share values safely: S is str, N is int or (with decimals)
Decimal, B is bytes, BOOL is bool, NULL is None, L is tuple, M is a read-only mapping, and a set is a frozenset.
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html
https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Mapping
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal
from functools import lru_cache
from types import MappingProxyType
from typing import Any, Final

from tests.support.dynamodb.errors import Invalid

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
ITEM_LIMIT: Final = 400 * 1024
_NESTED: Final = 3
_READ_BYTES: Final = 4096
_LARGEST_NUMBER: Final = 22


class _Missing:
    """Stands for the value of an attribute that an item does not have."""

    def __repr__(self) -> str:
        return "MISSING"

    def __eq__(self, other: object) -> bool:
        return False  # not even another attribute that is missing

    __hash__ = object.__hash__


MISSING: Final = _Missing()


def canonical(number: int | Decimal) -> int | Decimal:
    """Return the canonical form of a number, or reject it as DynamoDB does."""
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
    """Decode a whole item or key, or the values of a request."""
    item: Item = {}
    for name, typed in wire.items():
        # Nearly all values are numbers or texts.
        if "N" in typed and len(typed) == 1:
            item[name] = number_from(typed["N"])
        elif "S" in typed and len(typed) == 1:
            item[name] = _text(typed["S"])
        else:
            item[name] = decode(typed)
    return item


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
    wire: dict[str, dict[str, Any]] = {}
    for name, value in item.items():
        python = type(value)
        wire[name] = {"S": value} if python is str else {"N": str(value)} if python is int else _encode_other(value)
    return wire


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
    # For Python, true equals 1; what Python finds different is different.
    if left is None or right is None or left != right:
        return False
    return all(same(value, right[name]) for name, value in left.items())


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
    if type(value) is tuple:
        return _NESTED + sum(1 + value_size(member) for member in value)
    if type(value) is MappingProxyType:
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


def size_bound(item: Mapping[str, Value]) -> int:
    """Return an upper bound of the size of an item. For texts and integers it is quick."""
    bound = 0
    for name, value in item.items():
        kind = type(value)
        size = _LARGEST_NUMBER if kind is int else 4 * len(value) if kind is str else value_size(value)
        bound += 4 * len(name) + size
    return bound


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
