"""The right answers about members whose scores are known by number, for boards of ten million members."""

from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from operator import neg
from typing import overload

from benchmarks.harness.population import member
from benchmarks.harness.truth import Truth


class MemberTruth(Truth):
    """The right answers (`Truth`) about the scores of members by number; those of 0 are not ranked."""

    def __init__(self, scores: Iterable[int]) -> None:
        self.by_number = array("q", scores)
        count = len(self.by_number)
        # The number of a member stands behind its score, so that whole numbers are all that is sorted.
        packed = sorted(number - score * count for number, score in enumerate(self.by_number) if score)
        self.scores = _Scores(self.by_number)
        self.order = _Names(array("L", (one % count for one in packed)))  # type: ignore[assignment]
        self._behind = array("q", (one // count for one in packed))  # type: ignore[assignment]
        self._distinct = []

    def score_at(self, position: int) -> int:
        """The score at a position; the first is 1."""
        return neg(self._behind[position - 1])


class _Names(Sequence[str]):
    """The names of numbered members, made when they are read."""

    def __init__(self, numbers: "array[int]") -> None:
        self._numbers = numbers

    def __len__(self) -> int:
        return len(self._numbers)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice):
            return list(map(member, self._numbers[index]))
        return member(self._numbers[index])


class _Scores(Mapping[str, int]):
    """The scores of ranked members by name."""

    def __init__(self, by_number: "array[int]") -> None:
        self._by_number = by_number

    def __getitem__(self, name: str) -> int:
        score = self._by_number[int(name.removeprefix("member-"))]
        if not score:
            raise KeyError(name)
        return score

    def __iter__(self) -> Iterator[str]:
        return (member(number) for number, score in enumerate(self._by_number) if score)

    def __len__(self) -> int:
        return sum(map(bool, self._by_number))
