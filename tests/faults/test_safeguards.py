"""Without each safeguard, a schedule comes out wrong that is right with it."""

import pytest

from benchmarks.harness.results_file import Output
from standings.project import projector
from tests.faults.safeguards import SAFEGUARDS, WRITTEN, Change, Safeguard
from tests.faults.safeguards.__main__ import read
from tests.faults.test_schedules import OTHERS
from tests.faults.world import run

FINDINGS = read(Output())
BY_CHANCE = [each for each in SAFEGUARDS if each.name in FINDINGS and FINDINGS[each.name].first is not None]


@pytest.mark.thorough
@pytest.mark.parametrize("safeguard", BY_CHANCE, ids=lambda each: each.name)
def test_a_random_schedule_fails_without_it(safeguard: Safeguard) -> None:
    first = FINDINGS[safeguard.name].first
    assert first is not None
    # `test_schedules.py` runs the same schedule and expects it to be right with all safeguards.
    assert first <= OTHERS[-1][-1]
    with safeguard.removed():
        assert run(first).differences


@pytest.mark.parametrize("safeguard", [each for each in SAFEGUARDS if each.written], ids=lambda each: each.name)
def test_the_schedule_written_for_it_fails_without_it(safeguard: Safeguard) -> None:
    assert safeguard.written is not None
    with safeguard.removed(), pytest.raises(AssertionError):
        safeguard.written()
    # A removed safeguard is back afterwards.
    safeguard.written()


def test_some_schedule_fails_without_every_safeguard() -> None:
    assert [each.name for each in SAFEGUARDS if not (each in BY_CHANCE or each.written)] == []
    assert len({each.name for each in SAFEGUARDS}) == len(SAFEGUARDS)
    assert len(set(WRITTEN.values())) == len(WRITTEN)


@pytest.mark.parametrize("where", ["project.commit_moves:no_such_function", "project.projector:_Batch.no_such_method"])
def test_an_unknown_name_is_an_error(where: str) -> None:
    with pytest.raises(LookupError), Change(where, lambda _: None).made():
        pass


def test_a_function_is_replaced_in_every_module_that_imports_it() -> None:
    before = vars(projector)["moves"]
    with Change("domain.members.moves:moves", lambda _: None).made():
        assert vars(projector)["moves"] is None
    assert vars(projector)["moves"] is before
