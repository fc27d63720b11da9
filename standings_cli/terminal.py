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
from threading import Event, Thread
from types import TracebackType
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Self

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
    """Print a line on standard error, also while `Working` shows one. What a terminal could interpret is escaped."""
    print(f"{Working.away()}{shown(text)}", file=sys.stderr, flush=True)


def as_json(value: Any) -> str:
    """Return JSON on one line, with the same characters escaped as in `shown`."""
    # They stand only within JSON's strings, where the escape means the same character.
    return shown(json.dumps(value, ensure_ascii=False))


class Form(NamedTuple):
    """How people see the numbers of a metric, by its decimals and its unit: `Form(1, "km")`, `Form(2, "time")`."""

    decimals: int = 0
    unit: str | None = None

    def in_column(self, value: float | None) -> str:
        """Return a number as a column shows it: `12.0`, or of `time` `22:05.40`; nothing for None."""
        return _clock(value, self.decimals) if self.unit == TIME else number(value, self.decimals)

    def in_words(self, value: float | None) -> str:
        """Return a number with its unit: `12.0 km`, or of `time` `22:05.40`; nothing for None."""
        return " ".join(filter(None, (self.in_column(value), "" if value is None else self._beside)))

    def heading(self, name: str) -> str:
        """Return the heading of a column with the unit of its numbers: `score (km)`."""
        return f"{name} ({self._beside})" if self._beside not in ("", name) else name

    @property
    def _beside(self) -> str:
        return "" if self.unit in (None, TIME) else shown(self.unit)


TIME: Final = "time"
"""The unit of numbers that are seconds."""
PLAIN: Final = Form()
Forms = Mapping[str, Form]
"""How people see the numbers of each metric of a board. One that is missing has the decimals of its numbers."""
NO_FORMS: Final[Forms] = {}


def _clock(value: float | None, decimals: int) -> str:
    """Return seconds as a clock shows them, `22:05` or `1:02:03`, with `decimals` at least: `22:05.40`."""
    if value is None:
        return ""
    exact = Decimal(repr(value))
    seconds = abs(exact) % 60
    hours, minutes = divmod(int(abs(exact) // 60), 60)
    places = max(decimals, -int(exact.as_tuple().exponent))
    clock = f"{f'{hours}:{minutes:02}' if hours else minutes}:{seconds:0{places + 3 if places else 2}.{places}f}"
    return f"-{clock}" if exact < 0 else clock


def number(value: float | None, decimals: int = 0) -> str:
    """Return a number of the API with all its decimals, and commas for thousands; nothing for None.

    It has `decimals` at least: 12 of a metric with one decimal is `12.0`.
    """
    if value is None:
        return ""
    exact = Decimal(repr(value))
    return f"{exact:,.{max(decimals, -int(exact.as_tuple().exponent))}f}"


def plain(value: float | None) -> str:
    """Return a number of the API with all its decimals, for machines."""
    return number(value).replace(",", "")


def tie_breaks_of(entries: Iterable[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of the tie-breaks that entries have, such as `("penalty",)`; none if no entry has any."""
    return next((tuple(entry["tie_breaks"]) for entry in entries if entry.get("tie_breaks")), ())


def tie_break_cells(entry: Mapping[str, Any], names: Iterable[str], forms: Forms = NO_FORMS) -> list[str]:
    """Return the tie-breaks of an entry as cells of a table: `["312", "-"]`; empty ones if it has no score."""
    numbers = entry.get("tie_breaks")
    return ["" if numbers is None else forms.get(name, PLAIN).in_column(numbers[name]) or "-" for name in names]


def tie_breaks_text(answer: Mapping[str, Any], forms: Forms = NO_FORMS) -> str:
    """Return the tie-breaks of an answer as a sentence names them: `penalty 312, level -`; empty without any."""
    numbers = answer.get("tie_breaks") or {}
    return ", ".join(
        f"{shown(name)} {forms.get(name, PLAIN).in_words(value) or '-'}" for name, value in numbers.items()
    )


def scored(answer: Mapping[str, Any], forms: Forms = NO_FORMS) -> str:
    """Return a score and its tie-breaks: `8, penalty 312, level -`."""
    score = forms.get(answer["metric"], PLAIN).in_words(answer["score"])
    return ", ".join(filter(None, (score, tie_breaks_text(answer, forms))))


def named(entry: Mapping[str, Any]) -> str:
    """Return a member with the name that its profile has: `Ada Lovelace (u7)`; without one the id."""
    name, member = (entry.get("profile") or {}).get("name"), shown(entry["member"])
    return f"{shown(name)} ({member})" if name else member


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


def number_columns(metric: str, ties: Iterable[str], forms: Forms) -> tuple[str, ...]:
    """Return the headings of a score and of its tie-breaks, with their units: `("score (km)", "penalty")`."""
    named = ((metric, "score"), *((name, column_of(name)) for name in ties))
    return tuple(forms.get(name, PLAIN).heading(heading) for name, heading in named)


def standings(entries: Iterable[Mapping[str, Any]], metric: str, forms: Forms, member: str | None = None) -> "Table":
    """Make a table of a ranking's entries, with a column of names if one has a profile with a name.

    The entry of `member` is marked, and bold.
    """
    mark = [""] * (member is not None)
    listed = list(entries)
    ties, people = tie_breaks_of(listed), [(entry.get("profile") or {}).get("name") or "" for entry in listed]
    numbered, also = number_columns(metric, ties, forms), ("name",) * any(people)
    rows = table(*mark, "rank", "member", *also, *numbered, right=("rank", *numbered))
    for entry, name in zip(listed, people, strict=True):
        is_member = entry["member"] == member
        marks = [] if member is None else [">" if is_member else ""]
        cells = (number(entry["rank"]), shown(entry["member"]), *[shown(name) for _ in also])
        numbers = (forms.get(metric, PLAIN).in_column(entry["score"]), *tie_break_cells(entry, ties, forms))
        rows.add_row(*marks, *cells, *numbers, style="bold" if is_member else None)
    return rows


_SHOWN_AFTER_S: Final = 2.0
_BETWEEN_S: Final = 0.5


class Working:
    """Shows a person that a command is at work: `audit: 3 boards compared, 12 s`, in the last line of a terminal.

    It is there while its block runs, from two seconds after it `began` on, and gone after the block. The block prints
    nothing. In a pipe, and within the block of another one or of a `Meter`, it shows nothing. `text` may change at any
    time. It began when it was made, or at that time of `time.monotonic()`.
    """

    is_taken: ClassVar[bool] = False
    """Whether something is in the last line of the terminal."""

    def __init__(self, title: str, began: float | None = None) -> None:
        self.title = title
        self.text = ""
        self._began = time.monotonic() if began is None else began
        self._ended = Event()
        self._thread: Thread | None = None
        self._is_drawn = False

    def __enter__(self) -> Self:
        if sys.stderr.isatty() and not Working.is_taken:
            Working.is_taken = True
            self._ended.clear()
            self._is_drawn = False
            if time.monotonic() - self._began >= _SHOWN_AFTER_S:
                self._draw()
            self._thread = Thread(target=self._go_on, daemon=True)
            self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            print(Working.away() if self._is_drawn else "", end="", file=sys.stderr, flush=True)
            self._thread, Working.is_taken = None, False

    @classmethod
    def away(cls) -> str:
        """Return what takes the line away, if there is one."""
        return "\r\x1b[K" if cls.is_taken else ""

    def _go_on(self) -> None:
        while not self._ended.wait(max(_BETWEEN_S, self._began + _SHOWN_AFTER_S - time.monotonic())):
            self._draw()

    def _draw(self) -> None:
        import shutil  # noqa: PLC0415 - at first use

        parts = filter(None, (self.text, f"{time.monotonic() - self._began:.0f} s"))
        line = shown(f"{self.title}: {', '.join(parts)}")[: shutil.get_terminal_size().columns - 1]
        print(f"\r{line}\x1b[K", end="", file=sys.stderr, flush=True)
        self._is_drawn = True


class Meter:
    """Shows a person how much of `total` is done: a bar on a terminal, nothing in a pipe."""

    def __init__(self, title: str, total: float) -> None:
        self._title = title
        self._bar: Progress | None = _bar() if sys.stderr.isatty() else None
        if self._bar is not None:
            self._bar.add_task(title, total=total)

    def __enter__(self) -> Self:
        if self._bar is not None:
            self._bar.start()
            Working.is_taken = True
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
            Working.is_taken = False

    def move(self, done: float, text: str) -> None:
        """Show the progress."""
        if self._bar is not None:
            self._bar.update(self._bar.task_ids[0], completed=done, description=f"{self._title}: {text}")

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
    # Rich would print on the bar's console what goes to standard output, also where that is a file.
    is_beside = sys.stdout.isatty()
    there = console.Console(stderr=True)
    return progress.Progress(*columns, console=there, transient=True, redirect_stdout=is_beside)


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
