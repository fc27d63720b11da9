"""Ranks counted on the sorted index: all members above, or fixed tiers that a schedule counts."""

from typing import Any, Final

from benchmarks.harness.population import BOARD
from benchmarks.rivals.table import Listed, create, pages

TIERS: Final = "Tiers"


class CountAbove:
    """Counts everyone above, a common recipe for ranks on an index: a query with `Select=COUNT`, page by page."""

    name: Final = "count everyone above"
    exact: Final = True

    def __init__(self, client: Any, highest: int) -> None:
        del highest
        self._members = Listed(client)

    def refresh(self) -> None:
        """Do nothing: this method has no job."""

    def change(self, name: str, old: int, new: int) -> None:
        """Write a score."""
        del old
        self._members.put(name, new)

    def rank(self, name: str) -> int:
        """Return a member's rank."""
        return 1 + self._members.count_above(self._members.score(name))


class FixedTiers:
    """Tiers of equal width that a schedule counts: AWS's sample "serverless scoreboard", with its rule corrected.

    The sample has tiers of 1,000 points for scores up to about 50,000; here a thousand tiers span the range. A rank is
    the sum of the tiers above plus a count within the member's own tier.
    """

    name: Final = "fixed tiers, recounted"
    exact: Final = True

    def __init__(self, client: Any, highest: int, tiers: int = 1_000) -> None:
        self._client = client
        self._members = Listed(client)
        self._width = max(1, -(-highest // tiers))

    @staticmethod
    def create(client: Any) -> None:
        """Create the table of tiers."""
        create(client, TIERS, ("board", "S"), ("first", "N"))

    def refresh(self) -> None:
        """Count the members of every tier, as the sample does once a minute."""
        for first in range(0, self._members.highest() + 1, self._width):
            count = self._members.count(first, first + self._width - 1)
            item = {"board": {"S": BOARD}, "first": {"N": str(first)}, "count": {"N": str(count)}}
            self._client.put_item(TableName=TIERS, Item=item)

    def change(self, name: str, old: int, new: int) -> None:
        """Write a score; the next refresh counts it in the tiers."""
        del old
        self._members.put(name, new)

    def rank(self, name: str) -> int:
        """Return a member's rank: 1 plus all members in the tiers above and those above it in its own tier."""
        score = self._members.score(name)
        above = self._above(score)
        end = score - score % self._width + self._width - 1
        within = self._members.count(score + 1, end) if score < end else 0
        return 1 + sum(count for _, count in above) + within

    def published_rank(self, name: str) -> int:
        """Return a member's rank by the published rule.

        That rule also counts the member itself and its equals. It reads only the first page of its count, and counts
        no one within the highest tier.
        """
        score = self._members.score(name)
        above = self._above(score)
        rank = 1 + sum(count for _, count in above)
        return rank + self._members.count(score, above[0][0] - 1, first_page=True) if above else rank

    def _above(self, score: int) -> list[tuple[int, int]]:
        request = {
            "TableName": TIERS,
            "KeyConditionExpression": "board = :board AND #first > :score",
            "ExpressionAttributeNames": {"#first": "first"},
            "ExpressionAttributeValues": {":board": {"S": BOARD}, ":score": {"N": str(score)}},
        }
        items = [item for answer in pages(self._client, request) for item in answer["Items"]]
        return [(int(item["first"]["N"]), int(item["count"]["N"])) for item in items]
