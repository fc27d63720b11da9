"""What an announcement says: how one top differs from the one before."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, takewhile
from typing import Any, Final

import orjson

from standings.domain.boards.definitions import Metric
from standings.ports.announcements import Standing
from standings.read.answer_fields import score_at

MAX_DETAIL: Final = 240_000
"""Bytes of an announcement at most. EventBridge takes 256 KiB with the event's source and type.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
"""


def lines(top: Sequence[Standing], metric: Metric) -> list[dict[str, Any]]:
    """The whole top as `{rank, member, score}`."""
    ranks = _ranks(top)
    return [
        {"rank": ranks[standing.member], "member": standing.member, "score": score_at(standing.sort_value, metric)}
        for standing in top
    ]


def changes(before: Sequence[Standing], after: Sequence[Standing], metric: Metric) -> dict[str, Any]:
    """Who entered a top, who left it, and whose rank is another one. Ranks are competition ranks.

    - `entered` has `{rank, member, score}`.
    - `left` has `{was, member}`, and `moved` has `{rank, was, member}`: `was` is the rank that was announced before.
    """
    were, are = _ranks(before), _ranks(after)
    return {
        "entered": [line for line in lines(after, metric) if line["member"] not in were],
        "left": [{"was": rank, "member": member} for member, rank in were.items() if member not in are],
        "moved": [
            {"rank": rank, "was": were[member], "member": member}
            for member, rank in are.items()
            if were.get(member, rank) != rank
        ],
    }


def fitted(changed: dict[str, list[Any]], room: int) -> dict[str, Any]:
    """The changes in so many bytes of JSON. Lists that do not fit end earlier, and `cut` names them."""
    shown: dict[str, Any] = {}
    # Who left stands nowhere else. Who entered stands in the whole top too.
    for name in ("left", "moved", "entered"):
        sizes = accumulate(len(orjson.dumps(line)) + 1 for line in changed[name])
        fitting = list(takewhile(room.__ge__, sizes))
        shown[name] = changed[name][: len(fitting)]
        room -= fitting[-1] if fitting else 0
    cut = [name for name in changed if len(shown[name]) < len(changed[name])]
    return {name: shown[name] for name in changed} | ({"cut": cut} if cut else {})


def _ranks(top: Sequence[Standing]) -> dict[str, int]:
    values = [standing.sort_value for standing in top]
    return {standing.member: 1 + bisect_left(values, standing.sort_value) for standing in top}
