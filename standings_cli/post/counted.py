"""Waits until the writer has counted an event, then until a ranking shows its member's new score.

The status of the event says the first. Rankings follow through the stream, a moment later, as they do after a change of
a member: `Waiting.followed` waits for all of them.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Final

from standings.client.api import Api
from standings.client.errors import ApiError
from standings.runtime.clock import backoff
from standings_cli.stack.errors import UNRANKED
from standings_cli.terminal import Working

TIMEOUT_S: Final = 60.0
_LATE_S: Final = 5.0
_FIRST_PAUSE_S: Final = 0.2
_MAX_PAUSE_S: Final = 4.0
NO_REASON: Final = "`standings dlq list` says why (the token lacks the scope standings/admin)"
Status = Mapping[str, Any]
"""What became of an event: `{"id": "x", "status": "refused", "reason": "…", "at": "2026-11-21T10:15:01.000Z"}`."""


class RefusedError(Exception):
    """The writer has refused the event. The message is the reason: `metrics.points: expected a number, got true`.

    A caller who may not see the reason is shown how to have it.
    """


class NotYetError(Exception):
    """The wait has timed out. The message says for what: `the event is not counted yet, after 60 s`."""


@dataclass(frozen=True)
class Waiting:
    """Reads an event's status and its member's rank until they are there, at most `TIMEOUT_S` each.

    `Waiting(api, time.sleep, time.monotonic, random.random)`; the pauses between reads grow, and are random.
    """

    api: Api
    sleep: Callable[[float], None]
    monotonic: Callable[[], float]
    chance: Callable[[], float]

    def status(self, event_id: str) -> Status | None:
        """The status of an event; None before the writer has seen it. Raises ApiError and NoAnswerError."""
        try:
            return self.api.read("events", id=event_id)
        except ApiError as error:
            if error.kind != "no-such-event":
                raise
            return None

    def counted(self, event_id: str, before: Status | None, late: Callable[[], None] | None = None) -> Status:
        """Wait until the event is counted, and return its status. If that takes more than 5 s, `late` is called once.

        RefusedError if the writer refuses it, NotYetError after `TIMEOUT_S`.
        `before` is its status before it was posted, which is not the one to wait for: it was refused at an earlier
        attempt, or counted before its member was removed. None for an event that is known.
        """
        found: list[Status] = []

        def look() -> bool:
            status = self.status(event_id)
            if status is None or status == before:
                return False
            if status["status"] == "refused":
                raise RefusedError(status.get("reason", NO_REASON))
            found.append(status)
            return True

        self._until(look, "the event is not counted yet", late)
        return found[-1]

    def rank(self, board: str, member: str, metrics: Iterable[str]) -> dict[str, Any] | None:
        """Wait until a ranking shows the member's numbers. Returns its rank: `{"rank": 41, "score": 303, …}`.

        The ranking is the first window of the first metric that has one, and that is one of these, or whose ties one of
        these breaks. None if no metric has one, or the member is hidden or has no score there. NotYetError after
        `TIMEOUT_S`.
        """
        found, changed = list[dict[str, Any] | None](), set(metrics)

        def look() -> bool:
            card = self.api.read("boards", board, "member", id=member)
            place = next(
                (
                    (row["metric"], window["window"], _numbers(window))
                    for row in card["metrics"]
                    for window in row["windows"][:1]
                    if changed & {row["metric"], *(window.get("tie_breaks") or ())}
                ),
                None,
            )
            if place is None or place[2][0] is None or card["hidden"]:
                found.append(None)
                return True
            try:
                answer = self.api.read("boards", board, *place[:2], "rank", member=member)
            except ApiError as error:
                if error.kind not in UNRANKED:
                    raise
                metrics = self.api.read("boards", board)["metrics"]
                (metric,) = (metric for metric in metrics if metric["metric"] == place[0])
                if is_ranked(metric, place[2][0]):
                    return False
                found.append(None)
                return True
            found.append(answer)
            return _numbers(answer) == place[2]

        self._until(look, "the event is counted, but its ranking does not show it yet")
        return found[-1]

    def followed(self, board: str, member: str, *, is_ranked: bool) -> None:
        """Wait until every current period shows what the board has of a member. NotYetError after `TIMEOUT_S`.

        It shows the member's numbers, or nothing of it unless it `is_ranked`. What cannot be read, such as a ranking
        that is not built, is passed over.
        """
        metrics = self.api.read("boards", board)["metrics"]
        left = [(metric["metric"], window["window"]) for metric in metrics for window in metric["windows"]]

        def look() -> bool:
            expected = self._expected(board, member, metrics) if is_ranked else {}
            left[:] = [one for one in left if self._place(board, member, *one) not in (_UNREADABLE, expected.get(one))]
            return not left

        self._until(look, "its ranks have not followed yet")

    def _expected(self, board: str, member: str, metrics: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], Any]:
        """The numbers that rankings must show of a member, by metric and window."""
        card = self.api.read("boards", board, "member", id=member)
        definitions = {metric["metric"]: metric for metric in metrics}
        return {
            (row["metric"], window["window"]): _numbers(window)
            for row in card["metrics"]
            for window in row["windows"]
            if is_ranked(definitions[row["metric"]], window["score"]) and not card["hidden"]
        }

    def _place(self, board: str, member: str, metric: str, window: str) -> Any:
        """The numbers that a ranking shows of a member; None for nothing."""
        try:
            return _numbers(self.api.read("boards", board, metric, window, "rank", member=member))
        except ApiError as error:
            if error.status != HTTPStatus.NOT_FOUND:
                raise
            return None if error.kind in UNRANKED else _UNREADABLE

    def _until(self, look: Callable[[], bool], otherwise: str, late: Callable[[], None] | None = None) -> None:
        began = self.monotonic()
        attempt = 1
        with Working(f"waiting: {otherwise}"):
            while not look():
                waited = self.monotonic() - began
                if waited >= TIMEOUT_S:
                    raise NotYetError(f"{otherwise}, after {TIMEOUT_S:g} s")
                if late is not None and waited >= _LATE_S:
                    late()
                    late = None
                self.sleep(backoff(attempt, _FIRST_PAUSE_S, _MAX_PAUSE_S, self.chance))
                attempt += 1


_UNREADABLE: Final = ()


def is_ranked(metric: Mapping[str, Any], score: float | None) -> bool:
    """Whether a metric's rankings have members with a score; `metric` is its definition."""
    ranked_from = metric.get("ranked_from")
    if score is None or ranked_from is None:
        return score is not None
    return bool(score >= ranked_from if metric["order"] == "descending" else score <= ranked_from)


def _numbers(answer: Mapping[str, Any]) -> tuple[Any, ...]:
    """The score of an answer, and its tie-breaks."""
    return answer["score"], answer.get("tie_breaks")
