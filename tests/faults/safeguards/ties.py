"""Tie-breaks: what moves a member, and where a member is that lacks one."""

from functools import partial
from typing import Any

from .replacing import Change
from .replacing import Safeguard as AnySafeguard
from .rig import LIFTS, TIED, Rig

Safeguard = partial(AnySafeguard, of="ties")


def _itself_alone(_: Any, __: Any, metric: Any) -> Any:
    return [metric]


@Safeguard(
    "a change of a tie-break moves the member in the rankings that it orders",
    Change("domain.boards:Family.ordered_by", _itself_alone),
)
def a_tie_break_alone(pipeline: Rig) -> None:
    """Two members have equal scores. The penalty of the first grows, and nothing else."""
    stack = pipeline.functions(TIED)
    pipeline.count(stack, "a", 5, others={"penalty": 1})
    pipeline.count(stack, "b", 5, others={"penalty": 2})
    pipeline.count(stack, "a", 0, others={"penalty": 9})
    assert pipeline.ranks(stack) == [(1, "b"), (2, "a")]


def _as_0(original: Any, metric: Any, aggregate: Any) -> int:
    return 0 if aggregate is None else int(original(metric, aggregate))


@Safeguard("a member without a tie-break is behind all others", Change("domain.scoring:_sort_value_of", _as_0))
def without_a_best(pipeline: Rig) -> None:
    """Of two members with equal scores, one has a best below 0, the other has none."""
    stack = pipeline.functions(TIED)
    pipeline.count(stack, "a", 5)
    pipeline.count(stack, "b", 5, others={"best": -3})
    assert pipeline.ranks(stack) == [(1, "b"), (2, "a")]


def _by_score_alone(original: Any, moves: Any) -> Any:
    def score(values: Any) -> Any:
        return values and values[:1]

    return original((old, new) if score(old) != score(new) else (old, old) for old, new in moves)


@Safeguard(
    "a move whose score stays counts in the tiers of its tie-breaks",
    Change("domain.tiers:deltas", _by_score_alone),
)
def a_move_whose_score_stays(pipeline: Rig) -> None:
    """A member overtakes another one by a tie-break. Ranks of single members come from the tiers."""
    stack = pipeline.functions(TIED)
    pipeline.count(stack, "a", 5, others={"penalty": 300})
    pipeline.count(stack, "b", 5, others={"penalty": 100})
    pipeline.count(stack, "a", 0, others={"penalty": -299})
    assert pipeline.ranks(stack) == [(1, "a"), (2, "b")]


def _of_the_first(original: Any, metric: Any, one: Any, other: Any) -> Any:
    found = original(metric, one, other)
    return found._replace(companions=one.companions) if one and one.companions else found


@Safeguard("a best and its companions are of one event", Change("domain.scoring:merge", _of_the_first))
def a_companion_from_another_event(pipeline: Rig) -> None:
    """A member lifts more as a heavier one. Another one lifts as much, and weighs less than that."""
    stack = pipeline.functions(LIFTS)
    pipeline.count(stack, "a", 100, others={"weight": 60})
    pipeline.count(stack, "a", 110, others={"weight": 80})
    pipeline.count(stack, "b", 110, others={"weight": 70})
    assert pipeline.ranks(stack) == [(1, "b"), (2, "a")]


def _the_earlier(original: Any, metric: Any, one: Any, other: Any) -> Any:
    return one if one and one.value == other.value else original(metric, one, other)


@Safeguard(
    "of equal bests the one that is ahead in the tie-breaks counts", Change("domain.scoring:merge", _the_earlier)
)
def an_equal_best_of_a_lighter_lifter(pipeline: Rig) -> None:
    """A member lifts as much once more, and weighs less. Its best stays, and it is ahead of another one."""
    stack = pipeline.functions(LIFTS)
    pipeline.count(stack, "a", 110, others={"weight": 80})
    pipeline.count(stack, "b", 110, others={"weight": 70})
    pipeline.count(stack, "a", 110, others={"weight": 60})
    assert pipeline.ranks(stack) == [(1, "a"), (2, "b")]
