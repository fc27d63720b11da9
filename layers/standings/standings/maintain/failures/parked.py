"""Replays parked records of the stream: what a record carries only says whom to place as its item is now."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final, NamedTuple

from standings.catalog.board_catalog import MAX_ATTEMPT_S
from standings.domain.boards.definitions import Boards
from standings.domain.events.instants import instant
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Move
from standings.domain.members.open_rankings import open_rankings
from standings.domain.windows.calendar import DAY, MINUTE
from standings.maintain.task_arguments import Arguments, task_of, texts
from standings.ports.errors import StoreRefusedError, StoreUnavailableError
from standings.ports.objects import Objects, ParkedMember, StoredObject
from standings.ports.scores import REPLAYABLE_DAYS, MemberKey, Scores
from standings.project.backfill import Backfill, placings
from standings.runtime.retry import Backoff, Clock, with_retry

OURS: Final = "parked/"
"""Where the projector parks records, one to an object."""

LAMBDAS: Final = "aws/lambda/"
"""Where Lambda keeps the batches that it gave up."""

MAX_SHOWN: Final = 1_000
MAX_LISTED: Final = 100
PAGE: Final = 1_000
MEMBERS_AT_ONCE: Final = 25
MAX_MEMBERS_SHOWN: Final = 10
ATTEMPT: Final = MAX_ATTEMPT_S - 15.0
"""Seconds in which some members are placed, or else tried again by the next call. A call to the store that was begun by
then may still end: a rebuild waits `MAX_ATTEMPT_S` for attempts that go by an outdated list of generations."""


Decode = Callable[[Any], ParkedMember | None]
"""What a record names; None for the item of no member. KeyError, TypeError or ValueError for what is no record."""


class ParkedFilter(NamedTuple):
    """Which records: those of some objects, of a text within the reason, of a board; of all that is given."""

    keys: frozenset[str] | None = None
    reason: str | None = None
    board: str | None = None

    def has(self, parcel: "ParkedObject") -> bool:
        """Whether some of an object's records are among them."""
        return (self.reason is None or self.reason in parcel.reason) and (
            self.board is None or any(board == self.board for board, _ in parcel.members)
        )


ALL: Final = ParkedFilter()

TASKS: Final[Mapping[str, Arguments]] = {
    "list": {"keys": list, "reason": str, "board": str, "limit": int, "cursor": str},
    "replay": {"keys": list, "reason": str, "board": str, "cursor": dict},
}


@dataclass(slots=True)
class ParkedObject:
    """An object's records: the members that they name, and what is wrong with those that name none."""

    reason: str = ""
    records: int = 0
    members: dict[MemberKey, ParkedMember] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


class ParkedCare:
    """Lists what is parked, and replays it: at any time, beside projectors and other replays.

    `written` names the generations of a board's rankings that are written now. `report` is called with each bug of ours
    that a record cannot be read for.
    """

    def __init__(
        self,
        boards: Boards,
        scores: Scores,
        backfill: Backfill,
        objects: Objects,
        decode: Decode,
        pacing: Clock,
        *,
        report: Callable[[Exception], None],
        written: Callable[[str], Sequence[int]] = lambda _: (0,),
    ) -> None:
        self.objects = objects
        self.pacing = pacing
        self._boards = boards
        self._scores = scores
        self._backfill = backfill
        self._decode = decode
        self._report = report
        self._written = written

    def do(self, asked: Any, deadline: float) -> dict[str, Any]:
        """One of `TASKS` as it is asked for, with its arguments; ValueError says what is wrong with them."""
        task, given = task_of(asked, TASKS)
        keys = texts("keys", given.pop("keys")) if "keys" in given else None
        chosen = ParkedFilter(keys, given.pop("reason", None), given.pop("board", None))
        do = self.list if task == "list" else self.replay
        return do(deadline, chosen=chosen, **given)

    def list(
        self, deadline: float, *, chosen: ParkedFilter = ALL, limit: int = MAX_LISTED, cursor: str = ""
    ) -> dict[str, Any]:
        """What is parked: object by object, with the reason, the members and the age. `cursor` goes on with a list."""
        shown: list[dict[str, Any]] = []
        answer: dict[str, Any] = {"done": True, "cursor": cursor, "why": None, "objects": shown}
        try:
            for kept in self.kept(chosen, cursor, deadline):
                if len(shown) >= min(limit, MAX_SHOWN) or self.pacing.monotonic() >= deadline:
                    return {**answer, "done": False}
                parcel = self.parcel(kept, deadline)
                if parcel is not None and chosen.has(parcel):
                    shown.append(self._shown(kept, parcel))
                answer["cursor"] = kept.key
        except StoreUnavailableError as error:
            return {**answer, "done": False, "why": str(error)}
        return answer

    def replay(
        self, deadline: float, *, chosen: ParkedFilter = ALL, cursor: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        """Place each record's member as its item is now, and remove the objects of which nothing is left to do.

        What is too old, or can never be replayed, is left and reported. `cursor` is that of the answer to the call
        before: with it objects that are left are not begun again, and a large one is gone on with.
        """
        return _Replay(self, deadline, chosen, cursor or {}).run()

    def kept(self, chosen: ParkedFilter, after: str, deadline: float) -> Iterator[StoredObject]:
        """The parked objects whose keys follow a text, by key."""
        for prefix in (LAMBDAS, OURS):
            last = max(after, prefix)
            more = last.startswith(prefix)
            while more:
                found = with_retry(partial(self.objects.listed, prefix, last, PAGE), self.pacing.backoff(deadline))
                yield from (kept for kept in found if chosen.keys is None or kept.key in chosen.keys)
                more = len(found) >= PAGE
                last = found[-1].key if found else last

    def parcel(self, kept: StoredObject, deadline: float) -> ParkedObject | None:
        """What an object holds; None where it is gone by now."""
        content = with_retry(partial(self.objects.content, kept.key), self.pacing.backoff(deadline))
        if content is None:
            return None
        parcel = ParkedObject()
        try:
            parcel.reason, records = _records(kept.key, content)
        except (ValueError, LookupError, TypeError, RecursionError) as error:
            parcel.problems.append(f"no parked record: {error!r}")
            return parcel
        parcel.records = len(records)
        for record in records:
            try:
                named = self._decode(record)
            except (KeyError, TypeError, ValueError) as error:
                parcel.problems.append(f"no change of a member's item: {error!r}")
                continue
            except Exception as error:  # noqa: BLE001 - whatever a record does to the decoder, its neighbours are placed
                parcel.problems.append(f"cannot be read: {error!r}")
                self._report(error)
                continue
            if named is not None:
                key = (named.board, named.member)
                made = kept.at if named.made is None else min(named.made, kept.at)
                parcel.members[key] = _newer(parcel.members.get(key), named._replace(made=made))
        return parcel

    def place(self, named: Iterable[ParkedMember], deadline: float) -> tuple[dict[MemberKey, str], str | None]:
        """Place some members. Returns why by member for whom it can never be, and why not yet if that is so."""
        until = min(deadline, self.pacing.monotonic() + ATTEMPT)
        backoff = self.pacing.backoff(until)
        never: dict[MemberKey, str] = {}
        moves: list[Move] = []
        for one in named:
            try:
                moves += self._moves(one, backoff)
            except StoreUnavailableError as error:
                return never, str(error)
            except (StoreRefusedError, ValueError) as error:
                never[one.board, one.member] = str(error)
        why = None
        for outcome in self._backfill.outcomes(moves, until):
            why = why or outcome.failure
            never.update(((move.ranking.board, move.member), reason) for move, reason in outcome.refused)
        return never, why

    def _moves(self, named: ParkedMember, backoff: Backoff) -> Iterator[Move]:
        """What brings a member to its place in every ranking, of all generations; ValueError where that cannot be."""
        problem = self._problem(named)
        if problem is not None:
            raise ValueError(problem)
        family = self._boards.family(named.board)
        if family is None:
            raise ValueError(f"no family in boards.toml matches {named.board!r}")
        image = self._image(named, backoff) or named.gone
        if image is None:
            raise ValueError("the item is gone, and the record does not tell of which version it was")
        rankings = list(open_rankings(family, named.board, self.pacing.now()))
        for generation in self._written(named.board):
            yield from placings(image, [ranking._replace(generation=generation) for ranking in rankings])

    def _image(self, named: ParkedMember, backoff: Backoff) -> Image | None:
        """The item of a member as it is now; None where there is none."""
        return with_retry(partial(self._scores.image, (named.board, named.member)), backoff)

    def _problem(self, named: ParkedMember) -> str | None:
        if named.made is not None and self.pacing.now() - named.made > REPLAYABLE_DAYS * DAY:
            return f"more than {REPLAYABLE_DAYS} days old: what it would be weighed against may be gone"
        return None

    def _shown(self, kept: StoredObject, parcel: ParkedObject) -> dict[str, Any]:
        old = [_refused(key, why) for key, named in parcel.members.items() if (why := self._problem(named)) is not None]
        return {
            "key": kept.key,
            "reason": parcel.reason,
            "parked": instant(kept.at),
            "age_minutes": max(0, self.pacing.now() - kept.at) // MINUTE,
            "records": parcel.records,
            "members": [
                {"board": board, "member": member} for board, member in list(parcel.members)[:MAX_MEMBERS_SHOWN]
            ],
            "problems": [*parcel.problems, *old][:MAX_MEMBERS_SHOWN],
        }


class _Replay:
    """One call's way through the objects."""

    def __init__(self, care: ParkedCare, deadline: float, chosen: ParkedFilter, cursor: Mapping[str, Any]) -> None:
        self._care = care
        self._deadline = deadline
        self._chosen = chosen
        self._after = str(cursor.get("after", ""))
        # The object that was begun: how many of its members are done with, and whether some of it stays.
        self._begun = str(cursor.get("begun", ""))
        self._members = int(cursor.get("members", 0))
        self._stays = bool(cursor.get("stays", False))
        self._tally: Counter[str] = Counter()
        self._problems: list[dict[str, str]] = []
        self._why: str | None = None

    def run(self) -> dict[str, Any]:
        try:
            done = all(self._object(kept) for kept in self._care.kept(self._chosen, self._after, self._deadline))
        except StoreUnavailableError as error:
            done, self._why = False, str(error)
        return {
            "done": done,
            "cursor": {
                "after": self._after,
                "begun": self._begun,
                "members": self._members,
                "stays": self._stays,
            },
            "why": self._why,
            **{what: self._tally[what] for what in ("placed", "removed", "left")},
            "problems": self._problems[:MAX_SHOWN],
        }

    def _object(self, kept: StoredObject) -> bool:
        """Do what can be done with an object; False where the next call has to go on with it."""
        if self._care.pacing.monotonic() >= self._deadline:
            return False
        if self._begun != kept.key:
            self._begun, self._members, self._stays = kept.key, 0, False
        parcel = self._care.parcel(kept, self._deadline)
        if parcel is not None and self._chosen.has(parcel):
            if not self._place(kept.key, list(parcel.members.values())):
                return False
            self._report(kept.key, parcel.problems)
            if self._stays:
                self._tally["left"] += 1
            else:
                backoff = self._care.pacing.backoff(self._deadline)
                with_retry(partial(self._care.objects.delete, kept.key), backoff)
                self._tally["removed"] += 1
        self._after = kept.key
        return True

    def _place(self, key: str, members: Sequence[ParkedMember]) -> bool:
        while self._members < len(members):
            if self._care.pacing.monotonic() >= self._deadline:
                return False
            part = members[self._members : self._members + MEMBERS_AT_ONCE]
            mine = [named for named in part if self._chosen.board in (None, named.board)]
            never, self._why = self._care.place(mine, self._deadline)
            if self._why is not None:
                return False
            self._stays = self._stays or len(mine) < len(part)
            self._report(key, [_refused(member, why) for member, why in never.items()])
            self._tally["placed"] += len(mine) - len(never)
            self._members += len(part)
        return True

    def _report(self, key: str, problems: Sequence[str]) -> None:
        self._stays = self._stays or bool(problems)
        self._problems.extend({"key": key, "why": problem} for problem in problems)


def _records(key: str, content: bytes) -> tuple[str, list[Any]]:
    """Why records were parked, and the records; ValueError, LookupError or TypeError for what holds none.

    https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
    """
    document = json.loads(content)
    if key.startswith(OURS):
        return str(document["reason"]), [document["record"]]
    payload = document["payload"]
    if isinstance(payload, str):
        payload = json.loads(payload)
    records = payload["Records"]
    if not isinstance(records, list):
        raise TypeError("Records is no list")
    context = document.get("requestContext")
    condition = context.get("condition") if isinstance(context, dict) else None
    return f"given up by Lambda: {condition}", records


def _newer(one: ParkedMember | None, other: ParkedMember) -> ParkedMember:
    """What two records of one member tell together."""
    if one is None:
        return other
    images = [image for image in (one.gone, other.gone) if image is not None]
    gone = max(images, key=lambda image: image.version, default=None)
    return other._replace(gone=gone, made=max(one.made or 0, other.made or 0))


def _refused(member: MemberKey, why: str) -> str:
    return f"{member[0]} {member[1]!a}: {why}"
