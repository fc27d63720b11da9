"""Compare the notes in members' items with those that the model expects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import orjson

from standings.aws.dynamodb.keys import member_key
from standings.aws.dynamodb.scores.member_items import decode_image
from standings.domain.members.rolling_sum import aggregate_in_period
from tests.support.dynamodb.items import encode_item

if TYPE_CHECKING:
    from collections.abc import Iterator
    from datetime import datetime

    from standings.domain.boards.definitions import Ranking
    from tests.faults.aws.tables import Store
    from tests.support.oracle.model import BoardModel


def notes_in(store: Store, model: BoardModel, ranking: Ranking, on: datetime) -> Iterator[tuple[str, Any, Any]]:
    """Yield each member with a score in a period: the note that is expected, and the one that its item has.

    Hidden members keep their notes, so they are compared too.
    """
    if not ranking.metric.notes:
        return
    for member in sorted(model.members):
        if model.score(ranking.metric.name, ranking.window.name, on, member) is None:
            continue
        partition, sort = member_key(ranking.board, member)
        item = store.item("Scores", pk=partition, sk=sort)
        image = None if item is None else decode_image(encode_item(item))
        found = None if image is None else aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
        note = orjson.loads(found.note) if found is not None and found.note else None
        yield member, model.note(ranking.metric.name, ranking.window.name, on, member), note
