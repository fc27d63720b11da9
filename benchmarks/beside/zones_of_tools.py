"""The local time of an instant by the zone rules of several tools: `zones_of_tools.py 2026-11-27T07:30Z Asia/Tokyo`.

It prints one line of JSON. It runs in the environment of requirements/files.txt, without the product.
"""

import json
import os
import sqlite3
import subprocess
import sys
import time
from datetime import datetime
from zoneinfo import ZoneInfo  # noqa: TID251 - the machine's zones are what is asked for

import duckdb
import pandas as pd
import polars as pl

NODE = """
const form = { timeZone: process.argv[1], dateStyle: "short", timeStyle: "short" };
const says = new Date(process.argv[2]).toLocaleString("sv", form);
console.log([says, process.versions.tz, process.versions.node].join("\\n"));
"""


def main(text: str, name: str) -> None:
    """Print what each tool answers."""
    at = datetime.fromisoformat(text)
    os.environ["TZ"] = name
    time.tzset()
    asked = ("select datetime(?, 'unixepoch', 'localtime')", (at.timestamp(),))
    of_sqlite = sqlite3.connect(":memory:").execute(*asked).fetchone()[0]
    clock, rules, node = of_node(NODE, name, text)
    duckdb.sql(f"set timezone = '{name}'")
    rows = [
        ("Python's zoneinfo", "the machine's files, else the package tzdata", at.astimezone(ZoneInfo(name))),
        (f"pandas {pd.__version__}", "as Python's zoneinfo", pd.Timestamp(at).tz_convert(name)),
        (f"polars {pl.__version__}", "built in", pl.Series([at]).dt.convert_time_zone(name).dt.to_string("%F %R")[0]),
        (
            f"duckdb {duckdb.__version__}",
            "built in (ICU)",
            duckdb.sql(f"select strftime(timestamptz '{text}', '%Y-%m-%d %H:%M')").fetchall()[0][0],
        ),
        (f"sqlite {sqlite3.sqlite_version}, `localtime`", "the machine's files, by `TZ`", of_sqlite),
        (f"Node {node}, and its `Intl`", f"built in, or the machine's ICU: {rules}", clock),
    ]
    print(json.dumps([{"tool": tool, "rules": rules, "says": str(says)[:16]} for tool, rules, says in rows]))


def of_node(*arguments: str) -> list[str]:
    """What a program prints: the local time, the release of the zones, and the version."""
    command = ["node", "-e", *arguments]
    return subprocess.check_output(command, text=True).splitlines()


if __name__ == "__main__":
    main(*sys.argv[1:])
