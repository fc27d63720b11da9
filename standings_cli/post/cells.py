"""Reads what tools write into a cell: an instant, or a number. Each becomes text of an event, and never a float."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone, tzinfo
from decimal import Decimal
from typing import Final

from standings.domain.events import RefusedEvent
from standings.domain.events import shown as short
from standings.domain.windows import DAY, EPOCH, HOUR, MINUTE, SECOND, instant
from standings.domain.zones import time_zone


@dataclass(frozen=True, slots=True)
class Notation:
    """How a file writes its instants and numbers: `Notation(zone="Europe/Berlin", decimal=",")`.

    `zone` is the time zone of instants without an offset: an IANA name, or an offset such as `+01:00`. With None they
    are refused. `decimal` is the decimal point, `.` or `,`. `dates` says whether `3/1/2026` is `day-first` or
    `month-first`; None refuses it.
    """

    zone: str | None = None
    decimal: str = "."
    dates: str | None = None

    def instant(self, text: str, field: str = "at") -> str:
        """An instant as RFC 3339 with an offset. What has that form already stays as it is.

        `2026-11-01 06:30:00+00` is `2026-11-01T06:30:00Z`; so is 1793514600. RefusedEvent for what is no instant.
        """
        try:
            if match := _ISO.fullmatch(text):
                return self._of_iso(text, match, field)
            if _EPOCH_TIME.fullmatch(text):
                return _text(_of_epoch(text, field))
            named = self._with_named_month(text)
            if match := _JAVASCRIPT.fullmatch(text) or _HTTP.fullmatch(text) or _NAMED_MONTH.fullmatch(named):
                return self._of_words(text, match, field)
        except RefusedEvent:
            raise
        except (ValueError, OverflowError) as error:
            raise RefusedEvent("at", f"{field}: expected an instant of the calendar, got {short(text)}") from error
        raise _no_instant(field, text)

    def _with_named_month(self, text: str) -> str:
        """`Jan 3, 2026, 7:30` for `03.01.2026 7:30` where the day is first. ValueError for no month."""
        if self.dates is None or (match := _NUMBERED.fullmatch(text)) is None:
            return text
        first, second, year, rest = match.groups()
        day, month = (first, second) if self.dates == "day-first" else (second, first)
        if not 1 <= int(month) <= len(_MONTHS):
            raise ValueError(text)
        return f"{_MONTHS[int(month) - 1]} {int(day)}, {year}{rest}"

    def amount(self, name: str, text: str) -> str:
        """A number as JSON has it: `3`, `1e+2`; `+12` is `12`, and `1:02:33.4` is `3753.4`, its seconds.

        RefusedEvent for what is no number, such as `3,5` where the decimal point is `.`.
        """
        if _PLAIN.fullmatch(text) and (self.decimal == "." or "." not in text):
            return text
        number = text
        if self.decimal != ".":
            number = "" if "." in text else text.replace(self.decimal, ".")
        if _NUMBER.fullmatch(number):
            return number.removeprefix("+")
        if (seconds := seconds_of(number)) is not None:
            return seconds
        raise RefusedEvent("amount", f"metrics.{name}: {self._expected(text)}")

    def _of_iso(self, text: str, match: re.Match[str], field: str) -> str:
        if match["exact"] is not None:
            return text
        day, clock, offset = match["date"], match["time"] or "00:00", match["offset"]
        fraction = (match["fraction"] or "")[:3]
        milliseconds = int(fraction.ljust(3, "0"))
        local = datetime.fromisoformat(f"{day}T{clock}")
        if offset is not None:
            return _text(_milliseconds(local.replace(tzinfo=_offset(offset))) + milliseconds)
        return self._of_clock(text, local, field, match["time"], milliseconds)

    def _of_words(self, text: str, match: re.Match[str], field: str) -> str:
        day = date(int(match["year"]), _MONTHS.index(match["month"]) + 1, int(match["day"]))
        hour, _, rest = (match["time"] or "0:00").partition(":")
        half = match.groupdict().get("half")
        if half is not None:
            if not 1 <= int(hour) <= _NOON:
                raise ValueError(text)
            hour = str(int(hour) % _NOON + (_NOON if half == "PM" else 0))
        local = datetime.fromisoformat(f"{day.isoformat()}T{hour:0>2}:{rest}")
        offset = match.groupdict().get("offset")
        if offset is not None:
            return _text(_milliseconds(local.replace(tzinfo=_offset(offset))))
        return self._of_clock(text, local, field, match["time"])

    def _of_clock(self, text: str, local: datetime, field: str, clock: str | None, milliseconds: int = 0) -> str:
        """A time that the clocks of the zone show; without a `clock` it is a date."""
        if self.zone is None:
            given = "give the zone of such times with --zone, such as --zone Europe/Berlin, or --zone UTC"
            raise RefusedEvent("at", f"{field}: expected an instant with its offset, got {short(text)}: {given}")
        at = _of_zone(local, zone_of(self.zone), f"{field}: expected an instant, got {short(text)}", clock)
        return _text(at + milliseconds)

    def _expected(self, text: str) -> str:
        such = "3, -2 or 11,25" if self.decimal == "," else "3, -2 or 11.25"
        hint = ""
        if self.decimal == "." and _NUMBER.fullmatch(text.replace(",", ".")):
            hint = ": if the comma is its decimal point, give --decimal ,"
        elif self.decimal == "," and _NUMBER.fullmatch(text):
            hint = ": with --decimal , a number has no other point"
        elif _GROUPED.fullmatch(text):
            hint = ": write it without the marks between thousands"
        return f"expected a number such as {such}, or a time such as 1:02:33, got {short(text)}{hint}"


USUAL: Final = Notation()
"""Instants have an offset, and numbers a decimal point."""


def zone_of(name: str) -> tzinfo:
    """The time zone with an IANA name, or with an offset such as `+01:00`. ValueError for another name."""
    return _offset(name) if _OFFSET.fullmatch(name) else time_zone(name)


_PLAIN: Final = re.compile(r"-?(0|[1-9][0-9]*)(\.[0-9]+)?", re.ASCII)
_NUMBER: Final = re.compile(r"[+-]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]{1,3})?", re.ASCII)
_GROUPED: Final = re.compile(r"[+-]?[0-9]{1,3}([,. '\u00a0\u202f][0-9]{3})+([.,][0-9]+)?")
_ISO: Final = re.compile(
    r"(?P<date>[0-9]{4}-[0-9]{2}-[0-9]{2})"
    r"(?:(?P<exact>[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?(?:[Zz]|[+-][0-9]{2}:[0-9]{2}))"
    r"|[Tt ](?P<time>[0-9]{2}:[0-9]{2}(?::[0-9]{2})?)(?:(?<=:[0-9]{2}:[0-9]{2})[.,](?P<fraction>[0-9]+))?"
    r"(?: ?(?P<offset>[Zz]|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2}(?::?[0-9]{2})?)?))?)?"
)
_OFFSET: Final = re.compile(r"(?P<sign>[+-])(?P<h>[0-9]{2}):?(?P<m>[0-9]{2})?:?(?P<s>[0-9]{2})?", re.ASCII)
_MONTHS: Final = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_JAVASCRIPT: Final = re.compile(
    rf"[A-Z][a-z]{{2}} (?P<month>{'|'.join(_MONTHS)}) (?P<day>[0-9]{{2}}) (?P<year>[0-9]{{4}}) "
    r"(?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2}) GMT(?P<offset>[+-][0-9]{4})(?: \(.*\))?"
)
"""What JavaScript makes of a date: `Sun Nov 01 2026 07:30:00 GMT+0100 (Central European Standard Time)`."""
_HTTP: Final = re.compile(
    rf"[A-Z][a-z]{{2}}, (?P<day>[0-9]{{2}}) (?P<month>{'|'.join(_MONTHS)}) (?P<year>[0-9]{{4}}) "
    r"(?P<time>[0-9]{2}:[0-9]{2}:[0-9]{2}) (?P<offset>GMT|[+-][0-9]{4})"
)
"""`toUTCString` of JavaScript: `Sun, 01 Nov 2026 06:30:00 GMT`."""
_NAMED_MONTH: Final = re.compile(
    rf"(?:[A-Z][a-z]{{2}} )?(?P<month>{'|'.join(_MONTHS)}) (?P<day>[0-9]{{1,2}}),? (?P<year>[0-9]{{4}})"
    "(?:,? (?P<time>[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?)(?:[ \u202f](?P<half>AM|PM))?)?"
)
"""Strava's export in English, `Nov 1, 2026, 6:30:00 AM`, and `toDateString` of JavaScript, `Sun Nov 01 2026`."""
_NUMBERED: Final = re.compile(r"([0-9]{1,2})[./-]([0-9]{1,2})[./-]([0-9]{4})(.*)", re.ASCII)
"""A day and a month, or the other way round: `03.01.2026 7:30`, `3/1/2026`."""
_NOON: Final = 12


def _no_instant(field: str, text: str) -> RefusedEvent:
    hint = (
        ": write the year first, or give --dates day-first or --dates month-first, and four digits of the year"
        if _OTHER_DATE.match(text)
        else ""
    )
    such = "2026-11-21T10:15:00Z or 2026-11-21 10:15:00+00, or seconds or milliseconds since 1970"
    return RefusedEvent("at", f"{field}: expected an instant such as {such}, got {short(text)}{hint}")


_OTHER_DATE: Final = re.compile(r"[0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2})\b", re.ASCII)
_EPOCH_TIME: Final = re.compile(r"[0-9]{1,20}(\.[0-9]*)?([eE]\+?[0-9]{1,2})?", re.ASCII)
_UNITS: Final = ((11, 0), (14, 3), (17, 6), (20, 9))
"""The most digits of seconds, milliseconds, microseconds and nanoseconds, and the decimals of a second in each."""
_LEAST_FRACTION: Final = 10**8  # Of seconds: a smaller number with decimals counts days, or is no time at all
_DAYS_OF_A_SPREADSHEET: Final = range(20_000, 100_000)  # The years 1954 to 2173
_JULIAN_DAYS: Final = range(2_400_000, 2_500_000)


def _of_epoch(text: str, field: str) -> int:
    """The milliseconds of seconds since 1970, of milliseconds, microseconds or nanoseconds."""
    number = Decimal(text)
    whole = int(number)
    is_small_fraction = not text.isdecimal() and whole < _LEAST_FRACTION
    if is_small_fraction or whole in _DAYS_OF_A_SPREADSHEET or whole in _JULIAN_DAYS:
        days = "which looks like the number of a day: let the spreadsheet or database write it as 2026-11-21 10:15:00"
        raise RefusedEvent("at", f"{field}: expected seconds or milliseconds since 1970, got {short(text)}, {days}")
    decimals = next((decimals for digits, decimals in _UNITS if len(str(whole)) <= digits), None)
    if decimals is None:
        raise _no_instant(field, text)
    return int(number.scaleb(3 - decimals))


def _of_zone(local: datetime, zone: tzinfo, expected: str, clock: str | None) -> int:
    """The milliseconds of a local time. A date alone is its first instant. RefusedEvent for a time that is not one."""
    first, second = (_milliseconds(local.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
    if first == second or clock is None:
        return first
    if first < second:
        offsets = " or ".join(_with_offset(local, local.replace(tzinfo=zone, fold=fold)) for fold in (0, 1))
        raise RefusedEvent("at", f"{expected}, which the clocks there show twice: write its offset, {offsets}")
    raise RefusedEvent("at", f"{expected}, which the clocks there skip")


def _with_offset(local: datetime, aware: datetime) -> str:
    return local.isoformat(sep=" ") + aware.isoformat()[len(local.isoformat()) :]


def _milliseconds(aware: datetime) -> int:
    return (aware - EPOCH) // timedelta(milliseconds=1)


def _text(milliseconds: int) -> str:
    """The instant in UTC: `2026-11-01T06:30:00Z`, with milliseconds only if it has some."""
    text = str(instant(milliseconds))
    return text if milliseconds % 1000 else text.replace(".000Z", "Z")


def _offset(text: str) -> tzinfo:
    if match := _OFFSET.fullmatch(text):
        length = timedelta(hours=int(match["h"]), minutes=int(match["m"] or 0), seconds=int(match["s"] or 0))
        return timezone(-length if match["sign"] == "-" else length)
    return UTC


_UNIT_S: Final = {"days": DAY // SECOND, "hours": HOUR // SECOND, "minutes": MINUTE // SECOND, "seconds": 1}
_TIMES: Final[Callable[[str], "re.Match[str] | None"]] = re.compile(
    r"(?P<sign>-?)(?:"
    r"(?:(?P<minutes>[0-9]{1,6})|(?:(?P<days>[0-9]{1,5}) days? )?(?P<hours>[0-9]{1,5}):(?P<of_hour>[0-5][0-9]))"
    r":(?P<seconds>[0-5][0-9](?:\.[0-9]+)?)"
    r"|P(?:(?P<p_days>[0-9]{1,5})D)?T(?:(?P<p_hours>[0-9]{1,7})H)?(?:(?P<p_minutes>[0-9]{1,9})M)?"
    r"(?:(?P<p_seconds>[0-9]{1,12}(?:\.[0-9]+)?)S)?)",
    re.ASCII,
).fullmatch


def seconds_of(text: str) -> str | None:
    """The seconds of a length of time: of `1:02:33.4`, `02:33`, `1 day 02:00:00` and `PT3753.4S`. None for no such."""
    match = _TIMES(text)
    if match is None or text.endswith("T"):
        return None
    given = {name: part for name, part in match.groupdict("").items() if part}
    parts = {name.removeprefix("p_").replace("of_hour", "minutes"): part for name, part in given.items()}
    sign = parts.pop("sign", "")
    whole, point, fraction = parts.pop("seconds", "0").partition(".")
    total = int(whole) + sum(int(part) * _UNIT_S[name] for name, part in parts.items())
    fraction = fraction.rstrip("0")
    return f"{sign}{total}{point if fraction else ''}{fraction}"
