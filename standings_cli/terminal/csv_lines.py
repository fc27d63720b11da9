"""Rows as CSV."""

import csv
import io
import sys
from collections.abc import Iterable, Sequence

from standings_cli.terminal.text import shown


def csv_line(cells: Iterable[object]) -> str:
    """Return a row of CSV with its line end, which is a line feed alone."""
    row = io.StringIO()
    # With both characters in its line end, the writer quotes a cell that holds either.
    csv.writer(row, lineterminator="\r\n").writerow(cells)
    return row.getvalue().removesuffix("\r\n") + "\n"


def print_csv(columns: Sequence[str], rows: Iterable[Iterable[object]]) -> None:
    """Print rows as CSV with a header; None is an empty cell. What a terminal could interpret is escaped on one."""
    for row in (columns, *rows):
        line = csv_line(row)
        print(shown(line.removesuffix("\n")) if sys.stdout.isatty() else line, end="\n" if sys.stdout.isatty() else "")
