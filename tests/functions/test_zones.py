"""Days begin by the zones of the package tzdata, whatever zone files the system has; new rules move no number."""

import json
import os
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final
from zoneinfo import ZoneInfo  # noqa: TID251 - an older release's zones, by which the functions counted before

import pytest

from benchmarks.pages.zones import older_files
from demo import model
from demo.embedded.stack import PROJECT
from standings_cli.doctor.exercise import period_of, rules_of
from tests.support.aws.client import connected
from tests.support.aws.stack import ManualClock, Stack, announce, apply, count, running
from tests.support.builders.maintenance import call, calls, finish
from tests.support.cli import command_line
from tests.support.programs import ended

COUNTED: Final = 'metrics.points = { aggregate = "sum", windows = ["all", "day", "last-7-days"] }'
SETTLED: Final = f"""late = "1 hour"
keep = "3 days"
settle = ["day"]
announce.day = {{ top = 3 }}
{COUNTED}"""
BOARDS: Final = f"""
[boards."*"]
timezone = "America/Vancouver"
{SETTLED}
[boards.berlin]
timezone = "Europe/Berlin"
{SETTLED}
[boards.atlas]
timezone = "Africa/Casablanca"
{COUNTED}
"""
AT: Final = datetime(2026, 11, 27, 7, 30, tzinfo=UTC)
DAY: Final = "2026-11-27"


def milliseconds(at: datetime) -> int:
    return round(at.timestamp() * 1000)


def event(board: str, member: str, at: datetime) -> dict[str, Any]:
    return {"id": member, "board": board, "member": member, "at": at.isoformat(), "metrics": {"points": 3}}


def members(stack: Stack, board: str, window: str, period: str | None = None) -> list[str]:
    return [entry["member"] for entry in stack.entries(f"/boards/{board}/points/{window}", period=period)]


def drift(stack: Stack, board: str) -> int:
    reports = [report for answer in calls(stack, "audit", board=board) for report in answer["boards"]]
    assert sum(report["looked_at"]["rankings"] for report in reports) > 2, reports
    return sum(sum(report["found"].values()) for report in reports)


@pytest.mark.parametrize(("board", "offset"), [("west", "-07:00"), ("berlin", "+01:00")])
def test_functions_client_and_commands_have_the_same_day(
    stack: Stack, clock: ManualClock, tmp_path: Path, capsys: pytest.CaptureFixture[str], board: str, offset: str
) -> None:
    starts, ends = (f"2026-11-{day}T00:00:00{offset}" for day in (27, 28))
    clock.milliseconds = milliseconds(AT) + 60_000
    assert stack.post("/events", event(board, "ann", AT))[0] == 202
    count(stack)

    with command_line.connected(stack) as connection:
        shown = command_line.runner(connection, capsys)(f"top {board} --window day --json").out
    answers = [
        stack.get(f"/boards/{board}/points/day", period=DAY)[1],
        connected(stack, tmp_path, BOARDS).board(board).top(window="day"),
        json.loads(shown),
        announce(stack)[-1],
    ]
    for answer in answers:
        assert {starts, ends} <= {*answer["period"].values()}, answer
        assert [entry["member"] for entry in answer.get("entries") or answer["top"]] == ["ann"]
    finish(stack, "rebuild", board=board)
    assert members(stack, board, "day", DAY) == ["ann"]
    assert drift(stack, board) == 0
    # It is final an hour and five minutes after it has ended.
    clock.milliseconds = milliseconds(datetime.fromisoformat(ends)) + 65 * 60_000
    assert call(stack, "settle", board=board, window="day", period=DAY)["done"]
    assert any(f"/{DAY}/" in name for name in stack.bucket.results)

    first, following = datetime.fromisoformat(starts).astimezone(UTC), datetime.fromisoformat(ends).astimezone(UTC)
    assert period_of("day", AT, rules_of(stack.get(f"/boards/{board}")[1])) == (DAY, first, following)
    assert model.period("day", AT).start == datetime(2026, 11, 27, tzinfo=UTC)


def test_all_this_holds_beside_other_zone_files_of_the_system(tmp_path: Path) -> None:
    """Berlin's are wrong on purpose, the others a year old, and the machine's own zone is far away."""
    (tmp_path / "Europe").mkdir()
    shutil.copy(older_files() / "Pacific" / "Pago_Pago", tmp_path / "Europe" / "Berlin")
    variables = {"PYTHONTZPATH": os.pathsep.join(map(str, (tmp_path, older_files()))), "TZ": "Pacific/Kiritimati"}

    def python(*arguments: str) -> subprocess.CompletedProcess[str]:
        return ended([sys.executable, *arguments], cwd=PROJECT, env=os.environ | variables)

    trap = """from zoneinfo import *; from datetime import *; at = datetime.fromisoformat("2026-11-27T07:30Z")
print(*(at.astimezone(ZoneInfo(name)).day for name in ("America/Vancouver", "Europe/Berlin")), at.astimezone().hour)"""
    assert python("-c", trap).stdout == "26 26 21\n"
    tests = ["tests/functions/test_zones.py", "tests/functions/leagues", "tests/unit/domain/test_zones.py"]
    ran = python("-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", "-k", "zone and not beside", *tests)

    assert ran.returncode == 0, ran.stdout


@pytest.mark.parametrize(
    ("board", "zone", "days"),
    [
        # A day begins an hour earlier: at once it is today, and yesterday keeps what was counted.
        ("west", "America/Vancouver", ("2026-11-27T07:30Z", "2026-11-27", "2026-11-26")),
        # A day begins an hour later: it is yesterday again, and what was counted waits for its day.
        ("atlas", "Africa/Casablanca", ("2026-11-26T23:30Z", "2026-11-26", "2026-11-27")),
    ],
)
def test_new_rules_of_a_zone_move_no_number_that_was_counted(
    engine: Any, clock: ManualClock, monkeypatch: pytest.MonkeyPatch, board: str, zone: str, days: tuple[str, str, str]
) -> None:
    counted, current, other = days
    at = datetime.fromisoformat(counted)
    clock.milliseconds = milliseconds(at) + 60_000
    with (older_files() / zone).open("rb") as file:
        old = ZoneInfo.from_file(file, key=zone)
    with monkeypatch.context() as before:
        before.setattr("standings.domain.windows.time_zone", lambda _: old)
        with running(engine, clock, BOARDS) as stack:
            apply(stack, [event(board, "ann", at)])
            assert members(stack, board, "day", other) == ["ann"]
            projected = stack.projected
    with running(engine, clock, BOARDS) as stack:
        stack.projected = projected
        apply(stack, [event(board, "ben", at)])
        assert members(stack, board, "day") == members(stack, board, "day", current) == ["ben"]
        finish(stack, "rebuild", board=board)
        assert drift(stack, board) == 0
        clock.milliseconds += 3_600_000  # Both days have begun.
        assert members(stack, board, "day", current) == ["ben"]
        assert members(stack, board, "day", other) == ["ann"]
        last = members(stack, board, "last-7-days", max(current, other))
        assert members(stack, board, "all") == last == ["ann", "ben"]
        assert drift(stack, board) == 0
