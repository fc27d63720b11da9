"""Reads of rolling windows for an audit keep their contract on the engine, on DynamoDB Local and on moto."""

from typing import Any

import pytest

from standings.aws.dynamodb.keys import entry_key, index_key, log_key, node_key, shard_of
from standings.aws.dynamodb.rankings.audit_reads import DynamoAuditReads
from standings.aws.dynamodb.rankings.rolling_items import list_key
from standings.aws.dynamodb.rankings.rolling_windows import DynamoRollingWindows
from standings.aws.dynamodb.scores.scores import DynamoScores
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.members.member_item import Image
from standings.domain.rolling.count_log import Entry
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.rolling.steps import Step, Steps, count_changes
from standings.domain.scoring.sort_order import Place, sort_key
from standings.domain.tiers.tier_path import ROOT, path
from standings.domain.windows.window import parse_window
from standings.maintain.audit.report import DamagedLog, Listed, ListedStep, Root, StoredItem, StoredSteps
from standings.ports.rolling import ListItem, RollingRow, RowChange
from standings.ports.scores import Rewrite
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000
DAY = (
    parse_window("last-7-days").slab_of(NOW // 86_400_000).stop
)  # The first day of a slab, whose steps are in one list
BOARDS = parse_boards(
    '[boards."*"]\nshards = 3\nmetrics.points = { aggregate = "sum", windows = ["last-7-days"] }\n',
)
HEAD, DIGIT = path(5)


@pytest.fixture
def evidence(client: Any, tables: dict[str, str]) -> DynamoAuditReads:
    return DynamoAuditReads(client, tables["ScoresTable"], tables["RankingsTable"], faulty_client.Time(NOW).clock())


@pytest.fixture
def windows(client: Any, tables: dict[str, str]) -> DynamoRollingWindows:
    return DynamoRollingWindows(client, tables["RankingsTable"], faulty_client.Time(NOW).clock())


def window() -> RollingRankings:
    family = BOARDS.family("b")
    assert family is not None
    metric = family.metrics["points"]
    return RollingRankings("b", metric, metric.windows[0])


def steps(*values: tuple[int, int, int]) -> Steps:
    return Steps(DAY, tuple(Step(DAY + first, DAY + until, Place(value)) for first, until, value in values))


def shift(windows: DynamoRollingWindows, member: str, old: Steps | None, new: Steps, version: int) -> None:
    windows.list(window(), [ListItem(member, step.first, step, version, NOW) for step in new.steps])
    row = RowChange(member, RollingRow(version, new), NOW, None if old is None else version - 1)
    assert not windows.commit(window(), [row], Entry(NOW, list(count_changes(old, new))))


def change(client: Any, tables: dict[str, str], key: str, update: str, **values: Any) -> None:
    client.update_item(
        TableName=tables["RankingsTable"],
        Key={"pk": {"S": key}},
        UpdateExpression=update,
        ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
    )


def test_an_item_beside_its_row_and_list_items(
    evidence: DynamoAuditReads, windows: DynamoRollingWindows, client: Any, tables: dict[str, str]
) -> None:
    image = Image("b", "m", 7, NOW, 0, hidden=False, values={"a1b": 5})
    scores = DynamoScores(client, tables["ScoresTable"], tables["ReceiptsTable"], faulty_client.Time(NOW).clock())
    assert scores.apply([], [Rewrite(image, None)], NOW) == []
    new = steps((0, 3, 5), (3, 6, 900))
    shift(windows, "m", None, new, 1)
    item = StoredItem(1, ListedStep(DAY, DAY + 3, sort_key(Place(5), "m")))

    assert evidence.moment(window(), "m", [DAY, DAY + 1]) == (image, StoredSteps(1, new), {DAY: item})
    assert evidence.moment(window(), "nobody", []) == (None, None, {})
    assert evidence.steps(window(), ["m", "nobody"]) == {"m": StoredSteps(1, new)}
    assert evidence.listed(window(), [(DAY, "m"), (DAY + 1, "m")]) == {(DAY, "m"): item}


def test_a_list_item_in_another_shard_is_not_at_home(
    evidence: DynamoAuditReads, windows: DynamoRollingWindows, client: Any, tables: dict[str, str]
) -> None:
    shift(windows, "m", None, steps((0, 3, 5)), 1)
    for shard in range(5):
        key = entry_key(window().at(DAY).key, "m")
        change(client, tables, key, "SET r = :r", r={"S": index_key(list_key(window(), DAY), shard)})
        _, _, items = evidence.moment(window(), "m", [DAY])
        assert items[DAY].at_home == (shard in {0, shard_of("m", 3)})
        (item,) = evidence.listed(window(), [(DAY, "m")]).values()
        assert item.at_home == (shard == shard_of("m", 3))


@pytest.mark.parametrize("text", ["", "{}", "[1,2]", '[0,["a",1,1]]', '[0,[0,1,"a"]]', "[0,[0,0,1]]", "[0,[0,1,null]]"])
def test_a_row_that_cannot_be_read(
    evidence: DynamoAuditReads, windows: DynamoRollingWindows, client: Any, tables: dict[str, str], text: str
) -> None:
    shift(windows, "m", None, steps((0, 3, 5)), 1)
    change(client, tables, entry_key(window().key, "m"), "SET p = :p", p={"S": text})

    assert evidence.steps(window(), ["m"]) == {"m": StoredSteps(1, None)}


def test_counters_with_the_entries_of_logs_that_nodes_lack(
    evidence: DynamoAuditReads, windows: DynamoRollingWindows
) -> None:
    first, second = steps((0, 3, 5)), steps((0, 3, 5), (3, 6, 5))
    shift(windows, "a", None, first, 1)
    first_day, later = window().at(DAY), window().at(DAY + 4)

    assert evidence.root(first_day) == Root(1, 3)
    assert evidence.nodes(first_day, [ROOT, (HEAD,), (1,)], 1) == {ROOT: {HEAD: 1}, (HEAD,): {DIGIT: 1}}
    assert evidence.edge(first_day, ROOT, HEAD) == (1, 1)
    before = evidence.picture(first_day, (HEAD,))
    assert before.counters == {DIGIT: 1}
    windows.fold(window(), 0)
    folded = evidence.picture(first_day, (HEAD,))
    assert folded.counters == {DIGIT: 1}
    assert folded != before
    # What happens in other periods changes neither the counters nor the state.
    shift(windows, "a", first, second, 2)
    assert evidence.picture(first_day, (HEAD,)) == folded
    assert evidence.nodes(later, [ROOT], 1) == {ROOT: {HEAD: 1}}
    windows.fold(window(), 0)
    assert evidence.picture(first_day, (HEAD,)) == folded
    assert evidence.edge(later, ROOT, HEAD) == (1, 1)


def test_several_logs_count_as_soon_as_log_0_names_them(
    evidence: DynamoAuditReads, windows: DynamoRollingWindows, client: Any, tables: dict[str, str]
) -> None:
    shift(windows, "a", None, steps((0, 3, 5)), 1)
    log = client.get_item(TableName=tables["RankingsTable"], Key={"pk": {"S": log_key(window().key, 0)}})["Item"]
    client.put_item(TableName=tables["RankingsTable"], Item={**log, "pk": {"S": log_key(window().key, 1)}})
    first_day = window().at(DAY)

    assert evidence.nodes(first_day, [ROOT], 1) == {ROOT: {HEAD: 1}}
    change(client, tables, log_key(window().key, 0), "SET c = :c", c={"N": "2"})
    assert evidence.nodes(first_day, [ROOT], 1) == {ROOT: {HEAD: 2}}
    assert evidence.edge(first_day, ROOT, HEAD) == (2, 2)


def test_a_damaged_log_has_its_key_and_a_reason(
    evidence: DynamoAuditReads, windows: DynamoRollingWindows, client: Any, tables: dict[str, str]
) -> None:
    shift(windows, "a", None, steps((0, 3, 5)), 1)
    first_day, key = window().at(DAY), log_key(window().key, 0)
    change(client, tables, node_key(first_day.key, ROOT), "SET p0 = :p", p={"N": str(10**15)})
    with pytest.raises(DamagedLog, match="beyond the log's end") as ahead:
        evidence.edge(first_day, ROOT, HEAD)
    change(client, tables, key, "SET z = :z", z={"N": "1"})
    with pytest.raises(DamagedLog, match="expected entries of 1 bytes, got") as other:
        evidence.nodes(first_day, [ROOT], 1)

    assert (ahead.value.key, other.value.key) == (key, key)


def test_list_items_between_two_keys(
    evidence: DynamoAuditReads, windows: DynamoRollingWindows, client: Any, tables: dict[str, str]
) -> None:
    shift(windows, "a", None, steps((0, 3, 5), (3, 6, 6)), 1)
    first_day, key = window().at(DAY), sort_key(Place(5), "a")
    client.put_item(
        TableName=tables["RankingsTable"],
        Item={
            "pk": {"S": "other#ranking#x"},
            "r": {"S": index_key(list_key(window(), DAY), 0)},
            "s": {"S": "zzz"},
            "t": {"N": "1"},
        },
    )

    found = sorted(entry for shard in range(3) for entry in evidence.entries(first_day, shard, " ", None, 10))
    assert found == [
        Listed(key, "a", Place(5), DAY, (DAY, DAY + 3)),
        Listed(sort_key(Place(6), "a"), "a", Place(6), DAY + 3, (DAY + 3, DAY + 6)),
        Listed("zzz", "other#ranking#x", None, None, None),
    ]
