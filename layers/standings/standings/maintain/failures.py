"""What failed: parked records of the stream, and messages in the dead-letter queue. Lists, replays and deletes them.

A replay never counts an event twice, nor moves a member back. A record only names its member, who is placed as its item
is now. An event's receipt outlives every replay.
"""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

import orjson

from standings.aws.dynamodb.scores import ParkedMember, Scores, decode_parked
from standings.aws.s3 import FailureBucket, StoredObject
from standings.aws.sqs import MAX_ENTRIES, DeadLetter, DeadLetterQueue, LookQueue
from standings.catalog import BoardCatalog
from standings.domain.coverage import MAX_ATTEMPT_S
from standings.domain.errors import bad_argument
from standings.domain.members import Image, calendar_rankings
from standings.domain.windows import DAY, MINUTE, instant
from standings.project.projector import announced
from standings.rankings.storing import Placement, Rankings, placements_now
from standings.runtime.clock import Backoff, Clock
from standings.stores import REPLAYABLE_DAYS, MemberKey, StoreRefusedError, StoreUnavailableError


class Selection(NamedTuple):
    """Matches by name, reason and board, and dead letters by member. None matches all.

    Names are keys of objects, and ids of messages or of the events in them. The reason is a part of the text:
    `Selection(reason="metrics", board="berlin-2026")`.
    """

    names: Collection[str] | None = None
    reason: str | None = None
    board: str | None = None
    member: str | None = None

    def accepts(
        self, names: Collection[str], reason: str, boards: Collection[str], members: Collection[str] = ()
    ) -> bool:
        """Whether a message or object with these names is chosen."""
        return (
            (self.names is None or any(name in self.names for name in names))
            and (self.reason is None or self.reason in reason)
            and (self.board is None or self.board in boards)
            and (self.member is None or self.member in members)
        )


ALL: Final = Selection()
MAX_SHOWN: Final = 1_000  # Messages, objects or problems in one answer
MAX_NAMES_SHOWN: Final = 10  # Boards, members or problems that are shown of one message or object
REPLAYABLE_MS: Final = REPLAYABLE_DAYS * DAY
"""Older ones are not replayed: an event might count twice, a record might replace a newer place."""
PROJECTOR_PREFIX: Final = "parked/"  # Where the projector parks records, one in each object
LAMBDA_PREFIX: Final = "aws/lambda/"  # Where Lambda puts the batches that it gave up
MEMBERS_TOGETHER: Final = 25
ATTEMPT: Final = MAX_ATTEMPT_S - 15.0
"""Seconds for placing some members; the next call tries those again that are left. A call to the store that began
within them may still end: a rebuild waits `MAX_ATTEMPT_S` for attempts with an outdated list of generations."""


@dataclass(frozen=True)
class ParkedRecords:
    """Lists and replays what is parked: at any time, also while projectors and other replays run.

    `report` is called with each unexpected error in reading a record. `looks` is None on a stack without announcements.
    A `deadline` is in seconds of the monotonic clock.
    """

    catalog: BoardCatalog
    scores: Scores
    rankings: Rankings
    objects: FailureBucket
    clock: Clock
    report: Callable[[Exception], None]
    looks: LookQueue | None

    def list(self, deadline: float, *, chosen: Selection = ALL, limit: int = 100, cursor: str = "") -> dict[str, Any]:
        """The parked objects: `{"done": True, "cursor": "…", "why": None, "objects": [{"key": "…", "reason": …}, …]}`.

        Each has its reason, its members and its age. Pass the previous answer's `cursor` to go on. `why` is the store's
        error that ended the call, if one did.
        """
        shown: list[dict[str, Any]] = []
        answer: dict[str, Any] = {"done": True, "cursor": cursor, "why": None, "objects": shown}
        backoff = self.clock.backoff(deadline)
        try:
            for stored in self.stored(backoff, chosen.names, cursor):
                if len(shown) >= min(limit, MAX_SHOWN) or backoff.expired:
                    return {**answer, "done": False}
                parked = self.read(backoff, stored, chosen)
                if parked is not None:
                    shown.append(self._shown(stored, parked))
                answer["cursor"] = stored.key
        except StoreUnavailableError as error:
            return {**answer, "done": False, "why": str(error)}
        return answer

    def replay(
        self, deadline: float, *, chosen: Selection = ALL, cursor: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Place each record's member as its item is now, and delete the objects that are done.

        Returns `{"done": True, "cursor": {…}, "why": None, "placed": 12, "removed": 3, "left": 0, "problems": []}`:
        members placed, objects deleted, objects left. Records that are too old, or can never be replayed, stay and are
        reported. Pass the previous answer's `cursor` to go on, even within a large object. `why` is the store's error
        that ended the call, if one did.
        """
        replay = _Replay(self, self.clock.backoff(deadline), chosen, _Position(**cursor or {}))
        try:
            done = all(map(replay.replay, self.stored(replay.backoff, chosen.names, replay.position.after)))
        except StoreUnavailableError as error:
            done, replay.why = False, str(error)
        position, problems = replay.position._asdict(), replay.problems[:MAX_SHOWN]
        return {"done": done, "cursor": position, "why": replay.why, **replay.tally, "problems": problems}

    def stored(self, backoff: Backoff, keys: Collection[str] | None, after: str) -> Iterator[StoredObject]:
        """The parked objects with these keys (None: all) that follow a key, in order."""
        for prefix in (LAMBDA_PREFIX, PROJECTOR_PREFIX):
            if (first := max(after, prefix)).startswith(prefix):
                found = self.objects.following(backoff.retry, prefix, first)
                yield from (stored for stored in found if keys is None or stored.key in keys)

    def read(self, backoff: Backoff, stored: StoredObject, chosen: Selection) -> "_ParkedObject | None":
        """The records of an object; None if it is gone or not chosen."""
        content = backoff.retry(self.objects.content, stored.key)
        if content is None:
            return None
        parked = _ParkedObject()
        try:
            parked.reason, records = _records(stored.key, content)
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            parked.problems.append(f"not a parked record: {error!r}")
            records = []
        parked.records = len(records)
        for record in records:
            try:
                named = decode_parked(record)
            except (KeyError, TypeError, ValueError) as error:
                parked.problems.append(f"not a change of a member's item: {error!r}")
            except Exception as error:  # noqa: BLE001 - a bug that one record meets must not stop the others
                parked.problems.append(f"cannot be read: {error!r}")
                self.report(error)
            else:
                if named is not None:
                    made = stored.at if named.made is None else min(named.made, stored.at)
                    _add(parked.members, named._replace(made=made))
        boards = {board for board, _ in parked.members}
        return parked if chosen.accepts([stored.key], parked.reason, boards) else None

    def place(self, members: Iterable[ParkedMember], deadline: float) -> tuple[dict[MemberKey, str], str | None]:
        """Place some members. Returns why members can never be placed, and the passing error if there was one.

        For example `({("b", "u7"): "no family …"}, "throttled")`.
        """
        until = min(deadline, self.clock.after(ATTEMPT))
        backoff = self.clock.backoff(until)
        never: dict[MemberKey, str] = {}
        moves: list[Placement] = []
        for named in members:
            try:
                moves += self._moves(named, backoff)
            except StoreUnavailableError as error:
                return never, str(error)
            except (StoreRefusedError, ValueError) as error:
                never[named.board, named.member] = str(error)
        why = None
        outcomes = self.rankings.commit(moves, until)
        for outcome in outcomes:
            why = why or outcome.failure
            never.update(((move.ranking.board, move.member), reason) for move, reason in outcome.refused)
        moved = announced(self.catalog.boards, outcomes)
        try:
            if self.looks is not None and moved:
                backoff.retry(self.looks.send_now, moved)
        except StoreUnavailableError as error:
            why = why or str(error)
        return never, why

    def _moves(self, named: ParkedMember, backoff: Backoff) -> Iterator[Placement]:
        """The moves that place a member in every ranking of all generations; ValueError if that is impossible."""
        if (problem := self._problem(named)) is not None:
            raise ValueError(problem)
        family = self.catalog.boards.family(named.board)
        if family is None:
            raise ValueError(f"no family in boards.toml matches {named.board!r}")
        image = self._image(named, backoff) or named.gone
        if image is None:
            raise ValueError("the item is gone, and the record does not have its version")
        now = self.clock.now()
        rankings = list(calendar_rankings(family, named.board, now))
        record = self.catalog.written([named.board]).get(named.board)
        if family.expires is not None if record is None else record.has_ended(now):
            return  # The board has ended, and maybe its record is gone.
        written, ends = ((0,), None) if record is None else (record.written, record.ends)
        for generation in written:
            yield from placements_now(
                family, image, rankings, generation, now, rewrite_every_item=True, board_ends=ends
            )

    def _image(self, named: ParkedMember, backoff: Backoff) -> Image | None:
        return backoff.retry(self.scores.image, (named.board, named.member))

    def _problem(self, named: ParkedMember) -> str | None:
        if named.made is not None and self.clock.now() - named.made > REPLAYABLE_MS:
            return f"more than {REPLAYABLE_DAYS} days old: a newer state of the member may be gone by now"
        return None

    def _shown(self, stored: StoredObject, parked: "_ParkedObject") -> dict[str, Any]:
        old = [_problem_of(key, why) for key, named in parked.members.items() if (why := self._problem(named))]
        members = [{"board": board, "member": member} for board, member in parked.members]
        return {
            "key": stored.key,
            "reason": parked.reason,
            "parked": instant(stored.at),
            "age_minutes": max(0, self.clock.now() - stored.at) // MINUTE,
            "records": parked.records,
            "members": members[:MAX_NAMES_SHOWN],
            "problems": [*parked.problems, *old][:MAX_NAMES_SHOWN],
        }


MAX_REASONS: Final = 100
MAX_HELD: Final = 100_000  # Messages held at once; SQS allows 120,000 in flight
MAX_EXCERPT_LENGTH: Final = 200
EMPTY_ROUNDS: Final = 2  # Empty answers of the queue before it counts as empty
HOLD_MARGIN: Final = 30  # Seconds after a call's deadline when messages that it could not release show up again
RECEIVED_TOO_OFTEN: Final = "received too often"  # The reason of messages that SQS itself moved to the queue


@dataclass(frozen=True)
class DeadLetterTasks:
    """Lists, replays and deletes dead letters. Messages that stay are visible again when a call ends.

    All state is in the queue, so an interrupted call is simply repeated. A `deadline` is in seconds of the monotonic
    clock. In each answer `done` says whether the whole queue was read before the deadline, `seen` how many messages
    were, and `why` is the queue's error that ended the call, if one did.
    """

    queue: DeadLetterQueue
    clock: Clock

    def list(self, deadline: float, *, chosen: Selection = ALL, limit: int = 100) -> dict[str, Any]:
        """Up to `limit` messages with their reasons, and the number of messages for each reason.

        Returns `{…, "chosen": 3, "reasons": [{"reason": "…", "messages": 3}], "messages": [{"id": …}, …]}`.
        """
        shown: list[dict[str, Any]] = []
        reasons: Counter[str] = Counter()

        def show(letters: Sequence[DeadLetter]) -> Collection[str]:
            for letter in letters:
                if _accepts(chosen, letter):
                    reasons[letter.reason or RECEIVED_TOO_OFTEN] += 1
                    if len(shown) < min(limit, MAX_SHOWN):
                        shown.append(self._shown(letter))
            return ()

        return {
            **self._for_each_message(show, deadline),
            "chosen": reasons.total(),
            "reasons": [{"reason": text, "messages": count} for text, count in reasons.most_common(MAX_REASONS)],
            "messages": shown,
        }

    def replay(self, deadline: float, *, chosen: Selection = ALL, cursor: int | None = None) -> dict[str, Any]:
        """Send messages to the activity queue again, bodies unchanged. Messages that are too old stay, and are named.

        Pass the previous answer's `cursor`, the time of the first call in milliseconds: messages that came to the queue
        since then stay.
        """
        began = self.clock.now() if cursor is None else cursor
        tally = dict.fromkeys(("replayed", "refused", "failed", "not_chosen", "newer"), 0)
        problems: dict[str, str] = {}

        def send(letters: Sequence[DeadLetter]) -> Collection[str]:
            ready = []
            for letter in letters:
                if not _accepts(chosen, letter):
                    tally["not_chosen"] += 1
                elif letter.sent > began:
                    tally["newer"] += 1
                elif (problem := self._problem(letter)) is not None:
                    tally["refused"] += 1
                    problems[letter.id] = problem
                else:
                    ready.append(letter)
            failed = self.queue.replay(ready)
            problems.update(failed)
            tally["replayed"] += len(ready) - len(failed)
            tally["failed"] += len(failed)
            return {letter.id for letter in ready} - failed.keys()

        return {**self._for_each_message(send, deadline), "cursor": began, **tally, "problems": _listed(problems)}

    def delete(self, deadline: float, *, chosen: Selection, cursor: int | None = None) -> dict[str, Any]:
        """Delete messages for good. Raises InvalidArgumentError if nothing says which.

        Returns `{…, "deleted": 2, "missing": ["e9"], "problems": []}`. `missing` are the names that no chosen message
        has. The `cursor` is that of `replay`.
        """
        if not any(chosen):
            raise bad_argument("ids", "are missing: give ids, or a reason, board or member")
        began = self.clock.now() if cursor is None else cursor
        names = frozenset(chosen.names or ())
        deleted: list[str] = []
        named: set[str] = set()
        problems: dict[str, str] = {}

        def delete(letters: Sequence[DeadLetter]) -> Collection[str]:
            part = [letter for letter in letters if _accepts(chosen, letter) and letter.sent <= began]
            named.update(*map(_names, part))
            failed = self.queue.delete(part)
            problems.update(failed)
            gone = {letter.id for letter in part} - failed.keys()
            deleted.extend(gone)
            return gone

        answer = self._for_each_message(delete, deadline, lambda: bool(names) and names <= set(deleted))
        told = {"cursor": began, "deleted": len(deleted), "missing": sorted(names - named)}
        return {**answer, **told, "problems": _listed(problems)}

    def _for_each_message(
        self,
        handle: Callable[[Sequence[DeadLetter]], Collection[str]],
        deadline: float,
        enough: Callable[[], bool] = lambda: False,
    ) -> dict[str, Any]:
        """Call `handle` with all messages of the queue, a few at a time, then release those that stay in it.

        `handle` returns the ids of those that left the queue.
        """
        # Releasing takes time as well, if less than receiving.
        backoff = self.clock.backoff(deadline - (deadline - self.clock.monotonic()) / 4)
        held: list[str] = []
        seen = empty = 0
        why = None
        try:
            while empty < EMPTY_ROUNDS and not enough() and not backoff.expired and len(held) < MAX_HELD:
                hold = int(deadline - self.clock.monotonic()) + HOLD_MARGIN
                letters = backoff.retry(self.queue.receive, hold)
                empty = 0 if letters else empty + 1
                seen += len(letters)
                gone = handle(letters)
                held += [letter.handle for letter in letters if letter.id not in gone]
        except StoreUnavailableError as error:
            why = str(error)
        done = empty >= EMPTY_ROUNDS or enough()
        try:
            for first in range(0, len(held), MAX_ENTRIES):
                if self.clock.monotonic() >= deadline:
                    break  # the others show up again when their hold ends
                self.queue.release(held[first : first + MAX_ENTRIES])
        except StoreUnavailableError as error:
            why = f"some messages stay hidden for a while: {error}"
        return {"done": done, "seen": seen, "why": why}

    def _problem(self, letter: DeadLetter) -> str | None:
        if letter.problem is None and self.clock.now() - letter.first_received > REPLAYABLE_MS:
            return f"first received more than {REPLAYABLE_DAYS} days ago: it might count twice"
        return letter.problem

    def _shown(self, letter: DeadLetter) -> dict[str, Any]:
        return {
            "id": letter.id,
            "reason": letter.reason or RECEIVED_TOO_OFTEN,
            "event": next(iter(_named(letter.body, "id")), None),
            "boards": _named(letter.body, "board")[:MAX_NAMES_SHOWN],
            "members": _named(letter.body, "member")[:MAX_NAMES_SHOWN],
            "first_received": instant(letter.first_received),
            "sent": instant(letter.sent),
            "receives": letter.receives,
            "size": letter.size,
            "body": letter.body[:MAX_EXCERPT_LENGTH],
            "kept_in": letter.kept_in,
            "problem": self._problem(letter),
        }


class _Position(NamedTuple):
    """How far a replay is: objects up to `after` are done.

    `begun` is the object that was begun, `members` the number of its members that are done, `stays` says whether a part
    of it cannot be replayed.
    """

    after: str = ""
    begun: str = ""
    members: int = 0
    stays: bool = False


@dataclass(slots=True)
class _Replay:
    records: ParkedRecords
    backoff: Backoff
    chosen: Selection
    position: _Position
    tally: Counter[str] = field(default_factory=lambda: Counter(placed=0, removed=0, left=0))
    problems: list[dict[str, str]] = field(default_factory=list)
    why: str | None = None

    def replay(self, stored: StoredObject) -> bool:
        """Replay an object; False if the next call has to continue it."""
        if self.backoff.expired:
            return False
        if self.position.begun != stored.key:
            self.position = _Position(self.position.after, stored.key)
        parked = self.records.read(self.backoff, stored, self.chosen)
        if parked is not None:
            if not self._place(stored.key, list(parked.members.values())):
                return False
            self._add_problems(stored.key, parked.problems)
            if not self.position.stays:
                self.backoff.retry(self.records.objects.delete, stored.key)
            self.tally["left" if self.position.stays else "removed"] += 1
        self.position = self.position._replace(after=stored.key)
        return True

    def _place(self, key: str, members: Sequence[ParkedMember]) -> bool:
        """Place the members of an object that are left, a part at a time; False if the next call has to go on."""
        while self.position.members < len(members):
            if self.backoff.expired:
                return False
            part = members[self.position.members :][:MEMBERS_TOGETHER]
            chosen = [named for named in part if self.chosen.board in (None, named.board)]
            never, self.why = self.records.place(chosen, self.backoff.deadline)
            if self.why is not None:
                return False
            stays = self.position.stays or len(chosen) < len(part)
            self.position = self.position._replace(members=self.position.members + len(part), stays=stays)
            self._add_problems(key, [_problem_of(member, why) for member, why in never.items()])
            self.tally["placed"] += len(chosen) - len(never)
        return True

    def _add_problems(self, key: str, problems: Sequence[str]) -> None:
        self.position = self.position._replace(stays=self.position.stays or bool(problems))
        self.problems += ({"key": key, "why": problem} for problem in problems)


def _problem_of(member: MemberKey, why: str) -> str:
    return f"{member[0]} {member[1]!a}: {why}"


@dataclass(slots=True)
class _ParkedObject:
    """The records of an object: the members that they name, and the problems of those that name none."""

    reason: str = ""
    records: int = 0
    members: dict[MemberKey, ParkedMember] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def _records(key: str, content: bytes) -> tuple[str, list[Any]]:
    """The reason and the records of an object; ValueError, LookupError or TypeError if it holds none.

    https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
    """
    document = json.loads(content)
    if key.startswith(PROJECTOR_PREFIX):
        return str(document["reason"]), [document["record"]]
    payload = document["payload"]
    if isinstance(payload, str):
        payload = json.loads(payload)
    records = payload["Records"]
    if not isinstance(records, list):
        raise TypeError(f"expected Records to be a list, got {records!r}")
    context = document.get("requestContext")
    condition = context.get("condition") if isinstance(context, dict) else None
    return f"given up by Lambda: {condition}", records


def _add(members: dict[MemberKey, ParkedMember], named: ParkedMember) -> None:
    """Add a member, or what another record says of it: its newest image, and the newest time."""
    key = (named.board, named.member)
    other = members.get(key, named)
    images = [image for image in (other.gone, named.gone) if image is not None]
    gone = max(images, key=lambda image: image.version, default=None)
    members[key] = named._replace(gone=gone, made=max(other.made or 0, named.made or 0))


def _accepts(chosen: Selection, letter: DeadLetter) -> bool:
    boards, members = _named(letter.body, "board"), _named(letter.body, "member")
    return chosen.accepts(_names(letter), letter.reason or RECEIVED_TOO_OFTEN, boards, members)


def _names(letter: DeadLetter) -> set[str]:
    """The id of a message, and that of its event."""
    return {letter.id, *_named(letter.body, "id")[:1]}


def _listed(problems: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"id": name, "why": why} for name, why in problems.items()][:MAX_SHOWN]


def _named(body: str, field: str) -> list[str]:
    """The texts of a field (or the texts in its list) in a message's body and its updates, as far as it can be read."""
    try:
        document = orjson.loads(body)
    except ValueError:
        return []
    if not isinstance(document, dict):
        return []
    updates = document.get("updates")
    parts = [document, *(updates if isinstance(updates, list) and field != "id" else [])]
    values = [part.get(field) for part in parts if isinstance(part, dict)]
    names = [name for value in values for name in (value if isinstance(value, list) else [value])]
    return list(dict.fromkeys(name for name in names if isinstance(name, str)))
