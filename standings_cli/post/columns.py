"""Which columns of a file are taken, and what each is: a field of the event, or a metric."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from standings.domain.boards_toml import METRIC_NAME, METRIC_RULE
from standings.domain.events import shown as short
from standings_cli.stack.errors import InputError

FIELDS: Final = ("id", "board", "member", "at")
ONLY: Final = "--only takes the columns that you name, and no other"


class Column(NamedTuple):
    """A column that is taken: `Column(7, "Distance", "points")`. Numbers begin with 1; in JSON lines they are 0."""

    number: int
    name: str
    field: str

    def explained(self, problem: str) -> str:
        """What is wrong with a cell, with the name of its column if that is another than the field's."""
        number = f" (#{self.number})" if self.number else ""
        return problem if self.name == self.field else f"column {short(self.name)}{number}: {problem}"


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns to take, as the options say: `Columns({"#7": "points"}, only=frozenset({"member", "points"}))`.

    - `named`: the fields or metrics of columns with other names. A column is named by its name or by its number, `#7`.
    - `ignored`: the columns to leave out; `only`: if there are some, all others are left out but those in `named`.
    """

    named: Mapping[str, str] = field(default_factory=dict)
    ignored: frozenset[str] = frozenset()
    only: frozenset[str] = frozenset()

    @property
    def is_given(self) -> bool:
        """Whether there are options for columns."""
        return bool(self.named or self.ignored or self.only)

    def taken(self, names: Sequence[str], given: Mapping[str, str], *, is_header: bool = True) -> list[Column]:
        """The columns of a file that are taken. `given` has the fields and metrics that options give to every row.

        Without a header, as in JSON lines, a row may lack some. InputError for wrong columns and options.
        """
        got = f"got {', '.join(map(repr, names))}" if names else "the first line is empty"
        if is_header:
            for option, named in self._options(names):
                self._check_option(option, named, names, got)
        fields = {n: name for column, name in self.named.items() for n in _numbers(column, names)}
        ignored = {n for column in _split(self.ignored, names) for n in _numbers(column, names)}
        only = {n for column in _split(self.only, names) for n in _numbers(column, names)} | set(fields)
        taken = [
            Column(n if is_header else 0, name, fields.get(n, name))
            for n, name in enumerate(names, start=1)
            if n not in ignored and (not self.only or n in only)
        ]
        _check_once(taken, given)
        if is_header:
            self._check_complete(taken, given, names, got)
        for column in taken:
            if column.field not in FIELDS and not METRIC_NAME.fullmatch(column.field):
                rename = f"rename it with --column METRIC={column.name}, or skip it with --ignore {column.name}"
                raise InputError(f"column {column.name!r}: expected {METRIC_RULE}: {rename}; {ONLY}")
        return taken

    def _options(self, names: Sequence[str]) -> Iterator[tuple[str, str]]:
        yield from (("--column", column) for column in self.named)
        yield from (("--ignore", column) for column in _split(self.ignored, names))
        yield from (("--only", column) for column in _split(self.only, names))

    def _check_option(self, option: str, column: str, names: Sequence[str], got: str) -> None:
        found = _numbers(column, names)
        if not found and not (option == "--only" and column in self.named.values()):
            raise InputError(f"{option}: expected a column {short(column)}, {got}")
        if len(found) > 1 and option != "--ignore":
            at = " and ".join(f"#{n}" for n in found)
            such = f"--column {self.named.get(column, 'METRIC')}=#{found[0]}"
            raise InputError(f"{option}: the column {short(column)} stands at {at}: name one by its number, {such}")

    def _check_complete(
        self, taken: Sequence[Column], given: Mapping[str, str], names: Sequence[str], got: str
    ) -> None:
        known = {*(column.field for column in taken), *given}
        for name in ("member", "board"):
            if name not in known:
                hint = f", or --{name} for all rows"
                hint += "; --only leaves out what it does not name" if self.only else ""
                hint += "; --delimiter if they are divided by another than , ; | or a tab" if len(names) == 1 else ""
                raise InputError(f"expected a column {name!r}, {got}: name it with --column {name}=COLUMN{hint}")
        if known <= {*FIELDS}:
            one = "METRIC=AMOUNT, such as points=1, adds one to every row"
            raise InputError(f"expected a metric's column, got none: {one}")


_NUMBER: Final = re.compile(r"#([1-9][0-9]{0,4})", re.ASCII)


def _numbers(column: str, names: Sequence[str]) -> list[int]:
    """The numbers of the columns with a name: of `Distance` [7, 18], of `#7` [7]."""
    found = [n for n, name in enumerate(names, start=1) if name == column]
    match = None if found else _NUMBER.fullmatch(column)
    return found if match is None or int(match[1]) > len(names) else [int(match[1])]


def _split(given: Iterable[str], names: Sequence[str]) -> list[str]:
    """The columns that an option names, several with a comma between; a column may have a comma in its own name."""
    return sorted({part for one in given for part in ([one] if one in names else one.split(","))})


def _check_once(taken: Sequence[Column], given: Mapping[str, str]) -> None:
    for name in dict.fromkeys([*(column.field for column in taken), *given]):
        numbers = [f"#{column.number}" for column in taken if column.field == name]
        if len(numbers) > 1:
            at = " and ".join(numbers)
            which = f"skip one by its number, --ignore {numbers[-1]}"
            raise InputError(f"expected {name!r} once among columns and options, got it at {at}: {which}")
        if numbers and name in given:
            raise InputError(f"expected {name!r} once among columns and options, got it twice")
