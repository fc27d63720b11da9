"""What the page on corrections says: each row of its table, typed, moves what it says; it has every refusal."""

import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from standings.domain.corrections import WHY_NOT
from standings_cli.__main__ import main
from standings_cli.terminal import OK
from tests.support.aws.stack import count
from tests.support.builders.querying import deployed
from tests.support.cli.command_line import connected
from tests.support.documents.pages import PROJECT, blocks

PAGE: Final = PROJECT / "docs" / "how-to" / "correct-a-score.md"
TEXT: Final = PAGE.read_text(encoding="utf-8")
ROWS: Final = re.findall(r"^\| (?!what|-)(.+) \| (.*`standings .+) \| .*: `([^`]+)` \|$", TEXT, re.MULTILINE)
BOARD: Final = "club-berlin"


def fenced(language: str) -> str:
    (text,) = re.findall(rf"^```{language}\n(.*?)^```$", TEXT, re.MULTILINE | re.DOTALL)
    return str(text)


@pytest.mark.parametrize(("wrong", "typed", "moves"), ROWS, ids=[row[0] for row in ROWS])
def test_each_row_moves_what_it_says(
    wrong: str, typed: str, moves: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In `all`, and in the day of the events unless the row is about another one."""
    monkeypatch.chdir(tmp_path)
    Path("runs.csv").write_text(fenced("csv"), encoding="utf-8")
    begin = [line.partition("#")[0] for block in blocks(PAGE) for line in block.commands]
    with deployed(fenced("toml")) as stack, connected(stack) as there:
        monkeypatch.setattr("time.time_ns", lambda: stack.clock() * 1_000_000)
        for line in (*begin, *re.findall(r"`(standings [^`]+)`", typed)):
            stack.clock.milliseconds += 61_000
            said = ["--yes"] if "member remove" in line else []  # Nobody is here to answer its question
            assert main([*shlex.split(line)[1:], *said], lambda _: there) == OK, line
            count(stack)
        assert stack.dead_letters.reasons() == []
        metric = "longest" if wrong.startswith("a best") else "km"
        lists = {
            window: [f"{one['member']} {one['score']:g}" for one in stack.entries(f"/boards/{BOARD}/{metric}/{window}")]
            for window in ("all", "day", "week")
        }
        assert ", ".join(lists["all"]) == moves
        assert lists["week"] == lists["all"]
        assert (lists["day"] == lists["all"]) == ("another day" not in wrong)


def test_a_file_is_taken_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """By the lines of the page, of which Python makes the second."""
    monkeypatch.chdir(tmp_path)
    first, program, last = re.findall(
        r"^```\n(standings .*?)\npython3 -c '(.*?)' <.*?\n(standings .*?)\n```$", TEXT, re.MULTILINE | re.DOTALL
    )[0]
    Path("runs.csv").write_text("member,at,km\nada,2026-11-20T10:00:00Z,12\nbo,2026-11-20T10:00:00Z,9\n")
    with deployed(fenced("toml")) as stack, connected(stack) as there:
        monkeypatch.setattr("time.time_ns", lambda: stack.clock() * 1_000_000)
        printed, _, name = first.partition(" > ")
        for line in (printed.removesuffix(" --dry-run"), printed):
            capsys.readouterr()
            assert main(shlex.split(line)[1:], lambda _: there) == OK
            count(stack)
        Path(name).write_text("".join(line for line in capsys.readouterr().out.splitlines(True) if '"member"' in line))
        with Path(name).open() as events:
            made = subprocess.run([sys.executable, "-c", program], stdin=events, capture_output=True, check=True)
        Path("undo.jsonl").write_bytes(made.stdout)
        assert main(shlex.split(last)[1:], lambda _: there) == OK
        count(stack)
        assert stack.dead_letters.reasons() == []
        assert [one["score"] for one in stack.entries(f"/boards/{BOARD}/km/all")] == [0, 0]


def test_the_page_has_every_reason_that_a_receipt_has() -> None:
    assert len(ROWS) == 11
    reasons = "counted in more places", "set a total", "metric that is no sum", "before version 0.4"
    assert len(WHY_NOT) == len(reasons)
    assert [one for one in reasons if one not in TEXT.replace("[", "")] == []
