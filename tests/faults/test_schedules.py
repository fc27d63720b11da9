"""Thousands of schedules in which everything goes wrong that can: in the end every ranking is as if nothing had.

`make test` runs a sample of them, `make test-all` all of them, and `make soak` far more.
"""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest

from tests.faults.traps import FAULTS, TRAPS
from tests.faults.world import Options, Outcome, run, uncollected

SAMPLE = [range(first, first + 20) for first in range(0, 200, 20)]
"""Seeds that every run has, cut for its processes."""
OTHERS = [range(first, first + 50) for first in range(200, 2_000, 50)]
LEAST = 50
"""Schedules that have to walk into each trap, of those of the sample and the others."""

ROOT = Path(__file__).parents[2]


def judged(seed: int) -> Outcome:
    """A schedule in which nothing came out wrong, and enough was tried."""
    outcome = run(seed)
    alone = f"make faults SEED={seed}"
    assert outcome.differences == [], f"seed {seed}: {outcome.differences[:20]}\nalone: {alone}"
    assert outcome.events >= 200, alone
    assert outcome.workers >= 3, alone
    assert sum(outcome.faults.values()) >= 20, (alone, outcome.faults)
    assert outcome.compared >= 1, alone
    return outcome


def schedules(seeds: range) -> Counter[str]:
    """How many of some schedules met each fault and each trap."""
    met: Counter[str] = Counter()
    with uncollected():
        for seed in seeds:
            outcome = judged(seed)
            met.update(outcome.faults.keys() | outcome.traps.keys())
    return met


@pytest.fixture(scope="session")
def totals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of a session share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


def total(folder: Path, blocks: list[range]) -> Counter[str] | None:
    """How many schedules met each fault and each trap; None until all of the blocks are done."""
    done = [folder / f"{named(block)}.json" for block in blocks]
    if not all(each.exists() for each in done):
        return None
    return sum((Counter(orjson.loads(each.read_bytes())) for each in done), Counter[str]())


def named(block: range) -> str:
    return f"seeds-{block[0]}-{block[-1]}"


@pytest.mark.parametrize(
    "block", [*SAMPLE, *(pytest.param(block, marks=pytest.mark.thorough) for block in OTHERS)], ids=named
)
def test_every_ranking_is_right_whatever_goes_wrong(block: range, totals: Path) -> None:
    written = totals / f"{named(block)}.new"
    written.write_bytes(orjson.dumps(schedules(block)))
    written.rename(written.with_suffix(".json"))
    # Whichever block is the last looks at all of them.
    if block in SAMPLE and (sample := total(totals, SAMPLE)) is not None:
        assert (FAULTS | TRAPS.keys()) - sample.keys() == set()
    if (every := total(totals, [*SAMPLE, *OTHERS])) is not None:
        assert {name: every[name] for name in TRAPS if every[name] < LEAST} == {}


@pytest.mark.parametrize("seed", [3, 8, 15])
def test_a_seed_is_one_schedule_in_any_process(seed: int) -> None:
    here = run(seed, Options(trace=True))
    program = f"import tests.conftest; from tests.faults.world import run; print(run({seed}).digest)"
    for hashes in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": f"{ROOT / 'layers/standings'}:{ROOT}"}
        printed = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        assert printed.stdout.decode().strip() == here.digest
