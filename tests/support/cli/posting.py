"""A queue that keeps what `standings post` sends, and the command over it."""

import json
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from standings_cli.__main__ import main
from tests.support.aws.fakes.queues import check_batch

if TYPE_CHECKING:
    from collections.abc import Callable

DAY_MS = 86_400_000
NOW = 1_795_256_100_000
HEADER = "member,points\n"


class Queue:
    """Keeps what is sent. `refuses` returns a code for a refused body, and whether the sender is at fault."""

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []
        self.requests = 0
        self.refuses: Callable[[str], tuple[str, bool] | None] = lambda _: None
        self._lock = threading.Lock()

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any]:  # noqa: N803
        assert QueueUrl.startswith("https://queue.invalid/")
        check_batch(Entries)
        failed = []
        with self._lock:
            self.requests += 1
            for entry in Entries:
                refused = self.refuses(entry["MessageBody"])
                if refused:
                    failed.append({"Id": entry["Id"], "Code": refused[0], "SenderFault": refused[1]})
                else:
                    self.entries.append(entry)
        return {"Failed": failed} if failed else {}

    def take(self) -> list[dict[str, Any]]:
        """Return and forget the events, in the order of their members."""
        entries, self.entries = self.entries, []
        return sorted((json.loads(entry["MessageBody"]) for entry in entries), key=lambda event: event["member"])

    def members(self) -> list[str]:
        return [event["member"] for event in self.take()]


def post(queue: Queue, *arguments: str, to: str = "activity") -> int:
    connection = SimpleNamespace(queue_url=f"https://queue.invalid/{to}", client=lambda _: queue)
    return main(["post", *arguments], lambda _: connection)


def post_csv(queue: Queue, *arguments: str, to: str = "activity") -> int:
    return post(queue, "--csv", "rows.csv", "--board", "b", *arguments, to=to)


def write(*rows: str, header: str = HEADER) -> Path:
    file = Path("rows.csv")
    file.write_text(header + "".join(f"{row}\n" for row in rows), encoding="utf-8")
    return file


def remembered(file: str = "rows.csv.posted") -> dict[str, Any]:
    checkpoint: dict[str, Any] = json.loads(Path(file).read_text())
    return checkpoint
