"""What the words of a command must look like: types of arguments. A wrong value ends the command with its name.

They check what can be known without a stack, by the rules that the stack itself goes by.
"""

import re
from argparse import ArgumentTypeError
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Final, NoReturn

from standings.domain.boards import BOARD_NAME, BOARD_NAME_RULE, MAX_MEMBER_BYTES, is_board_name
from standings.domain.boards_toml import MAX_DECIMALS, METRIC_NAME, METRIC_RULE
from standings.domain.errors import InvalidBodyError
from standings.domain.events import MAX_ID_LENGTH, is_event_id, shown
from standings.domain.profiles import changes_of
from standings.domain.scoring import UnitsError, check_units
from standings.domain.windows import Timetable, parse_window
from standings_cli.post.cells import seconds_of, zone_of

_UTC: Final = Timetable("UTC", 0)
_GLOB: Final = re.compile(r"(?=.*(\*|\?|\[[^]]+\]))[A-Za-z0-9._:*?\[\]!-]{1,256}")
_SEASON: Final = re.compile(r"[a-z][a-z0-9-]{0,31}")
_SCORE: Final = re.compile(r"-?[0-9]{1,40}(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,2})?", re.ASCII)


def _wrong(expected: str, got: str) -> NoReturn:
    raise ArgumentTypeError(f"expected {expected}, got {shown(got)}")


def text(given: str) -> str:
    """A text that is not empty: `u123`."""
    if not given or not _is_unicode(given):
        _wrong("text of at least one character of UTF-8", given)
    return given


def _is_unicode(given: str) -> bool:
    """Whether a word has only whole characters: bytes that are no UTF-8 become halves of surrogate pairs."""
    try:
        given.encode()
    except UnicodeEncodeError:
        return False
    return True


def board(given: str) -> str:
    """A board's name: `berlin-2026`."""
    return given if is_board_name(given) else _wrong(BOARD_NAME_RULE, given)


def boards(given: str) -> str:
    """A board's name, or a glob of some: `berlin-*`."""
    if not is_board_name(given) and not _GLOB.fullmatch(given):
        _wrong(f"a glob such as 'berlin-*', or {BOARD_NAME_RULE}", given)
    return given


def prefix(given: str) -> str:
    """The beginning of boards' names: `berlin-`. It may be empty."""
    return given if not given or BOARD_NAME.fullmatch(given) else _wrong(f"the beginning of {BOARD_NAME_RULE}", given)


def member(given: str) -> str:
    """A member's id: `u123`, `clan#7`, `用户`."""
    if not _is_unicode(given) or not 1 <= len(given.encode()) <= MAX_MEMBER_BYTES:
        _wrong(f"1 to {MAX_MEMBER_BYTES} bytes of UTF-8", given)
    return given


def event_id(given: str) -> str:
    """An event's id: `run-0197f2c4`."""
    if not is_event_id(text(given)):
        _wrong(f"1 to {MAX_ID_LENGTH} characters (it has {len(given)})", given)
    return given


def metric(given: str) -> str:
    """A metric's name: `points`."""
    return given if METRIC_NAME.fullmatch(given) else _wrong(METRIC_RULE, given)


def window(given: str) -> str:
    """A window's name: `last-7-days`."""
    try:
        return parse_window(given).name
    except ValueError as error:
        raise ArgumentTypeError(str(error).partition(", got ")[0] + f", got {shown(given)}") from error


def period(given: str) -> str:
    """A period: a day in it, an hour, a week, a month, a year or a season: `2026-11-20`, `2026-11`, `winter-2026`."""
    for name in ("day", "hour", "week", "month", "year"):
        with suppress(ValueError):
            _UTC.parse_period(parse_window(name), given)
            return given
    expected = "a day (2026-11-20), an hour (2026-11-20T15), a week (2026-W47), a month (2026-11), a year or a season"
    return given if _SEASON.fullmatch(given) else _wrong(expected, given)


def score(given: str) -> str:
    """A score as JSON writes numbers: `500`, `-0.5`; of a time such as `22:05` its seconds, `1325`."""
    given = seconds_of(given) or given
    if not _SCORE.fullmatch(given):
        _wrong("a number such as 12 or -0.5, or a time such as 22:05", given)
    try:
        check_units(Decimal(given), MAX_DECIMALS)
    except UnitsError as error:
        _wrong(str(error), given)
    return given


def scores(given: str) -> str:
    """Numbers with a comma between, such as tie-breaks: `312,4`."""
    return ",".join(map(score, given.split(",")))


def name(given: str) -> str:
    """A member's name: `Ada`."""
    try:
        changes_of({"name": text(given)})
    except InvalidBodyError as error:
        raise ArgumentTypeError(str(error).removeprefix("name: ")) from error
    return given


def file(given: str) -> str:
    """The name of a file: `runs.csv`."""
    return given if given and "\0" not in given else _wrong("the name of a file", given)


def path(given: str) -> Path:
    """The path of a file or folder: `Path("runs.csv")`."""
    return Path(file(given))


def pair(given: str) -> tuple[str, str]:
    """A name and a column: `member=user_id`."""
    left, equals, right = given.partition("=")
    return (left, right) if equals and left else _wrong("NAME=COLUMN", given)


def delimiter(given: str) -> str:
    """What stands between the columns of CSV: one character, or `tab`."""
    found = "\t" if given in ("tab", "\\t") else given
    if len(found) != 1 or found in '"\r\n' or not _is_unicode(found):
        _wrong("one character such as ; or the word tab", given)
    return found


def zone(given: str) -> str:
    """A time zone: `Europe/Berlin`, `UTC`, or an offset such as `+01:00`."""
    try:
        zone_of(given)
    except ValueError:
        _wrong("an IANA time zone such as Europe/Berlin, or an offset such as +01:00", given)
    return given
