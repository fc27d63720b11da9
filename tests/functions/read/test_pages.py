"""Pages of a list while members move, cursors, what `me` costs, and the merge of partitions of the index where a member
is in two of them; `test_every_read.py` has all other merges."""

import json
from collections.abc import Mapping
from itertools import chain
from random import Random
from typing import Any, Final

import pytest

from benchmarks.harness import population
from benchmarks.harness.meter import Meter
from standings.calls import MAX_TEXT_BYTES
from standings.domain.boards import MAX_MEMBER_BYTES, Ranking
from standings.domain.boards_toml import parse_boards
from standings.domain.windows import DAY as A_DAY
from standings.read import cursors
from standings.read.pages import Stretch
from standings.stores import Entry, Partition
from tests.support.aws.stack import ManualClock, Stack, project, running
from tests.support.builders.maintenance import before, throttle
from tests.support.builders.querying import ALL, BOARDS, DAY, MEMBER, post


def members(page: Mapping[str, Any]) -> list[str]:
    return [entry["member"] for entry in page["entries"]]


def test_an_answer_is_as_of_the_latest_event_that_changed_it(stack: Stack) -> None:
    post(stack, {"a": 5})
    stack.clock.milliseconds += 60_000
    post(stack, {"b": 20_000})

    assert stack.get(ALL)[1]["as_of"] == "2026-11-21T10:16:00.000Z"
    # Its entry and the nodes that count it are older, but not the root.
    assert stack.get(f"{ALL}/rank", member="a")[1]["as_of"] == "2026-11-21T10:16:00.000Z"


def test_a_page_read_on_while_others_move_skips_nobody(stack: Stack) -> None:
    post(stack, {f"m{n}": 100 - n for n in range(10)})
    _, first = stack.get(ALL, limit=5)
    post(stack, {"m9": 500, "m0": -500}, days_ago=1)
    _, second = stack.get(ALL, limit=5, cursor=first["next"])

    assert members(second) == ["m5", "m6", "m7", "m8", "m0"]
    assert [entry["rank"] for entry in second["entries"]] == [6, 7, 8, 9, 10]


def test_an_empty_page_skips_no_member(stack: Stack) -> None:
    post(stack, {"a": 9, "b": 8, "c": 7, "d": 6})
    _, second = stack.get(ALL, limit=2, cursor=stack.get(ALL, limit=2)[1]["next"])
    post(stack, {"a": -20, "b": -20}, days_ago=1)
    _, empty = stack.get(ALL, limit=2, cursor=second["previous"])

    assert (empty["entries"], empty["previous"], empty["total"]) == ([], None, 4)
    _, back = stack.get(ALL, limit=2, cursor=empty["next"])
    assert [(entry["rank"], entry["member"]) for entry in back["entries"]] == [(1, "c"), (2, "d")]
    post(stack, {"a": 90, "b": 90}, days_ago=2)
    _, rest = stack.get(ALL, limit=2, cursor=back["next"])
    assert (rest["entries"], rest["next"], rest["total"]) == ([], None, 4)
    assert members(stack.get(ALL, limit=2, cursor=rest["previous"])[1]) == ["c", "d"]
    # Of a ranking that is emptied the root exists, but all counters are 0.
    for member in "abcd":
        assert stack.delete(MEMBER, id=member)[0] == 204
    project(stack)
    _, page = stack.get(ALL, rank=2)
    assert (page["total"], page["entries"], page["next"], page["previous"]) == (0, [], None, None)


def test_the_longest_cursor_is_no_longer_than_an_argument_may_be(stack: Stack) -> None:
    member = "\x01" * MAX_MEMBER_BYTES  # JSON has six characters for each
    post(stack, {member: 2, "b": 1})
    cursor = stack.get(ALL, limit=1)[1]["next"]

    assert len(cursor) > MAX_TEXT_BYTES - 500
    assert members(stack.get(ALL, cursor=cursor)[1]) == ["b"]
    longer = stack.get(ALL, cursor="x" * (MAX_TEXT_BYTES + 1))[1]
    assert longer["detail"] == f"cursor: expected at most {MAX_TEXT_BYTES} bytes of UTF-8, got {MAX_TEXT_BYTES + 1}"


def test_altered_and_foreign_cursors(stack: Stack) -> None:
    post(stack, {f"m{n}": n for n in range(5)})
    post(stack, {f"m{n}": n for n in range(5)}, board="c")
    cursor = stack.get(ALL, limit=2)[1]["next"]
    other = "A" if cursor[20] != "A" else "B"

    letters = [letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ012345" if letter != cursor[-1]]
    altered = [cursor[:-1], "A" + cursor[1:], cursor[:20] + other + cursor[21:], *(cursor + more for more in "A!=")]
    for path, bad in [
        *((f"/boards/{other_list}", cursor) for other_list in ("c/points/all", "b/points/week")),
        *((ALL, one) for one in (*altered, *(cursor[:-1] + letter for letter in letters))),
    ]:
        status, answer = stack.get(path, limit=2, cursor=bad)
        assert (status, answer["detail"]) == (400, "cursor: is altered, or of another list"), bad
    status, answer = stack.get(ALL, cursor=cursor, method="dense")
    assert (status, answer["detail"]) == (400, "cursor: is of a list numbered by competition, not by dense")


FORGED: Final[dict[str, list[Any]]] = {
    "no four values": [None, [], {"a": 1}, [0, True], [0, True, "P-m", 1]],
    "other types": [[0, True, 7], [0, 1, "P-m"], ["0", True, "P-m"], [True, True, "P-m"]],
    "no such period": [[10**30, True, ""], [-(10**30), True, ""], [-(10**6), True, ""], [10**6, False, ""]],
    "no such key": [[0, True, key] for key in ("\u0000", "P", "Pü", f"P-{'m' * 4000}", f"\u0001{'-' * 78}m", "z" * 45)],
}
CALENDARS: Final = BOARDS.replace('"all", "day"', '"all", "day", "month", "year"', 1)


def forge(window: str, content: Any, period: int = 0) -> str:
    """A cursor with the right checksum."""
    family = parse_boards(CALENDARS).family("b")
    assert family is not None
    metric = family.metrics["points"]
    ranked = metric.window(window)
    assert ranked is not None
    return cursors._with_checksum(json.dumps(content).encode(), cursors._list_of(Ranking("b", metric, ranked, period)))


def test_forged_cursors(engine: Any) -> None:
    with running(engine, ManualClock(population.NOW), CALENDARS) as stack:
        post(stack, {"m": 1})
        for window in ("all", "day", "week", "hour", "last-7-days"):
            for payload in chain(*FORGED.values()):
                forged = forge(window, [*payload, "competition"] if isinstance(payload, list) else payload)
                status, answer = stack.get(f"/boards/b/points/{window}", cursor=forged)
                assert (status, answer["type"]) == (400, "urn:standings:bad-argument"), payload
        # Python has no dates for periods before all calendars.
        for window, period in (("year", -1), ("year", 2_026 - 99_999), ("month", -50)):
            forged = forge(window, [period, True, "", "competition"], period)
            assert stack.get(f"/boards/b/points/{window}", cursor=forged)[0] == 400
        # The store rejects such a name as a key.
        for name in ("", "x" * 1_025):
            assert stack.get("/boards", cursor=cursors.encode_name(name, ""))[0] == 400


def test_a_cursor_stays_in_its_period_and_ends_with_it(stack: Stack) -> None:
    post(stack, {f"m{n}": n for n in range(5)})
    _, page = stack.get(DAY, limit=2)
    stack.clock.milliseconds += A_DAY
    _, tomorrow = stack.get(DAY, limit=2, cursor=page["next"])

    assert tomorrow["period"]["start"] == "2026-11-21T00:00:00Z"
    assert members(tomorrow) == ["m2", "m1"]
    status, answer = stack.get(DAY, cursor=page["next"], period="2026-11-22")
    assert (status, answer["detail"]) == (400, "cursor: is of another period than the one named")
    assert stack.get(DAY, cursor=page["next"], period="2026-11-21")[0] == 200
    stack.clock.milliseconds += 60 * A_DAY
    status, answer = stack.get(DAY, cursor=page["next"])
    assert (status, answer["detail"]) == (400, "cursor: its period is no longer kept")


def test_me_is_on_every_kind_of_page_that_asks_for_it(stack: Stack) -> None:
    post(stack, {"a": 9, "b": 8, "c": 7, "d": 6})
    _, first = stack.get(ALL, limit=1, me="d")
    expected = first["me"]

    assert (expected["rank"], expected["ahead"]["member"]) == (4, "c")
    assert "me" not in stack.get(ALL, limit=1, cursor=first["next"])[1]
    _, second = stack.get(ALL, limit=1, cursor=first["next"], me="d")
    for arguments in ({"cursor": second["previous"], "limit": 1}, {"rank": 99}, {"around": "a", "radius": 0}):
        assert stack.get(ALL, **arguments, me="d")[1]["me"] == second["me"] == expected
    # A text that is no member is refused before anything is read.
    with before(stack.dynamodb, throttle):
        assert stack.get(ALL, me="用" * 86)[0] == 400


@pytest.mark.parametrize("kind", ["few equals", "many equals", "4 shards"])
def test_me_costs_what_a_rank_and_one_more_entry_cost(engine: Any, kind: str) -> None:
    shards = 4 if kind == "4 shards" else 1
    scores = (population.lognormal if kind == "many equals" else population.finegrained)(Random(1), 500)
    text, path = population.sharded(shards), f"/boards/{population.BOARD}/points/all"
    population.place_members(engine, population.ranking_of(population.family(text)), scores)
    meter = Meter(engine)
    with running(meter, ManualClock(population.NOW), text) as stack:
        stack.get(path)  # the board's record and the number of shards
        entry = 0.5 * shards
        assert units(stack, meter, path, limit=1) <= 0.5 + entry
        some = Random(2).sample(sorted(scores), 12)
        for method in ("competition", "dense"):
            for page in ({"limit": 10}, {"rank": 250, "limit": 10}, {"around": some[0]}):
                without = units(stack, meter, path, method=method, **page)
                for member in some:
                    extra = units(stack, meter, path, method=method, me=member, **page) - without
                    assert extra <= units(stack, meter, f"{path}/rank", member=member, method=method) + entry


def units(stack: Stack, meter: Meter, path: str, **arguments: Any) -> float:
    """The read units that an answer costs."""
    before = meter.snapshot()
    assert stack.get(path, **arguments)[0] == 200
    return (meter.snapshot() - before).total.read


def merged(moments: list[list[list[str]]], beyond: str | None, limit: int) -> list[str]:
    """A page of the keys of some shards, which are others after the first round of reads."""
    stretch = Stretch(beyond, limit, forward=True)
    while spans := stretch.next_spans([Partition("list", shard) for shard in range(len(moments[0]))]):
        keys, moments = moments[0], moments[-1:]
        found = {
            span: [key for key in sorted(keys[span.partition.shard]) if key > (span.beyond or "")] for span in spans
        }
        stretch.add({span: [entry_of(key) for key in behind[: span.limit]] for span, behind in found.items()})
    return [entry.key for entry in stretch.entries]


def entry_of(key: str) -> Entry:
    return Entry(key, None, key.rsplit(" ", maxsplit=1)[-1], 0)  # type: ignore[arg-type]


def test_a_member_found_in_two_shards_is_returned_once_at_its_first_place() -> None:
    """Whoever moves between two rounds leaves the others in order. The next page starts after the last entry."""
    assert merged([[["a", "b", "c"], ["b", "d"]]], None, 10) == ["a", "b", "c", "d"]
    others = [f"{number:02} a{number}" for number in range(2, 40)]
    far = [f"{number:02} b{number}" for number in range(60, 80)]
    after = [[*others, "06 x"], far]
    page = merged([[["01 x", *others], far], after], None, 6)
    following = merged([after], page[-1], 6)

    assert set(page) & set(following) == set()
    assert page == sorted(page)
