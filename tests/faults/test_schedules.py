"""Thousands of schedules in which everything goes wrong that can: in the end every ranking is as if nothing had."""

import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import orjson
import pytest

from tests.faults.traps import TRAPS
from tests.faults.world import Options, Outcome, run, uncollected

BLOCKS = 40
SEEDS = 50
"""Schedules of a block."""
LEAST = 50
"""Schedules in which each trap has to be met, of those of all blocks."""
SOAK_BLOCKS = range(BLOCKS, BLOCKS + 960)

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


def schedules(block: int) -> Counter[str]:
    """In how many schedules of a block each trap was met."""
    met: Counter[str] = Counter()
    with uncollected():
        for seed in range(block * SEEDS, (block + 1) * SEEDS):
            met.update(judged(seed).traps.keys())
    return met


@pytest.fixture(scope="session")
def totals(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that all workers of a session share."""
    folder = tmp_path_factory.getbasetemp()
    return folder.parent if "PYTEST_XDIST_WORKER" in os.environ else folder


@pytest.mark.parametrize("block", range(BLOCKS))
def test_every_ranking_is_right_whatever_goes_wrong(block: int, totals: Path) -> None:
    met = schedules(block)
    written = totals / f"traps-{block}.new"
    written.write_bytes(orjson.dumps(met))
    written.rename(totals / f"traps-{block}.json")
    done = [orjson.loads(path.read_bytes()) for path in totals.glob("traps-*.json")]
    if len(done) == BLOCKS:  # whichever block is the last looks at all of them
        total = sum((Counter(each) for each in done), Counter[str]())
        assert {name: total[name] for name in TRAPS if total[name] < LEAST} == {}


@pytest.mark.soak
@pytest.mark.parametrize("block", SOAK_BLOCKS)
def test_every_ranking_is_right_in_many_more_schedules(block: int) -> None:
    schedules(block)


@pytest.mark.parametrize("seed", [3, 8, 15])
def test_a_seed_is_one_schedule_in_any_process(seed: int) -> None:
    here = run(seed, Options(trace=True))
    program = f"import tests.conftest; from tests.faults.world import run; print(run({seed}).digest)"
    for hashes in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hashes, "PYTHONPATH": f"{ROOT / 'layers/standings'}:{ROOT}"}
        printed = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
        assert printed.stdout.decode().strip() == here.digest
