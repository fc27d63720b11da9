"""Every command that README and docs show is run, line by line, beside `make serve`; and the long form of `doctor`.

All of it happens in one copy of the project, whose boards.toml has what the tutorials add to theirs.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from tests.support.aws.embedded_tools import copied, serving, skip_without_tools
from tests.support.documents.pages import NEEDS_ACCOUNT, PAGES, PROJECT, Block, blocks, printed
from tests.support.programs import output

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("serve")]

PATIENCE_S: Final = 300
OUTSIDE: Final = (PROJECT / ".ci" / "run").read_text(encoding="utf-8")
LONG: Final = {"make test", "make bench", "make bench SIZE=small"}
"""Targets that take minutes or hours: here make only has to know them."""
QUICK: Final = {"make trial.yaml"}
INSTALLS: Final = "pip install ."
PROGRAM: Final = re.compile(r"^```python\n# ~/(\S+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
DEPLOY: Final = PROJECT / "docs" / "how-to" / "deploy.md"
SERVES: Final = "make serve"
TUTORIALS: Final = [
    *sorted((PROJECT / "docs" / "tutorials").glob("*.md")),
    *(PROJECT / "docs" / "how-to" / name for name in ("correct-a-score.md", "test-your-code.md")),
]
"""What these define in boards.toml is served when their commands are typed."""

# An event takes a moment to show. A person who types is slower than these pauses.
PRELUDE: Final = """
set -euo pipefail
again() { for pause in 0 1 1 2 2 4 4 8; do sleep "$pause"; "$@" && return 0; done; return 1; }
curl() { again command curl --silent --show-error --fail "$@"; }
standings() { again command standings "$@"; }
set -x
"""


def typed(page: Path) -> list[Block]:
    return [block for block in blocks(page) if block.needs is None]


def families(page: Path, today: datetime) -> str:
    """Return what a page adds to boards.toml, with each season around today, as the page tells its reader."""
    text = "\n".join(re.findall(r"^```toml\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL))
    for setting, days in (("starts", -2), ("ends", 30)):
        day = (today + timedelta(days=days)).date()
        text = re.sub(rf'^({setting} +=) "[0-9-]+"$', rf'\1 "{day}"', text, flags=re.MULTILINE)
    return text


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, int]]:
    """Run `make serve`, as in another terminal, until these tests are done. Return its folder and process group."""
    skip_without_tools()
    folder = copied(tmp_path_factory.mktemp("serve") / "standings")
    today = datetime.now(UTC)
    with (folder / "layers" / "standings" / "boards.toml").open("a", encoding="utf-8") as boards:
        for page in TUTORIALS:
            added = families(page, today)
            assert added, page
            boards.write(f"\n{added}")
    log = folder.parent / "log"
    with serving(folder, log) as group:
        yield folder, group
    said = log.read_text(encoding="utf-8")
    assert "Ctrl-C ends it, with all that was posted to it" in said
    assert "stopped, nothing is left running, and what was posted is gone" in said


@pytest.fixture(scope="module")
def served(serve: tuple[Path, int]) -> Path:
    return serve[0]


@pytest.fixture(scope="module")
def exercise(served: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator["Exercise"]:
    """Run `doctor --exercise` beside the tests of pages: the deletion of its board waits three times for three minutes.

    Until then it has dead letters of its own, so tests begin when only the deletion is left.
    """
    folder = tmp_path_factory.mktemp("exercise")
    command = [sys.executable, "-m", "standings_cli", "--local", "--json", "doctor", "--exercise"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(packages(served))}
    with (folder / "stdout").open("wb") as stdout, (folder / "stderr").open("wb") as stderr:
        process = subprocess.Popen(
            [*command, "--record", str(folder)], cwd=served, env=environment, stdout=stdout, stderr=stderr
        )
    exercise = Exercise(process, folder)
    try:
        exercise.wait_for("audit")
        yield exercise
    finally:
        process.kill()
        process.wait()


class Exercise(NamedTuple):
    """A `doctor --exercise` that runs, and the folder of what it prints and records."""

    process: subprocess.Popen[bytes]
    folder: Path

    def found(self) -> dict[str, Any]:
        """Return the findings so far, by what they are about."""
        lines = (self.folder / "stdout").read_text(encoding="utf-8").splitlines(keepends=True)
        return {one["about"]: one for one in (json.loads(line) for line in lines if line.endswith("\n"))}

    def wait_for(self, about: str) -> None:
        until = time.monotonic() + 2 * PATIENCE_S
        while about not in self.found() and self.process.poll() is None:
            assert time.monotonic() < until, self.end_of_output()
            time.sleep(0.5)

    def end_of_output(self) -> str:
        return "".join((self.folder / name).read_text(encoding="utf-8")[-4000:] for name in ("stdout", "stderr"))


def test_the_pages_show_what_is_printed() -> None:
    """The pages below have such lines, and a line of another form is noticed."""
    assert {page.name: len(printed(page)) for page in PAGES if printed(page)} == {
        "README.md": 3,
        "first-board.md": 3,
        "python-client.md": 6,
    }
    for line in ("   1  calm-crane-217     445", "  12  brisk-badger-7  1,290", "   3  dusty-marten-1  김 하나  7"):
        assert form(line) == "N MEMBER N"
    assert form("me: rank 34 of 301") != form("me: 34 of 301")


def test_what_is_said_of_a_deployed_stack_can_be_typed_for_this_one(served: Path, exercise: Exercise) -> None:
    """`sam build` and `sam deploy`, which stand above these commands, have made this stack too."""
    del exercise
    block = next(block for block in blocks(DEPLOY) if block.needs == NEEDS_ACCOUNT)
    ours = [f"{command} --local" for command in block.commands if command.startswith("standings ")]

    assert [command.split()[1] for command in ours] == ["post", "rank", "doctor"]
    type_all(DEPLOY, served, [block._replace(commands=tuple(ours))])


def type_all(page: Path, folder: Path, chosen: list[Block] | None = None) -> None:
    script = [PRELUDE]
    for block in typed(page) if chosen is None else chosen:
        for command in block.commands:
            if command == SERVES:
                continue
            if command.startswith("make ") and command not in QUICK:
                if command in LONG:
                    script.append(command.replace("make ", "make --dry-run --silent ", 1) + " >/dev/null")
                else:
                    assert f"\ntimed {command}\n" in OUTSIDE, f"{command}: nobody runs it"
                continue
            script.append(command if command != INSTALLS else installed(folder))
    environment = {**os.environ, "PATH": f"{PROJECT}/.venv/bin:{os.environ['PATH']}", **own(page, folder)}
    found = output(["bash", "-c", "\n".join(script)], cwd=folder, env=environment, timeout=PATIENCE_S)
    shown = printed(page) if chosen is None else []
    # What a page's own programs print is the same each time.
    seen = str if PROGRAM.search(page.read_text(encoding="utf-8")) else form
    assert {*map(seen, shown)} <= {*map(seen, found.splitlines())}, found[-4000:]


def own(page: Path, folder: Path) -> dict[str, str]:
    """Return the environment of a page. The programs that it shows stand in a home of its own.

    In a copy, its own command line has to run, not that of the project. A page that installs the package has nothing
    else on Python's path.
    """
    programs = PROGRAM.findall(page.read_text(encoding="utf-8"))
    if not programs:
        return {"PYTHONPATH": os.pathsep.join(packages(folder))}
    home = folder.parent / "home"
    for name, text in programs:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(text, encoding="utf-8")
    return {"HOME": str(home), "NO_PROXY": "127.0.0.1", "PYTHONPATH": ""}


def packages(folder: Path) -> list[str]:
    return [str(folder), str(folder / "layers" / "standings")]


def installed(folder: Path) -> str:
    """Return what stands for the installation, which needs the package index: the wheel has tests of its own."""
    paths = "\n".join([*packages(folder), sysconfig.get_path("purelib")])
    program = (
        "import pathlib, sys, sysconfig; pathlib.Path(sysconfig.get_path('purelib'), 'own.pth').write_text(sys.argv[1])"
    )
    return shlex.join(["python", "-c", program, paths])


def form(line: str) -> str:
    """Return a printed line without what differs from run to run: simulated members and people, numbers, spaces."""
    same = " ".join(re.sub(r"\d[\d,.]*", "N", re.sub(r"\b[a-z]+-[a-z]+-\d+\b", "MEMBER", line)).split())
    return re.sub(r"^(N MEMBER) .+ (N)$", r"\1 \2", same)


@pytest.mark.parametrize("page", [page for page in PAGES if typed(page)], ids=lambda page: page.name)
def test_what_a_page_says_can_be_typed(page: Path, served: Path, exercise: Exercise) -> None:
    del exercise
    type_all(page, served)


def test_doctor_finds_nothing_wrong_and_cleans_up(serve: tuple[Path, int], exercise: Exercise) -> None:
    # All pages are typed. Nine minutes of activity would take a third of a processor from the tests beside this one.
    _, group = serve
    os.killpg(group, signal.SIGSTOP)
    assert exercise.process.wait(timeout=1_200) == 0, exercise.end_of_output()
    found = exercise.found()
    assert found["ranks"]["detail"].endswith(": 0 wrong")
    assert {"lag", "a dead letter", "ranks after a replay", "audit", "clean-up"} <= found.keys()
    assert "failed" not in {one["verdict"] for one in found.values()}
    names = {path.name for path in exercise.folder.iterdir()}
    assert {"stream-records.json", "dead-letters.json", "condition.json"} <= names
    assert json.loads((exercise.folder / "stream-records.json").read_text(encoding="utf-8"))
