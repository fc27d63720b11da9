"""The events of a settled period: `Prize Won` for each winner of a prize, then `Period Settled`.

An event's id is made from what the event is about. So each try makes the same ids, and whoever acts on an event can
tell that it was delivered twice.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import orjson

from standings.maintain.settle.files import Files
from standings.ports.endings import MAX_EVENTS, Bus, BusEvent
from standings.ports.errors import StoreUnavailableError
from standings.runtime.retry import Clock

REMEMBERED_TOGETHER: Final = 500  # Events after which their ids are written down. A crash may repeat as many.
PUT_TIMEOUT_S: Final = 30.0  # Seconds for which events that failed are put again
_ABOUT: Final = ("stack", "board", "metric", "window", "period")


def event_id(kind: str, *about: str) -> str:
    """The id of an event about something."""
    return sha256(orjson.dumps([kind, *about])).hexdigest()[:32]


@dataclass(frozen=True)
class PrizeEvents:
    """Puts the events of a settlement that were not put yet."""

    files: Files
    bus: Bus
    clock: Clock

    def send(self, is_over: Callable[[], bool]) -> bool:
        """Put events until all are put, or the call is over. Returns whether all are.

        StoreUnavailableError: some could not be put for `PUT_TIMEOUT_S`. Those that were are remembered.
        """
        summary = self.files.summary()
        if summary is None:
            raise StoreUnavailableError("the summary was removed meanwhile: settle the period again")
        if self.files.all_sent():
            return True
        sent = self.files.sent()
        fresh: list[str] = []
        batch: list[BusEvent] = []
        count = 0
        for event in self._events(summary):
            count += 1
            if event.id in sent:
                continue
            batch.append(event)
            if len(batch) == MAX_EVENTS:
                self._put(batch, fresh)
                batch = []
                if len(fresh) >= REMEMBERED_TOGETHER:
                    self.files.add_sent(fresh)
                    fresh = []
                    if is_over():
                        return False
        self._put(batch, fresh)
        if fresh:
            self.files.add_sent(fresh)
        self.files.mark_all_sent(count)
        return True

    def _put(self, batch: list[BusEvent], fresh: list[str]) -> None:
        """Put a batch, and what failed of it again. `fresh` gets the ids of those that were put."""
        backoff = self.clock.backoff_for(PUT_TIMEOUT_S)
        while batch:
            try:
                failed, why = self.bus.put(batch), ""
            except StoreUnavailableError as error:
                failed, why = {event.id: "" for event in batch}, str(error)
            fresh += (event.id for event in batch if event.id not in failed)
            batch = [event for event in batch if event.id in failed]
            if batch and not backoff.wait():
                if fresh:
                    self.files.add_sent(fresh)
                raise StoreUnavailableError(f"events were not taken: {why or next(iter(failed.values()))}")

    def _events(self, summary: Mapping[str, Any]) -> Iterator[BusEvent]:
        about = {name: summary[name] for name in _ABOUT}
        # A season that has the name of an earlier one has other files, and its events have other ids.
        identity = {**about, "period": self.files.label}.values()
        prizes = [prize for prize in summary["prizes"] if prize["events"] and prize["winners"]]
        last = max((prize["last"] for prize in prizes), default=0)
        for line in self.files.lines(summary["parts"] if prizes else 0):
            if line.rank > last:
                break
            for prize in prizes:
                if prize["first"] <= line.rank <= prize["last"]:
                    won = {"prize": prize["name"], "rank": line.rank, "member": line.member}
                    yield _event(
                        "Prize Won",
                        event_id("prize", *identity, prize["name"], line.member),
                        {**about, **won, "score": orjson.Fragment(line.score)},
                    )
        yield _event(
            "Period Settled",
            # A settlement that replaces another one has another digest: then it is news.
            event_id("period", *identity, summary["digest"]),
            {
                **about,
                "members": summary["members"],
                "digest": summary["digest"],
                "bucket": self.files.results.name,
                "prefix": self.files.prefix,
                "prizes": [{"name": prize["name"], "winners": prize["winners"]} for prize in summary["prizes"]],
            },
        )


def _event(kind: str, identity: str, detail: Mapping[str, Any]) -> BusEvent:
    return BusEvent(identity, kind, orjson.dumps({"id": identity, **detail}).decode())
