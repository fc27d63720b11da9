"""The projector, which also removes empty nodes, and replays, which place members by their current items."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final

from standings.aws.dynamodb.ranking_reads import Trees
from standings.domain.rolling import Shift
from standings.domain.windows import DAY, SECOND
from standings.project.commits import prune
from standings.stores import CancelReason, Lane, Lanes
from tests.support.builders.checks import assert_tiers_count_the_entries
from tests.support.builders.stages.cleaners import RANKING, Worker, moved, out_of_reach, tier_conflict
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.faults.faulty_client import Faulty

from .replacing import Change, Safeguard, becomes, returns, unconditional
from .rig import HIDE, NOW, SHARDED, Rig, delivering, on_a_rig

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from standings.domain.members import Move
    from standings.domain.scoring import Place

# ---- schedules that need them

_LATE: Final = [(Rig.project, 0), (Rig.project, 1), (Rig.project, 0)]
_ONE_BATCH_LATE: Final = [(Rig.project, 0), (Rig.project, 1, 2), (Rig.project, 1)]
_PARKED: Final = [(Rig.project, 0), (Rig.park, 1), (Rig.replay,)]
late_on_newer: Final = delivering("late_on_newer", (10, 2, -2), _ONE_BATCH_LATE, {"a": 10})
in_and_out_in_a_batch: Final = delivering(
    "in_and_out_in_a_batch", (10, HIDE), [(Rig.project, 0, 1), (Rig.project, 0)], {}
)
hidden_and_late: Final = delivering("hidden_and_late", (10, HIDE), _LATE, {})
equal_after_a_gap: Final = delivering(
    "equal_after_a_gap", (10, 2, -2), [(Rig.project, 0), (Rig.project, 2), (Rig.project, 1)], {"a": 10}
)
parked_and_hidden: Final = delivering("parked_and_hidden", (10, HIDE), _PARKED, {})


@on_a_rig
def nothing_done(pipeline: Rig) -> None:
    """The store is down for a batch with two members."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 1)
    pipeline.send(stack, "b", 2)
    pipeline.project(stack, *pipeline.records(), down=True)
    assert pipeline.scores(stack) == {"a": 1, "b": 2}


@on_a_rig
def nothing_done_of_two_days(pipeline: Rig) -> None:
    """The store is down for a batch in which only the first record is from yesterday."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 1, at=NOW - DAY)
    pipeline.send(stack, "b", 2)
    pipeline.send(stack, "a", 1)
    pipeline.project(stack, *pipeline.records(), down=True)
    assert pipeline.scores(stack, "day", "2026-11-20") == {"a": 1}


@on_a_rig
def shards_of_another_definition(pipeline: Rig) -> None:
    """A reader with one shard in its definition reads what a projector has spread over nine."""
    stack, newer = pipeline.functions(), pipeline.functions(SHARDED)
    for number in range(20):
        pipeline.send(newer, f"m{number}", number)
    pipeline.project(newer, *pipeline.records())
    assert len(pipeline.scores(stack)) == 20


@on_a_rig
def parked_a_moment_ago(pipeline: Rig) -> None:
    """A replay runs right after the change, when an eventually consistent read still returns the old item."""

    class Behind(Faulty):
        def batch_get_item(self, RequestItems: Any) -> Any:  # noqa: N803 - the name in boto3
            request = RequestItems.get("Scores", {})
            answer = self.client.batch_get_item(RequestItems=RequestItems)
            if request.get("Keys") == [first["dynamodb"]["Keys"]] and not request.get("ConsistentRead"):
                answer["Responses"]["Scores"] = [first["dynamodb"]["NewImage"]]
            return answer

    writer = pipeline.functions()
    stack = pipeline.functions(client=Behind(pipeline.engine))
    pipeline.send(writer, "a", 10)
    (first,) = pipeline.records()
    pipeline.project(stack, first)
    pipeline.send(writer, "a", 2)
    (second,) = pipeline.records()
    pipeline.park(stack, second)
    pipeline.replay(stack)
    assert pipeline.scores(stack) == {"a": 12}


@on_a_rig
def parked_beside_a_rebuild(pipeline: Rig) -> None:
    """A record is parked after a rebuild has placed all members. The replay must update both generations."""
    stack = pipeline.functions()
    pipeline.count(stack, "a", 10)
    pipeline.rebuild(stack, until="switched")
    pipeline.clock.milliseconds += 61 * SECOND
    pipeline.send(stack, "a", 2)
    pipeline.park(stack, *pipeline.records())
    pipeline.replay(stack)
    assert pipeline.scores(stack) == {"a": 12}


@dataclass
class Seen(Trees):
    """Trees as a pruner has read them, where the nodes may come from reads at different moments."""

    worker: Worker
    seen: Mapping[Any, Lanes]
    then: Callable[[], None] = lambda: None

    def lanes(self, _: Any, paths: Sequence[Any]) -> dict[Any, Lanes]:
        return {path: self.seen[path] for path in paths if path in self.seen}

    def remove(self, *arguments: Any) -> Any:
        self.then()
        return self.worker.trees.remove(*arguments)


@dataclass
class Tree:
    """A tree with an empty leaf (66, 2), and its neighbour (66, 3) with one member."""

    engine: Any = field(default_factory=Engine)
    first: Worker = field(init=False)
    second: Worker = field(init=False)

    def __post_init__(self) -> None:
        create_tables(self.engine)
        self.first = Worker(self.engine, chance=0)
        self.second = Worker(self.engine, seed=5, chance=0)
        self.first.move(moved("z", None, 400, 1))

    def enter(self) -> None:
        self.first.move(moved("b", None, 300, 1))

    def enter_and_leave(self) -> None:
        self.first.move(moved("a", None, 300, 1))
        self.first.move(moved("a", 300, 5, 2))

    def seen(self) -> dict[Any, Lanes]:
        return self.first.trees.lanes(RANKING, [(), (66,), (66, 2)])

    def through_another_lane(self) -> None:
        """A member enters, moves within the leaf in another lane, and leaves. Only the sums over lanes are 0."""
        self.first.move(moved("b", None, 300, 1))
        self.second.client.steps.extend([tier_conflict] * 2)
        self.second.move(moved("b", 300, 301, 2))
        assert (lane := self.second.rankings._lanes.get(RANKING.key)) is not None
        assert lane.number == 1
        self.first.move(moved("b", 301, None, 3))

    def clean(self, seen: Mapping[Any, Lanes], then: Callable[[], None] = lambda: None) -> None:
        prune(Seen(self.first, seen, then), RANKING, [(66, 2)])
        assert_tiers_count_the_entries(self.engine)
        assert out_of_reach(self.engine) == set()


def a_node_that_was_in_use() -> None:
    """A member enters and leaves in two lanes, after one lane was read and before the removal."""
    tree = Tree()
    tree.enter_and_leave()
    tree.clean(tree.seen(), tree.through_another_lane)


def a_node_made_again() -> None:
    """A node is removed and created again, with as many writes as when it was read."""
    tree = Tree()
    tree.enter_and_leave()
    seen = tree.seen()

    def then() -> None:
        tree.clean(tree.seen())
        tree.first.time.milliseconds += 5
        tree.second.time.milliseconds += 5
        tree.through_another_lane()

    tree.clean(seen, then)


def a_counter_in_use_again() -> None:
    """The leaf is read before it exists and its counter after everyone has left. Then a member enters."""
    tree = Tree()
    tree.enter_and_leave()
    seen = {path: lanes for path, lanes in tree.seen().items() if path != (66, 2)}
    tree.clean(seen, tree.enter)


def _worker_with_a() -> Worker:
    engine = Engine()
    create_tables(engine)
    worker = Worker(engine, chance=0)
    worker.move(moved("a", None, 300, 1))
    return worker


def a_counter_of_a_later_moment() -> None:
    """A node is read before a member enters, and its parent's counter afterwards."""
    worker = _worker_with_a()
    prune(Seen(worker, worker.trees.lanes(RANKING, [()])), RANKING, [(66, 2)])
    assert_tiers_count_the_entries(worker.client)


def a_node_with_something_below() -> None:
    """A node is read when it is empty, and the node below it when it still had a member. Both must stay in reach."""
    worker = _worker_with_a()
    before = worker.trees.lanes(RANKING, [(66, 2)])
    worker.move(moved("a", 300, 5, 2))
    after = worker.trees.lanes(RANKING, [(), (66,)])
    assert isinstance(before[66, 2][0], Lane)
    prune(Seen(worker, {**after, **before}), RANKING, [(66, 2)])
    assert_tiers_count_the_entries(worker.client)
    assert out_of_reach(worker.client) == set()


# ---- how each is taken away

_BELIEVED: Final[dict[int, tuple[Move, Place | None]]] = {}
"""Each move's old place by its stream images, before the row corrected it."""


def _remembers_images(original: Callable[..., Any]) -> Callable[..., Any]:
    def believe(move: Move, row: Any) -> None:
        _BELIEVED.setdefault(id(move), (move, move.old))
        original(move, row)

    return believe


def _counts_by_images(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda move: original(replace(move, old=_BELIEVED.get(id(move), (move, move.old))[1]))


def _entries_first(original: Callable[..., Any]) -> Callable[..., Any]:
    def write(self: Any, entries: Any, counters: Any) -> Any:
        return original(self, entries, []) or [
            conflict._replace(position=conflict.position + len(entries))
            for conflict in (counters and original(self, [], counters))
        ]

    return write


def _there_and_back_left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: [move for move in original(*arguments) if move.old != move.new or move.old is None]


def _in_and_out_left_out(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: [move for move in original(*arguments) if move.old is not None or move.new is not None]


def _equals_done(original: Callable[..., Any]) -> Callable[..., Any]:
    def resolve(chunk: Any, conflicts: Any, outcome: Any) -> list[Move]:
        left: list[Move] = original(chunk, conflicts, outcome)
        refused = [
            id(chunk[conflict.position])
            for conflict in conflicts
            if conflict.position is not None and conflict.reason is CancelReason.CONDITION
        ]
        equal = [id(move) for move in left if id(move) in refused and move.old == move.new]
        outcome.done += [move for move in left if id(move) in equal]
        return [move for move in left if id(move) not in equal]

    return resolve


def _last_record_reported(original: Callable[..., Any]) -> Callable[..., Any]:
    def unfinished(self: Any) -> Any:
        self._positions = {key: positions[::-1] for key, positions in self._positions.items()}
        return original(self)

    return unfinished


def _highest(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda self: set(sorted(original(self))[-1:])


def _row_deleted(original: Callable[..., Any]) -> Callable[..., Any]:
    def entry_action(table: str, ranking: Any, move: Move, expiry: int | None) -> Any:
        action = original(table, ranking, move, expiry)
        if move.new is not None:
            return action
        request = {name: value for name, value in action["Put"].items() if name != "Item"}
        return {"Delete": {**request, "Key": {"pk": action["Put"]["Item"]["pk"]}}}

    return entry_action


def _unknown_dropped(original: Callable[..., Any]) -> Callable[..., Any]:
    def park(self: Any, position: int, reason: str) -> None:
        change = self._records[position].change
        if change is None or self._projector.catalog.boards.family(change.new.board) is not None:
            original(self, position, reason)

    return park


def _shards_unlisted(original: Callable[..., Any]) -> Callable[..., Any]:
    def commit(self: Any, ranking: Any, moves: Any) -> Any:
        self._named.put((ranking.key, ranking.metric.shards), value=True)
        return original(self, ranking, moves)

    return commit


PROJECTING: Final = {
    "a row accepts only newer versions": Safeguard(
        Change("aws.dynamodb.rankings:_OLDER", becomes("(v < :v OR v >= :v)")), written=late_on_newer
    ),
    "a row is moved only from the place where it was counted": Safeguard(
        Change("aws.dynamodb.rankings:_UNRANKED", becomes("attribute_not_exists(nothing)")),
        Change("aws.dynamodb.rankings:_RANKED_THERE", becomes("(s = :s OR s <> :s)")),
    ),
    "counters and entries are in one transaction": Safeguard(
        Change("aws.dynamodb.rankings:Rankings._write", _entries_first)
    ),
    "counters move from the place in the row, not from the place in the record": Safeguard(
        Change("project.commits:_start_from", _remembers_images),
        Change("aws.dynamodb.rankings:_counted", _counts_by_images),
    ),
    "a score that changes and changes back still makes a move (10, 12, 10)": Safeguard(
        Change("domain.members:moves", _there_and_back_left_out), written=late_on_newer
    ),
    "a member that enters and leaves still makes a move (none, 10, none)": Safeguard(
        Change("domain.members:moves", _in_and_out_left_out), written=in_and_out_in_a_batch
    ),
    "a row with an equal score takes the new version after a missing record": Safeguard(
        Change("project.commits:_resolve", _equals_done), written=equal_after_a_gap
    ),
    "the lowest unfinished record is reported": Safeguard(
        Change("project.projector:_Batch._unfinished_positions", _highest), written=nothing_done
    ),
    "an unfinished member is reported by its first record": Safeguard(
        Change("project.projector:_Batch._unfinished_positions", _last_record_reported),
        written=nothing_done_of_two_days,
    ),
    "a member that leaves a ranking keeps its row": Safeguard(
        Change("aws.dynamodb.rankings:entry_action", _row_deleted), written=hidden_and_late
    ),
    "a record of an unknown board is parked": Safeguard(Change("project.projector:_Batch._park", _unknown_dropped)),
    "the root lists a shard before an entry is written to it": Safeguard(
        Change("aws.dynamodb.rankings:Rankings.commit", _shards_unlisted), written=shards_of_another_definition
    ),
    "the root lists a lane before it is used": Safeguard(
        Change("aws.dynamodb.rankings:Rankings._name_lanes", returns([]))
    ),
}


def _ranked_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: (move for move in original(*arguments) if _is_ranked(move))


def _is_ranked(move: Move | Shift) -> bool:
    return bool(move.steps.steps) if isinstance(move, Shift) else move.new is not None


def _one_generation_alone(original: Callable[..., Any]) -> Callable[..., Any]:
    def moves(*arguments: Any) -> Any:
        placed = list(original(*arguments))
        return [move for move in placed if move.ranking.generation == placed[0].ranking.generation]

    return moves


def _read_eventually(_: Any) -> Callable[..., Any]:
    def image(self: Any, parked: Any, backoff: Any) -> Any:
        key = (parked.board, parked.member)
        return backoff.retry(self.scores.images, [key]).get(key)

    return image


REPLAYING: Final = {
    "a replay updates the member in every ranking": Safeguard(
        Change("maintain.failures:ParkedRecords._moves", _ranked_alone), written=parked_and_hidden
    ),
    "a replay reads the item consistently": Safeguard(
        Change("maintain.failures:ParkedRecords._image", _read_eventually), written=parked_a_moment_ago
    ),
    "a replay updates every generation that is being written": Safeguard(
        Change("maintain.failures:ParkedRecords._moves", _one_generation_alone), written=parked_beside_a_rebuild
    ),
}


def _each_unconditionally(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: (unconditional(action) for action in original(*arguments))


def _versions_from_0(original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda table, key, sets, adds, expiry, _: original(table, key, sets, adds, expiry, 0)


PRUNING: Final = {
    "a node is removed only at the version that was read": Safeguard(
        Change("aws.dynamodb.ranking_reads:Trees._node_out", _each_unconditionally), written=a_node_that_was_in_use
    ),
    "a counter is removed only at the value that was read": Safeguard(
        Change("aws.dynamodb.ranking_reads:Trees._counters_out", _each_unconditionally), written=a_counter_in_use_again
    ),
    "a node is removed only if the counter of its parent is 0": Safeguard(
        Change("project.commits:_is_counted", returns(False)), written=a_counter_of_a_later_moment
    ),
    "a node is removed only if no node is below it": Safeguard(
        Change("project.commits:_has_nodes_below", returns(False)), written=a_node_with_something_below
    ),
    "the first version of a node is the clock time": Safeguard(
        Change("aws.dynamodb.rankings:node_update", _versions_from_0), written=a_node_made_again
    ),
}
