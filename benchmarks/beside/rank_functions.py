"""Ranks and percentiles of the same five members by pandas, polars, duckdb and sqlite, as one line of JSON.

It runs in the environment of requirements/files.txt, without the product.
"""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any

import duckdb
import pandas as pd
import polars as pl

SCORES = {"a": 30, "b": 20, "c": 20, "d": 10, "e": None}
"""The highest leads. `e` has no score."""
OVER = "over (order by score desc)"
VALUES = ", ".join(f"('{member}', {'null' if score is None else score})" for member, score in SCORES.items())
TABLE = f"with scores(member, score) as (values {VALUES})"
SHARES = {"percent_rank": "percent_rank() over (order by score)", "cume_dist": "cume_dist() over (order by score)"}


def of_pandas() -> Iterator[tuple[str, dict[str, Any]]]:
    series = pd.Series(SCORES, dtype="Float64")
    for method in ("average", "min", "dense", "first"):
        code = "rank(ascending=False)" if method == "average" else f'rank(method="{method}", ascending=False)'
        yield code, {"ranks": cells(series.rank(method=method, ascending=False))}
    yield "rank(pct=True)", {"shares": cells(series.rank(pct=True))}
    yield "quantile(0.9)", {"p90": float(series.quantile(0.9))}
    assert cells(series.rank(ascending=False)) == cells(series.rank(method="average", ascending=False))


def of_polars() -> Iterator[tuple[str, dict[str, Any]]]:
    series = pl.Series(list(SCORES.values()))
    for method in ("average", "min", "dense", "ordinal"):
        code = "rank(descending=True)" if method == "average" else f'rank("{method}", descending=True)'
        yield code, {"ranks": cells(series.rank(method, descending=True))}
    yield "rank() / count()", {"shares": cells(series.rank() / series.count())}
    yield "quantile(0.9)", {"p90": series.quantile(0.9)}


def of_sql(run: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    for name in ("rank", "dense_rank", "row_number"):
        yield f"{name}() {OVER}", {"ranks": column(run, f"{name}() {OVER}")}
    for name, code in SHARES.items():
        yield f"{name}() over (order by score)", {"shares": column(run, code)}
    code = "cume_dist() over (order by score), where score is not null"
    yield code, {"shares": column(run, SHARES["cume_dist"], " where score is not null")}


def of_duckdb() -> Iterator[tuple[str, dict[str, Any]]]:
    yield from of_sql(lambda query: duckdb.sql(query).fetchall())
    for code in ("quantile_cont(score, 0.9)", "quantile_disc(score, 0.9)"):
        yield code, {"p90": duckdb.sql(f"{TABLE} select {code} from scores").fetchall()[0][0]}


def column(run: Any, code: str, where: str = "") -> list[Any]:
    found = dict(run(f"{TABLE} select member, {code} from scores{where}"))
    return cells(found.get(member) for member in SCORES)


def cells(values: Any) -> list[Any]:
    """Numbers, in the order of the members; None for no rank."""
    return [None if value is None or pd.isna(value) else round(float(value), 4) for value in values]


def main() -> None:
    """Print what each tool answers."""
    tools = {
        f"pandas {pd.__version__}": of_pandas(),
        f"polars {pl.__version__}": of_polars(),
        f"duckdb {duckdb.__version__}": of_duckdb(),
        f"sqlite {sqlite3.sqlite_version}": of_sql(sqlite3.connect(":memory:").execute),
    }
    rows = [{"tool": tool, "code": code, **answer} for tool, answers in tools.items() for code, answer in answers]
    print(json.dumps(rows))


if __name__ == "__main__":
    main()
