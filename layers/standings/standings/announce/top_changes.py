"""What an announcement says: how one top differs from the one before."""

from bisect import bisect_left
from collections.abc import Sequence
from typing import Any

from standings.domain.boards.definitions import Metric
from standings.ports.announcements import Standing
from standings.read.answer_fields import score_at


def changes(before: Sequence[Standing], after: Sequence[Standing], metric: Metric) -> dict[str, Any]:
    """Who entered a top, who left it, whose rank is another one, and the whole top. Ranks are competition ranks.

    - `entered` and `top` have `{rank, member, score}`.
    - `left` has `{was, member}`, and `moved` has `{rank, was, member}`: `was` is the rank that was announced before.
    """
    were, are = _ranks(before), _ranks(after)
    top = [
        {"rank": are[standing.member], "member": standing.member, "score": score_at(standing.sort_value, metric)}
        for standing in after
    ]
    return {
        "entered": [line for line in top if line["member"] not in were],
        "left": [{"was": rank, "member": member} for member, rank in were.items() if member not in are],
        "moved": [
            {"rank": rank, "was": were[member], "member": member}
            for member, rank in are.items()
            if were.get(member, rank) != rank
        ],
        "top": top,
    }


def _ranks(top: Sequence[Standing]) -> dict[str, int]:
    values = [standing.sort_value for standing in top]
    return {standing.member: 1 + bisect_left(values, standing.sort_value) for standing in top}
