"""A writer over the engine, with its faults and its time; events for the deployed one, and what becomes of them."""

from typing import Any

import orjson

from standings.aws.dynamodb.scores import BoardRecords, Scores
from standings.catalog import BoardCatalog
from standings.domain.boards import Boards
from standings.domain.boards_toml import parse_boards
from standings.domain.members import Image
from standings.members import MemberAdmin
from standings.runtime.clock import Clock
from standings.runtime.environment import BOARDS_FILE
from standings.write.corrections import Corrections
from standings.write.writer import QueueMessage, Writer, WriteResult
from tests.support.aws.stack import Stack, project
from tests.support.awslambda.pollers import Context
from tests.support.builders.checks import rows
from tests.support.builders.points import family
from tests.support.faults import faulty_client

NOW = 1_795_256_100_000  # 2026-11-21T10:15:00Z
AT = "2026-11-21T10:15:00Z"
BOARDS = parse_boards(BOARDS_FILE.read_text(encoding="utf-8"))


def catalog(boards: Boards, client: Any, clock: Clock) -> BoardCatalog:
    return BoardCatalog(boards, BoardRecords(client, "Scores", clock), clock)


class Subject:
    """A writer and a member admin over one engine, on the boards that are deployed or on others."""

    def __init__(self, engine: Any, boards: Boards = BOARDS) -> None:
        self.boards = boards
        self.client = faulty_client.Faulty(engine)
        self.time = faulty_client.Time(NOW)
        clock = self.time.clock()
        self.scores = Scores(self.client, "Scores", "Receipts", clock)  # type: ignore[arg-type]
        own = catalog(boards, self.client, clock)
        self.writer = Writer(own, self.scores, clock, Corrections(own, self.scores, clock).apply)
        self.admin = MemberAdmin(catalog(boards, self.client, clock), self.scores, clock)

    def write(self, *events: dict[str, Any] | str, patience: float = 30.0) -> WriteResult:
        messages = [
            QueueMessage(f"message-{n}", event if isinstance(event, str) else orjson.dumps(event).decode())
            for n, event in enumerate(events)
        ]
        return self.writer.write(messages, self.time.monotonic() + patience)

    def image(self, member: str = "m", board: str = "b") -> Image | None:
        return self.scores.image((board, member))

    def total(self, member: str = "m", board: str = "b", metric: str = "points") -> int | None:
        image, name = self.image(member, board), family(board, self.boards).metrics[metric].total()
        return image.values.get(name) if image is not None else None

    def receipts(self) -> set[str]:
        """The ids of the events that were counted."""
        return {row["pk"]["S"] for row in rows(self.client, "Receipts") if "d" in row}


def event(event_id: str, points: float = 1, member: str = "m", **other: Any) -> dict[str, Any]:
    """An event of a member on the board `b`."""
    return {"id": event_id, "board": "b", "member": member, "at": AT, "metrics": {"points": points}, **other}


def send(stack: Stack, *events: dict[str, Any], sent: int | None = None, history: bool = False) -> list[str]:
    """Give events to the writer in one batch. Returns the ids of the messages that are to be delivered again."""
    said = {"history": {"dataType": "String", "stringValue": "true"}} if history else {}
    attributes = {"SentTimestamp": str(stack.clock() if sent is None else sent)}
    about = {"messageAttributes": said, "attributes": attributes}
    records = [{"messageId": one["id"], "body": orjson.dumps(one).decode(), **about} for one in events]
    failed = stack.writer({"Records": records}, Context())["batchItemFailures"]
    project(stack)
    return [one["itemIdentifier"] for one in failed]


def scores(stack: Stack, path: str = "b/points/all", period: str | None = None) -> dict[str, int]:
    return {entry["member"]: entry["score"] for entry in stack.entries(f"/boards/{path}", period=period)}


def reason(stack: Stack) -> str:
    """The reason of the only event that was refused, which is forgotten."""
    (text,) = stack.dead_letters.reasons()
    stack.dead_letters.messages.clear()
    return str(text)
