"""Lists without ranks: N from each shard of an index, and sums of N days that each activity writes ahead."""

from typing import Any, Final

from benchmarks.harness.population import BOARD
from benchmarks.rivals.table import Listed as Members
from benchmarks.rivals.table import create, merged, pages

DAYS: Final = "Days"


class ScatterGather:
    """The top N of a sharded index: N from every shard, merged."""

    name: Final = "N from every shard"

    def __init__(self, client: Any, shards: int) -> None:
        self.members = Members(client, "Sharded", shards)

    def top(self, count: int) -> list[tuple[str, int]]:
        """Return the first members and their scores."""
        shards = range(self.members.shards)
        return merged((self.members.top(count, shard) for shard in shards), count)


class DaySums:
    """Sums of the last N days; each activity writes the member's sums of today and of the next N-1 days.

    The tables are `Days` (the points of each member and day) and one sorted list for each day.
    """

    name: Final = "N-day sums, computed on activity"

    def __init__(self, client: Any, days: int) -> None:
        self._client = client
        self._days = days

    @staticmethod
    def create(client: Any) -> None:
        """Create the table of days."""
        create(client, DAYS, ("member", "S"), ("day", "N"))

    def list_of(self, day: int) -> Members:
        """Return the sorted list of a day: a table of its own, at the same cost as a table of all days."""
        return Members(self._client, f"{BOARD}-{day}")

    def add(self, name: str, day: int, points: int) -> None:
        """Add points on a day, and write every sum that includes them."""
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
        by_day = {int(item["day"]["N"]): int(item["points"]["N"]) for item in items}
        for ahead in range(self._days):
            last = day + ahead
            total = sum(count for on, count in by_day.items() if last - self._days < on <= last)
            self.list_of(last).put(name, total)
