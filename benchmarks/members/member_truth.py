"""The right answers about members whose scores are known by number, for boards of ten million members."""

from array import array
from collections.abc import Iterable, Iterator
from operator import neg

from benchmarks.harness.shapes import ByName, Names
from benchmarks.harness.truth import Truth


class MemberTruth(Truth):
    """The right answers (`Truth`) about the scores of members by number; those of 0 are not ranked."""

    def __init__(self, scores: Iterable[int]) -> None:
        self.by_number = array("q", scores)
        count = len(self.by_number)
        # The number of a member stands behind its score, so that whole numbers are all that is sorted.
        packed = sorted(number - score * count for number, score in enumerate(self.by_number) if score)
        self.scores = _Ranked(self.by_number)
        self.order = Names(array("L", (one % count for one in packed)))  # type: ignore[assignment]
        self._behind = array("q", (one // count for one in packed))  # type: ignore[assignment]
        self._distinct = []

    def score_at(self, position: int) -> int:
        """The score at a position; the first is 1."""
        return neg(self._behind[position - 1])


class _Ranked(ByName):
    """The scores of ranked members by name."""

    def __getitem__(self, name: str) -> int:
        if score := super().__getitem__(name):
            return score
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        return (name for name in super().__iter__() if name in self)

    def __len__(self) -> int:
        return sum(1 for _ in self)
