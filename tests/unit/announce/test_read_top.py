"""A top is proven only if it is the top, whatever old states of its members the index shows."""

import random
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from unittest import mock

import pytest

from standings.announce import MAX_EQUALS, Proof, read_top
from standings.domain.boards import Metric, Ranking
from standings.domain.scoring import Place, sort_key
from standings.domain.tiers import Counters, Path, deltas
from standings.rankings.reading import TopReads
from tests.support.aws.stack import ManualClock
from tests.support.builders.maintenance import clock_of
from tests.support.builders.points import family

_CLOCK = clock_of(ManualClock(0))
_METRIC = family("b").metrics["points"]
_RANKING = Ranking("b", _METRIC, _METRIC.windows[0], 0)
_TIED = family(
    "b",
    '[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["all"], tie_breaks = ["goals"] }\n'
    'metrics.goals = { aggregate = "sum" }',
).metrics["points"]
_Scores = Mapping[str, int | None]


def _values(score: int, metric: Metric) -> tuple[int, ...]:
    """A sort value, or a score and a tie-break that sort in the same way."""
    return (score,) if metric.components == 1 else divmod(score, 2)


class _Reads(TopReads):
    """Members with their sort values (None: no place), as they are and as the index shows them at each of its reads."""

    def __init__(self, scores: _Scores, shown: Sequence[_Scores], shards: int, rng: random.Random) -> None:
        self._scores, self._views, self._shards, self._rng = scores, shown, shards, rng

    def shards(self, _: Ranking) -> int:
        return self._shards

    def indexed(self, ranking: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[str]:
        shown = self._rng.choice(self._views)
        mine = [member for number, member in enumerate(sorted(shown)) if number % self._shards == shard]
        keys = sorted(key for member in mine if (key := _key(member, shown[member], ranking.metric)) is not None)
        return [key for key in keys if key > beyond and (before is None or key < before)][:limit]

    def keys(self, ranking: Ranking, members: Collection[str]) -> dict[str, str | None]:
        return {member: _key(member, self._scores.get(member), ranking.metric) for member in members}

    def counters(self, ranking: Ranking, paths: Sequence[Path]) -> Mapping[Path, Counters]:
        nodes = deltas((None, _values(score, ranking.metric)) for score in self._scores.values() if score is not None)
        return {path: nodes[path] for path in paths if path in nodes}


def _key(member: str, score: int | None, metric: Metric) -> str | None:
    return None if score is None else sort_key(Place(_values(score, metric)), member)


@pytest.mark.parametrize("metric", [_METRIC, _TIED], ids=["one number", "two"])
@pytest.mark.parametrize("seed", range(300))
def test_what_is_proven_is_the_top(seed: int, metric: Metric) -> None:
    ranking = Ranking("b", metric, metric.windows[0], 0)
    rng = random.Random(seed)
    seen: Counter[Proof] = Counter()
    for _ in range(40):
        members = [f"m{number}" for number in range(rng.randrange(9))]
        values = rng.choice(((None, 0), (None, 0, 1), (None, -2, -1, 0, 1)))
        scores = {member: rng.choice(values) for member in members}
        # Some members' last changes are not in the index yet.
        late = rng.choice((0, 0.1, 0.3))
        shown = [
            {member: rng.choice(values) if rng.random() < late else scores[member] for member in members}
            for _ in range(2)
        ]
        length, reads = rng.randint(1, 6), _Reads(scores, shown, rng.choice((1, 3)), rng)
        top = read_top(reads, _CLOCK, ranking, length)
        found = [(standing.values, standing.member) for standing in top.standings]
        if top.proof is Proof.PROVEN:
            ranked = sorted((_values(score, metric), member) for member, score in scores.items() if score is not None)
            assert found == ranked[:length], (seed, scores, shown, length)
        if late == 0:
            assert top.proof is Proof.PROVEN, (seed, scores, length)
        seen[top.proof] += 1
    assert seen[Proof.PROVEN] > 0


@pytest.mark.parametrize(
    ("members", "top", "proof"),
    [
        *((MAX_EQUALS, 10, Proof.PROVEN), (MAX_EQUALS + 1, 10, Proof.OPEN)),
        (2 * MAX_EQUALS, 2 * MAX_EQUALS, Proof.PROVEN),  # two crowds, both within the top
    ],
)
def test_a_crowd_with_the_last_score_is_not_compared(members: int, top: int, proof: Proof) -> None:
    scores = {f"m{number:03}": number * top // (members * MAX_EQUALS) for number in range(members)}
    assert read_top(_Reads(scores, [scores], 1, random.Random(0)), _CLOCK, _RANKING, top).proof is proof


def test_a_member_that_the_index_shows_twice_is_listed_once() -> None:
    reads = _Reads({"a": -9, "b": -5}, [], 1, random.Random(0))
    keys = [sort_key(Place((score,)), member) for score, member in ((-9, "a"), (-5, "b"), (-3, "a"))]
    with mock.patch.object(reads, "indexed", return_value=keys):
        top = read_top(reads, _CLOCK, _RANKING, 3)
    assert top.proof is Proof.CONTRADICTED
    assert [standing.member for standing in top.standings] == ["a", "b"]
