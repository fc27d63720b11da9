"""A stack that answers what the judge says, with one thing wrong if a test wants that."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from tests.support.oracle.listing import Listing, Metric
from tests.support.oracle.model import BoardModel

NOW = datetime(2026, 10, 25, 12, 30, tzinfo=UTC)
Answer = tuple[int, dict[str, Any]]
Spoil = Callable[[str, dict[str, Any]], None]
"""Changes an answer, given its path."""


@dataclass
class Told:
    """Answers from the judge in the words of the interface; `spoil` changes them on their way out."""

    model: BoardModel
    spoil: Spoil

    def get(self, path: str, **arguments: Any) -> Answer:
        return self._answer(path, {name: value for name, value in arguments.items() if value is not None})

    def post(self, path: str, body: Any, **arguments: Any) -> Answer:
        given = {name: value for name, value in arguments.items() if value is not None}
        return self._answer(path, {**given, "members": body["members"]})

    def _answer(self, path: str, given: dict[str, Any]) -> Answer:
        parts = path.removeprefix("/boards/").split("/")
        status, answer = self._member(parts[0], given) if parts[1] == "member" else self._ranking(parts, given)
        self.spoil(path, answer)
        return status, answer

    def _ranking(self, parts: list[str], given: dict[str, Any]) -> Answer:
        board, metric, window, *rest = parts
        calendar, rules = self.model.calendar, self.model.metrics[metric]
        readable = {calendar.named(window, on): on for on in [*calendar.earlier(window, NOW), NOW]}
        if given.get("period") not in (None, *readable):
            return problem("period-gone")
        on = readable[given["period"]] if "period" in given else NOW
        listing = self.model.listing(metric, window, on)
        about = {
            "board": board,
            "metric": metric,
            "window": window,
            "period": self._period(window, on),
            "state": calendar.state(window, on, NOW),
            "final_at": None if (final := calendar.final_at(window, on)) is None else final.isoformat(),
            "order": "descending" if rules.descending else "ascending",
            "method": given["method"],
            "total": listing.total,
            "as_of": None,
        }
        before = calendar.before(window, on)
        previous = None if before is None else self.model.listing(metric, window, before)
        reads = {(): self._page, ("percentile",): self._percentile, ("distribution",): self._distribution}
        read = reads.get(tuple(rest))
        if read is not None:
            status, answer = read(listing, rules, given)
        elif rest == ["history"]:
            status, answer = self._history(metric, window, on, given)
        elif "score" in given:
            units = int(Decimal(given["score"]).scaleb(rules.precision))
            status, answer = 200, {**listing.of_score(units, given["method"])._asdict(), "score": number(units, rules)}
        elif "members" in given:
            group = listing.among(given["members"], given["method"])
            entries = [
                {**self._of(listing, previous, rules, {**given, "member": member}), "group_rank": group.get(member)}
                for member in given["members"]
            ]
            status, answer = 200, {"entries": entries}
        else:
            status, answer = 200, self._of(listing, previous, rules, given)
            if answer["rank"] is None:
                return self._nobody(given["member"])
        return status, {**about, **answer} if status == 200 else answer

    def _of(self, listing: Listing, previous: Listing | None, rules: Metric, given: dict[str, Any]) -> dict[str, Any]:
        line = listing.line(given["member"], given["method"])
        answer: dict[str, Any] = {"member": given["member"], "rank": None, "score": None, "percentile": None}
        if line is not None:
            answer |= {
                "rank": line[0],
                "score": number(line[2], rules),
                "percentile": float(listing.percentile(line[2])),
            }
        if given.get("previous") == "true":
            before = previous.line(given["member"], given["method"]) if previous else None
            answer["previous_rank"] = before[0] if before else None
        return answer

    def _history(self, metric: str, window: str, on: datetime, given: dict[str, Any]) -> Answer:
        if given["member"] not in self.model.members:
            return problem("no-such-member")
        rules, periods = self.model.metrics[metric], list[dict[str, Any]]()
        for instant in [on, *self.model.calendar.earlier(window, NOW, on)][: given["periods"]]:
            listing = self.model.listing(metric, window, instant)
            rank, _, score = listing.line(given["member"], given["method"]) or (None, "", None)
            shown = None if score is None else number(score, rules)
            period = self._period(window, instant)
            periods.append({"period": period, "rank": rank, "score": shown, "total": listing.total})
        return 200, {"member": given["member"], "periods": periods}

    def _page(self, listing: Listing, rules: Metric, given: dict[str, Any]) -> Answer:
        lines = listing.lines(given["method"])
        limit = given.get("limit", 100)
        start = min(given.get("rank", 1) - 1, len(lines))
        stop = start + limit
        if "around" in given:
            if listing.line(given["around"]) is None:
                return self._nobody(given["around"])
            around = listing.around(given["around"], given["radius"], given["method"])
            start = lines.index(around[0])
            stop = start + len(around)
        elif "cursor" in given:
            at = int(given["cursor"][1:])
            start, stop = (at, at + limit) if given["cursor"][0] == "f" else (max(0, at - limit), at)
        return 200, {
            "entries": [{"rank": r, "member": m, "score": number(s, rules)} for r, m, s in lines[start:stop]],
            "next": f"f{stop}" if stop < len(lines) else None,
            "previous": f"b{start}" if start else None,
            **({"me": self._me(listing, rules, given)} if "me" in given else {}),
        }

    def _me(self, listing: Listing, rules: Metric, given: dict[str, Any]) -> dict[str, Any] | None:
        answer = self._of(listing, None, rules, {"member": given["me"], "method": given["method"]})
        if answer["rank"] is None:
            return None
        around = listing.around(given["me"], 1, given["method"])
        rank, member, score = around[0]
        ahead = {"rank": rank, "member": member, "score": number(score, rules)} if member != given["me"] else None
        return {**answer, "ahead": ahead}

    def _percentile(self, listing: Listing, rules: Metric, given: dict[str, Any]) -> Answer:
        score = listing.score_at(Decimal(given["p"]))
        return 200, {"p": float(given["p"]), "score": None if score is None else number(score, rules)}

    def _distribution(self, listing: Listing, rules: Metric, given: dict[str, Any]) -> Answer:
        if not listing.total:
            return 200, {"buckets": []}
        low, high = (side(one.score for one in listing.placed) for side in (min, max))
        width = (high - low) // given["buckets"] + 1
        buckets = [
            {
                "from": number(start, rules),
                "to": number(start + width - 1, rules),
                "members": listing.between(start, start + width - 1),
            }
            for start in range(low, high + 1, width)
        ]
        return 200, {"buckets": buckets}

    def _member(self, board: str, given: dict[str, Any]) -> Answer:
        member = given["id"]
        if member not in self.model.members:
            return problem("no-such-member")
        metrics = []
        for metric, rules in self.model.metrics.items():
            windows = []
            for window in rules.windows:
                listing = self.model.listing(metric, window, NOW)
                line = listing.line(member, given.get("method", "competition"))
                ranks = {
                    "rank": line and line[0],
                    "percentile": line and float(listing.percentile(line[2])),
                    "total": line and listing.total,
                }
                said = {
                    "window": window,
                    "period": self._period(window, NOW),
                    "score": self._score(metric, window, member),
                }
                windows.append({**said, **(ranks if "ranks" in given else {})})
            metrics.append({"metric": metric, "score": self._score(metric, "all", member), "windows": windows})
        return 200, {"board": board, "member": member, "hidden": self.model.members[member], "metrics": metrics}

    def _score(self, metric: str, window: str, member: str) -> float | None:
        placed = self.model.score(metric, window, NOW, member)
        return None if placed is None else number(placed.score, self.model.metrics[metric])

    def _period(self, window: str, on: datetime) -> dict[str, str | None]:
        start, end = self.model.calendar.bounds(window, on)
        return {"start": start.isoformat() if start else None, "end": end.isoformat() if end else None}

    def _nobody(self, member: str) -> Answer:
        return problem("not-ranked" if member in self.model.members else "no-such-member")


def problem(kind: str) -> Answer:
    return 404, {"type": f"urn:standings:{kind}"}


def number(units: int, rules: Metric) -> float:
    return float(Decimal(units).scaleb(-rules.precision))
