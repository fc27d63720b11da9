"""Writes files as pandas, polars, duckdb, sqlite, spreadsheets and JavaScript do: `python write_by_tools.py DIR`.

It runs in the environment of requirements/files.txt, without the product. `tests/functions/cli/test_tools.py` says what
each file means.
"""

import csv
import json
import os
import sqlite3
import subprocess
import sys
import warnings
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import duckdb
import openpyxl
import pandas as pd
import polars as pl
from xlsx2csv import Xlsx2csv

ZONES = ("UTC", "Europe/Berlin", "Asia/Kolkata")
LOCAL = datetime(2026, 11, 1, 6, 30, 0, 123456)  # noqa: DTZ001 - a time without a zone
RACE = timedelta(hours=1, minutes=2, seconds=33, milliseconds=400)
FLOATS = [100.0, 0.00001, 2.5]


def pandas_files() -> Iterator[tuple[str, str]]:
    """Files of pandas, by name."""
    utc = pd.to_datetime(["2026-11-01T06:30:00Z", "2026-11-01T06:30:00.123456Z"], format="ISO8601")
    columns = {zone.partition("/")[2] or zone: utc.tz_convert(zone) for zone in ZONES}
    columns |= {"local": utc.tz_localize(None), "seconds": utc[:1], "ns": utc.as_unit("ns"), "ms": utc.as_unit("ms")}
    columns["day"] = pd.to_datetime(["2026-11-01"])
    for name, column in columns.items():
        frame = pd.DataFrame({"member": "m", "at": column, "points": 1})
        yield f"pandas-{name}.csv", frame.to_csv(index=False)
        yield f"pandas-{name}-iso.jsonl", frame.to_json(orient="records", lines=True, date_format="iso")
        yield f"pandas-{name}-epoch.jsonl", frame.to_json(orient="records", lines=True, date_format="epoch")
        whole = frame.assign(at=column.astype("int64"))
        yield f"pandas-{name}-int.csv", whole.to_csv(index=False)
    for name, values in {"s": [1793514600, None], "ms": [1793514600123, None]}.items():
        yield (
            f"pandas-float-{name}.csv",
            pd.DataFrame({"member": "m", "at": values, "points": 1}).to_csv(index=False),
        )
    race = pd.DataFrame({"member": "m", "points": [pd.Timedelta(RACE), pd.Timedelta("26:00:00")]})
    yield "pandas-race.csv", race.to_csv(index=False)
    yield "pandas-race.jsonl", race.to_json(orient="records", lines=True, date_format="iso")
    numbers = pd.DataFrame({"member": "m", "points": FLOATS})
    yield "pandas-numbers.csv", numbers.to_csv(index=False)
    yield "pandas-numbers.jsonl", numbers.to_json(orient="records", lines=True)
    yield "pandas-comma.csv", numbers.to_csv(index=False, sep=";", decimal=",")
    yield "pandas-tab.csv", numbers.to_csv(index=False, sep="\t")


def polars_files() -> Iterator[tuple[str, str]]:
    """Files of polars, by name."""

    def frame(**columns: Any) -> pl.DataFrame:
        return pl.DataFrame({"member": ["m"] * len(next(iter(columns.values()))), **columns})

    for zone in (None, *ZONES):
        for unit in ("ms", "us", "ns"):
            at = pl.Series([LOCAL]).cast(pl.Datetime(unit))
            at = at if zone is None else at.dt.replace_time_zone("UTC").dt.convert_time_zone(zone)
            made = frame(at=at, points=[1])
            name = f"polars-{'local' if zone is None else zone.partition('/')[2] or zone}-{unit}"
            yield f"{name}.csv", made.write_csv()
            yield f"{name}.jsonl", made.write_ndjson()
    for unit in ("s", "ms", "us", "ns"):
        made = frame(at=pl.Series([LOCAL]).dt.epoch(unit), points=[1])
        yield f"polars-epoch-{unit}.csv", made.write_csv()
        yield f"polars-epoch-{unit}.jsonl", made.write_ndjson()
    yield "polars-day.csv", frame(at=[date(2026, 11, 1)], points=[1]).write_csv()
    yield "polars-race.csv", frame(points=[(LOCAL.replace(hour=0, minute=0, microsecond=0) + RACE).time()]).write_csv()
    yield "polars-race.jsonl", frame(points=[RACE, timedelta(hours=26)]).write_ndjson()
    yield "polars-numbers.csv", frame(points=FLOATS).write_csv()
    yield "polars-numbers.jsonl", frame(points=FLOATS).write_ndjson()
    yield "polars-comma.csv", frame(points=FLOATS).write_csv(separator=";", decimal_comma=True)


INSTANTS_OF_DUCKDB = {
    "timestamptz": "timestamptz '2026-11-01 06:30:00.123456+00'",
    "timestamptz-s": "timestamptz '2026-11-01 06:30:00+00'",
    "timestamp": "timestamp '2026-11-01 06:30:00.123456'",
    "timestamp-s": "timestamp_s '2026-11-01 06:30:00'",
    "timestamp-ms": "timestamp_ms '2026-11-01 06:30:00.123'",
    "timestamp-ns": "timestamp_ns '2026-11-01 06:30:00.123456789'",
    "day": "date '2026-11-01'",
    "epoch": "epoch(timestamp '2026-11-01 06:30:00.123456')",
    "epoch-ms": "epoch_ms(timestamp '2026-11-01 06:30:00.123456')",
    "epoch-us": "epoch_us(timestamp '2026-11-01 06:30:00.123456')",
}
NUMBERS_OF_DUCKDB = {
    "numbers": "unnest([1e2::double, 1e-5::double, 2.5::double])",
    "race": "unnest([interval '1 hour 2 minutes 33.4 seconds', interval '1 day 2 hours'])",
    "time": "time '01:02:33.4'",
}


def duckdb_files(folder: Path) -> None:
    """Write the files of duckdb."""
    for zone in ZONES:
        duckdb.sql(f"set timezone = '{zone}'")
        for name, at in INSTANTS_OF_DUCKDB.items():
            file = folder / f"duckdb-{zone.partition('/')[2] or zone}-{name}"
            copy(file, f"select 'm' as member, {at} as at, 1 as points")
    for name, points in NUMBERS_OF_DUCKDB.items():
        copy(folder / f"duckdb-{name}", f"select 'm' as member, {points} as points")


def copy(file: Path, query: str) -> None:
    """Write the answer to a query as CSV and as JSON lines."""
    duckdb.sql(f"copy ({query}) to '{file}.csv'")
    duckdb.sql(f"copy ({query}) to '{file}.jsonl' (format json)")


OF_SQLITE = {
    "datetime": "datetime('2026-11-01 06:30:00')",
    "subsecond": "strftime('%Y-%m-%d %H:%M:%f', '2026-11-01 06:30:00.123')",
    "utc": "strftime('%Y-%m-%dT%H:%M:%fZ', '2026-11-01 06:30:00.123')",
    "day": "date('2026-11-01')",
    "epoch": "strftime('%s', '2026-11-01 06:30:00')",
}


def sqlite_files(folder: Path) -> None:
    """Write the files of sqlite."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, at in OF_SQLITE.items():
            with (folder / f"sqlite-{name}.csv").open("w", newline="") as file:
                cursor = connection.execute(f"select 'm' as member, {at} as at, 1 as points")
                csv.writer(file).writerows([[column[0] for column in cursor.description], *cursor])


def spreadsheet_files(folder: Path) -> None:
    """Write a workbook with instants in the format that Excel calls ISO, and the CSV that is made of it."""
    book = openpyxl.Workbook()
    sheet = book.active
    sheet.append(["member", "at", "points"])
    sheet.append(["m", LOCAL.replace(microsecond=0), 1])
    for name, form in {"seconds": "yyyy-mm-dd hh:mm:ss", "minutes": "yyyy-mm-dd hh:mm", "day": "yyyy-mm-dd"}.items():
        sheet["B2"].number_format = form
        book.save(folder / "book.xlsx")
        Xlsx2csv(str(folder / "book.xlsx"), outputencoding="utf-8").convert(str(folder / f"excel-{name}.csv"))
    (folder / "book.xlsx").unlink()


SCRIPT = """
const fs = require("fs"), [folder] = process.argv.slice(1);
const at = new Date(1793514600123);
const made = { iso: at.toISOString(), text: String(at), utc: at.toUTCString(), number: +at, seconds: at / 1000 };
for (const [name, value] of Object.entries(made)) {
  const file = `${folder}/javascript-${name}`;
  fs.writeFileSync(`${file}.csv`, `member,at,points\\nm,"${value}",1\\n`);
  fs.writeFileSync(`${file}.jsonl`, JSON.stringify({ member: "m", at: value, points: 1 }) + "\\n");
}
fs.writeFileSync(`${folder}/javascript-json.jsonl`, JSON.stringify({ member: "m", at, points: 1 }) + "\\n");
"""


def main(folder: Path) -> None:
    """Write all files into a folder."""
    warnings.simplefilter("ignore")
    for name, text in (*pandas_files(), *polars_files()):
        (folder / name).write_text(text)
    duckdb_files(folder)
    sqlite_files(folder)
    spreadsheet_files(folder)
    environment = {**os.environ, "TZ": "Europe/Berlin"}
    subprocess.run(["node", "-e", SCRIPT, str(folder)], check=True, env=environment)
    print(json.dumps({"pandas": pd.__version__, "polars": pl.__version__, "duckdb": duckdb.__version__}))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
