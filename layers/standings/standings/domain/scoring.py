"""Scores: how amounts are aggregated, how equals are ordered, how scores are sorted, and how decimals become units.

**Aggregates.** One event is an aggregate too. So counting an event and adding up the buckets of a period are the same
operation, `merge`. It is associative and commutative: the order in which events arrive changes neither scores nor ties.

**Ties**, members with equal scores, are ordered by the metric's `ties`:

- `member`: by member id.
- `first`: by the event with which they reached the score, then by member id. For `sum` it is the latest event that
  changed the sum, for `max` and `min` the first one with that amount, for `last` the one with the latest `at` and
  greatest id. An amount of 0 changes no sum: if there are no others, it is the earliest event.

An aggregate keeps the *tie key* of that event: text that sorts as the events do, by `at`, and for `last` and metrics
with notes also by id. A sum of 0 says whether any amount changed it: 5 and -5 have another time than 0.

**Companions** of a best are numbers of the event that it came with, such as the lifter's weight. Among equal bests the
one that is ahead in the tie-breaks counts, and only then the tie key. A companion is no number of its own: it is kept
in a text beside the best, as in `b7x[654]`.

**Order.** A ranking is sorted by *sort value*, ascending: the score if the lowest leads, the negated score if the
highest leads. Members with equal scores are sorted by the sort value of the first tie-break, and so on. A sort value is
encoded as a head, which gives the sign and the number of digits, and the digits, mirrored if negative. So text of any
length sorts numerically, small numbers are short, and no range is configured. No such text begins another one: so the
texts of score and tie-breaks, one after the other, sort as they do.

**Units.** A score is a whole number of them: 12.5 is 1250 units of a metric with precision 2.
"""

from collections.abc import Iterable, Mapping
from decimal import ROUND_HALF_UP, Context, Decimal
from functools import lru_cache
from typing import Final, NamedTuple

from standings.domain.boards import MAX_UNITS, Metric


class Aggregate(NamedTuple):
    """The value of some events in units, with tie key, note (JSON) and companions of the one that decides ties.

    For example `Aggregate(1250, "VP6xaXHV", '{"course":"North"}', "b7x[654]")`. A text is empty where there is none.
    Events that were counted before tie keys were kept have an empty one too, which sorts before all others.
    """

    value: int
    tie_key: str = ""
    note: str = ""
    companions: str = ""


def merge(metric: Metric, one: Aggregate | None, other: Aggregate) -> Aggregate:
    """Merge two aggregates of a metric (None: there is no first one). `ties` says which event's tie key is kept."""
    if one is None:
        return other
    if metric.aggregate == "sum":
        # A metric without tie keys adds amounts that have none: an older key would give the sum a wrong instant.
        return Aggregate(one.value + other.value, _tie_key_of_sum(one, other) if metric.has_tie_keys else "")
    if metric.aggregate == "last":
        return max(one, other, key=lambda aggregate: aggregate.tie_key)
    if one.value == other.value:
        return min(one, other, key=lambda aggregate: (_of_companions(metric, aggregate), aggregate.tie_key))
    return max(one, other) if metric.aggregate == "max" else min(one, other)


_UNCHANGED: Final = "="  # Ends the tie key of a sum of nothing but amounts of 0


def _tie_key_of_sum(one: Aggregate, other: Aggregate) -> str:
    """The latest tie key of those that an amount changed; the earliest of both if none did."""
    # Version 0.3 has no tie keys of unchanged sums: it may have added an amount and kept such a tie key.
    changed = [
        each.tie_key.removesuffix(_UNCHANGED)
        for each in (one, other)
        if each.value or not each.tie_key.endswith(_UNCHANGED)
    ]
    return max(changed) if changed else min(one.tie_key, other.tie_key)


def companions_of(metric: Metric, amounts: Mapping[str, int]) -> str:
    """The companions that an update gives a number of the metric, such as `b7x[654]`; "" for none."""
    if not metric.has_companions or metric.tie_breaks[0].name not in amounts:
        return ""
    units = ",".join(str(amounts[each.name]) for each in metric.tie_breaks)
    return f"{metric.companions_code}[{units}]"


def units_of_companions(metric: Metric, aggregate: Aggregate) -> list[int] | None:
    """The units of each companion of a number of the metric, `[654]`; None if it has none that tie-breaks go by now."""
    code, text = metric.companions_code, aggregate.companions
    return list(map(int, text[len(code) + 1 : -1].split(","))) if text.startswith(code) else None


def _of_companions(metric: Metric, aggregate: Aggregate) -> "SortValues":
    """The sort values of a number's companions; () if the metric has none."""
    if not metric.has_companions:
        return ()
    units = units_of_companions(metric, aggregate)
    if units is None:
        return (MISSING,) * len(metric.tie_breaks)
    pairs = zip(units, metric.tie_breaks, strict=True)
    return tuple(sort_value(number, descending=each.descending) for number, each in pairs)


def aggregate_of_event(
    metric: Metric, units: int, at: int, event_id: str, note: str = "", companions: str = ""
) -> Aggregate:
    """The aggregate of one event; `at` is in milliseconds."""
    tie_key = tie_key_of_event(metric, at, event_id)
    if tie_key and metric.aggregate == "sum" and not units:
        tie_key += _UNCHANGED
    return Aggregate(units, tie_key, note, companions)


def tie_key_of_event(metric: Metric, at: int, event_id: str) -> str:
    """The tie key of an event (`at` in ms), such as `VP6xaXHV`; "" if the metric needs none."""
    if not metric.has_tie_keys:
        return ""
    by_id = metric.aggregate == "last" or metric.notes
    return encode_sortable(at) + event_id if by_id else encode_sortable(at)


LONG_AGO: Final = -MAX_UNITS  # The instant that stands for an empty tie key


def place_of(metric: Metric, aggregate: Aggregate, tie_breaks: Iterable[Aggregate | None] = ()) -> "Place":
    """The place in the metric's rankings of a member with this aggregate, and these of its `separate_tie_breaks`."""
    since = None
    if metric.ties_by_instant:
        since = decode_sortable(aggregate.tie_key)[0] if aggregate.tie_key else LONG_AGO
    if not metric.tie_breaks:
        return Place((sort_value(aggregate.value, descending=metric.descending),), since)
    aggregates = zip((metric, *metric.separate_tie_breaks), (aggregate, *tie_breaks), strict=True)
    values = tuple(_sort_value_of(each, of) for each, of in aggregates)
    return Place(values + _of_companions(metric, aggregate), since)


def _sort_value_of(metric: Metric, aggregate: Aggregate | None) -> int:
    """The sort value of a member that may have no number of the metric: a sum is 0 then."""
    if aggregate is None:
        return 0 if metric.aggregate == "sum" else MISSING
    return sort_value(aggregate.value, descending=metric.descending)


SortValues = tuple[int, ...]
"""The sort value of a score, then that of each tie-break: `(-8, 312)`. Without tie-breaks it is one number: `(-8,)`."""


class Place(NamedTuple):
    """Where a member is in a ranking: by sort values, then by an instant in milliseconds (None: by member id alone)."""

    values: SortValues
    since: int | None = None


MISSING: Final = MAX_UNITS + 1  # The sort value of a tie-break of which a member has no number: behind all numbers


def are_possible(values: SortValues, metric: Metric) -> bool:
    """Whether a place in the metric's rankings may have these sort values."""
    score, *others = values
    in_bounds = abs(score) <= MAX_UNITS and all(abs(each) <= MAX_UNITS or each == MISSING for each in others)
    return in_bounds and len(values) == metric.components


def sort_value(score: int, *, descending: bool) -> int:
    """The sort value of a score, and also the score of a sort value."""
    return -score if descending else score


def sort_key(place: Place, member: str) -> str:
    """The text that sorts a ranking: by sort values, by `since` if there is one, by member. Such as `MvIu123`."""
    values, since = place
    return encode_values(values) + ("" if since is None else encode_sortable(since)) + member


def encode_values(values: SortValues) -> str:
    """The beginning of the sort keys of all places with these sort values: the text of each, such as `MvI`."""
    return encode_sortable(values[0]) if len(values) == 1 else "".join(map(encode_sortable, values))


def behind(values: SortValues) -> str:
    """A text that sorts behind all sort keys of places with these sort values, and ahead of all that follow them."""
    return encode_values((*values[:-1], values[-1] + 1))


def decode_sort_key(text: str, metric: Metric) -> tuple[Place, str]:
    """The place and the member of a sort key in a metric's rankings: `(Place((-300,)), "u123")` of `MvIu123`."""
    number, rest = decode_sortable(text)
    values: SortValues = (number,)
    while len(values) < metric.components:
        number, rest = decode_sortable(rest)
        values += (number,)
    if not metric.ties_by_instant:
        return Place(values), rest
    since, member = decode_sortable(rest)
    return Place(values, since), member


# Printable characters in the order of their bytes, which is how DynamoDB sorts text.
_DIGITS: Final = "-0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz"
_VALUE: Final = {digit: value for value, digit in enumerate(_DIGITS)}
_ZERO_HEAD: Final = ord("O")


@lru_cache(maxsize=4096)
def encode_sortable(number: int) -> str:
    """Encode an integer as text that sorts numerically, such as -300 as `MvI`. No encoded number begins another one."""
    digits = digits_of(number, len(_DIGITS))
    head = chr(_ZERO_HEAD + len(digits) if number >= 0 else _ZERO_HEAD - len(digits))
    return head + "".join([_DIGITS[digit] for digit in digits])


def decode_sortable(text: str) -> tuple[int, str]:
    """The integer that a text begins with, and the rest of the text: `(-300, "u123")` of `MvIu123`."""
    length = ord(text[0]) - _ZERO_HEAD
    end = 1 + abs(length)
    return number_of([_VALUE[digit] for digit in text[1:end]], len(_DIGITS), negative=length < 0), text[end:]


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


def units_of(number: Decimal, precision: int, most_digits: int | None = None) -> int:
    """A number in units: `Decimal("12.5")` is 1250 with precision 2. UnitsError if it breaks a rule.

    `most_digits` bounds the significant digits; with None only the bound of units does. The result is exact, whatever
    the precision of the program's `decimal` context.
    """
    sign, all_digits, exponent = number.as_tuple()
    if not isinstance(exponent, int):
        raise UnitsError("a finite number")
    digits = "".join(map(str, all_digits)).lstrip("0")
    significant = digits.rstrip("0")
    if not significant:
        return 0
    if most_digits is not None and len(significant) > most_digits:
        raise UnitsError(f"at most {most_digits} significant digits")
    zeros = exponent + len(digits) - len(significant) + precision
    if zeros < 0:
        raise UnitsError(f"at most {precision} decimals" if precision else "a whole number")
    # The length comes first: 1e999999999 would have a billion zeros.
    if len(significant) + zeros > len(str(MAX_UNITS)) or (units := int(significant + "0" * zeros)) > MAX_UNITS:
        raise UnitsError(f"at most ±(2^53 - 1) units of {precision} decimals")
    return -units if sign else units


def check_units(number: Decimal, most_decimals: int, most_digits: int | None = None) -> None:
    """Raise UnitsError for a number that is no score of any metric, whatever its precision, up to `most_decimals`."""
    _, digits, exponent = number.as_tuple()
    significant = "".join(map(str, digits)).rstrip("0")
    decimals = -exponent - (len(digits) - len(significant)) if significant and isinstance(exponent, int) else 0
    units_of(number, max(0, min(decimals, most_decimals)), most_digits)


def rounded(number: Decimal, precision: int) -> Decimal:
    """A number with at most so many decimals: 0.30000000000000004 is 0.3; with 2, 0.125 is 0.13 (half away from 0)."""
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or -exponent <= precision:
        return number
    context = Context(prec=max(1, len(digits) + exponent + precision + 1), rounding=ROUND_HALF_UP)
    return number.quantize(Decimal((0, (1,), -precision)), context=context)


def decimal_text(units: int, precision: int) -> str:
    """Units as a decimal number: -25 is `-0.25` with precision 2, and -200 is `-2`."""
    return f"{Decimal(units).scaleb(-precision).normalize():f}"


class UnitsError(ValueError):
    """A number that is no whole number of units. The text is the rule that it breaks, such as `at most 2 decimals`."""
