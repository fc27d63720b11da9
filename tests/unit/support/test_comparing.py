"""The comparison of every read, of the product's own answers, and of such answers with one thing wrong."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Final, cast

import pytest

from tests.support.aws.stack import ManualClock, Stack, apply, project, running
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables
from tests.support.machine.boards import BERLIN, Board
from tests.support.oracle.comparing import compare_every_read
from tests.support.oracle.model import BoardModel, Calendar, Metric

pytestmark = pytest.mark.xdist_group("comparing")  # One comparison of all reads serves every test

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


Field = tuple[str, ...]
"""The names that lead to a field of an answer: `("entries", "rank")`."""
READS: Final = ("page", "rank", "ranks", "history", "percentile", "distribution", "member")


def read_of(path: str) -> str:
    last = path.rpartition("/")[2]
    return last if last in READS else "page"


def places(value: Any, names: Field = ()) -> Iterator[tuple[Field, Any, Any]]:
    """Yield every place in an answer: the names that lead to it, what holds it, and its key or index there."""
    for key in value if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ():
        here = (*names, key) if isinstance(key, str) else names
        yield here, value, key
        yield from places(value[key], here)


def other(value: Any) -> Any:
    if isinstance(value, list):
        return value[:-1]
    if isinstance(value, int | float):
        return value + 1
    return 7 if value is None else None


def fields_in(answer: dict[str, Any]) -> Iterator[tuple[Field, Any, Any]]:
    """Yield each place in an answer that has a name. Of a problem only the type is compared."""
    for names, holder, key in list(places(answer)):
        if isinstance(key, str) and ("type" not in answer or key == "type"):
            yield names, holder, key


@pytest.fixture(scope="module")
def fields(board: tuple[Stack, BoardModel]) -> dict[str, set[Field]]:
    """Compare the product's own answers, which are exact, and return their fields by read."""
    seen: dict[str, set[Field]] = {read: set() for read in READS}
    compare(board, lambda path, answer: seen[read_of(path)].update(names for names, _, _ in fields_in(answer)))
    return seen


# Members are compared last, so it takes long until one is wrong.
@pytest.mark.parametrize("read", [*READS[:-1], pytest.param(READS[-1], marks=pytest.mark.thorough)])
def test_another_value_in_any_field_is_noticed(
    board: tuple[Stack, BoardModel], fields: dict[str, set[Field]], read: str
) -> None:
    def spoil(field: Field, path: str, answer: dict[str, Any]) -> None:
        for names, holder, key in fields_in(answer) if read_of(path) == read else ():
            if names == field:
                holder[key] = other(holder[key])

    assert len(fields[read]) > 1
    for field in sorted(fields[read]):
        # A value of another type may not even be comparable.
        with pytest.raises((AssertionError, KeyError, TypeError)):
            compare(board, partial(spoil, field))


def test_another_order_is_noticed_and_the_request_and_both_answers_are_told(board: tuple[Stack, BoardModel]) -> None:
    with pytest.raises(AssertionError, match=r"(?s)GET /boards/b/points/all\?.*judge: .*product: "):
        compare(board, lambda _, answer: answer.get("entries", []).reverse())
