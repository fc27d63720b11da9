"""Dead nodes are removed, and whatever happens at the same time, the counters are those of the entries."""

from typing import Any

import pytest

from standings.domain.members.moves import Move
from standings.domain.scoring.sort_order import Place
from standings.domain.tiers.tier_path import ROOT, Path
from standings.ports.errors import CancelReason, StoreRefusedError, StoreUnavailableError
from standings.ports.rankings import Removal
from standings.project.prune_tiers import PrunedRankings, PruneResult
from tests.support.builders.checks import assert_tiers_count_the_entries, lanes, nodes
from tests.support.builders.stages.cleaners import NOW, RANKING, Worker, moved, ranking, tier_conflict
from tests.support.builders.stages.pruning_checks import check_proportion, interleaved
from tests.support.thoroughness import seeds


@pytest.fixture
def worker(engine: Any) -> Worker:
    return Worker(engine)


def paths(client: Any) -> set[Path]:
    return {way for _, way, _, _ in nodes(client)}


def test_a_node_that_everyone_left_goes_and_its_counter_with_it(engine: Any, worker: Worker) -> None:
    worker.move(moved("a", None, 20_000, 1), moved("b", None, 300, 1))
    assert (67, 1, 28) in paths(engine)
    worker.move(moved("a", 20_000, 301, 2))

    assert paths(engine) == {ROOT, (66,), (66, 2)}
    assert worker.looks == [PruneResult(removed=3)]
    (root,) = (item for _, way, _, item in nodes(engine) if way == ROOT)
    assert set(root) == {"pk", "t", "v", "y2"}


def test_the_root_stays_when_everyone_has_left(engine: Any, worker: Worker) -> None:
    worker.client.steps.extend([tier_conflict] * 2)
    worker.move(moved("a", None, 300, 1))
    worker.move(moved("a", 300, None, 2))

    assert {way for _, way, lane, _ in nodes(engine) if way or not lane} == {ROOT}
    assert lanes(engine) == {RANKING.key: 2}


def test_what_is_too_much_for_one_look_is_left_to_the_next(engine: Any, worker: Worker) -> None:
    still = Worker(engine, chance=0)
    everyone = [moved(f"m{n}", None, 128 * n, 1) for n in range(1, 120)]
    still.move(*everyone)
    still.move(*(moved(move.member, move.new.sort_value, 2**35, 2) for move in everyone if move.new))
    before = len(paths(engine))
    here = 2**35
    for version in range(3, 11):
        there = 128 if here != 128 else 2**35 + version
        worker.move(moved("m1", here, there, version))
        here = there

    assert before > 120
    assert sum(look.removed for look in worker.looks) >= 118
    assert len(paths(engine)) <= 8
    assert_tiers_count_the_entries(engine)


def test_rankings_that_end_soon_are_left_to_their_ttl(engine: Any) -> None:
    looks: list[PruneResult] = []
    one = Worker(engine)
    pruned = PrunedRankings(one.rankings, one.trees, one.tools, looks.append, chance=1)
    day = ranking("day")
    for found in (RANKING, day):
        for old, new, version in ((None, 5, 1), (5, 5_000, 2)):
            move = Move(found, "a", None if old is None else Place(old), Place(new), version, NOW)
            assert pruned.commit(found, [move]) == []

    assert looks == [PruneResult(removed=1)]
    assert any(key == day.key and way == (65,) for key, way, _, _ in nodes(engine))


@pytest.mark.parametrize(
    ("error", "unexpected"), [(StoreUnavailableError("throttled"), False), (StoreRefusedError("no"), True)]
)
def test_a_look_that_fails_fails_no_commit(
    engine: Any, monkeypatch: pytest.MonkeyPatch, error: Exception, *, unexpected: bool
) -> None:
    worker = Worker(engine)
    worker.move(moved("a", None, 300, 1))

    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(worker.trees, "lanes", fail)
    assert worker.move(moved("a", 300, 5, 2)).moves == 1
    assert worker.looks == [PruneResult(reason=str(error), unexpected=unexpected)]


def test_a_removal_is_done_only_as_it_was_read(engine: Any, worker: Worker) -> None:
    worker = Worker(engine, chance=0)
    worker.move(moved("a", None, 300, 1))
    before = worker.trees.lanes(RANKING, [ROOT, (66,), (66, 2)])
    worker.move(moved("a", 300, 301, 2))

    assert worker.trees.remove(RANKING, {(66, 2): before[66, 2]}, []) == [CancelReason.CONDITION]
    worker.move(moved("b", None, 300, 1))
    assert worker.trees.remove(RANKING, {}, [Removal((66,), [2], before[66,])]) == [CancelReason.CONDITION]
    assert_tiers_count_the_entries(engine)


@pytest.mark.parametrize("seed", seeds(10, 25))
def test_lanes_and_cleaning_beside_each_other(engine: Any, seed: int) -> None:
    print(f"seed {seed}")
    interleaved(engine, seed)


def test_a_board_whose_scores_only_rise_keeps_a_tree_in_proportion(engine: Any) -> None:
    check_proportion(engine, (100, 2_500), 20, 2)
