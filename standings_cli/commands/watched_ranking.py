"""The ranking that `watch` reads again and again, and how its members have moved."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from rich.text import Text

from standings_cli.commands.rankings import Question
from standings_cli.stack.api import LOST, UNRANKED, Api, ApiError
from standings_cli.stack.backoff import backoff
from standings_cli.terminal.text import number

INTERVAL_S: Final = 2.0
_MAX_RETRY_S: Final = 30.0


@dataclass
class WatchedRanking:
    """What is known of the ranking, and of its last read."""

    api: Api
    ask: Callable[[Api], Question]
    arguments: Mapping[str, str | int | None]
    member: str | None = None
    interval: float = INTERVAL_S
    answer: dict[str, Any] | None = None
    unranked: str | None = None
    """The API's reason why the member is not ranked."""
    failure: str | None = None
    """Why the API has not answered since `failing_since`."""
    failing_since: float = 0.0
    moved: frozenset[str] = frozenset()
    """The members whose rank or score the last read has changed."""
    _question: Question | None = None
    _tag: str | None = None
    _failures: int = 0
    _last: dict[str, tuple[int, float]] = field(default_factory=dict)
    _first_ranks: dict[str, int] = field(default_factory=dict)

    def read(self, now: float) -> bool:
        """Read the ranking, and return whether there is something new to show. Raises ApiError if it is permanent."""
        try:
            changed = self._read()
        except (*LOST, ApiError) as error:
            if isinstance(error, ApiError) and not error.is_temporary:
                raise
            self.failing_since = self.failing_since if self.failure else now
            self.failure = str(error)
            self._failures += 1
            return self._failures == 1
        changed = changed or self.failure is not None
        self.failure, self._failures = None, 0
        return changed

    def pause(self) -> float:
        """Return the seconds until the next read. They grow, and are random, while the API fails."""
        if not self._failures:
            return self.interval
        return backoff(self._failures, 2.0 * max(self.interval, 1.0), _MAX_RETRY_S, self.api.chance)

    def movement(self, entry: Mapping[str, Any]) -> Text:
        """Return how far a member has moved since the first read of this period, `new` if it was not listed then."""
        first = self._first_ranks.get(entry["member"])
        if first is None:
            # A new neighbour of the watched member may have been ranked all along.
            return Text("" if self.member else "new", style="cyan")
        by = first - entry["rank"]
        if by == 0:
            return Text()
        return Text(f"▲ {number(by)}", style="green") if by > 0 else Text(f"▼ {number(-by)}", style="red")

    def _read(self) -> bool:
        if self._question is None:
            self._question = self.ask(self.api)
        arguments = {**self._question.arguments, **self.arguments}
        try:
            tagged = self.api.read_if_changed(self._tag, *self._question.path, **arguments)
        except ApiError as error:
            if error.kind not in UNRANKED:
                raise
            changed = self.unranked != str(error)
            self.unranked, self.answer, self._tag = str(error), None, None
            return changed
        if tagged is None:
            return False
        self.unranked = None
        answer, self._tag = tagged
        self._compare(answer)
        self.answer = answer
        return True

    def _compare(self, answer: Mapping[str, Any]) -> None:
        """Note which members have moved. A new period starts anew."""
        current = {entry["member"]: (entry["rank"], entry["score"]) for entry in answer["entries"]}
        if not self._first_ranks or self.answer is None or self.answer["period"] != answer["period"]:
            self._first_ranks = {member: rank for member, (rank, _) in current.items()}
            self._last = current
        self.moved = frozenset(member for member, place in current.items() if self._last.get(member) != place)
        self._last = current
