"""Compares what a board says of each member with the judge."""

import random
from collections.abc import Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from typing import Any

from tests.support.aws.stack import Stack
from tests.support.oracle.asked import STRANGERS, describe, exact, instants_of, same
from tests.support.oracle.listing import METHODS
from tests.support.oracle.model import BoardModel


def compare_members(
    stack: Stack,
    model: BoardModel,
    board: str,
    now: datetime,
    rng: random.Random,
    methods: Sequence[str] = METHODS,
) -> None:
    """Compare what the board says of every member, of removed members and of one that never existed."""
    path = f"/boards/{board}/member"
    for member in sorted({*model.members, *model.removed, rng.choice(STRANGERS)}):
        ranks = rng.random() < 0.8
        method = rng.choice([None, *methods]) if ranks else None
        arguments = {"id": member, "ranks": "true" if ranks else None, "method": method}
        what = describe("GET", path, arguments, now)
        status, answer = stack.get(path, **arguments)
        if member not in model.members:
            same(what, (404, "urn:standings:no-such-member"), (status, answer.get("type")), answer)
            continue
        same(what, 200, status, answer)
        expected = {
            "board": board,
            "member": member,
            "hidden": model.members[member],
            "metrics": {
                name: _metric_of(model, name, member, now, (method or METHODS[0]) if ranks else None)
                for name in model.metrics
            },
        }
        actual = {name: answer.get(name, "(missing)") for name in ("board", "member", "hidden")}
        metrics = {each["metric"]: _metric_found(each, ranks=ranks) for each in answer["metrics"]}
        same(what, expected, {**actual, "metrics": metrics})


def _metric_of(model: BoardModel, metric: str, member: str, now: datetime, method: str | None) -> dict[str, Any]:
    rules = model.metrics[metric]

    def exact(window: str) -> Decimal | None:
        placed = model.score(metric, window, now, member)
        return None if placed is None else Decimal(placed.score).scaleb(-rules.precision)

    windows: dict[str, Any] = {}
    for window in rules.windows:
        windows[window] = {"period": model.calendar.bounds(window, now), "score": exact(window)}
        if method is not None:
            listing = model.listing(metric, window, now)
            line = listing.line(member, method)
            windows[window] |= {
                "rank": line and line[0],
                "percentile": line and listing.percentile(line[2]),
                "total": line and listing.total,
            }
    return {"score": exact("all"), "windows": windows}


def _metric_found(answer: Mapping[str, Any], *, ranks: bool) -> dict[str, Any]:
    windows: dict[str, Any] = {}
    for each in answer["windows"]:
        windows[each["window"]] = {"period": instants_of(each["period"]), "score": exact(each["score"])}
        if ranks:
            windows[each["window"]] |= {
                "rank": each["rank"],
                "percentile": exact(each["percentile"]),
                "total": each["total"],
            }
    return {"score": exact(answer["score"]), "windows": windows}
