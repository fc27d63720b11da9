"""Who sits where: divisions, seats and groups in one table. Each change is one write, or one transaction.

| pk | sk | what |
|---|---|---|
| `member#u1` | `#` | the division, the latest period with a seat (`latest`), the latest that was settled (`settled`) |
| `member#u1` | `2026-11-16` | the seat in that period: its board |
| `group#league-bronze-2026-11-16-3` | `#` | how many have a seat (`seats`), and whether the group is settled |
| `group#league-bronze-2026-11-16-3` | `u1` | a member with a seat |
| `open#bronze#2026-11-16` | `#` | the first group that may have room (`n`) |

All but the first go `KEPT` after the period has ended: from `e` on, in seconds, DynamoDB may delete them.
"""

from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from typing import Any, NamedTuple

from botocore.exceptions import ClientError
from rules import League, Seat

AHEAD = timedelta(minutes=5)
"""How far ahead of now an activity may be."""
KEPT = timedelta(days=90)
"""Longer than a group's board lasts, and than a result may be late."""
COUNTER = "#"
"""The sort key of what is no seat: no member can be called so."""
ATTEMPTS = 40
"""Of a request that others get in the way of: full groups, and enrolments at the same moment."""

HasResult = Callable[[str, date, str], bool]
"""Says of a board, its period and a member of it whether there is a result, or may be one yet."""


class Refused(Exception):
    """A change that cannot be, at least not now. The text says why."""


class Member(NamedTuple):
    """What is stored of a member; None where there is nothing yet."""

    division: str | None = None
    latest: date | None = None
    settled: date | None = None


class Seats:
    """The table. `client` is botocore's or boto3's of DynamoDB."""

    def __init__(self, client: Any, table: str, league: League) -> None:
        self._client = client
        self._table = table
        self._league = league

    def member(self, member: str) -> Member:
        """What is stored of a member."""
        item = self._get(f"member#{member}", "#")
        days = (date.fromisoformat(item[name]["S"]) if name in item else None for name in ("latest", "settled"))
        return Member(item["division"]["S"] if item else None, *days)

    def board(self, member: str, period: date) -> str | None:
        """The board on which a member has a seat in a period."""
        item = self._get(f"member#{member}", str(period))
        return item["board"]["S"] if item else None

    def enrol(self, member: str, period: date, now: datetime, has_result: HasResult) -> str:
        """Give a member a seat in a period, or find the one that it has. Returns the board. Raises Refused."""
        for _ in range(ATTEMPTS):
            board = self.board(member, period)
            if board is not None:
                return board
            known = self.member(member)
            awaited = self._awaited(known, period, now)
            before = self.board(member, awaited) if awaited else None
            if awaited and before and has_result(before, awaited, member):
                raise Refused(f"the period of {awaited} is not settled yet: try again later")
            division = known.division or self._league.divisions[0]
            opened = f"open#{division}#{period}"
            seat = Seat(division, period, int(self._get(opened, "#").get("n", {"N": "1"})["N"]))
            if self._sit(member, known, seat) == "full":
                condition, goes = "attribute_not_exists(n) OR n < :n", self._goes(period)
                self._update(opened, "#", "SET n = :n, e = :e", condition, n=seat.group + 1, e=goes)
        raise Refused(f"{member!r}: too many are enrolled at this moment: try again")

    def _awaited(self, known: Member, period: date, now: datetime) -> date | None:
        """The latest period of a member, if the next one has to wait for its result. Raises Refused for an earlier one.

        After an erasure that died halfway there may be no seat in the latest period. It is no period that begins later
        than in minutes: the league once gave a seat there to whose clock was wrong.
        """
        latest = known.latest
        if latest is None or latest == period or latest > self._league.period(now + AHEAD):
            return None
        if period < latest:
            raise Refused(f"the period of {period} is over: expected an activity of {latest} or later")
        is_settled = known.settled is not None and known.settled >= latest
        return None if is_settled or now >= self._league.end(latest) + self._league.patience else latest

    def _sit(self, member: str, known: Member, seat: Seat) -> str:
        """Try to take a seat. Returns `seated`, `full`, or `again` if something else has changed."""
        board = self._league.board(seat)
        state = {"latest": known.latest, "settled": known.settled}
        unchanged = [f"{name} = :old_{name}" if day else f"attribute_not_exists({name})" for name, day in state.items()]
        old = {f"old_{name}": str(day) for name, day in state.items() if day}
        has_room = "attribute_not_exists(settled) AND (attribute_not_exists(seats) OR seats < :size)"
        new = {"division": seat.division, "latest": str(seat.period)}
        sits, goes = ("SET board = :board, e = :e", "attribute_not_exists(pk)"), self._goes(seat.period)
        counted = "SET e = :e ADD seats :one", has_room
        actions = [
            self._action(f"group#{board}", "#", *counted, one=1, size=self._league.size, e=goes),
            self._action(f"group#{board}", member, *sits, board=board, e=goes),
            self._action(f"member#{member}", str(seat.period), *sits, board=board, e=goes),
            self._action(
                f"member#{member}",
                "#",
                "SET division = :division, latest = :latest",
                " AND ".join(unchanged),
                **new,
                **old,
            ),
        ]
        reasons = self._transact([{"Update": action} for action in actions])
        return ("full" if reasons[0] == "ConditionalCheckFailed" else "again") if reasons else "seated"

    def close(self, board: str) -> list[str]:
        """Give no more seats in a group, and return who has one."""
        self._update(f"group#{board}", "#", "SET settled = :true", None, true=1)
        return [item["sk"]["S"] for item in self._items(f"group#{board}") if item["sk"]["S"] != "#"]

    def move(self, member: str, seat: Seat, division: str) -> None:
        """Write the division to which a seat has led. Nothing if that was written, or the member erased, before.

        After a result of a later period nothing is written either.
        """
        period, here = str(seat.period), seat.division
        for _ in range(ATTEMPTS):
            is_written = self._update(
                f"member#{member}", "#", "SET division = :division, settled = :period",
                "division = :here AND (attribute_not_exists(settled) OR settled < :period)",
                division=self._league.after(seat.division, here, division), period=period, here=here,
            )  # fmt: skip
            known = Member() if is_written else self.member(member)
            if known.division is None or (known.settled is not None and known.settled >= seat.period):
                return
            # It went on before this result came, and another one has moved it meanwhile.
            here = known.division
        raise RuntimeError(f"{member!r}: its division changes all the time")

    def erase(self, member: str) -> None:
        """Remove all that is stored of a member. A seat that it had stays taken. Raises Refused."""
        for _ in range(ATTEMPTS):
            items = [*self._items(f"member#{member}")]
            if not items:
                return
            # A seat goes from both places at once: one that is found is complete, whatever died.
            for item in items[::-1]:
                keys = [_key(f"member#{member}", item["sk"]["S"])]
                if "board" in item:
                    keys.append(_key(f"group#{item['board']['S']}", member))
                self._transact([{"Delete": {"TableName": self._table, "Key": key}} for key in keys])
        raise Refused(f"{member!r}: it is being changed at this moment: try again")

    def _goes(self, period: date) -> int:
        """From when on what is stored of a period may go, in seconds."""
        return int((self._league.end(period) + KEPT).timestamp())

    def _get(self, pk: str, sk: str) -> dict[str, Any]:
        found = self._client.get_item(TableName=self._table, Key=_key(pk, sk), ConsistentRead=True)
        item: dict[str, Any] = found.get("Item", {})
        return item

    def _items(self, pk: str) -> Iterator[dict[str, Any]]:
        request: dict[str, Any] = {
            "TableName": self._table,
            "ConsistentRead": True,
            "KeyConditionExpression": "pk = :pk",
        }
        request["ExpressionAttributeValues"] = {":pk": {"S": pk}}
        while True:
            answer = self._client.query(**request)
            yield from answer["Items"]
            if "LastEvaluatedKey" not in answer:
                return
            request["ExclusiveStartKey"] = answer["LastEvaluatedKey"]

    def _action(self, pk: str, sk: str, update: str, condition: str | None, **values: str | int) -> dict[str, Any]:
        wire = {f":{name}": {"N": str(one)} if isinstance(one, int) else {"S": one} for name, one in values.items()}
        when = {} if condition is None else {"ConditionExpression": condition}
        action = {"TableName": self._table, "Key": _key(pk, sk), "UpdateExpression": update, **when}
        return {**action, "ExpressionAttributeValues": wire}

    def _update(self, pk: str, sk: str, update: str, condition: str | None, **values: str | int) -> bool:
        """Write one item. Returns whether the condition held."""
        try:
            self._client.update_item(**self._action(pk, sk, update, condition, **values))
        except ClientError as error:
            if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
                raise
            return False
        return True

    def _transact(self, actions: list[dict[str, Any]]) -> list[str]:
        """Write all or nothing. Returns why not, a code for each action; an empty list if it is written."""
        try:
            self._client.transact_write_items(TransactItems=actions)
        except ClientError as error:
            if error.response["Error"]["Code"] != "TransactionCanceledException":
                raise
            return [one.get("Code", "") for one in error.response.get("CancellationReasons") or [{}]]
        return []


def _key(pk: str, sk: str) -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}
