"""What units are for, by the key of the item."""

import pytest

from benchmarks.harness import population
from benchmarks.harness.capacity_units import Units
from benchmarks.harness.meter import Snapshot
from benchmarks.measure.units import SHIPPED
from benchmarks.members.breakdown import breakdown
from standings.aws.dynamodb.keys import entry_key, log_key, node_key
from standings.domain.boards.definitions import Ranking
from standings.domain.rolling.rolling_rankings import RollingRankings

METRIC = population.family(SHIPPED.definition).metrics["points"]
ALL, DAY, LAST_7 = METRIC.windows
ROLLING = RollingRankings(population.BOARD, METRIC, LAST_7)
ITEMS = {
    ("Scores", "berlin-2026#07"): "writer",
    ("Receipts", "event#1"): "writer",
    ("Rankings", entry_key(Ranking(population.BOARD, METRIC, ALL, 0).key, "m#/log")): "all",
    ("Rankings", node_key(Ranking(population.BOARD, METRIC, DAY, 20_000).key, (1, 2))): "day",
    ("Rankings/places", Ranking(population.BOARD, METRIC, DAY, 20_000).key): "day",
    ("Rankings", entry_key(ROLLING.key, "m/1")): "rows",
    ("Rankings", log_key(ROLLING.key, 3)): "log",
    ("Rankings", node_key(ROLLING.at(20_000).key, ())): "nodes",
    ("Rankings", entry_key(ROLLING.at(20_000).key, "m")): "list",
    ("Rankings/places", ROLLING.at(20_000).key): "list",
}


@pytest.mark.parametrize(("target", "part"), ITEMS.items())
def test_every_item_belongs_to_a_part(target: tuple[str, str], part: str) -> None:
    assert breakdown(METRIC, Snapshot({}, {target: Units(write=2.0)})) == {part: Units(write=2.0)}


def test_a_key_of_another_window_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected a key of one of the windows"):
        breakdown(METRIC, Snapshot({}, {("Rankings", "berlin-2026#zzz#m"): Units(write=1.0)}))
