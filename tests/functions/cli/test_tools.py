"""`post` reads what pandas, polars, duckdb, sqlite, a spreadsheet and JavaScript write: each default form of an
instant, lengths of time, exponents, and decimal commas.

`tests/support/files/write_by_tools.py` writes the files, in an environment of the tools, each time.
"""

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

import pytest

from standings.domain.events import read_at
from standings_cli.post.cells import USUAL, Notation
from standings_cli.post.post_file import RowReader
from tests.support.documents.pages import PROJECT

TOOLS: Final = PROJECT / ".local" / "tools" / "files" / "bin" / "python"
HALF_PAST_SIX: Final = 1_793_514_600_000  # 2026-11-01T06:30:00Z
EARLIER: Final = -3_600_000  # What the clocks of Berlin show is an hour ahead
NOW: Final = HALF_PAST_SIX + 86_400_000
MIDNIGHT: Final = HALF_PAST_SIX - 6 * 3_600_000 - 30 * 60_000
BERLIN: Final = Notation(zone="Europe/Berlin")
PLACE: Final = "(UTC|Berlin|Kolkata)"

Rules = Mapping[str, tuple[Notation, Sequence[Any]]]
INSTANTS: Final[Rules] = {
    rf"pandas-({PLACE}|ms|ns)(-iso|-epoch|-int)?": (USUAL, [0, 123]),
    r"pandas-seconds(-iso|-epoch|-int)?": (USUAL, [0]),
    r"pandas-local(-iso)?": (BERLIN, [EARLIER, EARLIER + 123]),
    r"pandas-local-(epoch|int)": (USUAL, [0, 123]),
    r"pandas-day(-iso)?": (BERLIN, [MIDNIGHT - HALF_PAST_SIX + EARLIER]),
    r"pandas-day-(epoch|int)": (USUAL, [MIDNIGHT - HALF_PAST_SIX]),
    r"pandas-float-s": (USUAL, [0, NOW - HALF_PAST_SIX]),
    r"pandas-float-ms": (USUAL, [123, NOW - HALF_PAST_SIX]),
    rf"polars-{PLACE}-(ms|us|ns)": (USUAL, [123]),
    r"polars-local-(ms|us|ns)": (BERLIN, [EARLIER + 123]),
    r"polars-epoch-s": (USUAL, [0]),
    r"polars-epoch-(ms|us|ns)": (USUAL, [123]),
    r"polars-day": (BERLIN, [MIDNIGHT - HALF_PAST_SIX + EARLIER]),
    rf"duckdb-{PLACE}-timestamptz": (USUAL, [123]),
    rf"duckdb-{PLACE}-timestamptz-s": (USUAL, [0]),
    rf"duckdb-{PLACE}-timestamp(-ms|-ns)?": (BERLIN, [EARLIER + 123]),
    rf"duckdb-{PLACE}-timestamp-s": (BERLIN, [EARLIER]),
    rf"duckdb-{PLACE}-day": (BERLIN, [MIDNIGHT - HALF_PAST_SIX + EARLIER]),
    rf"duckdb-{PLACE}-epoch(-ms|-us)?": (USUAL, [123]),
    r"sqlite-(datetime)": (BERLIN, [EARLIER]),
    r"sqlite-subsecond": (BERLIN, [EARLIER + 123]),
    r"sqlite-utc": (USUAL, [123]),
    r"(sqlite|excel)-day": (BERLIN, [MIDNIGHT - HALF_PAST_SIX + EARLIER]),
    r"sqlite-epoch": (USUAL, [0]),
    r"excel-(seconds|minutes)": (BERLIN, [EARLIER]),
    r"javascript-(iso|json|number|seconds)": (USUAL, [123]),
    r"javascript-(text|utc)": (USUAL, [0]),
}
"""What the instants of files are, after half past six, by the files' names, and how they are read."""
NUMBERS: Final[Rules] = {
    r"(pandas|polars)-comma": (Notation(decimal=","), ["100", "0.00001", "2.5"]),
    r"(pandas|polars|duckdb)-numbers": (USUAL, ["100", "0.00001", "2.5"]),
    r"pandas-tab": (USUAL, ["100", "0.00001", "2.5"]),
    r"(pandas|polars|duckdb)-race": (USUAL, ["3753.4", "93600"]),
    r"duckdb-time": (USUAL, ["3753.4"]),
}
"""The numbers of files, by the files' names."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not TOOLS.exists():
        pytest.skip("the tools that write files are missing: make setup")
    written = tmp_path_factory.mktemp("tools")
    script = PROJECT / "tests" / "support" / "files" / "write_by_tools.py"
    subprocess.run([TOOLS, script, written], check=True, timeout=120)
    return written


def rows(file: Path, notation: Notation) -> tuple[list[dict[str, Any]], list[str]]:
    """The events of a file, and what is wrong with its rows."""
    reader = RowReader(file.suffix.removeprefix("."), file.name, "b", notation=notation)
    with file.open("rb") as stream:
        found = list(reader.read(stream, reader.times(lambda: NOW)))
    bodies = [row.message.body for row in found if row.message is not None]
    return [json.loads(body, parse_float=Decimal) for body in bodies], [row.problem for row in found if row.problem]


def rule_of(file: Path, rules: Rules) -> tuple[str, Notation, Sequence[Any]] | None:
    found = [(name, *rules[name]) for name in rules if re.fullmatch(name, file.stem)]
    return found[0] if found else None


@pytest.mark.thorough
def test_what_tools_write_is_read(folder: Path) -> None:
    """A local time without --zone is refused, and the refusal names the option."""
    used = set[str]()
    for file in sorted(folder.iterdir()):
        of_instants = rule_of(file, INSTANTS)
        rule = of_instants or rule_of(file, NUMBERS)
        assert rule is not None, file.name
        name, notation, expected = rule
        used.add(name)
        if file.name == "polars-race.csv":  # polars cannot write a duration as CSV: this is a time of day
            expected = expected[:1]
        events, problems = rows(file, notation)
        assert problems == [], file.name
        if of_instants:
            assert [read_at(one["at"], NOW) - HALF_PAST_SIX for one in events] == expected, file.name
        else:
            assert [Decimal(one["metrics"]["points"]) for one in events] == list(map(Decimal, expected)), file.name
        if notation == BERLIN:
            events, problems = rows(file, USUAL)
            assert events == [], file.name
            assert all("give the zone of such times with --zone" in problem for problem in problems), file.name
    assert used == {*INSTANTS, *NUMBERS}
