"""Periods that the API calls final: their lists must stay as they are, whatever is posted and by whose clock."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, Final

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.support.aws.manual_clock import ManualClock
from tests.support.aws.stack import Stack
from tests.support.machine.boards import Sent
from tests.support.machine.times import MINUTES_AGO
from tests.support.oracle.comparing import same
from tests.support.oracle.model import ENDING, BoardModel

BEHIND: Final = (0, 1, 60_000, 300_000)
"""Milliseconds by which a writer's clock is behind a reader's."""


class FinalPeriods(RuleBasedStateMachine):
    """The rule of the state machine that makes periods final."""

    stack: Stack
    clock: ManualClock
    models: Mapping[str, BoardModel]

    @property
    @abstractmethod
    def now(self) -> datetime:
        """The instant of the clock."""

    @abstractmethod
    def made_up(self, data: st.DataObject) -> Sent:
        """An event that was never sent before."""

    @abstractmethod
    def deliver(self, events: Sequence[Sent]) -> None:
        """Send events through the writer."""

    @rule(data=st.data())
    def post_to_a_final_period(self, data: st.DataObject) -> None:
        """Let a period become final, then post events of it to a writer whose clock is behind."""
        endings = [
            (name, metric, window)
            for name, model in sorted(self.models.items())
            for metric, rules in model.metrics.items()
            for window in rules.windows
            if window in ENDING
        ]
        if not endings:
            return
        board, metric, window = data.draw(st.sampled_from(endings), label="of which ranking")
        calendar = self.models[board].calendar
        on = self.now - timedelta(minutes=max(0, data.draw(st.sampled_from(MINUTES_AGO), label="minutes ago")))
        end, final = calendar.bounds(window, on)[1], calendar.final_at(window, on)
        if end is None or final is None:  # No season holds that instant
            return
        if not calendar.is_readable(window, on, max(final, self.now)):
            return
        self.clock.milliseconds = max(self.clock.milliseconds, round(final.timestamp() * 1000))
        path, period = f"/boards/{board}/{metric}/{window}", calendar.named(window, on)
        before = self._list(path, period)
        same(f"the state of {path} {period} at {self.now}", "final", before["state"])
        behind = data.draw(st.sampled_from(BEHIND), label="milliseconds behind")
        events = [replace(self.made_up(data), at=end - timedelta(minutes=minutes)) for minutes in (1, 7)]
        self.clock.milliseconds -= behind
        self.deliver(events)
        self.clock.milliseconds += behind
        same(f"{path} {period}, final at {self.now}", before["entries"], self._list(path, period)["entries"])

    def _list(self, path: str, period: str | None) -> dict[str, Any]:
        status, answer = self.stack.get(path, period=period, limit=1000)
        same(f"GET {path}?period={period}", 200, status, answer)
        return dict(answer)
