"""All entries of a list are read, also where several at the end of a page have the same sort key."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Ranking
from standings.domain.scoring.sort_order import Place, sort_key
from standings.maintain.audit import ranking_entries
from standings.maintain.audit.ranking_entries import RankingEntries
from standings.maintain.audit.report import Listed

BOARDS = parse_boards('[boards."*"]\nmetrics.points = { aggregate = "sum", windows = ["last-7-days"] }')


def ranking() -> Ranking:
    family = BOARDS.family("b")
    assert family is not None
    metric = family.metrics["points"]
    return Ranking("b", metric, metric.windows[0], 5)


@pytest.mark.parametrize("steps", [[1, 2, 1, 3], [3, 1, 1], [2, 2, 2, 2], [1, 1, 1, 1, 1, 1], [6]])
def test_entries_that_share_a_key_are_each_read_once(steps: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking_entries, "PAGE", 4)
    stored = [
        Listed(sort_key(Place(number), f"m{number}"), f"m{number}", Place(number), first, (5, 6))
        for number, count in enumerate(steps)
        for first in range(count)
    ]

    def entries(_: Ranking, shard: int, beyond: str, before: str | None, limit: int) -> list[Listed]:
        assert (shard, before) == (0, None)
        return [entry for entry in stored if entry.key > beyond][:limit]

    call = cast("Any", SimpleNamespace(reads=SimpleNamespace(entries=entries)))
    read = list(RankingEntries(call, ranking()).following(" ", 1))

    # A key that more items share than a page holds is no key of a list.
    assert read == (stored if steps != [6] else stored[:4])


def test_items_count_in_their_periods_alone() -> None:
    def entries(*_: Any) -> list[Listed]:
        spans = [(3, 5), (5, 6), (4, 9), (6, 8), None]
        return [Listed(sort_key(Place(1), f"m{n}"), f"m{n}", Place(1), n, span) for n, span in enumerate(spans)]

    read = RankingEntries(cast("Any", SimpleNamespace(reads=SimpleNamespace(entries=entries))), ranking())

    assert [entry.member for entry in read.following(" ", 1)] == ["m1", "m2", "m4"]
    assert [entry.member for entry in read.following(" ", 1) if read.path(entry)] == ["m1", "m2"]
    assert [member for member, _ in read.within((65,), 1)] == ["m1", "m2"]
