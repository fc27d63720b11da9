"""Announces changes of a top: reads today's top, compares it with the last announcement, and sends the difference.

Each announcement has the next number of its ranking. It is stored before it is sent (an outbox), and sent again with
the same id until EventBridge has taken it. The next one waits for that. So numbers have no gap, and if a call fails in
between, the next look continues from what is stored.

After each announcement the announcer looks once more. Meanwhile the top may have become what was announced before, and
a look at that change has then found nothing to announce.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from hashlib import sha256
from itertools import accumulate, takewhile
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.dynamodb.scores import BoardRecords
from standings.aws.dynamodb.versioned_items import AnnouncedTop, AnnouncedTops, Standing
from standings.aws.eventbridge import BusEvent, EventBus
from standings.aws.sqs import Look
from standings.domain import tiers
from standings.domain.boards import Boards, Metric, Ranking
from standings.domain.scoring import behind, decode_sort_key, encode_values
from standings.domain.tiers import ROOT
from standings.domain.windows import instant
from standings.rankings.reading import TopReads
from standings.read.session import period_of, scored
from standings.runtime.clock import Clock
from standings.stores import RankingName, StoreUnavailableError

AT_MOST_EVERY_MS: Final = 1_000  # Between two announcements of one ranking
MAX_WAIT: Final = 900  # Seconds. SQS delays a message for at most this long.
PATIENCE: Final = 4
"""Looks after which a top is announced although it is not proven: it changes faster than it can be read."""
ENOUGH: Final = 12
"""Looks after which the announcer gives up on a top that it cannot prove: a quarter of an hour or more."""
TYPE: Final = "Top Changed"
_NOTHING: Final = AnnouncedTop(0, 0, 0, (), None)  # Before the first announcement


@dataclass(frozen=True)
class Announcer:
    """Looks at a ranking's top, and announces it if it differs from what was announced last.

    `stack` is the name of the stack in events and in their ids.
    """

    boards: Boards
    records: BoardRecords
    announced: AnnouncedTops
    reads: TopReads
    bus: EventBus
    clock: Clock
    stack: str

    def look(self, look: Look) -> tuple[Look, int] | None:
        """Announce what has changed. Returns the next look and the seconds until it is due: `(Look(…), 1)`.

        None: all is announced. Raises StoreUnavailableError if a table or EventBridge does not answer, or at the
        clock's deadline. What is not done by then, a later look does.
        """
        found = self._ranking(look.name)
        if found is None:
            return None
        ranking, length = found
        # This comes before the reads of the top: whoever writes in between makes the condition of `put` fail.
        last = self._send(ranking, self.clock.retry(self.announced.read, ranking, self.clock.now()) or _NOTHING)
        now = self.clock.now()
        # The clock of the function that announced it may have been ahead.
        if last is None or abs(now - last.announced_at_ms) < AT_MOST_EVERY_MS:
            return look, 1
        top = read_top(self.reads, self.clock, ranking, length) if length else Top((), Proof.PROVEN)
        differs = list(top.standings) != list(last.top)
        is_due = differs and (top.proof is not Proof.CONTRADICTED or look.tries >= PATIENCE)
        if is_due and (not self._announce(ranking, last, top, now) or top.proof is Proof.PROVEN):
            return look, 1
        if not is_due and (top.proof is Proof.PROVEN or (top.proof is Proof.OPEN and look.tries >= ENOUGH)):
            return None
        # At least half of each wait is certain, so that all of them together are.
        wait = 1 + int((1 + self.clock.random()) / 2 * 2 ** min(look.tries, 10))
        return look._replace(tries=look.tries + 1), min(MAX_WAIT, wait)

    def _announce(self, ranking: Ranking, last: AnnouncedTop, top: "Top", now: int) -> bool:
        """Store an announcement, send it, and store that it was sent. False if another look was faster."""
        unsent = self._change(ranking, last.seq + 1, now, last.top, top)
        stored = AnnouncedTop(last.version + 1, last.seq + 1, now, top.standings, unsent)
        return self.clock.retry(self.announced.put, ranking, stored) and self._send(ranking, stored) is not None

    def _change(self, ranking: Ranking, seq: int, now: int, before: Any, top: "Top") -> dict[str, Any]:
        """An announcement without the whole top, which is stored next to it."""
        about = {
            "stack": self.stack,
            "board": ranking.board,
            "metric": ranking.metric.name,
            "window": ranking.window.name,
            "period": period_of(ranking),
        }
        # With the time, since a ranking whose last announcement was deleted counts from 1 again.
        identity = sha256(orjson.dumps(["top", *about.values(), seq, now])).hexdigest()[:32]
        head = {"id": identity, **about, "seq": seq, "as_of": instant(now)}
        room = MAX_DETAIL - len(orjson.dumps({**head, "top": _lines(top.standings, ranking.metric)}))
        return {**head, **_truncated(_changes(before, top.standings, ranking.metric), room)}

    def _send(self, ranking: Ranking, stored: AnnouncedTop) -> AnnouncedTop | None:
        """Send a stored announcement if it was not sent, and store that. None if another look was faster."""
        if stored.unsent is None:
            return stored
        detail = orjson.dumps({**stored.unsent, "top": _lines(stored.top, ranking.metric)}).decode()
        failed = self.clock.retry(self.bus.put, [BusEvent(stored.unsent["id"], TYPE, detail)])
        for why in failed.values():
            raise StoreUnavailableError(why)
        sent = stored._replace(version=stored.version + 1, announced_at_ms=self.clock.now(), unsent=None)
        return sent if self.clock.retry(self.announced.put, ranking, sent) else None

    def _ranking(self, name: RankingName) -> tuple[Ranking, int] | None:
        """The ranking in the generation that is read, and the length of its top; None if it is not announced.

        A deleted board has an empty top. Of one that has ended nothing is announced.
        """
        family = self.boards.family(name.board)
        metric = family.metrics.get(name.metric) if family is not None else None
        window = metric.window(name.window) if metric is not None else None
        if family is None or metric is None or window is None or name.window not in family.announce:
            return None
        if window.unit is not None and not metric.timetable.has(window.unit, name.period):
            return None  # A season that boards.toml no longer names
        record = self.clock.retry(self.records.records, [name.board]).get(name.board)
        if record is None or record.has_ended(self.clock.now()):
            return None
        ranking = Ranking(name.board, metric, window, name.period, record.generation, record.ends)
        until = ranking.readable_until
        if not record.coverage.holds(ranking) or (until is not None and self.clock.now() >= until):
            return None
        return ranking, 0 if record.deleted else family.announce[name.window]


def merged_tries(tries: Iterable[int]) -> int:
    """The tries of one look that stands for several looks at a ranking.

    It has the tries of the one that was repeated most often. But a new look must not inherit so many that it would give
    up at once.
    """
    tries = list(tries)
    return min(max(tries), max(min(tries), PATIENCE))


class Proof(Enum):
    """Whether a list is the top."""

    PROVEN = "proven"
    CONTRADICTED = "contradicted"  # The index is behind, or members move at this moment
    OPEN = "open"  # Too many members share the last score to compare them all


class Top(NamedTuple):
    """The first members of a ranking, as the index shows them."""

    standings: Sequence[Standing]
    proof: Proof


def read_top(reads: TopReads, clock: Clock, ranking: Ranking, length: int) -> Top:
    """Read the first `length` members of a ranking, and say whether that is proven. May raise StoreUnavailableError.

    The sorted index may be seconds behind, and two reads of it may be of different moments. So what it shows is
    compared with what is strongly consistent: the rows of its members, and the counters of the tiers. If each row is
    where the index shows it, and the tiers count as many members as the index lists, the list is right.
    """
    return _Reading(reads, clock, ranking, clock.retry(reads.shards, ranking)).top(length)


MAX_EQUALS: Final = 200  # Members of the last score whose rows are compared
_BEFORE_ALL: Final = " "  # No sort key is empty, and none begins with a space


class _Reading(NamedTuple):
    reads: TopReads
    clock: Clock
    ranking: Ranking
    shards: int

    def top(self, length: int) -> Top:
        keys = self._indexed(_BEFORE_ALL, None, length)
        # A member that moves may be shown twice for a moment. Then it is listed once, and nothing is proven.
        first: dict[str, Standing] = {}
        for standing in map(self._standing, keys):
            first.setdefault(standing.member, standing)
        standings = list(first.values())
        if not self._are_rows(keys):
            proof = Proof.CONTRADICTED
        elif len(keys) < length:
            counters = self.clock.retry(self.reads.counters, self.ranking, [ROOT])
            is_whole = sum(counters.get(ROOT, {}).values()) == len(keys)
            proof = Proof.PROVEN if is_whole else Proof.CONTRADICTED
        else:
            proof = self._proof_of_last(keys, standings)
        return Top(standings, proof)

    def _proof_of_last(self, keys: Sequence[str], standings: Sequence[Standing]) -> Proof:
        """Compare a whole top with the members ahead of its last score, and with those who share it."""
        last = standings[-1].values
        counters = self.clock.retry(self.reads.counters, self.ranking, tiers.nodes_for(last))
        ahead = sum(standing.values != last for standing in standings)
        equals, listed = tiers.equals(last, counters), keys[ahead:]
        if tiers.ahead(last, counters) != ahead:
            return Proof.CONTRADICTED
        if equals > max(MAX_EQUALS, len(listed)):
            return Proof.OPEN
        if equals == len(listed):
            return Proof.PROVEN
        # Of those who share the last score, one may be missing who belongs on the list, and another shown who left.
        sharing = self._indexed(encode_values(last), behind(last), equals + 1)
        is_whole = len(sharing) == equals and sharing[: len(listed)] == list(listed)
        return Proof.PROVEN if is_whole and self._are_rows(sharing[len(listed) :]) else Proof.CONTRADICTED

    def _are_rows(self, keys: Sequence[str]) -> bool:
        """Whether each member's row has the key that the index shows, and no member is shown twice."""
        shown = {self._standing(key).member: key for key in keys}
        return len(shown) == len(keys) and self.clock.retry(self.reads.keys, self.ranking, list(shown)) == shown

    def _indexed(self, beyond: str, before: str | None, limit: int) -> list[str]:
        keys: list[str] = []
        for shard in range(self.shards):
            keys += self.clock.retry(self.reads.indexed, self.ranking, shard, beyond, before, limit)
        return sorted(keys)[:limit]

    def _standing(self, key: str) -> Standing:
        place, member = decode_sort_key(key, self.ranking.metric)
        return Standing(member, place.values)


MAX_DETAIL: Final = 240_000
"""Bytes of an announcement at most. EventBridge takes 256 KiB with the event's source and type.

https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-putevent-size.html
"""


def _truncated(changed: dict[str, list[Any]], room: int) -> dict[str, Any]:
    """The changes in so many bytes of JSON. Lists that do not fit end earlier, and `cut` names them."""
    shown: dict[str, Any] = {}
    # Only `left` names who left; the whole top also names who entered.
    for name in ("left", "moved", "entered"):
        sizes = accumulate(len(orjson.dumps(line)) + 1 for line in changed[name])
        fitting = list(takewhile(room.__ge__, sizes))
        shown[name] = changed[name][: len(fitting)]
        room -= fitting[-1] if fitting else 0
    cut = [name for name in changed if len(shown[name]) < len(changed[name])]
    return {name: shown[name] for name in changed} | ({"cut": cut} if cut else {})


def _changes(before: Sequence[Standing], after: Sequence[Standing], metric: Metric) -> dict[str, Any]:
    """Who entered a top, who left it, and whose rank changed. Ranks are competition ranks.

    - `entered` has `{rank, member, score}`, with `tie_breaks` where the ranking has some.
    - `left` has `{was, member}`, and `moved` has `{rank, was, member}`: `was` is the rank that was announced before.
    """
    were, are = _ranks(before), _ranks(after)
    return {
        "entered": [line for line in _lines(after, metric) if line["member"] not in were],
        "left": [{"was": rank, "member": member} for member, rank in were.items() if member not in are],
        "moved": [
            {"rank": rank, "was": were[member], "member": member}
            for member, rank in are.items()
            if were.get(member, rank) != rank
        ],
    }


def _lines(top: Sequence[Standing], metric: Metric) -> list[dict[str, Any]]:
    """The whole top as `{rank, member, score}`, with `tie_breaks` where the ranking has some."""
    ranks = _ranks(top)
    return [
        {"rank": ranks[standing.member], "member": standing.member, **scored(standing.values, metric)}
        for standing in top
    ]


def _ranks(top: Sequence[Standing]) -> dict[str, int]:
    places = [standing.values for standing in top]
    return {standing.member: 1 + bisect_left(places, standing.values) for standing in top}
