"""Decides how much tests try: some seeds in `make test`, all in `make test-all`, and SEEDS times as many if one asks.

`make test-all SEEDS=10` tries ten times as many seeds, on boards ten times as large.
"""

import os
from typing import Final

import pytest

TIMES: Final = int(os.environ.get("SEEDS", "1"))
"""How many times as many seeds, examples and members as usual."""


def seeds(some: int, every: int) -> list[object]:
    """Return the seeds from 0 to `every` - 1, or TIMES as many. Seeds from `some` on are marked `thorough`."""
    return [pytest.param(seed, marks=pytest.mark.thorough) if seed >= some else seed for seed in range(every * TIMES)]
