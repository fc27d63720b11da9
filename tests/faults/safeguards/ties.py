"""Tie-breaks: what moves a member, and where a member is that lacks one."""

from typing import Any

from .replacing import Change, Safeguard
from .rig import TIED, Rig


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
