"""Posts an event and waits until the ranks of its members have followed, for `POST /events?wait=5`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from standings.domain.errors import InvalidBodyError, NotFoundError
from standings.ingest import CheckedEvents, CountedEvents, Posting
from standings.read import member_ranks
from standings.read.dispatch import Answers
from standings.runtime.clock import Clock
from standings.runtime.logs import logger
from standings.stores import MemberKey, StoreUnavailableError

if TYPE_CHECKING:
    from standings.aws.dynamodb.scores import EventStatus

LOOKS: Final = 20
"""How often a request looks at most. A look reads the status; once the event counts, also ranks, until all follow."""
MAX_PAIRS: Final = 10
"""Pairs of board and member of an event that can be waited for."""


Followed = tuple[Sequence[dict[str, Any]], Sequence[dict[str, Any]] | None]
"""The results of a post, and the cards of the event's members; None: the ranks had not followed in time.

`([{"id": "0197f2c4", "status": "counted", "detail": None}], [{"board": "b", "member": "u7", …}])`
"""


@dataclass(frozen=True, slots=True)
class Following:
    """Posts one event and follows it: `Following(posting, tables, answers, clock).post(checked, wait=5)`."""

    posting: Posting
    tables: CountedEvents
    answers: Answers
    clock: Clock

    def post(self, checked: CheckedEvents, wait: int) -> Followed:
        """Post the event of a body, and wait until it counts and each rank includes it.

        No look begins more than `wait` seconds after this call, but there is one.
        An event that is refused, now or by the writer, has the status `refused`; an administrator sees why the writer
        refused it. Raises RequestError for two events, for one of more than `MAX_PAIRS`, and for a correction.
        """
        deadline, pairs = self.clock.after(wait), _pairs(checked)
        (result,) = self.posting.dry_run(checked, self.tables)
        if result["status"] == "refused":
            return [result], None
        # An earlier status is not the one to wait for: it was refused then, or counted before a member was removed.
        before = None if result["status"] == "known" else self.clock.retry(self.tables.scores.status, result["id"])
        results = self.posting.post(checked)
        if result["status"] != "queued":
            return results, None
        for _ in range(LOOKS):
            self.clock.sleep(max(0, min(wait / LOOKS, deadline - self.clock.monotonic())))
            if (found := self._look(result, pairs, before, with_reason=checked.is_admin)) is not None:
                return found
            if self.clock.monotonic() >= deadline:
                break
        return results, None

    def _look(
        self, result: dict[str, Any], pairs: Sequence[MemberKey], before: "EventStatus | None", *, with_reason: bool
    ) -> Followed | None:
        """What to answer now; None as long as the event does not count, or some rank has not followed."""
        try:
            status = self.clock.retry(self.tables.scores.status, result["id"])
            if status is None or status == before:
                return None
            if status.reason is not None:
                detail = status.reason if with_reason else "the writer refused it; an administrator sees why"
                return [{**result, "status": "refused", "detail": detail}], None
            cards = []
            for board, member in pairs:
                if (card := member_ranks.followed(self.answers.session(), board, member)) is None:
                    return None
                cards.append(card)
        except NotFoundError:
            return None  # The member was removed, or the board deleted, since
        except StoreUnavailableError as error:
            logger.warning("ranks not read while a post waits", extra={"reason": str(error)})
            return None  # The event is on the queue: a refusal of the whole request would say that it is not
        return [{**result, "status": "counted"}], cards


def _pairs(checked: CheckedEvents) -> list[MemberKey]:
    """The boards and members of the only event of a body; none if it is refused."""
    if (number := len(checked.results)) > 1:
        raise InvalidBodyError(f"wait: expected one event, got {number}: post each by itself, or without wait")
    events = [event for _, event in checked.events.values()]
    if any(event.corrects is not None for event in events):
        raise InvalidBodyError("wait: expected an event, got a correction: post it without wait")
    pairs = [pair for event in events for pair in event.items]
    if len(pairs) > MAX_PAIRS:
        expected = f"expected an event of at most {MAX_PAIRS} pairs of board and member, got {len(pairs)}"
        raise InvalidBodyError(f"wait: {expected}: post it without wait")
    return pairs
