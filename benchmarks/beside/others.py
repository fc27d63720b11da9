"""Other tools beside Standings: their rank functions, their time zones, and the engines of DynamoDB to test on.

`make beside` asks each tool anew, and writes the tables of three pages. The tools are pinned, but for Redis and Node,
which are the machine's.
"""

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final
from unittest import mock

import redis
from moto import mock_aws

from benchmarks.beside.engines import seen_by
from benchmarks.harness.benchmark import Benchmark
from benchmarks.harness.results_file import REPOSITORY, Output
from benchmarks.pages.tables import Result, Table, crossed
from demo.embedded import emulator
from standings.domain import zones
from standings.domain.zones import time_zone
from tests.support.aws import servers
from tests.support.builders.querying import deployed, post
from tests.support.dynamodb import local

HERE: Final = Path(__file__).parent
TOOLS: Final = REPOSITORY / ".local" / "tools"
FILES: Final = TOOLS / "files" / "bin" / "python"
DYNALITE: Final = REPOSITORY / ".local" / "dynalite" / "node_modules" / "dynalite"
SCORES: Final = {"a": 30, "b": 20, "c": 20, "d": 10}
"""The members of `rank_functions.py` that have a score; `e` has none."""
AT: Final = datetime(2026, 11, 27, 7, 30, tzinfo=UTC)
ZONE: Final = "America/Vancouver"
"""By the rules of 2026f it stays on daylight time."""
AWS: Final = (
    *("counts once", "IdempotentParameterMismatchException", "None, ConditionalCheckFailed; with the old item"),
    *("nothing is written", "ValidationException", "ValidationException", "ValidationException", "2 records"),
    *("no record", "exact", *("ValidationException",) * 4),
)
"""What AWS documents, for each check of `engines.py`, in their order."""


def unavailable() -> str | None:
    for name, place in (("the tools of requirements/files.txt", FILES), ("dynalite", DYNALITE)):
        if not place.exists():
            return f"{name} are missing: make beside"
    programs = (name for name in ("redis-server", "node") if shutil.which(name) is None)
    return local.unavailable() or next((f"{name} is missing" for name in programs), None)


def measure(_: Output) -> dict[str, Any]:
    return {"ranks": [*of_tools("rank_functions"), *of_redis(), *of_ours()], "zones": [*of_zones()], **of_engines()}


def of_tools(script: str, *arguments: str) -> list[dict[str, Any]]:
    """Return what the tools of requirements/files.txt print."""
    printed = subprocess.check_output([FILES, HERE / f"{script}.py", *arguments], text=True)
    found: list[dict[str, Any]] = json.loads(printed)
    return found


def of_redis() -> Iterator[dict[str, Any]]:
    def answers(port: int, _: int) -> bool:
        try:
            return bool(redis.Redis(port=port).ping())
        except redis.ConnectionError:
            return False

    with tempfile.TemporaryDirectory() as folder:
        command = ["redis-server", "--save", "", "--appendonly", "no", "--bind", "127.0.0.1", "--dir", folder]
        with servers.started(lambda port: [*command, "--port", str(port)], answers) as port:
            client = redis.Redis(port=port)
            client.zadd("k", SCORES)
            ranks = [client.zrevrank("k", member) for member in (*SCORES, "e")]
            tool = f"Redis {client.info('server')['redis_version']}"
            yield {"tool": tool, "code": "ZREVRANK", "ranks": ranks}


def of_ours() -> Iterator[dict[str, Any]]:
    group = {"members": [*SCORES, "e"]}
    powertools = {"SERVICE_NAME": "standings", "METRICS_NAMESPACE": "Standings", "METRICS_DISABLED": "true"}
    environment = {f"POWERTOOLS_{name}": value for name, value in powertools.items()}
    environment |= dict.fromkeys(("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"), "testing")
    environment["AWS_DEFAULT_REGION"] = "us-east-1"
    with mock.patch.dict(os.environ, environment), deployed() as stack:
        post(stack, SCORES)
        for method in ("competition", "dense", "ordinal"):
            _, answer = stack.post("/boards/b/points/all/ranks", group, method=method)
            yield {"tool": "Standings", "code": f"method={method}", "ranks": [one["rank"] for one in answer["entries"]]}
        shares = [None if one["percentile"] is None else one["percentile"] / 100 for one in answer["entries"]]
        yield {"tool": "Standings", "code": "percentile ÷ 100", "shares": shares}
        _, answer = stack.get("/boards/b/points/all/percentile", p=90)
        yield {"tool": "Standings", "code": "percentile?p=90", "p90": answer["score"]}


def of_zones() -> Iterator[dict[str, Any]]:
    yield from of_tools("zones_of_tools", AT.isoformat(), ZONE)
    says = str(AT.astimezone(time_zone(ZONE)))[:16]
    yield {"tool": "Standings", "rules": f"the layer's tzdata: {zones.VERSION}", "says": says}


def of_engines() -> dict[str, Any]:
    """Return what each engine does, by its name and version."""
    found: dict[str, dict[str, str]] = {}
    with local.started() as address:
        found["DynamoDB Local 3.3"] = dict(seen_by(address))
    with mock_aws():
        found[f"moto {version('moto')}"] = dict(seen_by(None))
    with tempfile.TemporaryDirectory() as folder, emulator.running(TOOLS, Path(folder)) as (address, _):
        found["ministack 1.5.33"] = dict(seen_by(address))
    with dynalite() as address:
        number = json.loads((DYNALITE / "package.json").read_text(encoding="utf-8"))["version"]
        found[f"dynalite {number}"] = dict(seen_by(address))
    checks = [{"check": check, "AWS": aws} for check, aws in zip(next(iter(found.values())), AWS, strict=True)]
    return {"engines": [one | {name: seen[one["check"]] for name, seen in found.items()} for one in checks]}


@contextmanager
def dynalite() -> Iterator[str]:
    def answers(port: int, _: int) -> bool:
        try:
            return bool(local.client_for(f"http://127.0.0.1:{port}").list_tables())
        except Exception:  # noqa: BLE001 - whatever a server says that is about to start
            return False

    command = ["node", str(DYNALITE / "cli.js"), "--createTableMs", "0", "--deleteTableMs", "0"]
    with servers.started(lambda port: [*command, "--port", str(port)], answers) as port:
        yield f"http://127.0.0.1:{port}"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def by_member(kind: str, result: Result) -> Iterator[str]:
    """Return the table of the answers of one kind, with a column for each member."""
    names = [*SCORES, "e"]
    head = " | ".join(["tool", "", *(f"{name}: {SCORES.get(name, 'none')}" for name in names)])
    line = "{tool} | `{code}` | {a} | {b} | {c} | {d} | {e}"
    found = [row for row in result["ranks"] if kind in row]
    rows = [row | dict(zip(names, map(_number, row[kind]), strict=True)) for row in found]
    return Table(head, line, lambda _: rows)(result)


def table_of_p90(result: Result) -> Iterator[str]:
    rows = ({**row, "p90": _number(row["p90"])} for row in result["ranks"] if "p90" in row)
    return Table("tool | | the score at 90 %", "{tool} | `{code}` | {p90}", lambda _: rows)(result)


def table_of_engines(result: Result) -> Iterator[str]:
    """Show what an engine does where it differs from AWS."""
    cells = (
        (row["check"], name, seen if name == "AWS" or seen != row["AWS"] else "as AWS")
        for row in result["engines"]
        for name, seen in row.items()
        if name != "check"
    )
    return crossed("what", cells)


BENCHMARK: Final = Benchmark(
    "beside",
    measure,
    {
        "docs/how-to/move-from-redis.md": {
            "ranks": partial(by_member, "ranks"),
            "shares": partial(by_member, "shares"),
            "p90": table_of_p90,
        },
        "docs/how-to/when-zones-change.md": {
            "tools": Table("tool | its rules | says", "{tool} | {rules} | {says}", "zones")
        },
        "docs/how-to/run-locally.md": {"engines": table_of_engines},
    },
    command="make beside",
    unavailable=unavailable,
)
