"""The producers, administrators and operators of a schedule."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from botocore.exceptions import ClientError

from standings.aws.dynamodb.keys import member_key
from tests.faults.clockwork import DAY, HOUR, MINUTE, SECOND
from tests.faults.judge import EPOCH, Edit, Sent
from tests.faults.shapes import CLANS, LEAGUE
from tests.support.aws.stack import http_event

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.faults.clockwork import Process
    from tests.support.awslambda.queue import Message

    from .world import World


class People:
    """Sends events, changes members, deploys definitions, and runs maintenance tasks."""

    def __init__(self, world: World) -> None:
        self._world = world
        self.chores = 0
        """The number of maintenance tasks that are not done."""

    def post(self, sent: Sent) -> None:
        """Send an event, perhaps not for the first time."""
        if sent.body not in self._world.bodies:
            self._world.sent.setdefault(sent.id, []).append(sent)
            self._world.bodies[sent.body] = sent
        elif self._world.clock.now // 1000 - (sent.at - EPOCH) / timedelta(milliseconds=1) > 14 * DAY // 1000:
            self._world.trap("sent again weeks later")
        self._world.queue.send(sent.body)

    def edit(self, edit: Edit) -> None:
        """Change a member over HTTP."""
        query = urlencode({"id": edit.member})
        path = f"/boards/{edit.board}/member"
        body = None if edit.hidden is None else {"hidden": edit.hidden}
        event = http_event(path, query, "DELETE" if edit.remove else "PUT", body)
        self._world.invoke("command", event, edit, lambda *_: None, "care")  # the digest has this name

    def deploy(self) -> None:
        """Deploy the later definition: the first call to some instances, the second to all."""
        self._world.deployed += 1

    def delete_by_hand(self, board: str, member: str) -> None:
        """Delete a member's item directly in the table."""
        partition, sort = member_key(board, member)
        if self._world.store.item("Scores", pk=partition, sk=sort) is None:
            return
        key = {"pk": {"S": partition}, "sk": {"S": sort}}
        if isinstance(self._world.store.do("delete_item", {"TableName": "Scores", "Key": key}, {}), ClientError):
            self._world.clock.after(SECOND, self.delete_by_hand, board, member)  # a transaction holds the item
            return
        self._world.trap("deleted by hand")
        self._world.store.writes()
        self._world.judge.edited(Edit(board, member, remove=True))
        self._world.poller.take(self._world.store.stream)

    def rebuild(self) -> None:
        """Rebuild a board, or in a few schedules delete it."""
        board = self._world.rng.choice([LEAGUE, LEAGUE, CLANS])
        task = "rebuild" if self._world.rng.random() < 0.85 else "delete"
        self.chore(task, {"board": board, "begin": True}, lambda _: self._world.trap(f"{task} beside events"))

    def expire(self) -> None:
        """Let TTL delete most of the expired items."""
        deleted = []
        for table in ("Scores", "Receipts", "Rankings"):
            self._world.store.expire(table, lambda: self._world.rng.random() < 0.8)
            deleted += self._world.store.writes()
        for table, old, _ in deleted:
            if table == "Scores" and old is not None:
                self._world.watch.expired((old["pk"], old["sk"]))
                if "x" not in old:
                    self._world.judge.differ(f"{old['sk']} has expired although it was not removed")
        self._world.poller.take(self._world.store.stream)

    def dead_lettered(self, message: Message) -> None:
        """Redrive a message from the dead-letter queue later."""
        self._world.trap("redriven")
        self._world.clock.after(self._world.rng.randint(HOUR, 3 * DAY), self._world.queue.send, message.body)

    def audit(self) -> None:
        """Audit a board while events arrive. A drift is a false alarm unless records were parked."""

        def seen(answer: dict[str, Any]) -> None:
            if answer["drift"] and not self._world.parked.was_used and not self._world.delays.are_long:
                self._world.judge.differ(f"false alarm: {answer['boards']}")

        self.chore("audit", {"board": LEAGUE}, lambda _: self._world.trap("audit beside events"), seen)

    def chore(
        self,
        task: str,
        payload: dict[str, Any],
        done: Callable[[dict[str, Any]], None],
        seen: Callable[[dict[str, Any]], None] = lambda _: None,
    ) -> None:
        """Invoke the maintenance function until a task is done. Pass each answer to `seen`, and the last to `done`."""
        self.chores += 1

        def heard(_: Process, answer: Any) -> None:
            if isinstance(answer, BaseException):
                self._world.clock.after(self._world.rng.randint(SECOND, 10 * MINUTE), go)
                return
            seen(answer)
            if answer["done"]:
                self.chores -= 1
                done(answer)
            else:
                _continue(payload, answer)
                wait = round(answer.get("wait", 0) * SECOND)
                self._world.clock.after(wait + self._world.rng.randint(0, 30 * SECOND), go)

        def go() -> None:
            self._world.invoke("maintenance", {task: payload}, None, heard)

        go()


def _continue(payload: dict[str, Any], answer: dict[str, Any]) -> None:
    """Change the payload so that the next call continues after an answer."""
    if "begin" in payload:
        payload["begin"] = False
    if "cursor" in answer:
        nested = [argument for name, argument in payload.items() if isinstance(argument, dict) and name != "cursor"]
        (nested[0] if nested else payload)["cursor"] = answer["cursor"]
