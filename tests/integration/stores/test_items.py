"""Scores, boards, profiles and positions keep their contract on the engine, on DynamoDB Local and on moto."""

from dataclasses import replace
from typing import Any

import pytest

from standings.aws.dynamodb.profiles import Profiles
from standings.aws.dynamodb.ranking_reads import RankingsReader
from standings.aws.dynamodb.scores import BoardRecords, Scores
from standings.aws.dynamodb.versioned_items import AuditPositions, SettlePositions
from standings.domain.boards import BoardRecord, BucketCoverage, Job, coverage_of
from standings.domain.events import Event
from standings.domain.members import Image
from standings.domain.profiles import Profile, search_form
from standings.stores import (
    Addition,
    AuditPosition,
    CancelReason,
    ItemConflict,
    Position,
    ReceiptConflict,
    Rewrite,
    StoreRefusedError,
    Tally,
)
from tests.support.builders.points import NOW, family


def change(member: str = "m", **other: Any) -> Addition:
    fields: dict[str, Any] = {
        "adds": {"a1b": 3},
        "removes": (),
        "tie_keys_removed": (),
        "notes_removed": (),
        "written_at_ms": NOW,
        "abs_total": 3,
        "known": False,
        **other,
    }
    return Addition("b", member, **fields)


def image(version: int, *, abs_total: int = 3, **other: Any) -> Image:
    return Image("b", "m", version, NOW, abs_total, **{"hidden": False, "values": {"a1b": 3}, **other})


def test_receipts_and_changes_are_written_together(scores: Scores) -> None:
    assert scores.apply([Event("1", 0, (), b"x"), Event("2", 0, (), b"y")], [change(), change("n")], NOW) == []

    images = scores.images([("b", "m"), ("b", "n"), ("b", "nobody")])
    assert set(images) == {("b", "m"), ("b", "n")}
    image = images["b", "m"]
    assert (image.values, image.written_at_ms, image.abs_total, image.hidden) == ({"a1b": 3}, NOW, 3, False)
    assert image.version == NOW + 1
    assert scores.image(("b", "m")) == image
    assert scores.image(("b", "nobody")) is None
    assert scores.receipts(["1", "3"]) == {"1": b"x"}


def test_a_known_receipt_cancels_the_transaction(scores: Scores) -> None:
    scores.apply([Event("1", 0, (), b"x")], [change()], NOW)
    conflicts = scores.apply([Event("2", 0, (), b"y"), Event("1", 0, (), b"z")], [change()], NOW)

    (conflict,) = conflicts
    assert isinstance(conflict, ReceiptConflict)
    assert (conflict.position, conflict.reason, conflict.found) == (1, CancelReason.CONDITION, b"x")
    assert scores.images([("b", "m")])["b", "m"].values == {"a1b": 3}


def test_additions_add_up_and_the_version_grows(scores: Scores) -> None:
    scores.apply([], [change()], NOW)
    scores.apply([], [change(adds={"a1b": -5, "c2dd20778": 0}, removes=("c2dd1", "z9z"), written_at_ms=NOW + 1)], NOW)
    image = scores.images([("b", "m")])["b", "m"]

    assert image.values == {"a1b": -2, "c2dd20778": 0}
    assert (image.version, image.written_at_ms, image.abs_total) == (NOW + 2, NOW + 1, 6)


def test_no_time_goes_back_no_sum_overflows_and_a_conflict_has_the_item(scores: Scores) -> None:
    scores.apply([], [change(written_at_ms=NOW + 5)], NOW)
    (conflict,) = scores.apply([Event("1", 0, (), b"x")], [change("n"), change()], NOW)

    assert isinstance(conflict, ItemConflict)
    assert (conflict.position, conflict.reason) == (1, CancelReason.CONDITION)
    assert conflict.found is not None
    assert conflict.found.written_at_ms == NOW + 5
    assert ("b", "n") not in scores.images([("b", "n")])
    scores.apply([], [change("large", adds={"a1b": 9 * 10**15}, abs_total=9 * 10**15)], NOW)
    (overflow,) = scores.apply([], [change("large", abs_total=10**13)], NOW)
    assert overflow.reason is CancelReason.CONDITION


def test_a_rewrite_needs_the_version_that_was_read(scores: Scores) -> None:
    assert scores.apply([], [Rewrite(image(7), None)], NOW) == []
    (taken,) = scores.apply([], [Rewrite(image(7), None)], NOW)
    assert taken.reason is CancelReason.CONDITION
    assert scores.apply([], [Rewrite(image(8, abs_total=99), 7)], NOW) == []
    (late,) = scores.apply([], [Rewrite(image(8), 7)], NOW)
    assert late.found == image(8, abs_total=99)
    assert scores.image(("b", "m")) == image(8, abs_total=99)


def test_a_rewrite_of_the_same_version_only_checks_it(scores: Scores) -> None:
    scores.apply([], [Rewrite(image(7), None)], NOW)

    assert scores.apply([Event("1", 0, (), b"x")], [Rewrite(image(7, values={}), 7)], NOW) == []
    assert scores.image(("b", "m")) == image(7)
    assert scores.apply([Event("2", 0, (), b"x")], [Rewrite(image(6), 6)], NOW) != []
    assert scores.receipts(["1", "2"]) == {"1": b"x"}


def test_an_image_is_read_as_it_was_written(scores: Scores) -> None:
    whole = image(7, values={"a1b": -3, "c2dd20778": 0}, tie_keys={"a1b": "用户 x", "c2dd20778": "y"}, hidden=True)
    gone = image(8, values={}, removed=True)

    scores.apply([], [Rewrite(whole, None)], NOW)
    assert scores.image(("b", "m")) == whole
    scores.apply([], [Rewrite(gone, 7)], NOW)
    assert scores.image(("b", "m")) == gone


def test_a_removed_member_expires_unless_it_returns(scores: Scores, client: Any) -> None:
    def expiry() -> int | None:
        (item,) = client.scan(TableName="Scores")["Items"]
        return int(item["e"]["N"]) if "e" in item else None

    scores.apply([], [Rewrite(image(7, values={}, removed=True), None)], NOW)
    assert expiry() == NOW // 1000 + 60 * 86_400
    (stranger,) = scores.apply([], [change(known=True)], NOW)
    assert stranger.found == image(7, values={}, removed=True)
    assert scores.apply([], [change()], NOW) == []
    assert expiry() is None
    assert scores.image(("b", "m")) == image(8, abs_total=6)


def test_only_known_members_of_a_registered_board(scores: Scores) -> None:
    (stranger,) = scores.apply([Event("1", 0, (), b"x")], [change(known=True)], NOW)
    assert (stranger.reason, stranger.found) == (CancelReason.CONDITION, None)
    scores.apply([], [change()], NOW)
    assert scores.apply([Event("1", 0, (), b"x")], [change(known=True)], NOW) == []


def test_more_members_than_one_request_reads(scores: Scores, profiles: Profiles) -> None:
    for start in range(0, 130, 65):
        scores.apply([], [change(f"m{n}") for n in range(start, start + 65)], NOW)
    members = [f"u{number}" for number in range(101)]
    for member in members:
        profiles.change(member, {"name": member})

    assert len(scores.images([("b", f"m{n}") for n in range(140)])) == 130
    assert profiles.profiles(members) == {member: Profile(member) for member in members}


def test_an_invalid_request_is_refused(scores: Scores) -> None:
    with pytest.raises(StoreRefusedError):
        scores.apply([Event("", 0, (), b"x")], [change()], NOW)


def test_a_record_replaces_only_the_version_that_was_read(boards: BoardRecords, reader: RankingsReader) -> None:
    coverage = coverage_of(family("c"), NOW)
    buckets = {
        code: BucketCoverage(bucket.windows, 20_778, frozenset({7, 9})) for code, bucket in coverage.buckets.items()
    }
    job = Job("rebuild", "placing", NOW, coverage, 7, "m", 400)
    record = BoardRecord("b", 1, NOW, coverage, coverage.rankings)
    later = replace(
        record,
        version=2,
        coverage=replace(coverage, buckets=buckets),
        generation=1,
        written=(1, 2),
        latest=3,
        stale=(2,),
        job=job,
    )

    assert reader.record("b") is None
    assert boards.put(record, None)
    assert not boards.put(record, None)
    assert not boards.put(later, replace(record, version=2))
    assert boards.put(later, record)
    assert reader.record("b") == later
    assert boards.records(["b", "c"]) == {"b": later}


def test_names_of_boards_by_prefix(boards: BoardRecords, reader: RankingsReader) -> None:
    coverage = coverage_of(family("c"), NOW)
    for name in ("a", "demo-1", "demo-2", "demo-2-gone", "demo-3", "z"):
        record = BoardRecord(name, 1, NOW, coverage, coverage.rankings, deleted=name.endswith("gone"))
        assert boards.put(record, None)

    assert reader.boards("", None, 10) == ["a", "demo-1", "demo-2", "demo-3", "z"]
    assert reader.boards("demo-", None, 2) == ["demo-1", "demo-2"]
    assert reader.boards("demo-", None, 3) == ["demo-1", "demo-2", "demo-3"]
    assert reader.boards("demo-", "demo-2", 2) == ["demo-3"]
    assert reader.boards("demo-", "a", 10) == ["demo-1", "demo-2", "demo-3"]
    assert reader.boards("demo-", "z", 10) == []


def test_fields_are_set_and_removed_one_by_one(profiles: Profiles) -> None:
    picture = "https://a.example/1"

    assert profiles.profile("u1") is None
    assert profiles.change("u1", {"name": "Ada", "data": "{}"}) == Profile("Ada", data="{}")
    assert profiles.change("u1", {"picture": picture, "data": None}) == Profile("Ada", picture)
    assert profiles.change("u1", {"country": None}) == Profile("Ada", picture)
    assert profiles.change("u2", {"name": None}) == Profile()
    assert profiles.profile("u1") == Profile("Ada", picture)
    assert profiles.profiles(["u1", "u2", "u3"]) == {"u1": Profile("Ada", picture), "u2": Profile()}
    for _ in range(2):
        profiles.remove("u1")
    assert profiles.profile("u1") is None


def test_names_are_found_in_order_and_read_on_from_a_match(profiles: Profiles) -> None:
    names = {"u1": "Ádám", "u2": "ada", "u3": "Ada B", "u4": "Bob", "u5": "a", "u6": "ADA", "u7": "\u0301"}
    for member, name in names.items():
        profiles.change(member, {"name": name})
    found = profiles.matches(search_form("AD"), None, 10)

    assert [one.member for one in found] == ["u2", "u6", "u3", "u1"]
    assert [one.profile.name for one in found] == ["ada", "ADA", "Ada B", "Ádám"]
    assert profiles.matches("ad", None, 2) == found[:2]
    assert profiles.matches("ad", found[1], 2) == found[2:]
    assert profiles.matches("ad", found[3], 2) == []
    assert profiles.matches("ada b", None, 2) == found[2:3]
    profiles.change("u6", {"name": "Bo"})
    profiles.change("u2", {"name": None})
    profiles.remove("u3")
    assert [one.member for one in profiles.matches("ad", None, 10)] == ["u1"]
    assert [one.member for one in profiles.matches("bo", None, 10)] == ["u6", "u4"]


CURSOR = {"generation": 0, "stage": "members", "slot": 3, "after": "用户"}


AUDITS = (
    AuditPositions,
    AuditPosition(1, turn=Tally(NOW)),
    AuditPosition(
        2, "b", CURSOR, 1, NOW + 5, NOW, turn=Tally(NOW, None, 7, 1, 300, ["a"]), last=Tally(NOW - 9, NOW - 1)
    ),
)
SETTLEMENTS = (SettlePositions, Position(1), Position(2, "b", CURSOR, 1, NOW + 5, NOW, scheduled=False))


@pytest.mark.parametrize(("made", "first", "later"), [AUDITS, SETTLEMENTS], ids=["audits", "settlements"])
def test_a_position_replaces_only_the_version_before(client: Any, made: Any, first: Any, later: Any) -> None:
    positions = made(client, "Rankings")

    assert positions.read() == type(first)()
    assert not positions.put(later)
    assert positions.put(first)
    assert not positions.put(first)
    assert positions.read() == first
    assert positions.put(later)
    assert not positions.put(replace(later, board="c"))
    assert positions.read() == later
