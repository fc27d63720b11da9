"""Lists and replays parked stream records. A record only names its member, who is placed as its item is now."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from standings.domain.boards.definitions import Boards
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Move
from standings.domain.members.open_rankings import open_rankings
from standings.domain.rolling.shifts import Shift, placing_shifts
from standings.domain.windows.calendar import MINUTE, instant
from standings.maintain.failures.parked_objects import Decode, ParkedObject, read_parked, stored_objects
from standings.maintain.failures.selection import ALL, MAX_NAMES_SHOWN, MAX_SHOWN, REPLAYABLE_MS, Selection
from standings.ports.board_records import MAX_ATTEMPT_S
from standings.ports.errors import StoreRefusedError, StoreUnavailableError
from standings.ports.scores import REPLAYABLE_DAYS, MemberKey, ParkedMember, Scores
from standings.project.backfill import Backfill
from standings.project.commit_moves import placings
from standings.runtime.retry import Backoff, Clock, retrying, with_retry

if TYPE_CHECKING:
    from standings.aws.s3.failure_bucket import FailureBucket, StoredObject

MEMBERS_TOGETHER: Final = 25
ATTEMPT: Final = MAX_ATTEMPT_S - 15.0
"""Seconds for placing some members; the next call tries those again that are left. A call to the store that began
within them may still end: a rebuild waits `MAX_ATTEMPT_S` for attempts with an outdated list of generations."""


@dataclass
class ParkedCare:
    """Lists and replays what is parked: at any time, beside projectors and other replays.

    `written` returns the generations of a board's rankings that are written now. `report` is called with each
    unexpected error in reading a record. `tell` asks for looks at the tops that may have changed.
    """

    boards: Boards
    scores: Scores
    backfill: Backfill
    objects: "FailureBucket"
    decode: Decode
    clock: Clock
    report: Callable[[Exception], None]
    written: Callable[[str], Sequence[int]]
    tell: Callable[[], None] = lambda: None

    def list(self, deadline: float, *, chosen: Selection = ALL, limit: int = 100, cursor: str = "") -> dict[str, Any]:
        """The parked objects, with reason, members and age. `cursor` is that of the previous answer."""
        shown: list[dict[str, Any]] = []
        answer: dict[str, Any] = {"done": True, "cursor": cursor, "why": None, "objects": shown}
        objects = retrying(self.objects, lambda: self.clock.backoff(deadline))
        try:
            for stored in stored_objects(objects, chosen.names, cursor):
                if len(shown) >= min(limit, MAX_SHOWN) or self.clock.monotonic() >= deadline:
                    return {**answer, "done": False}
                parked = self.read(objects, stored, chosen)
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

    def read(self, objects: "FailureBucket", stored: "StoredObject", chosen: Selection) -> ParkedObject | None:
        """The records of an object; None if it is gone or not chosen."""
        content = objects.content(stored.key)
        if content is None:
            return None
        parked = read_parked(stored, content, self.decode, self.report)
        boards = {board for board, _ in parked.members}
        return parked if chosen.accepts(stored.key, parked.reason, boards) else None

    def place(self, members: Iterable[ParkedMember], deadline: float) -> tuple[dict[MemberKey, str], str | None]:
        """Place some members. Returns the errors of members that can never be placed, and the passing error if any."""
        until = min(deadline, self.clock.monotonic() + ATTEMPT)
        backoff = self.clock.backoff(until)
        never: dict[MemberKey, str] = {}
        moves: list[Move | Shift] = []
        for named in members:
            try:
                moves += self._moves(named, backoff)
            except StoreUnavailableError as error:
                return never, str(error)
            except (StoreRefusedError, ValueError) as error:
                never[named.board, named.member] = str(error)
        why = None
        for outcome in self.backfill.outcomes(moves, until):
            why = why or outcome.failure
            never.update(((move.ranking.board, move.member), reason) for move, reason in outcome.refused)
        try:
            with_retry(self.tell, backoff)
        except StoreUnavailableError as error:
            why = why or str(error)
        return never, why

    def _moves(self, named: ParkedMember, backoff: Backoff) -> Iterator[Move | Shift]:
        """The moves that place a member in every ranking of all generations; ValueError if that is impossible."""
        problem = self._problem(named)
        if problem is not None:
            raise ValueError(problem)
        family = self.boards.family(named.board)
        if family is None:
            raise ValueError(f"no family in boards.toml matches {named.board!r}")
        image = self._image(named, backoff) or named.gone
        if image is None:
            raise ValueError("the item is gone, and the record does not tell its version")
        now = self.clock.now()
        rankings = list(open_rankings(family, named.board, now))
        for generation in self.written(named.board):
            yield from placings(image, [ranking._replace(generation=generation) for ranking in rankings])
            yield from placing_shifts(family, image, generation, now, thorough=True)

    def _image(self, named: ParkedMember, backoff: Backoff) -> Image | None:
        return with_retry(partial(self.scores.image, (named.board, named.member)), backoff)

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
    def __init__(self, care: ParkedCare, deadline: float, chosen: Selection, cursor: Mapping[str, Any]) -> None:
        self._care = care
        self._objects = retrying(care.objects, lambda: care.clock.backoff(deadline))
        self._deadline = deadline
        self._chosen = chosen
        self._position = _Position(**cursor)
        self._tally: Counter[str] = Counter(placed=0, removed=0, left=0)
        self._problems: list[dict[str, str]] = []
        self._why: str | None = None

    def run(self) -> dict[str, Any]:
        stored = stored_objects(self._objects, self._chosen.names, self._position.after)
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
        if self._care.clock.monotonic() >= self._deadline:
            return False
        if self._position.begun != stored.key:
            self._position = _Position(self._position.after, stored.key)
        parked = self._care.read(self._objects, stored, self._chosen)
        if parked is not None:
            if not self._place(stored.key, list(parked.members.values())):
                return False
            self._add_problems(stored.key, parked.problems)
            if not self._position.stays:
                self._objects.delete(stored.key)
            self._tally["left" if self._position.stays else "removed"] += 1
        self._position.after = stored.key
        return True

    def _place(self, key: str, members: Sequence[ParkedMember]) -> bool:
        position = self._position
        while position.members < len(members):
            if self._care.clock.monotonic() >= self._deadline:
                return False
            part = members[position.members : position.members + MEMBERS_TOGETHER]
            chosen = [named for named in part if self._chosen.board in (None, named.board)]
            never, self._why = self._care.place(chosen, self._deadline)
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
