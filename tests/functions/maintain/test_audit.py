"""An audit names each difference by its kind and nothing else, whatever happens while it reads."""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

import orjson
import pytest

from standings.aws.dynamodb.tables import node_key
from standings.domain.boards_toml import parse_boards
from standings.domain.tiers import ROOT
from standings.maintain.audit import GRACE
from standings.rankings.rolling.storing import RollingStorage
from tests.support.aws.stack import ManualClock, running
from tests.support.awslambda.context import Killed
from tests.support.builders.auditing import (
    BOARD,
    FAMILY,
    KINDS,
    LOGS,
    NOW,
    Audited,
    Damages,
    findings,
    lag,
    populate,
    traffic,
)
from tests.support.builders.maintenance import finish
from tests.support.dynamodb.tables import engine_with_tables
from tests.support.thoroughness import seeds

SOME = 6
"""Seeds of each test with damages in `make test`."""


@contextmanager
def board(seed: int) -> Iterator[Audited]:
    """A board of 1 or 3 shards, with ties of either kind, that has come to rest.

    Answers have all examples. The seed decides everything: calls run one after the other, on the stack's clock.
    """
    engine = engine_with_tables(shards=2)
    clock = ManualClock(NOW)
    rng = random.Random(seed)
    named = random.Random(f"ties {seed}").choice(["[]", '["runs"]', '["level", "runs"]'])
    text = FAMILY.format(shards=rng.choice([1, 3]), ties=rng.choice(["member", "first"]), tie_breaks=named)
    with (
        mock.patch("standings.rankings.findings.MAX_EXAMPLES", 10_000),
        mock.patch("standings.maintain.audit.PAGE_SIZE", 1),  # a call may end between any two members
        mock.patch("time.monotonic", clock.monotonic),
        mock.patch("time.sleep", clock.sleep),
        mock.patch("random.random", rng.random),
        running(engine, clock, text) as stack,
    ):
        audited = Audited(stack, rng, parse_boards(text))
        populate(audited, 25, events=80)
        yield audited


def damaged(audited: Audited, seed: int) -> Damages:
    """Damage rankings in a few ways. Each kind is surely among those of `SOME` seeds in a row."""
    damages = Damages(audited)
    kinds = [*KINDS.values()]
    for damage in [*kinds[seed % SOME :: SOME], *audited.rng.choices(kinds, k=audited.rng.randint(0, 9))]:
        damage(damages)
    return damages


def found(answers: list[dict[str, Any]], kind: str) -> int:
    return sum(answer["found"][kind] for answer in answers)


@pytest.mark.parametrize("seed", seeds(3, 10))
def test_a_board_at_rest_has_no_difference(seed: int) -> None:
    with board(seed) as audited, traffic(audited, 0):
        answers = audited.audit(seconds=audited.rng.choice([1, 1000]))
        rankings = len(audited.rankings())
        keys = [item["pk"]["S"] for item in audited.engine.scan(TableName="Scores")["Items"]]

    assert {kind: found(answers, kind) for kind in answers[0]["found"] if found(answers, kind)} == {}
    assert sum(answer["looked_at"]["members"] for answer in answers) == len(keys) - keys.count("#boards")
    assert sum(answer["looked_at"]["rankings"] for answer in answers) == rankings


@pytest.mark.parametrize("seed", seeds(SOME, 40))
def test_each_corruption_is_named_and_nothing_else(seed: int) -> None:
    with board(seed) as audited:
        expected = damaged(audited, seed).expected | audited.counters_off()
        # One long call, or many short ones.
        with traffic(audited, 0, step=audited.rng.choice([2, 300])):
            answers = audited.audit(seconds=60)

    assert sorted(findings(answers)) == sorted(expected)
    assert found(answers, "unsettled") + found(answers, "behind") == 0
    for answer in answers:
        assert len(orjson.dumps(answer["cursor"])) < 2_000


@pytest.mark.parametrize("seed", seeds(3, 30))
def test_each_corruption_is_named_while_events_flow(seed: int) -> None:
    with board(seed) as audited:
        lag(audited, 3_000)
        expected = damaged(audited, seed).expected
        audited.clock.milliseconds += 60_000
        # Moves between two cheap reads can hide a wrong counter by chance: the next audit names it.
        for _ in range(4):
            with traffic(audited, audited.rng.choice([0.02, 0.1, 0.3])):
                named = findings(audited.audit())
            off = {one for one in named if one[0] == "counter"}
            # Moves do not change how far a counter is off.
            counters = audited.counters_off()
            assert sorted(one for one in named if one[0] != "counter") == sorted(expected)
            assert {one[1] for one in off} <= {one[1] for one in counters}
            if off == counters:
                break

    assert off == counters


@pytest.mark.parametrize("seed", seeds(2, 15))
def test_a_rebuild_mends_all_that_is_corrupted_while_events_flow(seed: int) -> None:
    with board(seed) as audited:
        damages = Damages(audited)
        for damage in KINDS.values():
            damage(damages)
        damages.damage_log(audited.rng.choice(["cut short", "a wrong entry", "an entry twice"]))
        assert audited.counters_off()
        posted = audited.posted
        with traffic(audited, 0.1, "m"):
            finish(audited.stack, "rebuild", board=BOARD)
        audited.project()
        audited.clock.milliseconds += 3_600_000
        (of_board,) = audited.audit()
        off = audited.counters_off(generation=1)

    assert audited.posted > posted + 20
    assert {kind: count for kind, count in of_board["found"].items() if count} == {}
    assert of_board["looked_at"]["entries"] > 20
    assert off == set()


@pytest.mark.parametrize("kind", LOGS)
@pytest.mark.parametrize("seed", seeds(1, 8))
def test_a_damaged_log_is_named_once_and_of_a_wrong_one_the_counters(kind: str, seed: int) -> None:
    with board(seed) as audited:
        damages = Damages(audited)
        key = damages.damage_log(kind)
        is_readable = kind in {"an entry twice", "a wrong entry"}
        expected = audited.counters_off() if is_readable else {("log", damages.window().key, key)}
        with traffic(audited, 0):
            answers = audited.audit(seconds=1000 if is_readable else audited.rng.choice([1, 60, 1000]))

    assert expected
    assert sorted(findings(answers)) == sorted(expected)


def test_a_node_beyond_the_end_of_the_log_names_the_log() -> None:
    with board(1) as audited:
        window, period = Damages(audited).window(), Damages(audited).periods()[0]
        audited.engine.update_item(
            TableName="Rankings",
            Key={"pk": {"S": node_key(window.at(period).key, ROOT)}},
            UpdateExpression="SET p0 = :p",
            ExpressionAttributeValues={":p": {"N": str(10**14)}},
        )
        answers = audited.audit()

    assert [finding[:2] for finding in findings(answers)] == [("log", window.key)]


def happen(audited: Audited) -> None:
    for number in range(10):
        audited.happen(f"m{number}")


def die(audited: Audited) -> None:
    """Let members change, project until list items are written, and die before the rows are."""
    happen(audited)
    audited.clock.milliseconds += 500
    with mock.patch.object(RollingStorage, "append", side_effect=Killed), pytest.raises(Killed):
        audited.project()


@pytest.mark.parametrize("seed", seeds(5, 30))
def test_no_false_alarm_when_a_projector_died_after_the_list(seed: int) -> None:
    with board(seed) as audited:
        if audited.rng.random() < 0.5:
            lag(audited, 3_000)
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
        die(audited)
        audited.clock.milliseconds += GRACE
        answers = audited.audit()
        window = Damages(audited).window().key
        kinds = {kind for kind, ranking, _ in findings(answers) if ranking.startswith(window)}
        expected = {one for one in audited.counters_off() if one[1].startswith(window)}

    assert kinds & {"wrong", "missing", "phantom"}
    assert expected <= set(findings(answers))
    assert found(answers, "behind") == 0


@pytest.mark.parametrize("seed", seeds(2, 10))
def test_a_wrong_counter_is_named_beside_members_that_are_on_their_way(seed: int) -> None:
    with board(seed) as audited:
        die(audited)
        on_their_way = audited.counters_off()
        damages = Damages(audited)
        KINDS["a list item of nobody"](damages)
        answers = audited.audit()

    assert on_their_way
    assert damages.expected <= set(findings(answers))
