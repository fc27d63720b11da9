"""The tables as answers read them."""

from standings.aws.dynamodb.scores import BoardRecords, Scores
from standings.aws.dynamodb.tables import DynamoDBClient
from standings.domain.board_record import BoardRecord
from standings.domain.members import Image
from standings.rankings.reading import RankingReads
from standings.runtime.clock import Clock


class QueryReads(RankingReads):
    """The rankings, the list of boards, and what is stored of boards and members.

    Reads of the list of boards are eventually consistent; those of records and members are strongly consistent.
    """

    def __init__(self, client: DynamoDBClient, rankings: str, scores: str, clock: Clock) -> None:
        super().__init__(client, rankings, clock)
        self._boards = BoardRecords(client, scores, clock)
        # It only reads members: no receipts table is needed.
        self._members = Scores(client, scores, "", clock)

    def record(self, board: str) -> BoardRecord | None:
        """Read a board's record, strongly consistently; None for a board without events."""
        return self._boards.records([board]).get(board)

    def boards(self, prefix: str, after: str | None, limit: int) -> list[str]:
        """List the names of boards that start with a prefix and sort after `after`, in order."""
        return self._boards.names(after, limit, prefix)

    def image(self, board: str, member: str) -> Image | None:
        """Read a member's item, strongly consistently; None if it does not exist."""
        return self._members.image((board, member))
