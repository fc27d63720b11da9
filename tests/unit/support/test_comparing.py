"""The comparison of every read, of the product's own answers, and of such answers with one thing wrong."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, cast

import pytest

from tests.support.aws.stack import ManualClock, Stack, apply, project, running
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.machine.boards import BERLIN, Board
from tests.support.oracle.comparing import compare_every_read
from tests.support.oracle.model import BoardModel, Calendar, Metric

NOW = datetime(2026, 10, 25, 12, 30, tzinfo=UTC)
METRICS = {
    "points": Metric(precision=2, ties="first", windows=("all", "day", "last-3-days", "hour")),
    "best": Metric("min", descending=False, windows=("month",)),
    "runs": Metric(windows=()),
}
Spoil = Callable[[str, dict[str, Any]], object]
"""Changes an answer, given its path."""


@dataclass
class Spoiled:
    """A stack whose answers are changed on their way out."""

    stack: Stack
    spoil: Spoil

    def get(self, path: str, **arguments: Any) -> tuple[int, dict[str, Any]]:
        return self._spoiled(path, *self.stack.get(path, **arguments))

    def post(self, path: str, body: Any, **arguments: Any) -> tuple[int, dict[str, Any]]:
        return self._spoiled(path, *self.stack.post(path, body, **arguments))

    def _spoiled(self, path: str, status: int, answer: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.spoil(path, answer)
        return status, answer


@pytest.fixture(scope="module")
def board() -> Iterator[tuple[Stack, BoardModel]]:
    """A board with hidden, removed and idle members, in a stack and as a model."""
    board = Board(METRICS, Calendar(BERLIN))
    model, engine, rng = board.model(), Engine(), random.Random(1)
    create_tables(engine, expire=False)
    with running(engine, ManualClock(int(NOW.timestamp() * 1000)), board.toml("b", 1)) as stack:
        events = []
        for number in range(120):
            amounts = {name: rng.choice([0, 1, 1, 2, -5, 250]) for name in rng.sample(sorted(METRICS), 2)}
            at = NOW - timedelta(hours=rng.choice([0, 1, 5, 24, 25, 48, 80, 300]))
            event_id, member = f"e{number}", f"m{rng.randrange(12)}"
            model.add(event_id, member, at, amounts, NOW)
            metrics = {name: units / 10 ** METRICS[name].precision for name, units in amounts.items()}
            events.append({"id": event_id, "board": "b", "member": member, "at": at.isoformat(), "metrics": metrics})
        apply(stack, events)
        model.put("m1", hidden=True)
        stack.put("/boards/b/member", {"hidden": True}, id="m1")
        model.put("new")
        stack.put("/boards/b/member", None, id="new")
        model.remove("m2")
        stack.delete("/boards/b/member", id="m2")
        project(stack)
        yield stack, model


def compare(board: tuple[Stack, BoardModel], spoil: Spoil) -> None:
    stack, model = board
    for seed in range(4):
        compare_every_read(cast("Stack", Spoiled(stack, spoil)), model, "b", NOW, random.Random(seed))


def test_what_the_product_says_is_exact(board: tuple[Stack, BoardModel]) -> None:
    compare(board, lambda _path, _answer: None)


def _swap(found: list[Any]) -> None:
    found[:2] = found[1::-1]


def _shift(name: str, *found: dict[str, Any]) -> None:
    for each in found:
        if each.get(name) is not None:
            each[name] += 1


WRONG: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "the order of a page": ("/all", lambda answer: _swap(answer["entries"])),
    "a rank on a page": ("/day", lambda answer: _shift("rank", *answer["entries"][-1:])),
    "a score on a page": ("/all", lambda answer: _shift("score", *answer["entries"][-1:])),
    "no way on": ("/all", lambda answer: answer.update(next=None)),
    "no way back": ("/all", lambda answer: answer.update(previous=None)),
    "my rank": ("/all", lambda answer: _shift("rank", answer.get("me") or {})),
    "my percentile": ("/all", lambda answer: _shift("percentile", answer.get("me") or {})),
    "the rank ahead of me": ("/all", lambda answer: _shift("rank", (answer.get("me") or {}).get("ahead") or {})),
    "the total": ("/hour", lambda answer: _shift("total", answer)),
    "the period": ("/day", lambda answer: answer.update(period={"start": None, "end": None})),
    "the state": ("/day", lambda answer: answer.update(state="final")),
    "when it is final": ("/day", lambda answer: answer.update(final_at=None)),
    "the order": ("/all", lambda answer: answer.update(order="ascending")),
    "as_of": ("/all", lambda answer: answer.pop("as_of", None)),
    "a rank": ("/rank", lambda answer: _shift("rank", answer)),
    "a percentile": ("/rank", lambda answer: _shift("percentile", answer)),
    "a previous rank": ("/rank", lambda answer: _shift("previous_rank", answer)),
    "above": ("/rank", lambda answer: _shift("above", answer)),
    "below": ("/rank", lambda answer: _shift("below", answer)),
    "a period too few": ("/history", lambda answer: answer["periods"].pop()),
    "a rank of a history": ("/history", lambda answer: _shift("rank", *answer["periods"][-1:])),
    "a total of a history": ("/history", lambda answer: _shift("total", *answer["periods"][-1:])),
    "the kind of a history's problem": ("/history", lambda answer: answer.update(type="urn:standings:not-ranked")),
    "a group": ("/ranks", lambda answer: answer["entries"].pop()),
    "a group rank": ("/ranks", lambda answer: _shift("group_rank", *answer["entries"])),
    "a score at a percentile": ("/percentile", lambda answer: _shift("score", answer)),
    "a bucket too few": ("/distribution", lambda answer: answer["buckets"][:-1] and answer["buckets"].pop()),
    "a bucket's members": ("/distribution", lambda answer: _shift("members", *answer["buckets"][:1])),
    "a bucket's end": ("/distribution", lambda answer: _shift("to", *answer["buckets"][:1])),
    "whether a member is hidden": ("/member", lambda answer: answer.update(hidden=not answer.get("hidden"))),
    "a member's metric": ("/member", lambda answer: answer.get("metrics", [0]).pop()),
    "a member's score": ("/member", lambda answer: _shift("score", *answer.get("metrics", []))),
    "a member's rank": (
        "/member",
        lambda answer: _shift("rank", *(w for m in answer.get("metrics", []) for w in m["windows"])),
    ),
    "the kind of a problem": ("/rank", lambda answer: "type" in answer and answer.update(type="urn:standings:other")),
    "the kind of a member's problem": (
        "/member",
        lambda answer: "type" in answer and answer.update(type="about:blank"),
    ),
    "a period that is gone": ("/day", lambda answer: "type" in answer and answer.update(type="about:blank")),
    "a field": ("/percentile", lambda answer: answer.pop("score")),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_noticed(board: tuple[Stack, BoardModel], what: str) -> None:
    where, change = WRONG[what]
    is_problem = "problem" in what or "gone" in what

    def spoil(path: str, answer: dict[str, Any]) -> None:
        if path.endswith(where) and ("type" in answer) == is_problem:
            change(answer)

    with pytest.raises(AssertionError, match=rf"(?s){where}.*judge: .*product: "):
        compare(board, spoil)
