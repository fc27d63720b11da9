"""The projector, which also removes empty nodes, and replays, which place members by their current items."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from standings.domain.members import Move
from standings.domain.scoring import Place
from standings.domain.windows import DAY, SECOND
from standings.rankings.calendar.pruning import Pruning
from standings.rankings.rolling.steps import Shift
from standings.stores import CancelReason, Lane, Lanes
from tests.support.builders.checks import assert_tiers_count_the_entries
from tests.support.builders.stages.cleaners import RANKING, Worker, moved, out_of_reach, tier_conflict
from tests.support.faults.faulty_client import Faulty

from .replacing import Change, Safeguard, always, deleting, unconditional
from .rig import HIDE, NOW, Rig, delivering

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

# ---- the projector

Safeguard(
    "a row accepts only newer versions", Change("rankings.calendar.storing:_OLDER", always("(v < :v OR v >= :v)"))
)(late_on_newer)
Safeguard(
    "a row is moved only from the place where it was counted",
    Change("rankings.calendar.storing:_UNRANKED", always("attribute_not_exists(nothing)")),
    Change("rankings.calendar.storing:_RANKED_THERE", always("(s = :s OR NOT s = :s)")),
)


def _entries_first(original: Any, self: Any, entries: Any, counters: Any) -> Any:
    return original(self, entries, []) or [
        conflict._replace(position=conflict.position + len(entries))
        for conflict in (counters and original(self, [], counters))
    ]


Safeguard(
    "counters and entries are in one transaction",
    Change("rankings.calendar.storing:CalendarStorage._write", _entries_first),
)

_BELIEVED: Final[dict[int, tuple[Move, Place | None]]] = {}
"""Each move's old place by its stream images, before the row corrected it."""


def _remembers_images(original: Any, move: Move, row: Any) -> None:
    _BELIEVED.setdefault(id(move), (move, move.old))
    original(move, row)


def _counts_by_images(original: Any, table: str, ranking: Any, moves: Any, *arguments: Any, **named: Any) -> Any:
    believed = [replace(move, old=_BELIEVED.get(id(move), (move, move.old))[1]) for move in moves]
    return original(table, ranking, believed, *arguments, **named)


Safeguard(
    "counters move from the place in the row, not from the place in the record",
    Change("rankings.calendar.storing:_start_from", _remembers_images),
    Change("rankings.calendar.storing:node_actions", _counts_by_images),
)


def _there_and_back_left_out(original: Any, *arguments: Any) -> Any:
    return [move for move in original(*arguments) if move.old != move.new or move.old is None]


Safeguard(
    "a score that changes and changes back still makes a move (10, 12, 10)",
    Change("domain.members:moves", _there_and_back_left_out),
)(late_on_newer)


def _in_and_out_left_out(original: Any, *arguments: Any) -> Any:
    return [move for move in original(*arguments) if move.old is not None or move.new is not None]


Safeguard(
    "a member that enters and leaves still makes a move (none, 10, none)",
    Change("domain.members:moves", _in_and_out_left_out),
)(in_and_out_in_a_batch)


def _equals_done(original: Any, chunk: Any, conflicts: Any, outcome: Any) -> list[Move]:
    left: list[Move] = original(chunk, conflicts, outcome)
    refused = [
        id(chunk[conflict.position])
        for conflict in conflicts
        if conflict.position is not None and conflict.reason is CancelReason.CONDITION
    ]
    equal = [id(move) for move in left if id(move) in refused and move.old == move.new]
    outcome.done += [move for move in left if id(move) in equal]
    return [move for move in left if id(move) not in equal]


Safeguard(
    "a row with an equal score takes the new version after a missing record",
    Change("rankings.calendar.storing:_resolve", _equals_done),
)(equal_after_a_gap)


@Safeguard(
    "the lowest unfinished record is reported",
    Change("project.projector:_Batch._unfinished_positions", lambda original, batch: set(sorted(original(batch))[-1:])),
)
def nothing_done(pipeline: Rig) -> None:
    """The store is down for a batch with two members."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 1)
    pipeline.send(stack, "b", 2)
    pipeline.project(stack, *pipeline.records(), down=True)
    assert pipeline.scores(stack) == {"a": 1, "b": 2}


def _last_record_reported(original: Any, self: Any) -> Any:
    self.positions = {key: positions[::-1] for key, positions in self.positions.items()}
    return original(self)


@Safeguard(
    "an unfinished member is reported by its first record",
    Change("project.projector:_Batch._unfinished_positions", _last_record_reported),
)
def nothing_done_of_two_days(pipeline: Rig) -> None:
    """The store is down for a batch in which only the first record is from yesterday."""
    stack = pipeline.functions()
    pipeline.send(stack, "a", 1, at=NOW - DAY)
    pipeline.send(stack, "b", 2)
    pipeline.send(stack, "a", 1)
    pipeline.project(stack, *pipeline.records(), down=True)
    assert pipeline.scores(stack, "day", "2026-11-20") == {"a": 1}


def _row_deleted(original: Any, table: str, ranking: Any, move: Move, expiry: int | None) -> Any:
    action = original(table, ranking, move, expiry)
    return action if move.new is not None else deleting(action)


Safeguard(
    "a member that leaves a ranking keeps its row", Change("rankings.calendar.storing:entry_action", _row_deleted)
)(hidden_and_late)


def _unknown_dropped(original: Any, self: Any, position: int, reason: str) -> None:
    change = self._records[position].change
    if change is None or self._projector.catalog.boards.family(change.new.board) is not None:
        original(self, position, reason)


Safeguard("a record of an unknown board is parked", Change("project.projector:_Batch.park", _unknown_dropped))


def _shards_unlisted(original: Any, self: Any, ranking: Any, moves: Any) -> Any:
    self._named.put((ranking.key, ranking.metric.shards), value=True)
    return original(self, ranking, moves)


@Safeguard(
    "the root lists a shard before an entry is written to it",
    Change("rankings.calendar.storing:CalendarStorage.move", _shards_unlisted),
)
def shards_of_another_definition(pipeline: Rig) -> None:
    """A reader with one shard in its definition reads what a projector has spread over nine."""
    pipeline.spread()
    assert len(pipeline.scores(pipeline.functions())) == 20


Safeguard(
    "the root lists a lane before it is used",
    Change("rankings.calendar.storing:CalendarStorage._name_lanes", always([])),
)

# ---- replays


def _ranked_alone(original: Any, *arguments: Any) -> Iterator[Move | Shift]:
    for move in original(*arguments):
        if move.steps.steps if isinstance(move, Shift) else move.new is not None:
            yield move


Safeguard(
    "a replay updates the member in every ranking", Change("maintain.failures:ParkedRecords._moves", _ranked_alone)
)(parked_and_hidden)


def _read_eventually(_: Any, self: Any, parked: Any, backoff: Any) -> Any:
    key = (parked.board, parked.member)
    return backoff.retry(self.scores.images, [key]).get(key)


@Safeguard("a replay reads the item consistently", Change("maintain.failures:ParkedRecords._image", _read_eventually))
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


def _one_generation_alone(original: Any, *arguments: Any) -> Any:
    placed = list(original(*arguments))
    return [move for move in placed if move.ranking.generation == placed[0].ranking.generation]


@Safeguard(
    "a replay updates every generation that is being written",
    Change("maintain.failures:ParkedRecords._moves", _one_generation_alone),
)
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


# ---- the removal of empty nodes


class Seen(Pruning):
    """A pruner whose nodes may come from reads at different moments. `then` comes after these reads."""

    def __init__(self, worker: Worker, seen: Mapping[Any, Lanes], then: Callable[[], Any] = lambda: None) -> None:
        self.lanes = lambda _, paths: {path: seen[path] for path in paths if path in seen}
        self.worker = worker
        self.then = then

    def remove(self, *arguments: Any) -> Any:
        self.then()
        return self.worker.pruning.remove(*arguments)


class Tree:
    """A tree with an empty leaf (66, 2), and its neighbour (66, 3) with one member."""

    def __init__(self, engine: Any) -> None:
        self.engine = engine
        self.first = Worker(engine, chance=0)
        self.second = Worker(engine, seed=5, chance=0)
        self.first.move(moved("z", None, 400, 1))
        self.first.move(moved("a", None, 300, 1))
        self.first.move(moved("a", 300, 5, 2))

    def seen(self) -> dict[Any, Lanes]:
        return self.first.pruning.lanes(RANKING, [(), (66,), (66, 2)])

    def through_another_lane(self) -> None:
        """A member enters, moves within the leaf in another lane, and leaves. Only the sums over lanes are 0."""
        self.first.move(moved("b", None, 300, 1))
        self.second.client.steps.extend([tier_conflict] * 2)
        self.second.move(moved("b", 300, 301, 2))
        assert (lane := self.second.rankings._lanes.get(RANKING.key)) is not None
        assert lane.number == 1
        self.first.move(moved("b", 301, None, 3))

    def clean(self, seen: Mapping[Any, Lanes], then: Callable[[], Any] = lambda: None) -> None:
        Seen(self.first, seen, then).prune(RANKING, [(66, 2)])
        assert_tiers_count_the_entries(self.engine)
        assert out_of_reach(self.engine) == set()


def _each_unconditionally(original: Any, *arguments: Any) -> Any:
    return (unconditional(action) for action in original(*arguments))


@Safeguard(
    "a node is removed only at the version that was read",
    Change("rankings.calendar.pruning:Pruning._node_out", _each_unconditionally),
)
def a_node_that_was_in_use(pipeline: Rig) -> None:
    """A member enters and leaves in two lanes, after one lane was read and before the removal."""
    tree = Tree(pipeline.engine)
    tree.clean(tree.seen(), tree.through_another_lane)


@Safeguard(
    "a counter is removed only at the value that was read",
    Change("rankings.calendar.pruning:Pruning._counters_out", _each_unconditionally),
)
def a_counter_in_use_again(pipeline: Rig) -> None:
    """The leaf is read before it exists and its counter after everyone has left. Then a member enters."""
    tree = Tree(pipeline.engine)
    seen = {path: lanes for path, lanes in tree.seen().items() if path != (66, 2)}
    tree.clean(seen, lambda: tree.first.move(moved("b", None, 300, 1)))


def _worker_with_a(pipeline: Rig) -> Worker:
    worker = Worker(pipeline.engine, chance=0)
    worker.move(moved("a", None, 300, 1))
    return worker


@Safeguard(
    "a node is removed only if the counter of its parent is 0",
    Change("rankings.calendar.pruning:_is_counted", always(False)),
)
def a_counter_of_a_later_moment(pipeline: Rig) -> None:
    """A node is read before a member enters, and its parent's counter afterwards."""
    worker = _worker_with_a(pipeline)
    Seen(worker, worker.pruning.lanes(RANKING, [()])).prune(RANKING, [(66, 2)])
    assert_tiers_count_the_entries(worker.client)


@Safeguard(
    "a node is removed only if no node is below it", Change("rankings.calendar.pruning:_has_nodes_below", always(False))
)
def a_node_with_something_below(pipeline: Rig) -> None:
    """A node is read when it is empty, and the node below it when it still had a member. Both must stay in reach."""
    worker = _worker_with_a(pipeline)
    before = worker.pruning.lanes(RANKING, [(66, 2)])
    worker.move(moved("a", 300, 5, 2))
    after = worker.pruning.lanes(RANKING, [(), (66,)])
    assert isinstance(before[66, 2][0], Lane)
    Seen(worker, {**after, **before}).prune(RANKING, [(66, 2)])
    assert_tiers_count_the_entries(worker.client)
    assert out_of_reach(worker.client) == set()


def _versions_from_0(original: Any, *arguments: Any) -> Any:
    return original(*arguments[:-1], 0)


@Safeguard(
    "the first version of a node is the clock time", Change("rankings.calendar.storing:node_update", _versions_from_0)
)
def a_node_made_again(pipeline: Rig) -> None:
    """A node is removed and created again, with as many writes as when it was read."""
    tree = Tree(pipeline.engine)
    seen = tree.seen()

    def then() -> None:
        tree.clean(tree.seen())
        tree.first.time.milliseconds += 5
        tree.second.time.milliseconds += 5
        tree.through_another_lane()

    tree.clean(seen, then)
