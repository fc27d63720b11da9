"""After thousands of schedules full of faults, every ranking equals that of a run without faults.

`make test` runs a sample of the schedules, `make test-all` runs all of them, and `make soak` runs many more.
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
"""The seeds of `make test`, in blocks that run in parallel."""
OTHERS = [range(first, first + 50) for first in range(200, 2_000, 50)]
"""The seeds that only `make test-all` runs too."""
LEAST = 50
"""Of these schedules, at least this many must meet each trap."""

ROOT = Path(__file__).parents[2]


def judged(seed: int) -> Outcome:
    """Run a schedule, and check that it came out right and that enough went wrong in it."""
    outcome = run(seed)
    again = f"run it again: make faults SEED={seed}"
    assert outcome.differences == [], f"seed {seed}: {outcome.differences[:20]}\n{again}"
    assert outcome.events >= 200, f"expected 200 events or more, got {outcome.events}; {again}"
    assert outcome.workers >= 3, f"expected 3 functions or more at once, got {outcome.workers}; {again}"
    assert sum(outcome.faults.values()) >= 20, f"expected 20 faults or more, got {dict(outcome.faults)}; {again}"
    assert outcome.compared >= 1, f"expected at least one comparison of all rankings, got none; {again}"
    return outcome


def schedules(seeds: range) -> Counter[str]:
    """Run schedules, and count how many of them met each fault and each trap."""
    met: Counter[str] = Counter()
    with uncollected():
        for seed in seeds:
            outcome = judged(seed)
            met.update(outcome.faults.keys() | outcome.traps.keys())
    return met


@pytest.fixture(scope="session")
def totals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all pytest workers share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


def total(folder: Path, blocks: list[range]) -> Counter[str] | None:
    """Return how many schedules met each fault and each trap, or None until all blocks have run."""
    files = [folder / f"{named(block)}.json" for block in blocks]
    if not all(file.exists() for file in files):
        return None
    return sum((Counter(orjson.loads(file.read_bytes())) for file in files), Counter[str]())


def named(block: range) -> str:
    return f"seeds-{block[0]}-{block[-1]}"


@pytest.mark.parametrize(
    "block", [*SAMPLE, *(pytest.param(block, marks=pytest.mark.thorough) for block in OTHERS)], ids=named
)
def test_every_ranking_is_right_whatever_goes_wrong(block: range, totals: Path) -> None:
    file = totals / f"{named(block)}.new"
    file.write_bytes(orjson.dumps(schedules(block)))
    file.rename(file.with_suffix(".json"))
    # The block that finishes last checks the totals.
    if block in SAMPLE and (sample := total(totals, SAMPLE)) is not None:
        assert (FAULTS | TRAPS.keys()) - sample.keys() == set()
    if block not in SAMPLE and (others := total(totals, OTHERS)) is not None:
        assert {name: others[name] for name in TRAPS if others[name] < LEAST} == {}


@pytest.mark.parametrize("seed", [3, 8, 15])
def test_a_seed_gives_the_same_schedule_in_every_process(seed: int) -> None:
    here = run(seed, Options(trace=True))
    program = f"import tests.conftest; from tests.faults.world import run; print(run({seed}).digest)"
    for hashes in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": f"{ROOT / 'layers/standings'}:{ROOT}"}
        printed = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        assert printed.stdout.decode().strip() == here.digest
