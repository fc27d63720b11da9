#!/usr/bin/env bash
# xlsx2csv writes the T of a cell's ISO format with its quotes, and in lower case: 2026-11-01"t"06:30.
#
# Matters to: whoever turns workbooks into CSV. Excel's format for ISO 8601 has a literal in quotes, yyyy-mm-dd"T"hh:mm,
# and shows 2026-11-01T06:30. No reader of instants takes the other. With a space instead of the T it is right.
# Versions: PyPI openpyxl 3.1.5 (writes the file), xlsx2csv 0.8.6.
# Seen: two cells with one instant: 2026-11-01"t"06:30 and 2026-11-01 06:30.
# Source: ECMA-376, part 1, 18.8.31 (numFmts: text in quotes is shown without them)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check openpyxl==3.1.5 xlsx2csv==0.8.6
env/bin/python - <<'PYTHON' | tee seen
import csv
from datetime import datetime

import openpyxl
from xlsx2csv import Xlsx2csv

book = openpyxl.Workbook()
for cell, form in (("A1", 'yyyy-mm-dd"T"hh:mm'), ("B1", "yyyy-mm-dd hh:mm")):
    book.active[cell] = datetime(2026, 11, 1, 6, 30)
    book.active[cell].number_format = form
book.save("book.xlsx")
Xlsx2csv("book.xlsx", outputencoding="utf-8").convert("book.csv")
with open("book.csv", newline="") as file:
    print(*next(csv.reader(file)), sep="\n")
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
2026-11-01"t"06:30
2026-11-01 06:30
EXPECTED
echo "as it was found"
