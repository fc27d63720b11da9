"""Rows as CSV."""

import csv
import io
from collections.abc import Iterable


def csv_line(cells: Iterable[object]) -> str:
    """Return a row of CSV with its line end, which is a line feed alone."""
    row = io.StringIO()
    # With both characters in its line end, the writer quotes a cell that holds either.
    csv.writer(row, lineterminator="\r\n").writerow(cells)
    return row.getvalue().removesuffix("\r\n") + "\n"
