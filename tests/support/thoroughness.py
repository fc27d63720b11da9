"""Decides how many seeds a test tries: some in `make test`, all in `make test-all`."""

import pytest


def seeds(some: int, every: int) -> list[object]:
    """Return the seeds from 0 to `every` - 1. Seeds from `some` on are marked `thorough`."""
    return [pytest.param(seed, marks=pytest.mark.thorough) if seed >= some else seed for seed in range(every)]
