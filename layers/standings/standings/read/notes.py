"""Notes in answers: with each score, the note of the event that it came with."""

from typing import Any

import orjson

from standings.domain.boards import Ranking
from standings.domain.errors import bad_argument
from standings.domain.members import aggregate_in_period, place_if_ranked
from standings.read.cursors import read_cursor
from standings.read.profiles import naming
from standings.read.session import RankingReader, ReadSession, note_of, scored


def show_notes(session: ReadSession, ranking: Ranking, answer: dict[str, Any]) -> dict[str, Any]:
    """The answer, in which each object with a `member` and a `score` also has its `note`, or None.

    Items are read eventually consistently. A note that belongs to another score than the one shown is left out.
    """
    shown = list(naming(answer, "member", "score"))
    members = dict.fromkeys(one["member"] for one in shown if one["score"] is not None)
    keys = [(ranking.board, member) for member in members]
    images = session.retry(session.tables.scores.images, keys) if keys else {}
    for one in shown:
        image = images.get((ranking.board, one["member"]))
        found = None if image is None else aggregate_in_period(image, ranking.metric, ranking.window, ranking.period)
        there = None if image is None else place_if_ranked(image, ranking)
        numbers = scored(None if there is None else there.values, ranking.metric)
        is_same = orjson.dumps(numbers) == orjson.dumps({name: one[name] for name in numbers})
        one["note"] = note_of(found) if is_same else None
    return answer


def ranking_with_notes(reader: RankingReader, cursor: str | None) -> Ranking:
    """The ranking whose scores are shown, of the cursor's period if there is one. May raise InvalidArgumentError."""
    ranking = reader.ranking
    if not ranking.metric.notes:
        detail = f"metric {ranking.metric.name!r} keeps none: boards.toml has no notes = true for it"
        raise bad_argument("notes", detail)
    return ranking if cursor is None else ranking._replace(period=read_cursor(reader, cursor).period)
