"""After hundreds of schedules full of faults, every ranking equals that of a run without faults.

`make test` runs a sample of the schedules, `make test-all` runs all of them.
"""

import os
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import orjson
import pytest

from standings.domain.scoring import encode_sortable
from tests.faults import __main__ as command
from tests.faults.safeguards import Change
from tests.faults.traps import FAULTS, OF_ENDS, TRAPS
from tests.faults.world import Options, World, run
from tests.support.thoroughness import TIMES

SAMPLE = range(10)
"""The seeds of `make test`."""
OTHERS = [range(10, 50), *(range(first, first + 50) for first in range(50, 550 * TIMES, 50))]
"""The seeds that only `make test-all` runs too, in blocks that run in parallel."""
LEAST = 20
"""Of these schedules, at least this many must meet each trap."""

ROOT = Path(__file__).parents[2]


def judged(seed: int) -> World:
    """Run a schedule, and check that it came out right and that enough went wrong in it."""
    world = run(seed)
    again = f"run it again: make faults SEED={seed}"
    assert world.differences == [], f"seed {seed}: {world.differences[:20]}\n{again}"
    assert len(world.sent) >= 200, f"expected 200 events or more, got {len(world.sent)}; {again}"
    assert world.workers >= 3, f"expected 3 functions or more at once, got {world.workers}; {again}"
    assert world.faults.total() >= 20, f"expected 20 faults or more, got {dict(world.faults)}; {again}"
    assert world.comparison.compared >= 1, f"expected at least one comparison of all rankings, got none; {again}"
    return world


def total(folder: Path) -> Counter[str] | None:
    """Return how many of the other schedules met each fault and each trap, or None until all of them have run."""
    files = [folder / f"{named(block)}.json" for block in OTHERS]
    if not all(file.exists() for file in files):
        return None
    return sum((Counter(orjson.loads(file.read_bytes())) for file in files), Counter[str]())


def named(block: range) -> str:
    return f"seeds-{block[0]}-{block[-1]}"


@pytest.mark.parametrize(
    "block", [SAMPLE, *(pytest.param(block, marks=pytest.mark.thorough) for block in OTHERS)], ids=named
)
def test_every_ranking_is_right_whatever_goes_wrong(block: range, shared_folder: Path) -> None:
    met: Counter[str] = Counter()
    for seed in block:
        world = judged(seed)
        met.update(world.faults.keys() | world.traps.keys())
    if block == SAMPLE:
        assert FAULTS - met.keys() == set()
        return
    file = shared_folder / f"{named(block)}.new"
    file.write_bytes(orjson.dumps(met))
    file.rename(file.with_suffix(".json"))
    # The block that finishes last checks the totals.
    if (others := total(shared_folder)) is not None:
        assert {name: others[name] for name in TRAPS if others[name] < LEAST} == {}


def test_a_seed_gives_the_same_schedule_in_every_process() -> None:
    here = run(3, Options(trace=True)).digest()
    program = "import tests.conftest; from tests.faults.world import run; print(run(3).digest())"
    environment = {**os.environ, "PYTHONHASHSEED": "1", "PYTHONPATH": f"{ROOT / 'layers/standings'}:{ROOT}"}
    printed = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True)
    assert printed.stdout.decode().strip() == here


@pytest.mark.parametrize(("arguments", "status"), [(["7"], 0), (["8"], 1), (["7", "3"], 1)])
def test_make_faults_ends_with_status_1_when_a_schedule_is_wrong(
    arguments: list[str], status: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ran(seed: int, options: Options) -> World:
        world = World(seed, options)
        world.judge.differences += ["counters are off"] if seed == 8 else []
        return world

    monkeypatch.setattr(command, "run", ran)

    assert command.main(arguments) == status
    assert ("wrong: counters are off" in capsys.readouterr().out) == bool(status)


# ---- notes

NOTES = Options(notes=True)
BLOCK = 5


def parts(quick: range, every: int) -> list[object]:
    """The seeds of schedules: those of `make test`, which soon end, and all others in blocks."""
    firsts = range(0, every * TIMES, BLOCK)
    blocks = ([seed for seed in range(first, first + BLOCK) if seed not in quick] for first in firsts)
    return [quick, *(pytest.param(block, marks=pytest.mark.thorough) for block in blocks)]


@pytest.mark.parametrize("part", parts(range(2, 4), 40), ids=str)
def test_every_note_is_that_of_its_score_and_every_number_that_was_set(part: Sequence[int]) -> None:
    """One schedule alone may delete its boards, and have no note left to compare. Every other one sets bests."""
    noted = totals = 0
    for seed in part:
        world = run(seed, replace(NOTES, bests=seed % 2 > 0))
        assert world.differences == [], f"run it again: make faults SEED={seed} NOTES=1{' BESTS=1' if seed % 2 else ''}"
        noted += world.judge.noted
        totals += world.judge.set
    assert noted >= 10 * len(part)
    assert totals >= 10 * len(part)


@pytest.mark.parametrize(
    ("where", "instead", "said"),
    [
        (
            "domain.scoring:tie_key_of_event",
            lambda of, metric, at, own: of(metric, at, own) if metric.aggregate == "last" else encode_sortable(at),
            "to have the note",
        ),
        (
            "domain.scoring:merge",
            lambda of, metric, one, two: (
                one if metric.notes and one and one.value == two.value else of(metric, one, two)
            ),
            "to have the note",
        ),
        ("domain.members:rewritten", lambda of, *image, **more: replace(of(*image, **more), notes={}), "have the note"),
        ("domain.coverage:Coverage.holds", lambda *_: False, "is not complete by"),
        ("aws.dynamodb.scores:BoardRecords.put", lambda *_: True, "has events but no board record"),
        # The judge finds by itself which rankings there must be.
        ("domain.members:open_rankings", lambda *_: [], "expected m"),
    ],
    ids=["the smallest id", "the earliest", "kept by a hide and a return", "complete rankings", "records", "rankings"],
)
def test_without_a_rule_of_notes_or_of_records_a_schedule_fails(where: str, instead: Any, said: str) -> None:
    with Change(where, instead).made():
        assert any(said in str(run(seed, NOTES).differences) for seed in range(12))


# ---- merging members

PEOPLE = Options(people=True)


@pytest.mark.parametrize("part", parts(range(2), 100), ids=str)
def test_every_ranking_is_right_while_members_are_merged_and_scores_are_not_ranked(part: Sequence[int]) -> None:
    merged = 0
    for seed in part:
        world = run(seed, PEOPLE)
        assert world.differences == [], f"run it again: make faults SEED={seed} PEOPLE=1"
        merged += world.traps["a member is merged into another one"]
    assert merged >= len(part)


# ---- breaking ties

TIES = Options(ties=True)


@pytest.mark.parametrize("part", parts(range(2), 100), ids=str)
def test_every_ranking_with_tie_breaks_is_right_whatever_goes_wrong(part: Sequence[int]) -> None:
    for seed in part:
        world = run(seed, TIES)
        assert world.differences == [], f"run it again: make faults SEED={seed} TIES=1"


# ---- corrections


@pytest.mark.parametrize("part", parts(range(10, 12), 100), ids=str)
def test_every_correction_counts_once_and_exactly_whatever_goes_wrong(part: Sequence[int]) -> None:
    """Every other schedule also has tie-breaks."""
    corrected: Counter[str] = Counter()
    for seed in part:
        world = run(seed, Options(ties=seed % 2 > 0, corrections=True))
        ties = " TIES=1" if seed % 2 else ""
        assert world.differences == [], f"run it again: make faults SEED={seed} CORRECTIONS=1{ties}"
        corrected.update(world.judge.corrected)
    assert {name: count for name, count in corrected.items() if count < 10 * len(part)} == {}
    assert corrected.keys() == {"corrected", "taken back", "again", "history"}


# ---- boards that end

ENDS = Options(ends=True)


@pytest.mark.parametrize("part", parts(range(3), 60), ids=str)
def test_a_board_ends_at_one_instant_whatever_goes_wrong_and_the_next_one_has_none_of_its_numbers(
    part: Sequence[int],
) -> None:
    met: Counter[str] = Counter()
    for seed in part:
        world = run(seed, ENDS)
        assert world.differences == [], f"run it again: make faults SEED={seed} ENDS=1"
        met.update(world.traps.keys() & OF_ENDS.keys())
    # Few schedules meet these two: the first ones do.
    rare = set() if 0 in part else {"a member comes back in another life", "a period is settled"}
    assert OF_ENDS.keys() - met.keys() <= rare
