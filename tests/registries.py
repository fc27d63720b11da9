"""What a process knows of boards, for services that a test makes by hand."""

from typing import Any

from standings.domain.boards import Boards
from standings.dynamodb.boards import DynamoBoards
from standings.services.pacing import Pacing
from standings.services.registry import Registry


def registry(boards: Boards, client: Any, pacing: Pacing, scores: str = "Scores") -> Registry:
    return Registry(boards, DynamoBoards(client, scores, pacing), pacing)
