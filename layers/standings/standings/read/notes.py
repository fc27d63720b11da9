"""Notes in answers: with each score, the note of the event that it came with."""

from typing import Any

import orjson

from standings.aws.dynamodb.scores import Scores
from standings.domain.boards import Ranking
from standings.domain.errors import bad_argument
from standings.domain.members import aggregate_in_period
from standings.domain.scoring import Aggregate
from standings.read.pages import read_cursor
from standings.read.reader import Question, Request, decimal_of, naming, note_of


def noted(question: Question, cursor: str | None) -> Ranking:
    """The ranking whose scores are shown, of the cursor's period if there is one; an error if it keeps no notes."""
    ranking = question.ranking
    if not ranking.metric.notes:
        raise bad_argument(
            "notes", f"metric {ranking.metric.name!r} keeps none: boards.toml has no notes = true for it"
        )
    return ranking if cursor is None else ranking._replace(period=read_cursor(question, cursor).period)


class Notes:
    """The notes of members' items."""

    def __init__(self, scores: Scores) -> None:
        self._scores = scores

    def show(self, request: Request, ranking: Ranking, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer, in which each object with a `member` and a `score` also has its `note`, or None.

        Items are read eventually consistently. A note that belongs to another score than the one shown is left out.
        """
        shown = list(naming(answer, "member", "score"))
        members = dict.fromkeys(one["member"] for one in shown if one["score"] is not None)
        keys = [(ranking.board, member) for member in members]
        images = request.read(self._scores.images, keys) if keys else {}
        about = ranking.metric, ranking.window, ranking.period
        for one in shown:
            image = images.get((ranking.board, one["member"]))
            found = None if image is None else aggregate_in_period(image, *about)
            one["note"] = note_of(found) if _has_score(found, ranking, one["score"]) else None
        return answer


def _has_score(found: Aggregate | None, ranking: Ranking, score: Any) -> bool:
    """Whether an aggregate has the score, as an answer shows it."""
    if found is None:
        return False
    return orjson.dumps(decimal_of(found.value, ranking.metric.precision)) == orjson.dumps(score)
