"""Without each safeguard, a schedule comes out wrong that is right with it."""

import pytest

from benchmarks.harness.results_file import Output
from tests.faults.safeguards import SAFEGUARDS, on_a_rig
from tests.faults.safeguards.__main__ import MOST, read
from tests.faults.test_schedules import OTHERS
from tests.faults.world import Options, run

FINDINGS = read(Output())
BY_CHANCE = {name: FINDINGS[name].first for name in SAFEGUARDS if name in FINDINGS and FINDINGS[name].noticed}
WRITTEN = {name: each.written for name, each in SAFEGUARDS.items() if each.written is not None}


@pytest.mark.thorough
@pytest.mark.parametrize("name", BY_CHANCE)
def test_a_random_schedule_fails_without_it(name: str) -> None:
    """The schedule that `make safeguards` found comes first. A change of any request makes other schedules."""
    first = BY_CHANCE[name]
    assert first is not None
    # `test_schedules.py` runs such schedules and expects them to be right with all safeguards.
    assert first <= OTHERS[-1][-1]
    with SAFEGUARDS[name].removed():
        assert any(run(seed, Options(**SAFEGUARDS[name].options)).differences for seed in [first, *range(MOST["full"])])


@pytest.mark.parametrize("name", WRITTEN)
def test_the_schedule_written_for_it_fails_without_it(name: str) -> None:
    with SAFEGUARDS[name].removed(), pytest.raises(AssertionError):
        on_a_rig(WRITTEN[name])
    # A removed safeguard is back afterwards.
    on_a_rig(WRITTEN[name])


def test_some_schedule_fails_without_every_safeguard() -> None:
    assert SAFEGUARDS.keys() == BY_CHANCE.keys() | WRITTEN.keys()
    schedules = set(WRITTEN.values())
    assert len({schedule.__name__ for schedule in schedules}) == len(schedules)
