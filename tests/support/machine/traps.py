"""The traps of the state machine: what a wrong implementation would fail at. `make test-all` meets all of them."""

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import permutations
from typing import Final

from tests.support.machine.boards import NEAR, Board, Sent

TRAPS: Final = {
    "a member of 256 bytes": "bests",
    "a list of boards": "bests",
    "a board whose name begins another's": "bests",
    "counted near the bounds": "bounds",
    "refused beyond the bounds": "bounds",
    "refused by least or most": "bounds",
    "a total that may not change by so much": "bounds",
    "a member with control characters and quotes": "firsts",
    "one id twice in a batch": "firsts",
    "a total that is set": "firsts",
    "an amount of 0 where the first of equals leads": "firsts",
    "two members that look alike": "sums",
    "a writer whose clock is behind would count in a closed period": "noted",
    "a writer's clock is behind": "lasts",
    "a total that is set twice in a batch": "sums",
    "a best that is set": "bests",
    "a best that is set twice in a batch": "lifts",
    "a member that is merged": "lifts",
    "a merge beyond the bounds": "bounds",
    "history": "sums",
    "corrected": "sums",
    "taken back": "sums",
    "refused as a correction": "sums",
    "refused: the board has ended": "ending",
    "known after the end": "ending",
    "a name that is used again": "ending",
    "a name that is used again, without a read": "ending-total",
}
"""Each trap, and the board whose examples must meet it. Those of other boards may meet it too."""


def traps_of(boards: Mapping[str, Board], events: Sequence[Sent], refused: Collection[str]) -> Iterator[str]:
    """The traps that a batch meets, by what was counted and what was refused."""
    ids = Counter(sent.id for sent in events)
    if max(ids.values()) > 1:
        yield "one id twice in a batch"
    counted = [sent for sent in events if sent.id not in refused]
    yield from _of_totals(boards, events, refused)
    for sent in events:
        yield from _of_event(boards, sent, is_refused=sent.id in refused and ids[sent.id] == 1)
    members = {member for sent in counted for _, member, _, _ in sent.updates}
    if {"\xe9", "e\u0301"} <= members:
        yield "two members that look alike"
    if any(len(member.encode()) == 256 for member in members):
        yield "a member of 256 bytes"
    if any({"\r", '"', "\0"} <= set(member) for member in members):
        yield "a member with control characters and quotes"
    names = {board for sent in counted for board, *_ in sent.updates}
    if any(other.startswith(one) for one, other in permutations(names, 2)):
        yield "a board whose name begins another's"


def _of_totals(boards: Mapping[str, Board], events: Sequence[Sent], refused: Collection[str]) -> Iterator[str]:
    ids = Counter(sent.id for sent in events)
    for sent in (one for one in events if one.sets):
        metrics = [boards[board].metrics[name] for board, _, given, _ in sent.updates for name, _ in given]
        for is_sum in {metric.aggregate == "sum" for metric in metrics} if sent.id not in refused else ():
            what = "a total" if is_sum else "a best"
            yield f"{what} that is set twice in a batch" if ids[sent.id] > 1 else f"{what} that is set"
        if sent.id in refused and any(one.least is not None for one in metrics if one.aggregate == "sum"):
            yield "a total that may not change by so much"


def _of_event(boards: Mapping[str, Board], sent: Sent, *, is_refused: bool) -> Iterator[str]:
    amounts = [(boards[board].metrics[name], units) for board, _, given, _ in sent.updates for name, units in given]
    is_near = any(units in NEAR for _, units in amounts)
    if is_refused:
        if is_near:
            yield "refused beyond the bounds"
        if not all(metric.allows(units) for metric, units in amounts):
            yield "refused by least or most"
        return
    if is_near:
        yield "counted near the bounds"
    if any(not units and (metric.aggregate, metric.ties) == ("sum", "first") for metric, units in amounts):
        yield "an amount of 0 where the first of equals leads"
    if sent.lists_boards:
        yield "a list of boards"
