"""The comparison of every read, on a stack that says what the judge says, and on such stacks with one thing wrong."""

import random
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest

from tests.support.aws.stack import Stack
from tests.support.oracle.comparing import compare_every_read
from tests.support.oracle.model import BoardModel, Listing, Metric
from tests.support.oracle.periods import Calendar

NOW = datetime(2026, 10, 25, 12, 30, tzinfo=UTC)
Answer = tuple[int, dict[str, Any]]
Spoil = Callable[[str, dict[str, Any]], None]


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
        }

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


@pytest.fixture
def model() -> BoardModel:
    metrics = {
        "points": Metric(precision=2, ties="first", windows=("all", "day", "last-3-days", "hour")),
        "best": Metric("min", descending=False, windows=("month",)),
        "runs": Metric(windows=()),
    }
    found = BoardModel(metrics, Calendar(ZoneInfo("Europe/Berlin")))
    rng = random.Random(1)
    for event in range(120):
        amounts = {name: rng.choice([0, 1, 1, 2, -5, 250]) for name in rng.sample(sorted(metrics), 2)}
        at = NOW - timedelta(hours=rng.choice([0, 1, 5, 24, 25, 48, 80, 300]))
        found.add(str(event), f"m{rng.randrange(12)}", at, amounts, NOW)
    found.put("m1", hidden=True)
    found.put("new")
    found.remove("m2")
    return found


def compare(model: BoardModel, spoil: Spoil) -> None:
    for seed in range(4):
        stack = cast("Stack", Told(model, spoil))
        compare_every_read(stack, model, "b", NOW, random.Random(seed))


def test_what_the_judge_says_is_exact(model: BoardModel) -> None:
    compare(model, lambda _path, _answer: None)


def test_an_empty_board_is_exact() -> None:
    compare(BoardModel({"points": Metric(windows=("all", "day"))}), lambda _path, _answer: None)


def _swap(found: list[Any]) -> None:
    found[:2] = found[1::-1]


def _shift(name: str, *found: dict[str, Any]) -> None:
    for each in found:
        if each.get(name) is not None:
            each[name] += 1


WRONG: dict[str, tuple[str, Callable[[dict[str, Any]], object]]] = {
    "the order of a page": ("/all", lambda answer: _swap(answer["entries"])),
    "a rank on a page": ("/day", lambda answer: _shift("rank", *answer["entries"][-1:])),
    "a score on a page": ("/all", lambda answer: _shift("score", *answer["entries"][-1:])),
    "no way on": ("/all", lambda answer: answer.update(next=None)),
    "no way back": ("/all", lambda answer: answer.update(previous=None)),
    "the total": ("/hour", lambda answer: _shift("total", answer)),
    "the period": ("/day", lambda answer: answer.update(period={"start": None, "end": None})),
    "the order": ("/all", lambda answer: answer.update(order="ascending")),
    "as_of": ("/all", lambda answer: answer.pop("as_of", None)),
    "a rank": ("/rank", lambda answer: _shift("rank", answer)),
    "a percentile": ("/rank", lambda answer: _shift("percentile", answer)),
    "a previous rank": ("/rank", lambda answer: _shift("previous_rank", answer)),
    "above": ("/rank", lambda answer: _shift("above", answer)),
    "below": ("/rank", lambda answer: _shift("below", answer)),
    "a group": ("/ranks", lambda answer: answer["entries"].pop()),
    "a group rank": ("/ranks", lambda answer: _shift("group_rank", *answer["entries"])),
    "a score at a percentile": ("/percentile", lambda answer: _shift("score", answer)),
    "a bucket too few": ("/distribution", lambda answer: answer["buckets"][:-1] and answer["buckets"].pop()),
    "a bucket's members": ("/distribution", lambda answer: _shift("members", *answer["buckets"][:1])),
    "a bucket's end": ("/distribution", lambda answer: _shift("to", *answer["buckets"][:1])),
    "whether a member is hidden": ("/member", lambda answer: answer.update(hidden=not answer.get("hidden"))),
    "a member's metric": ("/member", lambda answer: answer.get("metrics", [0]).pop()),
    "a member's score": ("/member", lambda answer: _shift("score", *answer.get("metrics", []))),
    "a member's rank": (
        "/member",
        lambda answer: _shift("rank", *(w for m in answer.get("metrics", []) for w in m["windows"])),
    ),
    "the kind of a problem": ("/rank", lambda answer: "type" in answer and answer.update(type="urn:standings:other")),
    "the kind of a member's problem": (
        "/member",
        lambda answer: "type" in answer and answer.update(type="about:blank"),
    ),
    "a period that is gone": ("/day", lambda answer: "type" in answer and answer.update(type="about:blank")),
    "a field": ("/percentile", lambda answer: answer.pop("score")),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_noticed(model: BoardModel, what: str) -> None:
    where, change = WRONG[what]
    is_problem = "problem" in what or "gone" in what

    def spoil(path: str, answer: dict[str, Any]) -> None:
        if path.endswith(where) and ("type" in answer) == is_problem:
            change(answer)

    with pytest.raises(AssertionError, match=rf"(?s){where}.*judge: .*product: "):
        compare(model, spoil)
