"""Each safeguard, taken away: a schedule comes out wrong that is right with it."""

import pytest

from benchmarks.harness.results_file import Output
from standings.project import projector
from tests.faults.safeguards import SAFEGUARDS, Change, Safeguard
from tests.faults.safeguards.search import read
from tests.faults.test_schedules import OTHERS, SAMPLE
from tests.faults.world import run
from tests.faults.written import WRITTEN

FOUND = read(Output())
BY_CHANCE = [each for each in SAFEGUARDS if each.name in FOUND and FOUND[each.name].first is not None]
BY_HAND = [each for each in SAFEGUARDS if each.written]


@pytest.mark.thorough
@pytest.mark.parametrize("safeguard", BY_CHANCE, ids=lambda each: each.name)
def test_a_schedule_notices_that_it_is_gone(safeguard: Safeguard) -> None:
    first = FOUND[safeguard.name].first
    assert first is not None
    # With all safeguards it is right: it is one of those of `test_schedules.py`.
    assert any(first in block for block in [*SAMPLE, *OTHERS])
    with safeguard.removed():
        assert run(first).differences


@pytest.mark.parametrize("safeguard", BY_HAND, ids=lambda each: each.name)
def test_the_schedule_written_for_it_notices_that_it_is_gone(safeguard: Safeguard) -> None:
    with safeguard.removed(), pytest.raises(AssertionError):
        WRITTEN[safeguard.written]()


@pytest.mark.parametrize("name", WRITTEN)
def test_a_written_schedule_is_right_with_all_safeguards(name: str) -> None:
    WRITTEN[name]()


def test_every_safeguard_is_noticed_or_said_to_be_unneeded() -> None:
    seen = {each.name for each in (*BY_CHANCE, *BY_HAND)}
    assert [each.name for each in SAFEGUARDS if (each.name in seen) == bool(each.unneeded)] == []
    assert {each.written for each in BY_HAND} == set(WRITTEN)
    assert len({each.name for each in SAFEGUARDS}) == len(SAFEGUARDS)


def test_what_is_taken_away_is_back_afterwards() -> None:
    safeguard = next(each for each in SAFEGUARDS if each.written)
    with safeguard.removed():
        pass
    WRITTEN[safeguard.written]()


@pytest.mark.parametrize("where", ["project.commit_moves:no_such_function", "project.projector:_Batch.no_such_method"])
def test_a_name_that_is_not_there_is_an_error(where: str) -> None:
    with pytest.raises(LookupError), Change(where, lambda _: None).made():
        pass


def test_a_function_is_replaced_wherever_it_was_imported() -> None:
    before = vars(projector)["moves"]
    with Change("domain.members.moves:moves", lambda _: None).made():
        assert vars(projector)["moves"] is None
    assert vars(projector)["moves"] is before
