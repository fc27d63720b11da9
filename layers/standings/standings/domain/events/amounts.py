"""Amounts of an event as whole units of a metric."""

from decimal import Decimal
from typing import Any, Final

from standings.domain.boards.definitions import MAX_UNITS, Metric
from standings.domain.events.event import refuse, shown

MAX_DIGITS: Final = 15
_SURELY_KEPT: Final = 10**MAX_DIGITS - 1
"""Units, and so digits, of which a whole number breaks no rule."""


def parse_amount(field: str, value: Any, metric: Metric) -> int:
    """An amount as a whole number of the metric's units."""
    if type(value) is int:
        whole: int = value * 10**metric.precision
        if abs(whole) <= _SURELY_KEPT:
            return whole
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        refuse("amount", f"{field}: must be a number, is {shown(value)}")
    sign, all_digits, exponent = Decimal(repr(value) if isinstance(value, float) else value).as_tuple()
    if not isinstance(exponent, int):
        refuse("amount", f"{field}: must be a finite number, is {shown(value)}")
    digits = "".join(map(str, all_digits)).lstrip("0")
    kept = digits.rstrip("0")
    exponent += len(digits) - len(kept)
    if not kept:
        return 0
    if len(kept) > MAX_DIGITS:
        refuse("amount", f"{field}: more than {MAX_DIGITS} significant digits: {shown(value)}")
    if exponent < -metric.precision:
        refuse("amount", f"{field}: at most {metric.precision} decimals are kept, got {shown(value)}")
    zeros = exponent + metric.precision
    if len(kept) + zeros > len(str(MAX_UNITS)) or (units := int(kept) * 10**zeros) > MAX_UNITS:
        refuse(
            "amount",
            f"{field}: beyond ±(2^53 - 1) units of {metric.precision} decimals: {shown(value)}",
        )
    return -int(units) if sign else int(units)


def canonical_amount(units: int, precision: int) -> tuple[int, int]:
    """A decimal in one way only, so that a changed precision does not make a known event another."""
    while precision and units % 10 == 0:
        units //= 10
        precision -= 1
    return units, precision
