"""An audit of rolling windows names wrong logs, and waits for what is on its way."""

from typing import Any
from unittest import mock

import pytest

from standings.aws.dynamodb.keys import node_key
from standings.aws.dynamodb.rankings.rolling_windows import DynamoRollingWindows
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.tiers.tier_path import ROOT
from standings.maintain.audit.audit import GRACE
from tests.functions.maintain.test_audit import board, found
from tests.support.builders.audit.auditing import Audited, findings
from tests.support.builders.audit.corrupting_logs import LogCorruption
from tests.support.builders.audit.corrupting_windows import WindowCorruption
from tests.support.builders.audit.traffic import lag
from tests.support.thoroughness import seeds


def window(audited: Audited) -> RollingRankings:
    ((rankings, _),) = WindowCorruption(audited).windows()
    return rankings


def log_entries(audited: Audited, key: str) -> list[Any]:
    item = audited.engine.get_item(TableName="Rankings", Key={"pk": {"S": key}})["Item"]
    entries: list[Any] = item["l"]["L"]
    return entries


@pytest.mark.parametrize("kind", ["cut_short", "cut_in_front", "unreadable", "without_base", "no_list"])
@pytest.mark.parametrize("seed", seeds(1, 5))
def test_a_damaged_log_is_named_once_and_its_tiers_are_skipped(kind: str, seed: int) -> None:
    with board(seed) as audited:
        log = LogCorruption(audited, window(audited))
        assert log_entries(audited, log.key)
        log.corrupt(kind)
        answers = audited.audit(seconds=audited.rng.choice([0, 60, 1000]))

    assert findings(answers) == [("log", window(audited).key, log.key)]


@pytest.mark.parametrize("kind", ["wrong", "twice"])
@pytest.mark.parametrize("seed", seeds(3, 15))
def test_counters_say_which_tiers_a_wrong_entry_of_a_log_falsifies(kind: str, seed: int) -> None:
    with board(seed) as audited:
        log = LogCorruption(audited, window(audited))
        assert log_entries(audited, log.key)
        log.corrupt(kind)
        expected = audited.counters_off()
        answers = audited.audit()

    assert expected
    assert sorted(findings(answers)) == sorted(expected)


def test_a_node_beyond_the_end_of_the_log_names_the_log() -> None:
    with board(1) as audited:
        rankings = window(audited)
        log = LogCorruption(audited, rankings)
        period = WindowCorruption(audited).windows()[0][1][0]
        audited.engine.update_item(
            TableName="Rankings",
            Key={"pk": {"S": node_key(rankings.at(period).key, ROOT)}},
            UpdateExpression="SET p0 = :p",
            ExpressionAttributeValues={":p": {"N": str(10**14)}},
        )
        answers = audited.audit()

    assert findings(answers) == [("log", rankings.key, log.key)]


class Died(BaseException):
    """A projector ends in the middle."""


def die(audited: Audited) -> None:
    """Project until list items are written, and die before the rows are."""
    with mock.patch.object(DynamoRollingWindows, "commit", side_effect=Died), pytest.raises(Died):
        audited.project()


def happen(audited: Audited) -> None:
    for number in range(10):
        audited.happen(f"m{number}")


@pytest.mark.parametrize("seed", seeds(5, 30))
def test_no_false_alarm_when_a_projector_died_after_the_list(seed: int) -> None:
    with board(seed) as audited:
        if audited.rng.random() < 0.5:
            lag(audited, 3_000)
        happen(audited)
        audited.clock.milliseconds += 500
        die(audited)
        if audited.rng.random() < 0.5:
            happen(audited)
        meanwhile = audited.audit(seconds=300)
        audited.project()
        after = audited.audit(seconds=300)

    assert findings(meanwhile) == []
    assert found(meanwhile, "behind")
    assert findings(after) == []


@pytest.mark.parametrize("seed", seeds(2, 10))
def test_what_never_arrives_is_named_after_the_grace(seed: int) -> None:
    with board(seed) as audited:
        happen(audited)
        die(audited)
        audited.clock.milliseconds += GRACE
        answers = audited.audit()
        kinds = {kind for kind, ranking, _ in findings(answers) if ranking.startswith(window(audited).key)}
        expected = {one for one in audited.counters_off() if one[1].startswith(window(audited).key)}
        named = {one for one in findings(answers) if one[0] == "counter"}

    assert kinds & {"wrong", "missing", "phantom"}
    assert expected <= named
    assert found(answers, "behind") == 0


@pytest.mark.parametrize("seed", seeds(2, 10))
def test_a_wrong_counter_is_named_beside_members_that_are_on_their_way(seed: int) -> None:
    with board(seed) as audited:
        happen(audited)
        die(audited)
        on_their_way = audited.counters_off()
        corruption = WindowCorruption(audited)
        corruption.corrupt("ghost_listed")
        answers = audited.audit()

    assert on_their_way
    assert corruption.expected <= set(findings(answers))
