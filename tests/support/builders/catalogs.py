"""What a process knows of boards, for services that a test makes by hand."""

from typing import Any

from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.catalog.board_catalog import BoardCatalog
from standings.domain.boards.definitions import Boards
from standings.runtime.retry import Clock


def catalog(boards: Boards, client: Any, clock: Clock, scores: str = "Scores") -> BoardCatalog:
    return BoardCatalog(boards, DynamoBoards(client, scores, clock), clock)
