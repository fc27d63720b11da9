"""What the Rankings table says at rest: who is placed where in each ranking, and what its tiers count."""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from standings.aws.dynamodb.tables import DIGITS
from standings.domain.scoring import sort_key
from standings.domain.tiers import Path
from standings.rankings.rolling.steps import Log, Steps, decode_entry, decode_steps, node_deltas

Counters = Counter[tuple[Path, int]]
ALL_PERIODS = range(10**9)
_BLOCK = re.compile(r"(?P<code>#...\.*[0-9]+[dh])(?P<first>[0-9]+)(?:x(?P<length>[0-9]+))?")  # Three begin the code


def of_period(window: str, period: int) -> str:
    """The key of the ranking of one period of a rolling window."""
    code, mark, generation = window.partition("~")
    return f"{code}{period}{mark}{generation}"


class Stored:
    """The items of Rankings, by key of the ranking. `wrong` names each item that cannot be where it is.

    `twice` names the members that a ranking has at two places. They may stay in a window that the definition no longer
    has: no replay brings its list up to date, and nobody reads it.
    """

    def __init__(self, items: Iterable[Mapping[str, Any]]) -> None:
        self.wrong: list[str] = []
        self.twice: dict[str, list[str]] = {}
        self.placed: dict[str, dict[str, str]] = {}
        self.steps: dict[str, dict[str, Steps]] = {}
        self.nodes: dict[str, dict[Path, dict[int, Mapping[str, Any]]]] = {}
        self._logs: dict[str, dict[int, Log]] = {}
        for item in items:
            self._add(item)
        self.counted = self._counted()

    def _add(self, item: Mapping[str, Any]) -> None:
        board, _, rest = item["pk"].partition("#")
        code, mark, member = rest.partition("#")
        if mark and "/" not in code:
            if "p" in item:
                self.steps.setdefault(f"{board}#{code}", {})[member] = decode_steps(item["p"])
            elif "s" in item:
                self._place(f"{board}#{code}", member, item)
            return
        code, _, node = rest.partition("/")
        name, _, number = node.partition("+")
        if name == "log":
            entries = tuple(map(decode_entry, item["l"]))
            self._logs.setdefault(f"{board}#{code}", {})[int(number or 0)] = Log(item["b"], entries)
        else:
            lanes = self.nodes.setdefault(f"{board}#{code}", {}).setdefault(tuple(bytes.fromhex(name)), {})
            lanes[int(number or 0)] = item

    def _place(self, key: str, member: str, item: Mapping[str, Any]) -> None:
        partition = item["r"].partition("/")[0]
        rankings = [key]
        if block := _BLOCK.search(key):
            first, window = int(block["first"]), _BLOCK.sub(r"\g<code>", key)
            rankings = [of_period(window, period) for period in range(first, first + int(block["length"] or 1))]
        if partition != key:
            self.wrong.append(f"{item['pk']}: its index key is {item['r']}")
        for ranking in rankings:
            placed = self.placed.setdefault(ranking, {})
            if member in placed:
                at = f"{ranking}: {member} is at {item['s']!r} and at {placed[member]!r}"
                self.twice.setdefault(ranking, []).append(at)
            placed[member] = item["s"]

    def rows(self, window: str, period: int) -> dict[str, str]:
        """The sort keys of members in one period of a rolling window, by their rows."""
        rows = self.steps.get(window, {})
        places = {member: steps.place(period) for member, steps in rows.items() if steps.low <= period}
        return {member: sort_key(place, member) for member, place in places.items() if place is not None}

    def _counted(self) -> dict[str, Counters]:
        """The counters, summed over lanes, with the entries of logs that nodes lack."""
        counted: dict[str, Counters] = {}
        for ranking, nodes in self.nodes.items():
            for path, lanes in nodes.items():
                for item in lanes.values():
                    digits = {digit: n for name, n in item.items() if (digit := DIGITS.get(name)) is not None}
                    counted.setdefault(ranking, Counter()).update({(path, digit): n for digit, n in digits.items()})
        for window, logs in self._logs.items():
            for number, log in logs.items():
                for position, entry in enumerate(log.entries, start=log.base):
                    for (period, path), changes in node_deltas([entry], ALL_PERIODS).items():
                        ranking = of_period(window, period)
                        node = self.nodes.get(ranking, {}).get(path, {}).get(0, {})
                        if position >= node.get(f"p{number}", log.base):
                            counters = counted.setdefault(ranking, Counter())
                            counters.update({(path, digit): n for digit, n in changes.items()})
        clean = {ranking: Counter({at: n for at, n in counters.items() if n}) for ranking, counters in counted.items()}
        return {ranking: counters for ranking, counters in clean.items() if counters}
