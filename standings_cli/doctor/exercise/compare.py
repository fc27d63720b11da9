"""Compares every list, and some ranks, percentiles and distributions, with a sort of the events."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from standings_cli.doctor.exercise import sorting
from standings_cli.doctor.exercise.rules import Metric, Rules
from standings_cli.doctor.exercise.sorting import Event, Standing
from standings_cli.stack.api import Api
from standings_cli.stack.errors import ApiError

_PAGE: Final = 500
_SAMPLE: Final = 5
"""Members of each ranking whose own rank is read."""
_PERCENTILES: Final = (1, 50, 99)


@dataclass(slots=True)
class Comparison:
    """How many answers were compared, and in what they differ from the sort."""

    rankings: int
    ranks: int
    differences: list[str]


def compare(api: Api, rules: Rules, events: Sequence[Event], at: datetime) -> Comparison:
    """Compare every ranking of the period that contains `at`."""
    found = Comparison(0, 0, [])
    for metric in rules.metrics:
        for window in metric.windows:
            if window == "season" and rules.season(at) is None:
                continue  # Nothing of what the check sends counts in a season.
            right = sorting.standings(events, metric, sorting.bounds(window, at, rules))
            ranking = _Ranking(api, rules, metric, window, sorting.label(window, at, rules))
            found.rankings += 1
            found.ranks += len(right)
            found.differences += [f"{metric.name} {window}: {difference}" for difference in ranking.differences(right)]
    return found


@dataclass(frozen=True, slots=True)
class _Ranking:
    api: Api
    rules: Rules
    metric: Metric
    window: str
    period: str | None

    def differences(self, right: Sequence[Standing]) -> Iterator[str]:
        """In what the ranking differs. Where its list does, nothing else is read."""
        if wrong := list(self._list(right)):
            yield from wrong
        elif right:
            try:
                yield from self._answers(right)
            except ApiError as error:
                if error.is_temporary:
                    raise
                yield str(error)

    def _answers(self, right: Sequence[Standing]) -> Iterator[str]:
        sample = right[:: max(1, len(right) // _SAMPLE)]
        for one in sample:
            answer = self._read("rank", member=one.member)
            expected = (one.rank, one.score, len(right), sorting.percentile(one, len(right)))
            yield from self._unlike(one.member, expected, answer, ("rank", "score", "total", "percentile"))
        for p in _PERCENTILES:
            score = self._score_at(right, p)
            yield from self._unlike(f"percentile {p}", (score,), self._read("percentile", p=p), ("score",))
        counted = sum(bucket["members"] for bucket in self._read("distribution")["buckets"])
        if counted != len(right):
            yield f"distribution: expected {len(right)} members, got {counted}"

    def _list(self, right: Sequence[Standing]) -> Iterator[str]:
        shown: list[tuple[int, str, Any]] = []
        cursor = None
        while cursor is not None or not shown:
            page = self._read(limit=_PAGE, cursor=cursor)
            shown += [(entry["rank"], entry["member"], entry["score"]) for entry in page["entries"]]
            cursor = page["next"]
            if page["total"] != len(right):
                yield f"total: expected {len(right)}, got {page['total']}"
            if cursor is None:
                break
        # Equals may be listed by who was first, so members of one rank are compared as a set.
        expected = [(one.rank, one.member, one.score) for one in right]
        for one, other in zip(sorted(expected), sorted(shown), strict=False):
            if one != other:
                yield f"list: expected {one}, got {other}"
                return
        if [rank for rank, *_ in shown] != [rank for rank, *_ in expected]:
            yield f"list: expected {len(expected)} entries in the order of their ranks, got {len(shown)}"

    def _score_at(self, right: Sequence[Standing], p: int) -> int:
        """The score furthest behind of those whose share of members at or behind is at least p per cent."""
        total = len(right)
        return next(one.score for one in reversed(right) if 100 * (total - one.rank + 1) >= p * total)

    def _read(self, *path: str, **arguments: Any) -> dict[str, Any]:
        place = ("boards", self.rules.board, self.metric.name, self.window, *path)
        return self.api.read(*place, period=self.period, **arguments)

    @staticmethod
    def _unlike(about: str, expected: tuple[Any, ...], answer: dict[str, Any], names: Sequence[str]) -> Iterator[str]:
        got = tuple(answer[name] for name in names)
        if got != expected:
            yield f"{about}: expected {expected}, got {got}"
