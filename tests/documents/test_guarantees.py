"""docs/guarantees.md names tests that are there, and the commands that run them: make and pytest are asked."""

import os
import re
import shlex
import subprocess
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import pytest

PROJECT: Final = Path(__file__).parents[2]
TEXT: Final = (PROJECT / "docs" / "guarantees.md").read_text(encoding="utf-8")
PROMISES, _, TABLE = TEXT.partition("\n## Which command runs which test\n")
NAMED: Final = sorted(set(re.findall(r"`(tests/[a-z0-9_/]+\.py(?:::test_[a-z_]+)?)`", PROMISES)))
COMMANDS: Final = ("make test", "make test-all", "make soak", "make check")
NEEDS_DOCKER: Final = "tests/docker/"

Collected = Mapping[str, frozenset[str]]
"""The ids of the tests that each command runs."""


@pytest.fixture(scope="module")
def collected() -> Collected:
    with ThreadPoolExecutor() as pool:
        return dict(zip(COMMANDS, pool.map(_collect, COMMANDS), strict=True))


def _collect(command: str) -> frozenset[str]:
    """Return what pytest collects with the arguments that a make target gives it."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    recipe = subprocess.check_output([*command.split(), "--dry-run"], cwd=PROJECT, env=environment, text=True)
    (line,) = [line for line in recipe.splitlines() if " -m pytest " in line]
    arguments = [*shlex.split(line), "-n", "0", "--collect-only", "--quiet"]
    done = subprocess.run(arguments, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{line}\n{done.stdout[-4000:]}{done.stderr}"
    return frozenset(line for line in done.stdout.splitlines() if "::" in line)


def _cell(name: str, collected: Collected) -> str:
    """Return which commands run a file or a test; `make test` may run some of its cases only."""
    cases = {
        command: {one for one in ids if one.startswith((f"{name}::", f"{name}[")) or one == name}
        for command, ids in collected.items()
    }
    sampled = cases["make test"] < cases["make test-all"]
    told = {command: " (a sample)" if command == "make test" and sampled else "" for command in COMMANDS}
    return ", ".join(f"`{command}`{told[command]}" for command in COMMANDS if cases[command])


def test_the_table_says_which_commands_run_each_test_that_shows_a_promise(collected: Collected) -> None:
    assert len(NAMED) > 10
    commands = {name: _cell(name, collected) for name in NAMED}
    table = ["| test | run by |", "|---|---|", *(f"| `{name}` | {told} |" for name, told in commands.items())]
    print(*table, sep="\n")  # to be copied where it differs
    assert [name for name, told in commands.items() if not told] == []
    assert TABLE.strip().splitlines() == table


def test_every_promise_is_shown_by_something() -> None:
    promises = PROMISES.split("\n## ")[1:]
    assert len(promises) > 5
    assert [promise.splitlines()[0] for promise in promises if "*Shown by*: `tests/" not in promise] == []


def test_every_file_of_tests_is_run_by_a_command(collected: Collected) -> None:
    files = {path.relative_to(PROJECT).as_posix() for path in (PROJECT / "tests").rglob("test_*.py")}
    run = {one.partition("::")[0] for ids in collected.values() for one in ids}
    assert sorted(name for name in files - run if not name.startswith(NEEDS_DOCKER)) == []


def test_what_is_run_before_a_commit_is_run_again_before_a_change_is_accepted(collected: Collected) -> None:
    assert collected["make test"] < collected["make test-all"]
    assert collected["make test-all"].isdisjoint(collected["make soak"] | collected["make check"])
