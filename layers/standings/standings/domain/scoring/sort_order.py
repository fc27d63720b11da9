"""Places: where a score stands in an ordered list, as text whose order is the list's, and as a path in a tree.

A list runs from the first place to the last. Its order is that of *ordinals*: integers that grow from the first place
to the last, so the score itself where the lowest leads, its negative where the highest leads. An ordinal is written as
a head, which says the sign and how many digits there are, and that many digits; those of a negative one are mirrored.
So a text of any length sorts as the number does, small numbers are short, and no range is configured or outgrown.
"""

from typing import Final, NamedTuple

# Printable, in the order of their bytes, which is DynamoDB's order of text.
_DIGITS: Final = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_VALUE: Final = {digit: value for value, digit in enumerate(_DIGITS)}
_ZERO_HEAD: Final = ord("O")


class Place(NamedTuple):
    """Where a member stands in a list: by ordinal, and then, if the metric says so, by an instant in milliseconds.

    Without one (`since` is None) equals are told apart by member alone.
    """

    sort_value: int
    since: int | None = None


def sort_value(score: int, *, descending: bool) -> int:
    """The number by which a list is ordered; the same function leads back to the score."""
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


def encode_sortable(number: int) -> str:
    """A number as text of which none begins another, in the order of the numbers."""
    digits = digits_of(number, len(_DIGITS))
    head = chr(_ZERO_HEAD + len(digits) if number >= 0 else _ZERO_HEAD - len(digits))
    return head + "".join([_DIGITS[digit] for digit in digits])


def decode_sortable(text: str) -> tuple[int, str]:
    """The number that a text begins with, and the rest of the text: the inverse of `written`."""
    length = ord(text[0]) - _ZERO_HEAD
    base = len(_DIGITS)
    number = 0
    for digit in text[1 : 1 + abs(length)]:
        value = _VALUE[digit]
        number = number * base + (value if length > 0 else base - 1 - value)
    return (number if length > 0 else -number), text[1 + abs(length) :]


def sort_key(place: Place, member: str) -> str:
    """The key by which a list is sorted: by ordinal, where equals are told apart by `since` by that, then by member."""
    since = "" if place.since is None else encode_sortable(place.since)
    return encode_sortable(place.sort_value) + since + member


def decode_sort_key(text: str, *, ties_by_instant: bool) -> tuple[Place, str]:
    """The place and the member of a sort key: the inverse of `sort_key`. `dated` says that it holds a `since`."""
    number, rest = decode_sortable(text)
    if not ties_by_instant:
        return Place(number), rest
    since, member = decode_sortable(rest)
    return Place(number, since), member
