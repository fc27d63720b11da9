#!/usr/bin/env bash
# A member without a score is last by `percent_rank` in duckdb and first in sqlite, and moves all others.
#
# Matters to: whoever checks percentiles by a query. SQL's standard leaves open where empty values are sorted, so the same
# query gives the leader of four a percent_rank of 0.75 or of 1. pandas and polars give such a member no rank.
# Versions: PyPI duckdb 2.0.1, pandas 3.1.1, polars 2.1.0; sqlite of Python 3.11 or newer.
# Seen: `percent_rank() over (order by score)` of 30, 20, 10 and an empty value is 0.67, 0.33, 0 and 1 in duckdb, and 1,
# 0.67, 0.33 and 0 in sqlite.
# Source: https://duckdb.org/docs/stable/sql/query_syntax/orderby (NULLS LAST);
# https://www.sqlite.org/lang_select.html (NULLs are smaller than any other value)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check duckdb==2.0.1 pandas==3.1.1 polars==2.1.0
env/bin/python - <<'PYTHON' | tee seen
import sqlite3

import duckdb
import pandas
import polars

query = (
    "with scores(member, score) as (values (1, 30), (2, 20), (3, 10), (4, null)) "
    "select member, round(percent_rank() over (order by score), 2) from scores order by member"
)
for name, found in (
    ("duckdb", duckdb.sql(query).fetchall()),
    ("sqlite", sqlite3.connect(":memory:").execute(query).fetchall()),
):
    print(f"{name}:", *(share for _, share in found))
scores = [30, 20, 10, None]
print("pandas:", *pandas.Series(scores, dtype="Int64").rank(ascending=False))
print("polars:", *polars.Series(scores).rank(descending=True))
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
duckdb: 0.67 0.33 0.0 1.0
sqlite: 1.0 0.67 0.33 0.0
pandas: 1.0 2.0 3.0 <NA>
polars: 1.0 2.0 3.0 None
EXPECTED
echo "as it was found"
