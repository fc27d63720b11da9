"""Lists without ranks: a sharded index that is gathered naively, and sums of N days that an activity computes ahead."""

from typing import Any, Final

from benchmarks.harness.population import BOARD
from benchmarks.rivals.table import Listed as Members
from benchmarks.rivals.table import create, merged, pages

DAYS: Final = "Days"


class ScatterGather:
    """Top N of a sharded index: N from every shard, merged."""

    name: Final = "N from every shard"

    def __init__(self, client: Any, shards: int) -> None:
        self.members = Members(client, "Sharded", shards)

    def top(self, count: int) -> list[tuple[str, int]]:
        """The first members and their scores."""
        shards = range(self.members.shards)
        return merged((self.members.top(count, shard) for shard in shards), count)


class DaySums:
    """Sums of the last N days, stored for today and the N-1 days to come whenever a member does something.

    The tables are `Days` (what a member did on each day) and one sorted list for each day.
    """

    name: Final = "N-day sums, computed on activity"

    def __init__(self, client: Any, days: int) -> None:
        self._client = client
        self._days = days

    @staticmethod
    def create(client: Any) -> None:
        """Make the table of days."""
        create(client, DAYS, ("member", "S"), ("day", "N"))

    def list_of(self, day: int) -> Members:
        """The sorted list of one day: a table of its own here, which costs what one table with the day in it would."""
        return Members(self._client, f"{BOARD}-{day}")

    def add(self, name: str, day: int, points: int) -> None:
        """Count points of a day that is not over, and write every sum that they are part of."""
        self._client.update_item(
            TableName=DAYS,
            Key={"member": {"S": name}, "day": {"N": str(day)}},
            UpdateExpression="ADD points :points",
            ExpressionAttributeValues={":points": {"N": str(points)}},
        )
        request = {
            "TableName": DAYS,
            "KeyConditionExpression": "#member = :member AND #day > :day",
            "ExpressionAttributeNames": {"#member": "member", "#day": "day"},
            "ExpressionAttributeValues": {":member": {"S": name}, ":day": {"N": str(day - self._days)}},
            "ConsistentRead": True,
        }
        items = [item for answer in pages(self._client, request) for item in answer["Items"]]
        done = {int(item["day"]["N"]): int(item["points"]["N"]) for item in items}
        for ahead in range(self._days):
            last = day + ahead
            total = sum(count for on, count in done.items() if last - self._days < on <= last)
            self.list_of(last).put(name, total)
