"""What failed: parked records of the stream, and messages in the dead-letter queue. Lists, retries, deletes them."""

import json
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import orjson

from standings.aws.dynamodb.scores import ParkedMember, Scores
from standings.aws.sqs import DeadLetter
from standings.domain.board_record import MAX_ATTEMPT_S
from standings.domain.boards import Boards
from standings.domain.members import Image, calendar_rankings
from standings.domain.windows import DAY, MINUTE, instant
from standings.project.projector import announced
from standings.rankings.storing import Placement, Rankings, placements_now
from standings.runtime.clock import Backoff, Clock
from standings.stores import REPLAYABLE_DAYS, MemberKey, RankingName, StoreRefusedError, StoreUnavailableError

if TYPE_CHECKING:
    from standings.aws.s3 import FailureBucket, StoredObject
    from standings.aws.sqs import DeadLetterQueue


# Chooses the dead letters or parked objects that a task lists or replays.

MAX_SHOWN: Final = 1_000  # Messages, objects or problems in one answer
MAX_NAMES_SHOWN: Final = 10  # Boards, members or problems that are shown of one message or object
REPLAYABLE_MS: Final = REPLAYABLE_DAYS * DAY
"""Older ones are not replayed: an event might count twice, a record might replace a newer place."""


class Selection(NamedTuple):
    """All that has one of these names, this text in its reason, and this board; None accepts all.

    Names are keys of objects, and ids of messages or of the events in them.
    """

    names: Collection[str] | None = None
    reason: str | None = None
    board: str | None = None

    def accepts(self, names: Collection[str], reason: str, boards: Collection[str]) -> bool:
        """Whether a message or object with these names is chosen."""
        return (
            (self.names is None or any(name in self.names for name in names))
            and (self.reason is None or self.reason in reason)
            and (self.board is None or self.board in boards)
        )


ALL: Final = Selection()


# Reads parked records from the failure bucket.

PROJECTOR_PREFIX: Final = "parked/"  # Where the projector parks records, one in each object
LAMBDA_PREFIX: Final = "aws/lambda/"  # Where Lambda puts the batches that it gave up

Decode = Callable[[Any], ParkedMember | None]
"""The member that a record names; None for an item of no member. KeyError, TypeError or ValueError for bad records."""


@dataclass(slots=True)
class ParkedObject:
    """The records of an object: the members that they name, and the problems of those that name none."""

    reason: str = ""
    records: int = 0
    members: dict[MemberKey, ParkedMember] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def read_parked(
    stored: "StoredObject", content: bytes, decode: Decode, report: Callable[[Exception], None]
) -> ParkedObject:
    """The records of an object. `report` is called with each unexpected error of `decode`."""
    parked = ParkedObject()
    try:
        parked.reason, records = _records(stored.key, content)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        parked.problems.append(f"not a parked record: {error!r}")
        return parked
    parked.records = len(records)
    for record in records:
        try:
            named = decode(record)
        except (KeyError, TypeError, ValueError) as error:
            parked.problems.append(f"not a change of a member's item: {error!r}")
            continue
        except Exception as error:  # noqa: BLE001 - a bug that one record meets must not stop the others
            parked.problems.append(f"cannot be read: {error!r}")
            report(error)
            continue
        if named is not None:
            key = (named.board, named.member)
            made = stored.at if named.made is None else min(named.made, stored.at)
            parked.members[key] = _merged(parked.members.get(key), named._replace(made=made))
    return parked


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


def _merged(one: ParkedMember | None, other: ParkedMember) -> ParkedMember:
    if one is None:
        return other
    images = [image for image in (one.gone, other.gone) if image is not None]
    gone = max(images, key=lambda image: image.version, default=None)
    return other._replace(gone=gone, made=max(one.made or 0, other.made or 0))


# Lists and replays parked stream records. A record only names its member, who is placed as its item is now.

MEMBERS_TOGETHER: Final = 25
ATTEMPT: Final = MAX_ATTEMPT_S - 15.0
"""Seconds for placing some members; the next call tries those again that are left. A call to the store that began
within them may still end: a rebuild waits `MAX_ATTEMPT_S` for attempts with an outdated list of generations."""


@dataclass
class ParkedRecords:
    """Lists and replays what is parked: at any time, also while projectors and other replays run.

    `written` returns the generations of a board's rankings that are written now. `report` is called with each
    unexpected error in reading a record. `request_looks` requests looks at the tops that may have changed.
    """

    boards: Boards
    scores: Scores
    rankings: Rankings
    objects: "FailureBucket"
    decode: Decode
    clock: Clock
    report: Callable[[Exception], None]
    written: Callable[[str], Sequence[int]]
    request_looks: Callable[[Sequence[RankingName]], None] = lambda _: None

    def list(self, deadline: float, *, chosen: Selection = ALL, limit: int = 100, cursor: str = "") -> dict[str, Any]:
        """The parked objects, with reason, members and age. `cursor` is that of the previous answer."""
        shown: list[dict[str, Any]] = []
        answer: dict[str, Any] = {"done": True, "cursor": cursor, "why": None, "objects": shown}
        try:
            for stored in self.stored(deadline, chosen.names, cursor):
                if len(shown) >= min(limit, MAX_SHOWN) or self.clock.monotonic() >= deadline:
                    return {**answer, "done": False}
                parked = self.read(deadline, stored, chosen)
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

        Records that are too old, or can never be replayed, stay and are reported. `cursor` is that of the previous
        answer: it skips the objects before it, and continues a large one.
        """
        return _Replay(self, deadline, chosen, cursor or {}).run()

    def stored(self, deadline: float, keys: Collection[str] | None, after: str) -> "Iterator[StoredObject]":
        """The parked objects with these keys (None: all) that follow a key, in order."""

        def retry(*call: Any) -> Any:
            return self.clock.backoff(deadline).retry(*call)

        for prefix in (LAMBDA_PREFIX, PROJECTOR_PREFIX):
            first = max(after, prefix)
            found = self.objects.following(retry, prefix, first) if first.startswith(prefix) else ()
            yield from (stored for stored in found if keys is None or stored.key in keys)

    def read(self, deadline: float, stored: "StoredObject", chosen: Selection) -> ParkedObject | None:
        """The records of an object; None if it is gone or not chosen."""
        content = self.clock.backoff(deadline).retry(self.objects.content, stored.key)
        if content is None:
            return None
        parked = read_parked(stored, content, self.decode, self.report)
        boards = {board for board, _ in parked.members}
        return parked if chosen.accepts([stored.key], parked.reason, boards) else None

    def place(self, members: Iterable[ParkedMember], deadline: float) -> tuple[dict[MemberKey, str], str | None]:
        """Place some members. Returns the errors of members that can never be placed, and the passing error if any."""
        until = min(deadline, self.clock.monotonic() + ATTEMPT)
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
        try:
            backoff.retry(self.request_looks, announced(self.boards, outcomes))
        except StoreUnavailableError as error:
            why = why or str(error)
        return never, why

    def _moves(self, named: ParkedMember, backoff: Backoff) -> Iterator[Placement]:
        """The moves that place a member in every ranking of all generations; ValueError if that is impossible."""
        problem = self._problem(named)
        if problem is not None:
            raise ValueError(problem)
        family = self.boards.family(named.board)
        if family is None:
            raise ValueError(f"no family in boards.toml matches {named.board!r}")
        image = self._image(named, backoff) or named.gone
        if image is None:
            raise ValueError("the item is gone, and the record does not have its version")
        now = self.clock.now()
        rankings = list(calendar_rankings(family, named.board, now))
        for generation in self.written(named.board):
            yield from placements_now(family, image, rankings, generation, now, rewrite_every_item=True)

    def _image(self, named: ParkedMember, backoff: Backoff) -> Image | None:
        return backoff.retry(self.scores.image, (named.board, named.member))

    def _problem(self, named: ParkedMember) -> str | None:
        if named.made is not None and self.clock.now() - named.made > REPLAYABLE_MS:
            return f"more than {REPLAYABLE_DAYS} days old: a newer state of the member may be gone by now"
        return None

    def _shown(self, stored: "StoredObject", parked: ParkedObject) -> dict[str, Any]:
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


@dataclass(slots=True)
class _Position:
    """How far a replay is: objects up to `after` are done.

    `begun` is the object that was begun, `members` the number of its members that are done, `stays` says whether a part
    of it cannot be replayed.
    """

    after: str = ""
    begun: str = ""
    members: int = 0
    stays: bool = False


class _Replay:
    def __init__(self, records: ParkedRecords, deadline: float, chosen: Selection, cursor: Mapping[str, Any]) -> None:
        self._records = records
        self._deadline = deadline
        self._chosen = chosen
        self._position = _Position(**cursor)
        self._tally: Counter[str] = Counter(placed=0, removed=0, left=0)
        self._problems: list[dict[str, str]] = []
        self._why: str | None = None

    def run(self) -> dict[str, Any]:
        stored = self._records.stored(self._deadline, self._chosen.names, self._position.after)
        try:
            done = all(map(self._replay, stored))
        except StoreUnavailableError as error:
            done, self._why = False, str(error)
        return {
            "done": done,
            "cursor": asdict(self._position),
            "why": self._why,
            **self._tally,
            "problems": self._problems[:MAX_SHOWN],
        }

    def _replay(self, stored: "StoredObject") -> bool:
        """Replay an object; False if the next call has to continue it."""
        if self._records.clock.monotonic() >= self._deadline:
            return False
        if self._position.begun != stored.key:
            self._position = _Position(self._position.after, stored.key)
        parked = self._records.read(self._deadline, stored, self._chosen)
        if parked is not None:
            if not self._place(stored.key, list(parked.members.values())):
                return False
            self._add_problems(stored.key, parked.problems)
            if not self._position.stays:
                self._records.clock.backoff(self._deadline).retry(self._records.objects.delete, stored.key)
            self._tally["left" if self._position.stays else "removed"] += 1
        self._position.after = stored.key
        return True

    def _place(self, key: str, members: Sequence[ParkedMember]) -> bool:
        position = self._position
        while position.members < len(members):
            if self._records.clock.monotonic() >= self._deadline:
                return False
            part = members[position.members : position.members + MEMBERS_TOGETHER]
            chosen = [named for named in part if self._chosen.board in (None, named.board)]
            never, self._why = self._records.place(chosen, self._deadline)
            if self._why is not None:
                return False
            position.stays = position.stays or len(chosen) < len(part)
            self._add_problems(key, [_problem_of(member, why) for member, why in never.items()])
            self._tally["placed"] += len(chosen) - len(never)
            position.members += len(part)
        return True

    def _add_problems(self, key: str, problems: Sequence[str]) -> None:
        self._position.stays = self._position.stays or bool(problems)
        self._problems.extend({"key": key, "why": problem} for problem in problems)


def _problem_of(member: MemberKey, why: str) -> str:
    return f"{member[0]} {member[1]!a}: {why}"


# Lists the messages of the dead-letter queue, replays them after a fix, and deletes them.

MAX_REASONS: Final = 100
MAX_HELD: Final = 100_000  # Messages held at once; SQS allows 120,000 in flight
MAX_EXCERPT_LENGTH: Final = 200
EMPTY_ROUNDS: Final = 2  # Empty answers of the queue before it counts as empty
RELEASED_TOGETHER: Final = 100  # Messages that are released between two checks of the deadline
HOLD_MARGIN: Final = 30  # Seconds after a call's deadline when messages that it could not release show up again
RECEIVED_TOO_OFTEN: Final = "received too often"  # The reason of messages that SQS itself moved to the queue


_HandleMessages = Callable[[Sequence[DeadLetter]], Collection[str]]
"""Handles a few messages; returns the ids of those that left the queue."""


class DeadLetterTasks:
    """Lists, replays and deletes dead letters. Messages that stay are visible again when a call ends.

    All state is in the queue, so an interrupted call is simply repeated. A replay never counts an event twice: the
    event's receipt outlives every replay.
    """

    def __init__(self, queue: "DeadLetterQueue", clock: Clock) -> None:
        self._queue = queue
        self._clock = clock

    def list(self, deadline: float, *, chosen: Selection = ALL, limit: int = 100) -> dict[str, Any]:
        """Up to `limit` messages with their reasons, and the number of messages for each reason.

        `done` says whether the whole queue was read before the deadline (of the monotonic clock), `why` why not.
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

        `cursor` is that of the previous answer: messages that came to the queue since the first call stay.
        """
        began = self._clock.now() if cursor is None else cursor
        tally = dict.fromkeys(("replayed", "refused", "failed", "not_chosen", "newer"), 0)
        problems: list[dict[str, str]] = []

        def send(letters: Sequence[DeadLetter]) -> Collection[str]:
            ready = []
            for letter in letters:
                if not _accepts(chosen, letter):
                    tally["not_chosen"] += 1
                elif letter.sent > began:
                    tally["newer"] += 1
                elif (problem := self._problem(letter)) is not None:
                    tally["refused"] += 1
                    problems.append({"id": letter.id, "why": problem})
                else:
                    ready.append(letter)
            replayed = _succeeded(ready, self._queue.replay(ready), problems)
            tally["replayed"] += len(replayed)
            tally["failed"] += len(ready) - len(replayed)
            return replayed

        return {**self._for_each_message(send, deadline), "cursor": began, **tally, "problems": problems[:MAX_SHOWN]}

    def delete(self, deadline: float, *, ids: Collection[str]) -> dict[str, Any]:
        """Delete messages for good, by their ids or those of their events. `missing` are ids that name none."""
        chosen = frozenset(ids)
        deleted: list[str] = []
        named: set[str] = set()
        problems: list[dict[str, str]] = []

        def delete(letters: Sequence[DeadLetter]) -> Collection[str]:
            part = [letter for letter in letters if chosen & _names(letter)]
            named.update(*map(_names, part))
            gone = _succeeded(part, self._queue.delete(part), problems)
            deleted.extend(gone)
            return gone

        answer = self._for_each_message(delete, deadline, lambda: chosen <= set(deleted))
        missing = sorted(chosen - named)
        return {**answer, "deleted": len(deleted), "missing": missing, "problems": problems[:MAX_SHOWN]}

    def _for_each_message(
        self, handle: _HandleMessages, deadline: float, enough: Callable[[], bool] = lambda: False
    ) -> dict[str, Any]:
        """Call `handle` with all messages of the queue, a few at a time, then release those that stay in it."""
        # Releasing takes time as well, if less than receiving.
        backoff = self._clock.backoff(deadline - (deadline - self._clock.monotonic()) / 4)
        held: list[str] = []
        seen = empty = 0
        why = None
        try:
            while empty < EMPTY_ROUNDS and not enough() and not backoff.expired and len(held) < MAX_HELD:
                hold = int(deadline - self._clock.monotonic()) + HOLD_MARGIN
                letters = backoff.retry(self._queue.receive, hold)
                empty = 0 if letters else empty + 1
                seen += len(letters)
                gone = handle(letters)
                held += [letter.handle for letter in letters if letter.id not in gone]
        except StoreUnavailableError as error:
            why = str(error)
        done = empty >= EMPTY_ROUNDS or enough()
        try:
            for first in range(0, len(held), RELEASED_TOGETHER):
                if self._clock.monotonic() >= deadline:
                    break  # the others show up again when their hold ends
                self._queue.release(held[first : first + RELEASED_TOGETHER])
        except StoreUnavailableError as error:
            why = f"some messages stay hidden for a while: {error}"
        return {"done": done, "seen": seen, "why": why}

    def _problem(self, letter: DeadLetter) -> str | None:
        if letter.problem is None and self._clock.now() - letter.first_received > REPLAYABLE_MS:
            return f"first received more than {REPLAYABLE_DAYS} days ago: it might count twice"
        return letter.problem

    def _shown(self, letter: DeadLetter) -> dict[str, Any]:
        return {
            "id": letter.id,
            "reason": letter.reason or RECEIVED_TOO_OFTEN,
            "event": _event(letter),
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


def _accepts(chosen: Selection, letter: DeadLetter) -> bool:
    return chosen.accepts(_names(letter), letter.reason or RECEIVED_TOO_OFTEN, _named(letter.body, "board"))


def _names(letter: DeadLetter) -> set[str]:
    """The id of a message, and that of its event."""
    event = _event(letter)
    return {letter.id} if event is None else {letter.id, event}


def _event(letter: DeadLetter) -> str | None:
    return next(iter(_named(letter.body, "id")), None)


def _succeeded(
    letters: Sequence[DeadLetter], failed: dict[str, str], problems: list[dict[str, str]]
) -> Collection[str]:
    """The ids of messages that did not fail; the others are added to the problems."""
    problems.extend({"id": name, "why": why} for name, why in failed.items())
    return {letter.id for letter in letters} - failed.keys()


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
