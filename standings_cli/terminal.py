"""What people and machines read: exit statuses, text, CSV, tables, progress, a question before something is gone."""

import csv
import io
import json
import sys
import time
import unicodedata
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from decimal import Decimal
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Self

from standings.domain.boards import column_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

OK: Final = 0
DIFFERS: Final = 1  # done, but check the result: differences, refused or skipped events, a member that is not ranked
WRONG: Final = 2  # a mistake in the command or its input
UNREACHABLE: Final = 3  # the stack could not be reached, or it failed
INTERRUPTED: Final = 130  # Ctrl-C


_CONTROLS: Final = frozenset({"Cc", "Cs", "Zl", "Zp"})
"""Unicode categories of control characters, line ends and lone surrogates; all have 16 bits."""
_DIRECTIONS: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that change the direction of the text around them."""


def shown(text: str) -> str:
    """Return the text on one line, with every character that a terminal could interpret escaped as in JSON."""
    return "".join(f"\\u{ord(character):04x}" if _is_control(character) else character for character in text)


def say(text: str) -> None:
    """Print a line on standard error. What a terminal could interpret is escaped."""
    print(shown(text), file=sys.stderr, flush=True)


def as_json(value: Any) -> str:
    """Return JSON on one line, with the same characters escaped as in `shown`."""
    # They stand only within JSON's strings, where the escape means the same character.
    return shown(json.dumps(value, ensure_ascii=False))


def number(value: float | None) -> str:
    """Return a number of the API with all its decimals, and commas for thousands; nothing for None."""
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{Decimal(repr(value)):,f}"


def plain(value: float | None) -> str:
    """Return a number of the API with all its decimals, for machines."""
    return number(value).replace(",", "")


def tie_breaks_of(entries: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of the tie-breaks that entries have, such as `("penalty",)`; none if no entry has any."""
    return next((tuple(entry["tie_breaks"]) for entry in entries if entry.get("tie_breaks")), ())


def tie_break_cells(entry: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    """Return the tie-breaks of an entry as cells of a table: `["312", "-"]`; empty ones if it has no score."""
    numbers = entry.get("tie_breaks")
    return ["" if numbers is None else number(numbers[name]) or "-" for name in names]


def tie_breaks_text(answer: Mapping[str, Any]) -> str:
    """Return the tie-breaks of an answer as a sentence names them: `penalty 312, level -`; empty without any."""
    numbers = answer.get("tie_breaks") or {}
    return ", ".join(f"{shown(name)} {number(value) or '-'}" for name, value in numbers.items())


def scored(answer: Mapping[str, Any]) -> str:
    """Return a score and its tie-breaks: `8, penalty 312, level -`."""
    return ", ".join(filter(None, (number(answer["score"]), tie_breaks_text(answer))))


def members(count: int) -> str:
    """Return a count of members, such as `1 member`."""
    return f"{number(count)} member{'' if count == 1 else 's'}"


def period(answer: Mapping[str, Any]) -> str:
    """Return the days or hours of an answer's period, in the board's time zone, after a season's name.

    It is empty for `all`, and before the first season.
    """
    window, about = answer["window"], answer["period"]
    if about["start"] is None:
        return ""
    # A stack of 0.3 names seasons alone, and has no `starts` and `ends`.
    name, start, end = about.get("name"), *(datetime.fromisoformat(about[side]) for side in ("start", "end"))
    if window == "hour" or window.endswith("-hours"):
        if start.utcoffset() != end.utcoffset() or len(name or "") > len("2026-11-20T15"):
            return f"{start.isoformat(' ', 'minutes')} to {end.isoformat(' ', 'minutes')}"
        return f"{start:%Y-%m-%d %H:%M} to {end:{'%H:%M' if start.date() == end.date() else '%Y-%m-%d %H:%M'}}"
    # Where the clocks skip midnight, the end is later than that, on the day after the last one all the same.
    first, last = f"{start.date()}", f"{end.date() - timedelta(days=1)}"
    if window == "season":
        return f"{name}, {first} to {last}"
    if window == "day" or window.startswith("last-"):
        last = name or last
    return first if first == last else f"{first} to {last}"


def ranking(answer: Mapping[str, Any]) -> str:
    """Return the ranking of an answer: board, metric, window and period."""
    names = (answer["board"], answer["metric"], answer["window"], period(answer))
    return " · ".join(shown(name) for name in names if name)


def _is_control(character: str) -> bool:
    return unicodedata.category(character) in _CONTROLS or character in _DIRECTIONS


def csv_line(cells: Iterable[object]) -> str:
    """Return a row of CSV with its line end, which is a line feed alone."""
    row = io.StringIO()
    # With both characters in its line end, the writer quotes a cell that holds either.
    csv.writer(row, lineterminator="\r\n").writerow(cells)
    return row.getvalue().removesuffix("\r\n") + "\n"


def print_csv(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Print rows as CSV with a header; None is an empty cell. What a terminal could interpret is escaped on one."""
    for row in (columns, *rows):
        print_line(csv_line(row))


def print_line(line: str) -> None:
    """Print a line, given with its end. What a terminal could interpret is escaped on one."""
    print(f"{shown(line[:-1])}\n" if sys.stdout.isatty() else line, end="")


_PIPE_WIDTH: Final = 10_000


def console() -> "Console":
    """Make a console for results. It interprets no markup and no emoji codes, and colours no numbers.

    There are colours on a terminal alone, and none where the environment has NO_COLOR.
    """
    from rich.console import Console  # noqa: PLC0415 - at first use

    is_terminal = sys.stdout.isatty()
    width = None if is_terminal else _PIPE_WIDTH
    # Without this, FORCE_COLOR in the environment would colour what goes into a pipe.
    forced = None if is_terminal else False
    return Console(markup=False, highlight=False, emoji=False, width=width, force_terminal=forced)


def table(*columns: str, right: Collection[str]) -> "Table":
    """Make a table without lines. The columns in `right` are aligned there."""
    from rich.table import Table  # noqa: PLC0415 - at first use

    empty = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name in columns:
        empty.add_column(name, justify="right" if name in right else "left", overflow="fold", no_wrap=name in right)
    return empty


def standings(entries: Iterable[Mapping[str, Any]], member: str | None = None) -> "Table":
    """Make a table of a ranking's entries. The entry of `member` is marked, and bold."""
    mark = [""] * (member is not None)
    listed = list(entries)
    names = tie_breaks_of(listed)
    more = tuple(map(column_of, names))
    rows = table(*mark, "rank", "member", "score", *more, right=("rank", "score", *more))
    for entry in listed:
        is_member = entry["member"] == member
        marks = [] if member is None else [">" if is_member else ""]
        cells = (number(entry["rank"]), shown(entry["member"]), number(entry["score"]))
        rows.add_row(*marks, *cells, *tie_break_cells(entry, names), style="bold" if is_member else None)
    return rows


_PAUSE_S: Final = 5.0


class Meter:
    """Shows how much of `total` is done. `pause` is the number of seconds between two lines."""

    def __init__(self, title: str, total: float, pause: float = _PAUSE_S) -> None:
        self._title = title
        self._total = total
        self._pause = pause
        self._bar: Progress | None = _bar() if sys.stderr.isatty() else None
        if self._bar is not None:
            self._bar.add_task(title, total=total)
        self._next = time.monotonic() + pause

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()

    def move(self, done: float, text: str) -> None:
        """Show the progress; without a terminal only if `pause` is over."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, description=f"{self._title}: {text}")
        elif (now := time.monotonic()) >= self._next:
            self._next = now + self._pause
            share = f" ({done / self._total:.0%})" if self._total else ""
            self.say(f"{self._title}: {text}{share}")

    def say(self, text: str) -> None:
        """Print a line that stays. What a terminal could interpret is escaped."""
        if self._bar is not None:
            self._bar.console.print(shown(text), markup=False, highlight=False, soft_wrap=True)
        else:
            say(text)


def _bar() -> "Progress":
    from rich import console, progress  # noqa: PLC0415 - only on a terminal

    text = progress.TextColumn("{task.description}", markup=False)
    columns = (text, progress.BarColumn(), progress.TaskProgressColumn(), progress.TimeElapsedColumn())
    return progress.Progress(*columns, console=console.Console(stderr=True), transient=True)


def is_confirmed(question: str, answer: str, unless: str) -> bool:
    """Ask, and return whether that is the answer. Without anybody to answer, say that `unless` is what happened."""
    try:
        given = input(question)
    except EOFError:
        print(file=sys.stderr)
        say(f"{unless}: nobody answers here; use --yes")
        return False
    if given != answer:
        say(unless)
    return given == answer
