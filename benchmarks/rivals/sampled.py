"""A curve from score to rank that a job samples; games on SimpleDB read ranks from such curves."""

from bisect import bisect_left
from typing import Any, Final

from benchmarks.harness.population import BOARD
from benchmarks.rivals.table import Listed, create

CURVES: Final = "Curves"


class SampledCurve:
    """A thousand samples of the sorted list in one item; ranks between samples are interpolated."""

    name: Final = "a sampled curve"
    exact: Final = False

    def __init__(self, client: Any, highest: int, samples: int = 1_000) -> None:
        del highest
        self._client = client
        self._members = Listed(client)
        self._samples = samples

    @staticmethod
    def create(client: Any) -> None:
        """Create the table of curves."""
        create(client, CURVES, ("board", "S"))

    def refresh(self) -> None:
        """Read the whole list; store samples of scores with their ranks at equal distances."""
        scores = list(self._members.descending())
        step = max(1, len(scores) // self._samples)
        positions = sorted({*range(0, len(scores), step), len(scores) - 1})
        item = {
            "board": {"S": BOARD},
            "ranks": {"L": [{"N": str(position + 1)} for position in positions]},
            "scores": {"L": [{"N": str(scores[position])} for position in positions]},
        }
        self._client.put_item(TableName=CURVES, Item=item)

    def change(self, name: str, old: int, new: int) -> None:
        """Write a score; the next refresh samples it."""
        del old
        self._members.put(name, new)

    def rank(self, name: str) -> int:
        """Return a member's approximate rank."""
        request = {
            self._members.name: {"Keys": [{"member": {"S": name}}]},
            CURVES: {"Keys": [{"board": {"S": BOARD}}]},
        }
        items = self._client.batch_get_item(RequestItems=request)["Responses"]
        score = int(items[self._members.name][0]["score"]["N"])
        curve = items[CURVES][0]
        behind = [-int(value["N"]) for value in curve["scores"]["L"]]
        ranks = [int(value["N"]) for value in curve["ranks"]["L"]]
        after = bisect_left(behind, -score)
        if after in {0, len(ranks)}:
            return ranks[after - bool(after)]
        share = (-score - behind[after - 1]) / (behind[after] - behind[after - 1])
        return round(ranks[after - 1] + share * (ranks[after] - ranks[after - 1]))
