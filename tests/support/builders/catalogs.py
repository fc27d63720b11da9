"""What a process knows of boards, for services that a test makes by hand."""

from typing import Any

from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.catalog.board_catalog import Registry
from standings.domain.boards.definitions import Boards
from standings.runtime.retry import Pacing


def registry(boards: Boards, client: Any, pacing: Pacing, scores: str = "Scores") -> Registry:
    return Registry(boards, DynamoBoards(client, scores, pacing), pacing)
