"""Looks at a ranking's top, and announces it if it differs from what was announced last.

Each announcement has the next number of its ranking. It is written down before it is sent, and sent again with the same
id until EventBridge has taken it. The next one waits for that. So numbers have no gap, and whatever dies in between,
the next look goes on from what is written.

After each announcement it looks once more. Meanwhile the top may have become what was announced before, and a look at
that change has then found nothing to announce.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import orjson

from standings.announce.read_top import Proof, Top, read_top
from standings.announce.top_changes import MAX_DETAIL, changes, fitted, lines
from standings.domain.boards.definitions import Boards, Ranking
from standings.domain.windows.calendar import instant
from standings.ports.announcements import AnnouncedTop, AnnouncedTops, Look, RankingName, Standing, TopReads
from standings.ports.board_records import BoardRecords
from standings.ports.endings import Bus, BusEvent
from standings.ports.errors import StoreUnavailableError
from standings.read.answer_fields import period
from standings.runtime.retry import READ_TIMEOUT_S, Clock, retrying

TYPE: Final = "Top Changed"
AT_MOST_EVERY_MS: Final = 1_000  # Between two announcements of one ranking
MAX_WAIT: Final = 900  # Seconds. SQS delays a message for at most this long.
PATIENCE: Final = 4
"""Looks after which a top is announced although it is not proven: it changes faster than it can be read."""
ENOUGH: Final = 12
"""Looks after which a top that cannot be proven is left as it is. They take a quarter of an hour or more."""


def merged(tries: Iterable[int]) -> int:
    """The tries of one look that stands for several looks at a ranking.

    It is as patient as the one that was repeated most often. But what the newest looks for is not left as it is, only
    since an older one was repeated enough.
    """
    tries = list(tries)
    return min(max(tries), max(min(tries), PATIENCE))


@dataclass(frozen=True)
class Announcer:
    """Announces tops. `stack` is the name of the stack in events and in their ids."""

    boards: Boards
    records: BoardRecords
    announced: AnnouncedTops
    reads: TopReads
    bus: Bus
    clock: Clock
    stack: str

    def look(self, look: Look) -> tuple[Look, int] | None:
        """Announce what has changed. Returns the next look and the seconds until it is due; None: all is announced.

        Raises StoreUnavailableError if a table or EventBridge does not answer.
        """
        found = self._ranking(look.name)
        if found is None:
            return None
        ranking, length = found
        announced, reads = self._patient(self.announced), self._patient(self.reads)
        # This comes before the reads of the top: whoever writes in between makes the condition of `put` fail.
        last = announced.read(ranking)
        if last is not None and last.unsent is not None:
            self._send(ranking, last.top, last.unsent)
            last = last._replace(version=last.version + 1, announced_at_ms=self.clock.now(), unsent=None)
            if not announced.put(ranking, last):
                return look, 1
        now = self.clock.now()
        # The clock of the function that announced it may have been ahead.
        if last is not None and abs(now - last.announced_at_ms) < AT_MOST_EVERY_MS:
            return look, 1
        top = read_top(reads, ranking, length) if length else Top((), Proof.PROVEN)
        differs = list(top.standings) != list(last.top if last is not None else ())
        is_due = differs and (top.proof is not Proof.CONTRADICTED or look.tries >= PATIENCE)
        if is_due and (not self._announce(announced, ranking, last, top, now) or top.proof is Proof.PROVEN):
            return look, 1
        if not is_due and (top.proof is Proof.PROVEN or (top.proof is Proof.OPEN and look.tries >= ENOUGH)):
            return None
        return look._replace(tries=look.tries + 1), self._wait(look.tries)

    def _announce(
        self, announced: AnnouncedTops, ranking: Ranking, last: AnnouncedTop | None, top: Top, now: int
    ) -> bool:
        """Write an announcement down, send it, and note that it was sent. False if another look was faster."""
        version, seq = (last.version, last.seq) if last is not None else (0, 0)
        unsent = self._change(ranking, seq + 1, now, last.top if last is not None else (), top)
        next_ = AnnouncedTop(version + 1, seq + 1, now, top.standings, unsent)
        if not announced.put(ranking, next_):
            return False
        self._send(ranking, top.standings, unsent)
        return announced.put(
            ranking, next_._replace(version=version + 2, announced_at_ms=self.clock.now(), unsent=None)
        )

    def _change(self, ranking: Ranking, seq: int, now: int, before: Any, top: Top) -> dict[str, Any]:
        """An announcement without the whole top, which is written down beside it."""
        about = {
            "stack": self.stack,
            "board": ranking.board,
            "metric": ranking.metric.name,
            "window": ranking.window.name,
            "period": period(ranking),
        }
        # With the time, since a ranking whose last announcement was forgotten counts from 1 again.
        identity = sha256(orjson.dumps(["top", *about.values(), seq, now])).hexdigest()[:32]
        head = {"id": identity, **about, "seq": seq, "as_of": instant(now)}
        room = MAX_DETAIL - len(orjson.dumps({**head, "top": lines(top.standings, ranking.metric)}))
        return {**head, **fitted(changes(before, top.standings, ranking.metric), room)}

    def _send(self, ranking: Ranking, top: Sequence[Standing], unsent: Mapping[str, Any]) -> None:
        detail = orjson.dumps({**unsent, "top": lines(top, ranking.metric)}).decode()
        failed = self.bus.put([BusEvent(unsent["id"], TYPE, detail)])
        for why in failed.values():
            raise StoreUnavailableError(why)

    def _ranking(self, name: RankingName) -> tuple[Ranking, int] | None:
        """The ranking in the generation that is read, and the length of its top; None if it is not announced.

        A deleted board has an empty top.
        """
        family = self.boards.family(name.board)
        metric = family.metrics.get(name.metric) if family is not None else None
        window = metric.window(name.window) if metric is not None else None
        if family is None or metric is None or window is None or name.window not in family.announce:
            return None
        if window.unit is not None and not metric.timetable.has(window.unit, name.period):
            return None  # A season that boards.toml no longer names
        record = self._patient(self.records).records([name.board]).get(name.board)
        ranking = Ranking(name.board, metric, window, name.period, record.generation if record is not None else 0)
        until = ranking.readable_until
        if record is None or not record.coverage.holds(ranking) or (until is not None and self.clock.now() >= until):
            return None
        return ranking, 0 if record.deleted else family.announce[name.window]

    def _wait(self, tries: int) -> int:
        # At least half of each wait is certain, so that all of them together are.
        return min(MAX_WAIT, 1 + int((1 + self.clock.random()) / 2 * 2 ** min(tries, 10)))

    def _patient(self, store: Any) -> Any:
        return retrying(store, lambda: self.clock.backoff_for(READ_TIMEOUT_S))
