"""Values that callers give, as the API takes them: texts, numbers, instants. BadArgument names the field of another.

A scalar of numpy or pandas is the number or the instant that it prints. Neither is imported: their numbers are of
the classes of `numbers`, and a `Timestamp` is a `datetime`.
"""

from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from itertools import islice
from math import isfinite
from numbers import Integral, Rational, Real
from operator import index
from typing import Any, Final
from uuid import UUID

import orjson

from standings.calls import problem_of
from standings.client.errors import ApiError, BadArgument, error_of
from standings.domain.boards import check_member, size_of
from standings.domain.errors import RequestError
from standings.domain.events import MAX_ID_LENGTH, is_event_id

MOST_LISTED: Final = 1_000  # Elements that are taken from a list, more than any may have: an iterator may be endless
_MAX_LEVELS: Final = 128  # More than fit into a note
_MAX_BITS: Final = 1_024  # Of a whole number: more than a float holds
_MAX_BITS_OF_ORJSON: Final = 63
_MAX_SHOWN: Final = 80


def refused(field: str, expected: str, value: Any) -> BadArgument:
    """The error of a value: `refused("limit", "a whole number", 1.5)`."""
    return BadArgument(400, "bad-argument", f"{field[:200]}: expected {expected}, got {_shown(value)}")


def _shown(value: Any) -> str:
    """A value for a message if it is short and simple, else its type: `[...]` may be long, and an object can fail."""
    if (found := _index(value)) is not None and found.bit_length() > _MAX_BITS:
        return f"a number of {found.bit_length()} bits"
    if value is None or isinstance(value, bool | int | float | Decimal | date | str):
        shown = ascii(value[:_MAX_SHOWN] if isinstance(value, str) else value)
        return shown if len(shown) <= _MAX_SHOWN else f"{shown[: _MAX_SHOWN - 3]}..."
    return type(value).__name__


def as_api_error(error: RequestError) -> ApiError:
    """The client's error for a request that breaks a rule."""
    problem = problem_of(error)
    return error_of(problem.status, problem.kind, problem.detail)


def text(field: str, value: Any) -> str:
    """A text as a plain `str`, also of an Enum or a UUID: `0197f2c4-…`. Raises BadArgument for anything else."""
    if isinstance(value, UUID):
        return str(value)
    if not isinstance(value, str):
        raise refused(field, "text", value)
    return _checked(size_of, field, str.__str__(value))


def member(field: str, value: Any) -> str:
    """The id of a member: text of 1 to 256 bytes, such as `u123`. Raises BadArgument for anything else."""
    return _checked(check_member, field, text(field, value))


def _checked(check: Callable[[str, str], object], field: str, found: str) -> str:
    try:
        check(field, found)
    except RequestError as error:
        raise as_api_error(error) from None
    return found


def event_id(field: str, value: Any) -> str:
    """The id of an event: text of 1 to 128 characters, such as `run-0197f2c4`. Raises BadArgument for anything else."""
    found = text(field, value)
    if not is_event_id(found):
        raise refused(field, f"1 to {MAX_ID_LENGTH} characters (it has {len(found)})", found)
    return found


def number(field: str, value: Any) -> int | float | Decimal:
    """A number as it prints, also numpy's: 0.1 is a tenth. BadArgument for text, NaN, infinities and fractions."""
    found: int | float | Decimal | None = None
    if (count := _index(value)) is not None:
        found = Decimal(count) if count.bit_length() > _MAX_BITS_OF_ORJSON else count
        found = None if count.bit_length() > _MAX_BITS else found
    elif isinstance(value, float) and isfinite(value):
        found = float(value)
    elif isinstance(value, Decimal) and value.is_finite():
        found = value
    elif isinstance(value, Real) and not isinstance(value, float | Rational):
        found = _printed(value)
    if found is None:
        raise refused(field, 'a number such as 3 or Decimal("0.5")', value)
    return found


def _printed(value: Real) -> Decimal | None:
    """A float of numpy, whose shortest digits its text has; None for what is not finite."""
    try:
        found = Decimal(str(value))
    except InvalidOperation:
        return None
    return found if found.is_finite() else None


def _index(value: Any) -> int | None:
    """A whole number of any class; None for another value, such as True, or numpy's timedelta64."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        return None
    try:
        return index(value)
    except TypeError:
        return None


def whole(field: str, value: Any) -> int:
    """A whole number of any class, such as a limit. Raises BadArgument for anything else, also for 2.0 and True."""
    found = _index(value)
    if found is None or found.bit_length() > _MAX_BITS:
        raise refused(field, "a whole number", value)
    return found


def is_flag(value: Any) -> bool:
    """Whether it is True or False, of Python or of numpy."""
    kind = type(value)
    return kind is bool or (kind.__module__ == "numpy" and kind.__name__ in ("bool", "bool_"))


def flag(field: str, value: Any) -> bool:
    """True or False, also numpy's. Raises BadArgument for anything else, also for 1 and 0."""
    if is_flag(value):
        return bool(value)
    raise refused(field, "True or False", value)


def period(field: str, value: Any) -> str:
    """A period's name, or a day: `date(2026, 11, 20)` is `2026-11-20`. Raises BadArgument for anything else."""
    if isinstance(value, str):
        return text(field, value)
    # A datetime is a date too, but which day and hour it is depends on the board's time zone.
    if isinstance(value, date) and not isinstance(value, datetime):
        return value.isoformat()
    raise refused(field, "date(2026, 11, 20), or text such as 2026-11-20T15", value)


def instant(field: str, value: Any) -> str:
    """An instant as text: `2026-11-21T10:15:00+00:00`. Raises BadArgument for a datetime without an offset."""
    if isinstance(value, str):
        return text(field, value)
    if isinstance(value, datetime):
        try:
            # RFC 3339 has no offsets with seconds, Python has: in UTC there are none.
            if value.utcoffset() is not None:
                return value.astimezone(UTC).isoformat()
        except (OverflowError, ValueError) as error:
            # The first and the last hours of Python's calendar in another offset, and pandas' NaT.
            raise refused(field, "a time in the years 1 to 9999 of UTC", value) from error
    raise refused(field, "a time with its offset, such as datetime.now(UTC), or text", value)


def listed(field: str, value: Any, expected: str = "a list") -> list[Any]:
    """The first `MOST_LISTED` elements of an iterable. BadArgument for what is none, and text, bytes and mappings."""
    try:
        elements = None if isinstance(value, str | bytes | bytearray | Mapping) else iter(value)
    except TypeError:
        elements = None
    if elements is None:
        raise refused(field, expected, value)
    return [*islice(elements, MOST_LISTED)]


def mapping(field: str, value: Any) -> Iterator[tuple[str, Any]]:
    """The names and values of a mapping: `("points", 3)`. Raises BadArgument if it is none, or a name is not text."""
    if not isinstance(value, Mapping):
        raise refused(field, "an object with names", value)
    for name, one in value.items():
        yield text(f"{field}: a name", name), one


def plain(field: str, value: Any, levels: int = _MAX_LEVELS) -> Any:
    """What JSON can hold, as Python's own types and decimals, in at most so many levels. Raises BadArgument."""
    if value is None or is_flag(value):
        return None if value is None else bool(value)
    if isinstance(value, str | UUID):
        return text(field, value)
    if isinstance(value, Decimal | Real):
        return number(field, value)
    if not levels:
        raise refused(field, f"at most {_MAX_LEVELS} levels", value)
    if isinstance(value, Mapping):
        return {name: plain(f"{field}.{name}", one, levels - 1) for name, one in mapping(field, value)}
    if isinstance(value, list | tuple):
        return [plain(f"{field}[{position}]", one, levels - 1) for position, one in enumerate(value)]
    try:
        return orjson.loads(orjson.dumps(value))
    except (TypeError, ValueError) as error:
        raise refused(field, "what JSON can hold", value) from error
