"""The order of a ranking: sort values, and sort keys that are text.

A ranking is sorted by *sort value*, ascending: the score if the lowest leads, the negated score if the highest leads.
It is encoded as a head, which gives the sign and the number of digits, and the digits, mirrored if negative. So text of
any length sorts numerically, small numbers are short, and no range is configured.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

# Printable characters in the order of their bytes, which is how DynamoDB sorts text.
_DIGITS: Final = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_VALUE: Final = {digit: value for value, digit in enumerate(_DIGITS)}
_ZERO_HEAD: Final = ord("O")


class Place(NamedTuple):
    """Where a member is in a ranking: by sort value, then by an instant in milliseconds (None: by member id alone)."""

    sort_value: int
    since: int | None = None


def sort_value(score: int, *, descending: bool) -> int:
    """The sort value of a score, and also the score of a sort value."""
    return -score if descending else score


def digits_of(number: int, base: int) -> list[int]:
    """The digits of a number, the most significant first; those of a negative number are mirrored."""
    digits: list[int] = []
    rest = abs(number)
    while rest:
        rest, digit = divmod(rest, base)
        digits.append(digit)
    digits = digits[::-1] or [0]
    return digits if number >= 0 else [base - 1 - digit for digit in digits]


def number_of(digits: Iterable[int], base: int, *, negative: bool) -> int:
    """The number with these digits: the inverse of `digits_of`."""
    number = 0
    for digit in digits:
        number = number * base + (base - 1 - digit if negative else digit)
    return -number if negative else number


def encode_sortable(number: int) -> str:
    """Encode an integer as text that sorts numerically. No encoded number is the beginning of another."""
    digits = digits_of(number, len(_DIGITS))
    head = chr(_ZERO_HEAD + len(digits) if number >= 0 else _ZERO_HEAD - len(digits))
    return head + "".join([_DIGITS[digit] for digit in digits])


def decode_sortable(text: str) -> tuple[int, str]:
    """The integer that a text begins with, and the rest of the text: the inverse of `encode_sortable`."""
    length = ord(text[0]) - _ZERO_HEAD
    end = 1 + abs(length)
    return number_of([_VALUE[digit] for digit in text[1:end]], len(_DIGITS), negative=length < 0), text[end:]


def sort_key(place: Place, member: str) -> str:
    """The text that sorts a ranking: by sort value, then by `since` if there is one, then by member."""
    since = "" if place.since is None else encode_sortable(place.since)
    return encode_sortable(place.sort_value) + since + member


def decode_sort_key(text: str, *, ties_by_instant: bool) -> tuple[Place, str]:
    """The place and the member of a sort key. `ties_by_instant` says that the key contains a `since`."""
    number, rest = decode_sortable(text)
    if not ties_by_instant:
        return Place(number), rest
    since, member = decode_sortable(rest)
    return Place(number, since), member
