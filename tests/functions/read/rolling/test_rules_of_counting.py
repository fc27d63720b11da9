"""Each rule by which counts of a rolling window are read is needed: without it, they are of no moment."""

from collections.abc import Mapping
from typing import Any, Final
from unittest import mock

import pytest

from standings.aws.dynamodb.keys import node_key
from standings.aws.dynamodb.rankings import rolling_reads
from standings.aws.dynamodb.rankings.rolling_items import positions
from standings.aws.dynamodb.rankings.rolling_reads import RollingReads
from standings.domain.rolling import count_log
from standings.domain.rolling.count_log import Log
from tests.support.builders.rolling.moving_window import MovingWindow
from tests.support.builders.rolling.reading import (
    Reading,
    Schedule,
    a_fold_of_known_entries,
    a_fold_that_dies_halfway,
    a_move_and_a_fold_among_nodes,
    a_move_and_a_fold_before_nodes,
    a_new_log,
    acts,
    entries_in_another_log,
    nothing,
)

_nodes = RollingReads.nodes


def nodes_first(self: RollingReads, wanted: Any) -> Any:
    """Read the nodes, and then the logs."""
    wanted = list(wanted)
    keys = [node_key(ranking.key, path) for ranking, path in wanted]
    before, read = self._read(keys), self._read
    self._read = lambda some: before if list(some) == keys else read(some)
    return _nodes(self, wanted)


def only_known_logs(nodes: Any, logs: Any) -> bool:
    """A log that was not read counts as read."""
    found = [pair for node in nodes for pair in positions(node).items()]
    return all(position <= logs[number].end for number, position in found if number in logs)


def joined_across_a_cut(earlier: Mapping[int, Log], later: Mapping[int, Log]) -> Mapping[int, Log] | None:
    """What was cut in between is not missed."""
    both = count_log.joined(earlier, later)
    return later if both is None and later.keys() <= earlier.keys() else both


def joined_with_a_new_log(earlier: Mapping[int, Log], later: Mapping[int, Log]) -> Mapping[int, Log] | None:
    """A log that was not known at the first reading had nothing."""
    return count_log.joined({**later, **earlier}, later)


Rule = tuple[Any, str, Any, Schedule]
RULES: Final[dict[str, Rule]] = {
    "logs are read before nodes": (RollingReads, "nodes", nodes_first, a_move_and_a_fold_before_nodes),
    "a node that is ahead makes it read again": (
        rolling_reads,
        "positions_known",
        lambda *_: True,
        a_move_and_a_fold_among_nodes,
    ),
    "also where nothing was cut": (rolling_reads, "positions_known", lambda *_: True, a_fold_that_dies_halfway),
    "a log that was not read counts as behind": (rolling_reads, "positions_known", only_known_logs, a_new_log),
    "nodes are read again if entries were cut": (
        rolling_reads,
        "joined",
        joined_across_a_cut,
        a_move_and_a_fold_among_nodes,
    ),
    "nodes are read again if a log is new": (rolling_reads, "joined", joined_with_a_new_log, a_new_log),
    "a node is given only what it lacks": (rolling_reads, "positions", lambda _: {}, a_fold_of_known_entries),
    "a node is given what it lacks": (rolling_reads, "node_deltas", lambda *_: {}, nothing),
    "all logs are read": (rolling_reads, "log_count", lambda _: 1, entries_in_another_log),
}


@pytest.mark.parametrize("rule", RULES)
def test_without_the_rule_it_is_wrong(engine: Any, rule: str) -> None:
    where, name, instead, schedule = RULES[rule]
    window = MovingWindow(engine)
    reading = Reading(window, acts(schedule(window)))
    with mock.patch.object(where, name, instead), pytest.raises(AssertionError):
        reading.check()
