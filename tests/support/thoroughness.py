"""Decides how much tests try: some seeds in `make test`, all in `make test-all`, and SEEDS times as many if one asks.

`make test-all SEEDS=10` tries ten times as many seeds, on boards ten times as large.
"""

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Any, Final

import pytest

TIMES: Final = int(os.environ.get("SEEDS", "1"))
"""How many times as many seeds, examples and members as usual."""


def seeds(some: int, every: int) -> list[object]:
    """Return the seeds from 0 to `every` - 1, or TIMES as many. Seeds from `some` on are marked `thorough`."""
    return [pytest.param(seed, marks=pytest.mark.thorough) if seed >= some else seed for seed in range(every * TIMES)]


def thorough_seeds(some: int, every: int) -> range:
    """The thorough ones of `seeds`."""
    return range(some, every * TIMES)


def assert_all_met(
    folder: Path, name: str, part: Any, parts: Iterable[Any], met: Collection[str], traps: list[str]
) -> None:
    """Remember in a shared folder which traps one part of a test has met. With the last part, all have to be met.

    `parts` are thorough ones alone, since a run may leave out the others.
    """
    for trap in met:
        (folder / f"{name} trap {traps.index(trap)}").touch()
    (folder / f"{name} part {part}").touch()
    if all((folder / f"{name} part {one}").exists() for one in parts):
        left = [one for number, one in enumerate(traps) if not (folder / f"{name} trap {number}").exists()]
        assert not left, f"no part of {name} has met {left}"
