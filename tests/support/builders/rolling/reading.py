"""A rolling window that is read while things happen to it, before any item that is read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from standings.aws.dynamodb.rankings.ranking_reads import DynamoRankingsReader
from tests.support.builders.rolling.moving_window import (
    ALL_NODES,
    PATHS,
    SORT_VALUES,
    Counts,
    MovingWindow,
    without_zeros,
)
from tests.support.faults.item_by_item import ItemByItem, Place


@dataclass
class Reading:
    """A window and the function that reads it. `before` is called before each item is read."""

    window: MovingWindow
    before: Callable[[Place], None] = lambda _: None

    def __post_init__(self) -> None:
        self.client = ItemByItem(self.window.engine)
        self.reader = DynamoRankingsReader(self.client, "Rankings", "Scores", self.window.clock)  # type: ignore[arg-type]

    def counts(self) -> Counts:
        """The counters of all nodes as a new request reads them."""
        self.client.batches.clear()
        self.client.before = self.before
        nodes = self.reader.for_request().nodes([(self.window.ranking, path) for path in PATHS])
        self.client.before = lambda _: None
        read = {path: without_zeros(dict(node.counters)) for (_, path), node in nodes.items()}
        return {path: counters for path, counters in read.items() if counters}

    def check(self) -> None:
        """Read all nodes: they are of one moment of each log, between the beginning and the end of the reading."""
        since = self.window.lengths()
        read = self.counts()
        assert read in map(whole, self.window.moments(since))

    def check_each(self) -> None:
        """Read all nodes: each is of one moment of each log."""
        since = self.window.lengths()
        read = self.counts()
        moments = [whole(moment) for moment in self.window.moments(since)]
        for path in PATHS:
            assert read.get(path) in [moment.get(path) for moment in moments]


def whole(counts: Counts) -> Counts:
    return {path: counters for path, counters in counts.items() if counters}


Acts = dict[Place, Callable[[], None]]


def acts(happening: Acts) -> Callable[[Place], None]:
    """What happens before which item is read."""

    def before(place: Place) -> None:
        if place in happening:
            happening[place]()

    return before


def nothing(window: MovingWindow) -> Acts:
    del window
    return {}


def a_fold_of_known_entries(window: MovingWindow) -> Acts:
    return {(1, 2): window.fold}


def a_fold_before_logs_are_read(window: MovingWindow) -> Acts:
    return {(0, 0): window.fold, (1, 1): lambda: window.move("m1", SORT_VALUES[0])}


def a_move_and_a_fold_before_nodes(window: MovingWindow) -> Acts:
    return {(1, 0): moved_and_folded(window)}


def a_move_and_a_fold_among_nodes(window: MovingWindow) -> Acts:
    return {(1, 1): moved_and_folded(window)}


def folds_one_after_the_other(window: MovingWindow) -> Acts:
    def later() -> None:
        moved_and_folded(window, "m3")()
        window.move("m4", SORT_VALUES[1])
        window.fold()
        window.move("m5", SORT_VALUES[2])

    return {(1, 1): moved_and_folded(window), (1, 3): later}


def a_fold_that_dies_halfway(window: MovingWindow) -> Acts:
    def half() -> None:
        window.move("m0", SORT_VALUES[-1])
        window.fold(nodes=2)

    window.fold()
    return {(1, 0): half}


def a_fold_that_dies_before_it_cuts(window: MovingWindow) -> Acts:
    def all_but_the_cut() -> None:
        window.move("m0", SORT_VALUES[-1])
        window.fold(nodes=ALL_NODES)

    return {(1, 1): all_but_the_cut}


def a_fold_while_it_reads_again(window: MovingWindow) -> Acts:
    return {
        (1, 1): moved_and_folded(window),
        (2, 0): lambda: window.move("m2", SORT_VALUES[0]),
        (3, 1): moved_and_folded(window, "m3"),
    }


def a_new_log(window: MovingWindow) -> Acts:
    def begin() -> None:
        window.move("m0", SORT_VALUES[-1], log=window.new_log())
        window.fold(1)

    return {(1, 1): begin}


def a_new_log_that_is_not_cut(window: MovingWindow) -> Acts:
    def begin() -> None:
        window.move("m0", SORT_VALUES[-1], log=window.new_log())
        window.fold(1, nodes=2)

    return {(1, 0): begin}


def a_new_log_between_logs_and_the_number_of_logs(window: MovingWindow) -> Acts:
    def begin() -> None:
        window.move("m0", SORT_VALUES[-1], log=window.new_log())
        window.fold(2)

    window.move("m1", SORT_VALUES[-1], log=window.new_log())
    return {(1, 0): begin}


def entries_in_another_log(window: MovingWindow) -> Acts:
    window.move("m0", SORT_VALUES[-1], log=window.new_log())
    return {}


def folds_of_several_logs(window: MovingWindow) -> Acts:
    def both() -> None:
        window.move("m0", SORT_VALUES[-2])
        window.move("m1", SORT_VALUES[-2], log=1)
        window.fold(1)
        window.fold(0)
        window.move("m2", SORT_VALUES[-2], log=1)

    window.move("m0", SORT_VALUES[-1], log=window.new_log())
    return {(2, 1): both}


def moved_and_folded(window: MovingWindow, member: str = "m0") -> Callable[[], None]:
    def move_and_fold() -> None:
        others = [value for value in SORT_VALUES if value != window.at[member]]
        window.move(member, others[-1])
        window.fold()

    return move_and_fold


Schedule = Callable[[MovingWindow], Acts]
# Each schedule, and the batches that it takes.
SCHEDULES: Final[dict[Schedule, int]] = {
    nothing: 2,
    a_fold_of_known_entries: 2,
    a_fold_before_logs_are_read: 2,
    a_move_and_a_fold_before_nodes: 4,
    a_move_and_a_fold_among_nodes: 4,
    folds_one_after_the_other: 4,
    # The log still has what the nodes lack, so they are not read again.
    a_fold_that_dies_halfway: 3,
    a_fold_that_dies_before_it_cuts: 3,
    a_fold_while_it_reads_again: 6,
    # The number of logs is read before the new log.
    a_new_log: 5,
    a_new_log_that_is_not_cut: 5,
    a_new_log_between_logs_and_the_number_of_logs: 6,
    entries_in_another_log: 3,
    folds_of_several_logs: 5,
}
