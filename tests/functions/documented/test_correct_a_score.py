"""What the page on corrections says: each row of its table, typed, moves what it says; it has every refusal."""

import re
import shlex
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
            assert main(shlex.split(line)[1:], lambda _: there) == OK, line
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


def test_the_page_has_every_reason_that_a_receipt_has() -> None:
    assert len(ROWS) == 11
    reasons = "counted in more places", "set a total", "metric that is no sum", "before version 0.4"
    assert len(WHY_NOT) == len(reasons)
    assert [one for one in reasons if one not in TEXT.replace("[", "")] == []
