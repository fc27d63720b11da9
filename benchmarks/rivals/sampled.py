"""A curve from score to rank, sampled by a job: a rank is read off it, as games did on SimpleDB."""

from bisect import bisect_left
from typing import Any, Final

from benchmarks.harness.population import BOARD
from benchmarks.rivals.table import Listed, create

CURVES: Final = "Curves"


class SampledCurve:
    """A thousand samples of the sorted list in one item; ranks between them are interpolated."""

    name: Final = "a sampled curve"
    exact: Final = False

    def __init__(self, client: Any, highest: int, samples: int = 1_000) -> None:
        del highest
        self._client = client
        self._members = Listed(client)
        self._samples = samples

    @staticmethod
    def create(client: Any) -> None:
        """Make the table of curves."""
        create(client, CURVES, ("board", "S"))

    def refresh(self) -> None:
        """Walk through the whole list, and keep every so many-th score with its rank."""
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
        """Write a score; the curve learns of it at the next refresh."""
        del old
        self._members.put(name, new)

    def rank(self, name: str) -> int:
        """A member's rank, about."""
        wanted = {
            self._members.name: {"Keys": [{"member": {"S": name}}]},
            CURVES: {"Keys": [{"board": {"S": BOARD}}]},
        }
        found = self._client.batch_get_item(RequestItems=wanted)["Responses"]
        score = int(found[self._members.name][0]["score"]["N"])
        curve = found[CURVES][0]
        behind = [-int(value["N"]) for value in curve["scores"]["L"]]
        ranks = [int(value["N"]) for value in curve["ranks"]["L"]]
        after = bisect_left(behind, -score)
        if after in {0, len(ranks)}:
            return ranks[after - bool(after)]
        share = (-score - behind[after - 1]) / (behind[after] - behind[after - 1])
        return round(ranks[after - 1] + share * (ranks[after] - ranks[after - 1]))
