"""Amounts of an event as whole units of a metric."""

from decimal import Decimal
from typing import Any, Final

from standings.domain.boards.definitions import MAX_UNITS, Metric
from standings.domain.events.event import refuse

MAX_DIGITS: Final = 15
_SMALL: Final = 10**MAX_DIGITS - 1  # A whole number of at most this many units breaks no rule


def parse_amount(field: str, value: Any, metric: Metric) -> int:
    """An amount as a whole number of the metric's units; RefusedEvent if it breaks a rule."""
    if type(value) is int:
        whole: int = value * 10**metric.precision
        if abs(whole) <= _SMALL:
            return whole
    if isinstance(value, bool) or not isinstance(value, (int, float, Decimal)):
        refuse("amount", field, "a number", value)
    sign, all_digits, exponent = Decimal(repr(value) if isinstance(value, float) else value).as_tuple()
    if not isinstance(exponent, int):
        refuse("amount", field, "a finite number", value)
    digits = "".join(map(str, all_digits)).lstrip("0")
    significant = digits.rstrip("0")
    exponent += len(digits) - len(significant)
    if not significant:
        return 0
    if len(significant) > MAX_DIGITS:
        refuse("amount", field, f"at most {MAX_DIGITS} significant digits", value)
    if exponent < -metric.precision:
        refuse("amount", field, f"at most {metric.precision} decimals", value)
    zeros = exponent + metric.precision
    if len(significant) + zeros > len(str(MAX_UNITS)) or (units := int(significant) * 10**zeros) > MAX_UNITS:
        refuse("amount", field, f"at most ±(2^53 - 1) units of {metric.precision} decimals", value)
    return -int(units) if sign else int(units)


def canonical_amount(units: int, precision: int) -> tuple[int, int]:
    """A decimal in its shortest form, so that an event keeps its digest when a metric's precision changes."""
    while precision and units % 10 == 0:
        units //= 10
        precision -= 1
    return units, precision
