"""The readers of `examples/files`: what they read of a small file in the real format, posted as the page says, is the
table that the contest, the league or the report itself has.
"""

import json
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from standings_cli.terminal import OK
from tests.support.aws.stack import Stack
from tests.support.cli.command_line import Run
from tests.support.documents.pages import PROJECT

FILES: Final = PROJECT / "examples" / "files"
FIELD: Final = PROJECT / ".local" / "tools" / "files" / "bin" / "python"
BOARDS: Final = (FILES / "boards.toml").read_text(encoding="utf-8")
Row = Sequence[Any]
"""Rank, member, score and tie-breaks."""

RECIPES: Final[list[tuple[str, str, str, list[Row]]]] = [
    # cork solves A in minute 30 after a wrong try, and B in minute 60. What was not judged, or too late, is nothing.
    (
        "icpc.py contest icpc-2026",
        "icpc-2026/solved/all",
        "",
        [
            (1, "cork", 2, 110, 3600),
            (2, "delft", 2, 110, 4859),
            (3, "gent", 1, 299, 17999.999),
            (4, "oslo", 0, 0, 0),
        ],
    ),
    (
        "ranklist.py list.srk.json ranklist-spring",
        "ranklist-spring/solved/all",
        "",
        [(1, "t2", 2, 5400), (2, "t1", 2, 5460), (3, "t4", 1, 2400)],
    ),
    (
        "football.py season.csv football-2026",
        "football-2026/points/all",
        "",
        [(1, "Foxes", 4, 1, 2), (2, "Otters", 3, 1, 5), (3, "Herons", 3, 0, 5), (4, "Badgers", 1, -2, 1)],
    ),
    # 12 had its last star before 11.
    ("advent.py leaderboard.json advent-2025", "advent-2025/stars/all", "", [(1, "12", 3), (1, "11", 3)]),
    # Two segments of a kilometre each. What lies between them nobody ran.
    ("track.py run.gpx club-berlin ada", "club-berlin/metres/all", "", [(1, "ada", 2003.8)]),
    # 23:40 UTC is past midnight in Berlin: both activities are of the 20th, in the week that began on the 16th.
    ("track.py run.fit club-berlin bob", "club-berlin/metres/week", "2026-11-16", [(1, "bob", 12001.5)]),
    (
        "chess.py open.trf chess-open",
        "chess-open/points/all",
        "",
        [(1, "1500002", 2, 1), (2, "1600001", 2, 2), (3, "300003", 1.5, 3), (4, "Dahl, Dag", 0.5, 4)],
    ),
]


@pytest.mark.parametrize(("command", "ranking", "period", "expected"), RECIPES, ids=[one[0] for one in RECIPES])
@pytest.mark.thorough
def test_a_file_of_the_field_becomes_its_table(
    run: Run, stack: Stack, tmp_path: Path, command: str, ranking: str, period: str, expected: list[Row]
) -> None:
    reader, *arguments = command.split()
    needs_standings = "standings.client" in (FILES / reader).read_text(encoding="utf-8")
    if not needs_standings and not FIELD.exists():
        pytest.skip("the packages that read files are missing: make setup")
    python = [sys.executable, "-P"] if needs_standings else [FIELD]
    environment = {"PYTHONPATH": str(PROJECT / "layers" / "standings")} if needs_standings else {}
    events = tmp_path / "events.jsonl"
    with events.open("wb") as output:
        subprocess.run([*python, reader, *arguments], cwd=FILES, env=environment, stdout=output, check=True)
    for _ in range(2):  # Each counts once
        assert run(f"post --jsonl {events} --again --at 2026-05-03T12:00:00Z").status == OK
    entries = stack.entries(f"/boards/{ranking}", period=period or None)
    found = [(one["rank"], one["member"], one["score"], *one.get("tie_breaks", {}).values()) for one in entries]
    assert found == expected
    assert stack.dead_letters.reasons() == []


@pytest.mark.thorough
def test_a_contest_package_is_read_again_after_a_rejudge(run: Run, stack: Stack, tmp_path: Path) -> None:
    """The last problem of a team is taken back, and the one problem of another."""
    if not FIELD.exists():
        pytest.skip("the packages that read files are missing: make setup")
    package, events = tmp_path / "contest", tmp_path / "events.jsonl"
    shutil.copytree(FILES / "contest", package)
    judgements = json.loads((package / "judgements.json").read_text(encoding="utf-8"))
    for again in (False, True):
        if again:
            for submission in ("4", "8"):
                (first,) = (one for one in judgements if one["submission_id"] == submission)
                about = {"start_time": "2026-05-02T15:10:00+02:00", "end_time": "2026-05-02T15:20:00+02:00"}
                contest_times = {"start_contest_time": "5:10:00.000", "end_contest_time": "5:20:00.000"}
                again_judged = {"id": f"again-{submission}", "judgement_type_id": "WA", **about, **contest_times}
                judgements.append({**first, **again_judged})
            (package / "judgements.json").write_text(json.dumps(judgements), encoding="utf-8")
        with events.open("wb") as output:
            subprocess.run([FIELD, "icpc.py", package, "icpc-2026"], cwd=FILES, stdout=output, check=True)
        assert run(f"post --jsonl {events} --again").status == OK
    entries = stack.entries("/boards/icpc-2026/solved/all")
    found = [(one["member"], one["score"], *one["tie_breaks"].values()) for one in entries]
    assert found == [("delft", 2, 110, 4859), ("cork", 1, 50, 1859.999), ("gent", 0, 0, 0), ("oslo", 0, 0, 0)]
    assert stack.dead_letters.reasons() == []


@pytest.mark.thorough
def test_the_ranks_of_a_standard_ranklist_are_those_of_its_own_package() -> None:
    if not FIELD.exists():
        pytest.skip("the packages that read files are missing: make setup")
    program = (
        "import json, standard_ranklist_utils as srk\n"
        "rows = srk.convert_to_static_ranklist(json.load(open('list.srk.json')))['rows']\n"
        "print([(row['rankValues'][0]['rank'], row['user']['id']) for row in rows if row['rankValues'][0]['rank']])"
    )
    printed = subprocess.check_output([FIELD, "-c", program], cwd=FILES, text=True)
    _, _, _, expected = RECIPES[1]
    assert printed == f"{[(rank, member) for rank, member, *_ in expected]}\n"
