"""Reads while members move, and how many entries a read takes."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pytest

from standings.domain.tiers.tier_path import Path
from standings.ports.rankings import Entry, Node, Span
from standings.read import shard_merge
from tests.support.aws.stack import Stack
from tests.support.builders.over_http import ALL, MEMBER, post
from tests.support.builders.stages.streaming import project


class Between:
    """A client that counts reads and can make a change between two reads, even within one batch."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self._meanwhile: Callable[[], None] | None = None
        self._reads = 0
        self.queries = 0
        self.entries = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def after(self, reads: int, meanwhile: Callable[[], None]) -> None:
        """Call `meanwhile` after that many reads of items or pages."""
        self._reads, self._meanwhile = reads, meanwhile

    def query(self, **request: Any) -> Any:
        answer = self._client.query(**request)
        self.queries += 1
        self.entries += answer["Count"]
        self._has_read()
        return answer

    def get_item(self, **request: Any) -> Any:
        answer = self._client.get_item(**request)
        self._has_read()
        return answer

    def batch_get_item(self, RequestItems: Mapping[str, Any]) -> Any:  # noqa: N803
        items: dict[str, list[Any]] = {}
        for table, part in RequestItems.items():
            for key in part["Keys"]:
                answer = self._client.batch_get_item(RequestItems={table: {"Keys": [key]}})
                items.setdefault(table, []).extend(answer["Responses"].get(table, []))
                self._has_read()
        return {"Responses": items}

    def _has_read(self) -> None:
        self._reads -= 1
        if self._reads == 0 and self._meanwhile is not None:
            self._meanwhile()


@pytest.fixture
def engine(engine: Any) -> Between:
    return Between(engine)


class Moving:
    """Shards whose keys change with each round. A key ends with its member."""

    def __init__(self, *rounds: Sequence[Sequence[str]]) -> None:
        self._rounds = list(rounds)

    def shards(self, _: Any) -> int:
        return len(self._rounds[0])

    def spans(self, spans: Sequence[Span], _: Any) -> tuple[list[list[Entry]], dict[Path, Node]]:
        shards = self._rounds.pop(0) if len(self._rounds) > 1 else self._rounds[0]
        parts = []
        for span in spans:
            beyond = [key for key in sorted(shards[span.shard]) if span.beyond is None or key > span.beyond]
            parts.append([Entry(key, None, key.split(" ")[1], 0) for key in beyond[: span.limit]])  # type: ignore[arg-type]
        return parts, {}


def test_a_member_that_moves_between_two_rounds_of_one_read_leaves_the_others_in_order() -> None:
    """The member is returned at its first place, and the next page starts after the last entry."""
    others = [f"{number:02} a{number}" for number in range(2, 40)]
    far = [f"{number:02} b{number}" for number in range(60, 80)]
    reads: Any = Moving([["01 x", *others], far], [[*others, "06 x"], far])
    page = [entry.key for entry in shard_merge.read_stretch(reads, None, 6, [], forward=True)[0]]
    following = [entry.key for entry in shard_merge.read_stretch(reads, page[-1], 6, [], forward=True)[0]]

    assert set(page) & set(following) == set()
    assert page == sorted(page)


def test_ordinal_ranks_of_a_group_of_equals_read_each_of_them_once(stack: Stack, engine: Between) -> None:
    """If each member counted all equals ahead of it, 100 of 10,000 would read a million entries."""
    post(stack, {f"m{number:04}": 7 for number in range(1_000)})
    engine.queries = engine.entries = 0
    group = [f"m{number:04}" for number in range(900, 1_000)]
    status, answer = stack.post(f"{ALL}/ranks", {"members": group}, method="ordinal")

    assert status == 200
    assert [entry["rank"] for entry in answer["entries"]] == list(range(901, 1_001))
    assert engine.entries <= 1_200
    assert engine.queries <= 120


def test_a_dense_rank_reads_no_more_entries_than_stand_ahead(stack: Stack, engine: Between) -> None:
    """The tiers give the number of entries to read."""
    post(stack, {f"m{number:04}": 1_000 * number for number in range(2_000)})
    status, page = stack.get(ALL, limit=100, method="dense")
    assert status == 200
    engine.queries = engine.entries = 0
    status, page = stack.get(ALL, limit=100, cursor=page["next"])

    assert (status, page["entries"][0]["rank"]) == (200, 101)
    assert engine.entries <= 101 + 200


def test_the_count_behind_a_score_is_never_negative(stack: Stack, engine: Between) -> None:
    """Items of a batch are read at different moments: the leaf may count a member that the root does not."""
    post(stack, {"a": 5})
    assert stack.get(f"{ALL}/rank", score=5)[1]["below"] == 0
    engine.after(1, lambda: post(stack, {"b": 5}))
    status, answer = stack.get(f"{ALL}/rank", score=5)

    assert status == 200
    assert answer["below"] >= 0
    assert answer["above"] + answer["at"] + answer["below"] == answer["total"]


def test_a_percentile_has_a_score_if_anyone_is_ranked(stack: Stack, engine: Between) -> None:
    """A member leaves after the total was read, so the position is beyond the end."""

    def hide() -> None:
        stack.put(MEMBER, {"hidden": True}, id="a")
        project(stack)

    post(stack, {"a": 5, "b": 5_000})
    assert stack.get(f"{ALL}/percentile", p=50)[1]["score"] == 5
    engine.after(1, hide)
    status, answer = stack.get(f"{ALL}/percentile", p=50)

    assert (status, answer["total"] > 0) == (200, True)
    assert answer["score"] is not None


def test_a_member_that_moves_is_not_its_own_neighbour(stack: Stack, engine: Between) -> None:
    """Its entry is read before its neighbours, and by then it may be one of them."""
    post(stack, {"a": 5, "b": 3, "c": 1})
    assert stack.get(ALL, around="a")[0] == 200
    engine.after(1, lambda: post(stack, {"a": -3}))
    status, page = stack.get(ALL, around="a")

    assert status == 200
    assert sorted(entry["member"] for entry in page["entries"]) == ["a", "b", "c"]
