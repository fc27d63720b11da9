"""docs/guarantees.md names existing tests and the commands that run them, as make and pytest report them."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from tests.support.documents.pages import PROJECT

TEXT: Final = (PROJECT / "docs" / "guarantees.md").read_text(encoding="utf-8")
PROMISES, _, TABLE = TEXT.partition("\n## Which command runs which test\n")
NAMED: Final = sorted(set(re.findall(r"`(tests/[a-z0-9_/]+\.py(?:::test_[a-z_]+)?)`", PROMISES)))
COMMANDS: Final = ("make test", "make test-all", "make check")
NEEDS_DOCKER: Final = "tests/docker/"

Collected = Mapping[str, frozenset[str]]
"""The ids of the tests that each make command runs."""


@pytest.fixture(scope="module")
def collected() -> Collected:
    with ThreadPoolExecutor() as pool:
        return dict(zip(COMMANDS, pool.map(_collect, COMMANDS), strict=True))


def _collect(command: str) -> frozenset[str]:
    """Return the tests that pytest collects with the arguments in a make target."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    recipe = subprocess.check_output([*command.split(), "--dry-run"], cwd=PROJECT, env=environment, text=True)
    (line,) = [line for line in recipe.splitlines() if " -m pytest " in line]
    arguments = [*shlex.split(line), "-n", "0", "--collect-only", "--quiet"]
    process = subprocess.run(arguments, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert process.returncode == 0, f"{line}\n{process.stdout[-4000:]}{process.stderr}"
    return frozenset(line for line in process.stdout.splitlines() if "::" in line)


def _cell(name: str, collected: Collected) -> str:
    """Return the commands that run a file or a test. `make test` may run only some of its cases."""
    cases = {
        command: {test for test in ids if test.startswith((f"{name}::", f"{name}[")) or test == name}
        for command, ids in collected.items()
    }
    sampled = cases["make test"] < cases["make test-all"]
    notes = {command: " (a sample)" if command == "make test" and sampled else "" for command in COMMANDS}
    return ", ".join(f"`{command}`{notes[command]}" for command in COMMANDS if cases[command])


def test_the_table_lists_the_commands_that_run_each_named_test(collected: Collected) -> None:
    assert len(NAMED) > 10
    cells = {name: _cell(name, collected) for name in NAMED}
    table = ["| test | run by |", "|---|---|", *(f"| `{name}` | {cell} |" for name, cell in cells.items())]
    print(*table, sep="\n")  # copy this into the page where the page differs
    assert [name for name, cell in cells.items() if not cell] == []
    assert TABLE.strip().splitlines() == table


def test_every_promise_names_a_test() -> None:
    promises = PROMISES.split("\n## ")[1:]
    assert len(promises) > 5
    assert [promise.splitlines()[0] for promise in promises if "*Shown by*: `tests/" not in promise] == []


def test_every_test_file_is_run_by_a_command_and_test_all_includes_test_but_not_check(collected: Collected) -> None:
    files = {path.relative_to(PROJECT).as_posix() for path in (PROJECT / "tests").rglob("test_*.py")}
    run = {test.partition("::")[0] for ids in collected.values() for test in ids}
    assert sorted(name for name in files - run if not name.startswith(NEEDS_DOCKER)) == []
    assert collected["make test"] < collected["make test-all"]
    assert collected["make test-all"].isdisjoint(collected["make check"])
