"""After schedules full of faults, every score has the note of the event that it came with."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from standings.domain.scoring.sort_order import encode_sortable
from tests.faults.safeguards.replacing import Change
from tests.faults.world import Options, run, uncollected
from tests.support.thoroughness import seeds

NOTES = Options(notes=True)
TRIED = 12
"""The schedules of which one fails without a rule of notes."""


BLOCK = 10


@pytest.mark.parametrize("block", seeds(1, 10))
def test_every_note_is_that_of_its_score_whatever_goes_wrong(block: int) -> None:
    """Ten schedules: one alone may delete its boards, and have no note left to compare."""
    noted = 0
    for seed in range(block * BLOCK, (block + 1) * BLOCK):
        with uncollected():
            outcome = run(seed, NOTES)
        assert outcome.differences == [], f"run it again: make faults SEED={seed} NOTES=1"
        noted += outcome.noted
    assert noted >= 10 * BLOCK


def _without_ids(original: Callable[..., str]) -> Callable[..., str]:
    def tie_key(metric: Any, at: int, event_id: str) -> str:
        return original(metric, at, event_id) if metric.aggregate == "last" else encode_sortable(at)

    return tie_key


def _the_first_that_came(original: Callable[..., Any]) -> Callable[..., Any]:
    def merge(metric: Any, one: Any, other: Any) -> Any:
        return one if metric.notes and one.value == other.value else original(metric, one, other)

    return merge


def _forgotten(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments, **named: replace(original(*arguments, **named), notes={})


@pytest.mark.parametrize(
    "change",
    [
        Change("domain.scoring.ties:tie_key_of_event", _without_ids),
        Change("domain.scoring.aggregates:merge", _the_first_that_came),
        Change("domain.members.member_item:rewritten", _forgotten),
    ],
    ids=["the smallest id", "the earliest", "kept by a hide and a return"],
)
def test_without_a_rule_of_notes_a_schedule_fails(change: Change) -> None:
    with change.made(), uncollected():
        assert any("to have the note" in str(run(seed, NOTES).differences) for seed in range(TRIED))


def test_a_seed_gives_the_same_notes_again() -> None:
    assert run(3, NOTES).digest == run(3, NOTES).digest != run(3).digest
