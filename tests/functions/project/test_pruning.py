"""Dead nodes of tiers are removed, and busy tiers count in lanes: the counters are those of the entries."""

import random
from dataclasses import replace
from typing import Any, Final

import pytest

from standings.aws.dynamodb.tables import node_key
from standings.domain.members import Move
from standings.domain.scoring import Place
from standings.domain.tiers import ROOT, Path, path, prefixes
from standings.rankings.calendar.pruning import CHANCE, Pruning, _removable
from standings.rankings.calendar.storing import chunks
from standings.rankings.commits import PruneResult
from standings.stores import MAX_ACTIONS, Lane, Node, StoreRefusedError, StoreUnavailableError
from tests.support.builders.checks import assert_tiers_count_the_entries, lanes, nodes
from tests.support.builders.points import NOW
from tests.support.builders.stages.cleaners import RANKING, Worker, moved, ranking, reading, tier_conflict
from tests.support.dynamodb.tables import engine_with_tables
from tests.support.faults import faulty_client


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


def test_members_in_any_lane_keep_a_node() -> None:
    for counts in ((0, 1), (1, 0)):
        lanes_ = {lane: Lane({44: count}, 1, NOW) for lane, count in enumerate(counts)}
        assert (66, 2) not in _removable({(66, 2): lanes_, (66,): {}, ROOT: {}}, 1)


def test_what_is_too_much_for_one_look_is_left_to_the_next(engine: Any, worker: Worker) -> None:
    still = Worker(engine, chance=0)
    everyone = [moved(f"m{n}", None, 128 * n, 1) for n in range(1, 120)]
    still.move(*everyone)
    still.move(*(moved(move.member, move.new.values[0], 2**35, 2) for move in everyone if move.new))
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
    one = Worker(engine)
    client: Any = one.client
    one.rankings._pruning = Pruning(client, "Rankings", one.tools, chance=1)
    day = ranking("day")
    for found in (RANKING, day):
        for old, new, version in ((None, 5, 1), (5, 5_000, 2)):
            move = Move(found, "a", None if old is None else Place((old,)), Place((new,)), version, NOW)
            assert one.move(move).moves == 1

    assert one.looks == [PruneResult(removed=1)]
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

    monkeypatch.setattr(worker.pruning, "lanes", fail)
    assert worker.move(moved("a", 300, 5, 2)).moves == 1
    assert worker.looks == [PruneResult(reason=str(error), unexpected=unexpected)]


STEPS: Final = (100, 2_500)
ROUNDS: Final = 20
MEMBERS: Final = 300


def rise(worker: Worker) -> int:
    """Raise the scores of all members, which lowers their sort values. Returns how many nodes the last ones need."""
    rng = random.Random(1)
    values: dict[str, int | None] = dict.fromkeys(f"member-{number}" for number in range(MEMBERS))
    for version in range(1, ROUNDS + 1):
        before, values = values, {name: (old or 0) - rng.randint(*STEPS) for name, old in values.items()}
        in_order = sorted(values, key=lambda name: values[name] or 0)
        moves = [moved(name, before[name], values[name], version) for name in in_order]
        assert len(worker.move(*moves).done) == MEMBERS
    return len({node for value in values.values() if value for node in prefixes(path((value,)))})


def test_a_board_whose_scores_only_rise_keeps_a_tree_in_proportion(engine: Any) -> None:
    """It has at most twice the nodes that are needed. Without pruning it has more."""
    worker = Worker(engine, chance=CHANCE)
    needed = rise(worker)
    assert len(list(nodes(engine))) <= 2 * needed + 20
    assert not any(look.unexpected for look in worker.looks)
    assert_tiers_count_the_entries(engine)

    never = engine_with_tables()
    needed = rise(Worker(never, chance=0))
    assert len(list(nodes(never))) > 2 * needed


# ---- lanes: counters are spread over them after conflicts, and every reader sums all of them


def test_everyone_counts_in_the_first_lane_until_conflicts_follow_one_another(engine: Any, worker: Worker) -> None:
    worker.client.steps.extend([tier_conflict, faulty_client.passes, tier_conflict, faulty_client.passes])
    worker.move(moved("a", None, 5, 1))
    worker.move(moved("b", None, 6, 1))
    assert lanes(engine) == {}

    for member, known in (("c", 2), ("d", 4), ("e", 4)):
        worker.client.steps.extend([tier_conflict] * 2)
        worker.move(moved(member, None, 7, 1))
        assert lanes(engine) == {RANKING.key: known}
    assert_tiers_count_the_entries(engine)


def test_a_conflict_on_an_entry_is_no_reason_for_a_lane(engine: Any, worker: Worker) -> None:
    worker.client.steps.extend([faulty_client.conflict] * 9)
    worker.move(moved("a", None, 5, 1))

    assert lanes(engine) == {}


def test_a_lane_is_named_patiently_and_learned_from_whoever_named_it(engine: Any, worker: Worker) -> None:
    worker.client.steps.extend([tier_conflict] * 7)  # the root is taken as well
    outcome = worker.move(moved("a", None, 5, 1))
    assert outcome.conflicts == 7
    assert lanes(engine) == {RANKING.key: 2}

    worker.client.steps.extend([tier_conflict] * 2)
    worker.move(moved("a", 5, 6, 2))
    other = Worker(engine, seed=2)
    other.client.steps.extend([tier_conflict] * 2)
    other.move(moved("b", None, 5, 1))
    assert lanes(engine) == {RANKING.key: 4}
    assert (lane := other.rankings._lanes.get(RANKING.key)) is not None
    assert lane.of == 4


def test_lanes_of_a_period_go_with_it(engine: Any) -> None:
    day = ranking("day")
    for seed in range(4):
        other = Worker(engine, seed)
        other.client.steps.extend([tier_conflict] * 2)
        other.move(Move(day, f"m{seed}", None, Place((seed,)), 1, NOW))

    items = [item for _, _, _, item in nodes(engine)]
    assert {lane for _, _, lane, _ in nodes(engine)} > {0}
    assert len({item["e"]["N"] for item in items}) == 1
    assert all(int(item["v"]["N"]) > NOW for item in items)


def test_a_transaction_holds_a_lane_and_the_root_that_names_the_shards() -> None:
    spread = RANKING._replace(metric=replace(RANKING.metric, shards=3))
    rng = random.Random(1)
    found = [Move(spread, f"m{n}", None, Place((rng.randrange(2**40),)), 1, NOW) for n in range(400)]
    for chunk in chunks(found):
        ways = {way for move in chunk if move.new for way in prefixes(path(move.new.values))}
        assert len(chunk) + len(ways) + 1 <= MAX_ACTIONS


def test_lanes_that_are_not_known_are_learned_from_the_root_at_any_read(engine: Any, worker: Worker) -> None:
    worker.move(moved("a", None, 300, 1))
    worker.client.steps.extend([tier_conflict] * 2)
    worker.move(moved("b", None, 300, 1))
    assert lanes(engine) == {RANKING.key: 2}
    time = faulty_client.Time(NOW)
    reader = reading(engine, time)

    for _ in range(2):
        assert reader.nodes([(RANKING, (66,))]) == {(RANKING, (66,)): Node({2: 2}, NOW)}
        # Whoever sets the clock back makes it forget, also between two reads of one question.
        time.milliseconds -= 1


def test_a_lane_whose_counters_are_below_zero_for_a_moment_counts_nobody(engine: Any, worker: Worker) -> None:
    worker.move(moved("a", None, 5, 1))
    for lane, count in ((0, "-2"), (1, "1")):
        key = {"pk": {"S": node_key(RANKING.key, (65,), lane)}}
        engine.put_item(TableName="Rankings", Item={**key, "q0": {"N": count}})
    engine.update_item(
        TableName="Rankings",
        Key={"pk": {"S": node_key(RANKING.key, ROOT)}},
        UpdateExpression="SET l = :l REMOVE t",
        ExpressionAttributeValues={":l": {"N": "2"}},
    )

    found = reading(engine).nodes([(RANKING, (65,)), (RANKING, ROOT)])
    assert found[RANKING, (65,)].counters == {0: 0}
    assert found[RANKING, ROOT].written_at_ms is None
