"""Ranks that are counted along the sorted index: everyone above, or in fixed tiers whose counts a schedule renews."""

from typing import Any, Final

from benchmarks.harness.population import BOARD
from benchmarks.rivals.table import Listed, create, pages

TIERS: Final = "Tiers"


class CountAbove:
    """Count everyone above, as in "rank with a DynamoDB index": a query with `Select=COUNT`, page after page."""

    name: Final = "count everyone above"
    exact: Final = True

    def __init__(self, client: Any, highest: int) -> None:
        del highest
        self._members = Listed(client)

    def refresh(self) -> None:
        """Nothing has to be."""

    def change(self, name: str, old: int, new: int) -> None:
        """Write a score."""
        del old
        self._members.put(name, new)

    def rank(self, name: str) -> int:
        """A member's rank."""
        return 1 + self._members.count_above(self._members.score(name))


class FixedTiers:
    """Tiers of equal width whose members a schedule counts: AWS's sample "serverless scoreboard", its rule corrected.

    The sample's tiers are 1,000 points wide, on scores of up to some 50,000; here a thousand of them span the range.
    A rank is the sum of the tiers above, and a count within the member's own.
    """

    name: Final = "fixed tiers, recounted"
    exact: Final = True

    def __init__(self, client: Any, highest: int, tiers: int = 1_000) -> None:
        self._client = client
        self._members = Listed(client)
        self._width = max(1, -(-highest // tiers))

    @staticmethod
    def create(client: Any) -> None:
        """Make the table of tiers."""
        create(client, TIERS, ("board", "S"), ("first", "N"))

    def refresh(self) -> None:
        """Count the members of every tier, as the sample does once a minute."""
        for first in range(0, self._members.highest() + 1, self._width):
            count = self._members.count(first, first + self._width - 1)
            item = {"board": {"S": BOARD}, "first": {"N": str(first)}, "count": {"N": str(count)}}
            self._client.put_item(TableName=TIERS, Item=item)

    def change(self, name: str, old: int, new: int) -> None:
        """Write a score; tiers learn of it at the next refresh."""
        del old
        self._members.put(name, new)

    def rank(self, name: str) -> int:
        """A member's rank: everyone in tiers above and everyone above in its own."""
        score = self._members.score(name)
        above = self._above(score)
        end = score - score % self._width + self._width - 1
        within = self._members.count(score + 1, end) if score < end else 0
        return 1 + sum(count for _, count in above) + within

    def published_rank(self, name: str) -> int:
        """A member's rank by the rule as it was published.

        It counts from the member's own score on, so the member and its equals too, of that only the first page, and
        nobody at all within the highest tier.
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
