"""Boards that end while much is under way, what TTL leaves of them, and the next boards of their names."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import takewhile
from random import Random
from typing import TYPE_CHECKING, Any, Final

import orjson

from standings.aws.dynamodb.scores import decode_record
from standings.aws.dynamodb.tables import BOARDS, DELETED_BOARDS, board_of
from standings.domain.coverage import DELETE
from tests.support.aws.stack import Stack
from tests.support.builders.settling.leagues import lines_in
from tests.support.dynamodb.items import encode_item

from .clockwork import DAY, HOUR, MINUTE, SECOND
from .judge import EPOCH

if TYPE_CHECKING:
    from .aws import Call, Item, Write
    from .judge import Sent
    from .pollers import Batch
    from .world import World

TAKEN: Final = 90 * DAY
"""So long after its end, or its deletion, nothing of a name begins anew."""
WATCHED: Final = 3
"""The ends of so many boards of one name are watched."""
_GENERATION: Final = re.compile(r"[^#/~]*~(\d+)")
EXPIRED: Final = (404, "urn:standings:expired")


@dataclass(frozen=True)
class Life:
    """One board of a name, as its record says. Instants are in microseconds."""

    number: int
    begun: int
    ends: int
    free: int
    """From when on the name is free."""
    deleted: bool
    generation: int
    """Its first generation."""


class Ends:
    """Watches the records of boards that end, makes things happen around each end, and checks what is read after it."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._rng = Random(f"{world.seed} ends")
        self._lives: dict[str, list[Life]] = {}
        self._cursors: dict[str, str] = {}
        """By board, the cursor of the second page of a list that was read before the end."""
        self._sealed: dict[str, bytes] = {}
        """The files of settled periods of boards that have ended."""

    @property
    def happen(self) -> bool:
        """Whether boards end in this schedule."""
        return self._world.options.ends

    @property
    def _now(self) -> int:
        return self._world.clock.now

    def _life(self, board: str) -> Life | None:
        """Return the last board of a name; None if it never ends, or has not begun."""
        lives = self._lives.get(board)
        return lives[-1] if lives else None

    # ---- what the judge asks

    def is_open(self, board: str) -> bool:
        """Whether a board may be read as the model says. One of a name that is free again has not begun."""
        life = self._life(board)
        return life is None or (self._now < life.free if life.deleted else self._now < life.ends)

    def counts(self, item: "Item") -> bool:
        """Whether an item of Rankings may be read: its board has not ended, and it is not of an earlier one."""
        board, _, code = item["pk"].partition("#")
        life, found = self._life(board), _GENERATION.match(code)
        generation = 0 if found is None else int(found[1])
        return self.is_open(board) and (life is None or generation >= life.generation)

    def may_delete(self, item: "Item") -> bool:
        """Whether TTL may take an item of Scores that is not that of a removed member."""
        is_record = item["pk"] in (BOARDS, DELETED_BOARDS)
        lives = self._lives.get(item["sk"] if is_record else board_of(item["pk"]), [])
        if is_record:
            return any(self._now >= life.free for life in lives)
        return any(self._now >= life.ends + DAY and item["t"] * 1000 < life.ends + self._slack for life in lives)

    @property
    def _slack(self) -> int:
        """So long after an instant, by its own clock, a function may write that has begun before it."""
        return self._world.lifetime * SECOND + self._world.clocks_differ

    def _is_over(self, board: str) -> bool:
        """Whether no function that began before the end is at work any more."""
        life = self._life(board)
        return life is not None and not life.deleted and self._now > life.ends + self._slack

    def counted(self, event: "Sent") -> None:
        """Check that an event has not counted on a board that has ended."""
        for board, member in event.updates:
            if self._is_over(board):
                self._world.judge.differ(f"event {event.id} counted for {member} on {board} after its end")

    def refused(self, event: "Sent", accepted: int | None) -> None:
        """Check an event that is refused because a board has ended. `accepted` is when the event has counted."""
        self._world.trap("refused: the board has ended")
        boards = {board for board, _ in event.updates} or self._lives.keys()
        if not any(self._has_ended(board) for board in boards):
            self._world.judge.differ(f"event {event.id} was refused before the end")
        if accepted is not None and accepted + 2 * self._slack < self._now < accepted + 29 * DAY:
            self._world.judge.differ(f"event {event.id} was refused although it had counted")

    def _has_ended(self, board: str) -> bool:
        """Whether some board of this name has ended by the fastest clock."""
        ahead = self._now + self._world.clocks_differ
        return any(life.ends <= ahead and not life.deleted for life in self._lives.get(board, ()))

    def was_open(self, event: "Sent", posted: int) -> bool:
        """Whether no board of an event was near its end, or had ended, when the event was posted."""
        all_lives = [self._lives[board] for board, _ in event.updates if board in self._lives]
        return all(any(one.begun <= posted < one.ends - HOUR for one in lives) for lives in all_lives)

    def is_told(self, payload: Mapping[str, Any], error: Exception) -> bool:
        """Whether a task says that its board has ended. Check that it has."""
        if "ended at" not in str(error):
            return False
        self._world.trap("a task meets the end")
        if not self._has_ended(str(payload.get("board"))):
            self._world.judge.differ(f"{payload} was refused before the end: {error}")
        return True

    # ---- what is written

    def written(self, call: "Call", writes: Sequence["Write"]) -> None:
        """Look at the writes of a call before anybody else does."""
        for table, old, new in writes if self.happen else ():
            if table == "Rankings" and call.process.kind == "projector":
                self._check_moved(str((new or old or {})["pk"]).partition("#")[0], call)
            elif table == "Scores" and new is not None and new["pk"] == BOARDS:
                self._record(new)
            elif table == "Scores" and new is not None and old is not None and _has_expired(old, self._now):
                self._world.trap("a member comes back in another life")

    def _check_moved(self, board: str, call: "Call") -> None:
        """Check that a projector does not write to Rankings for a board that ended more than a minute ago."""
        life = self._life(board)
        if life is not None and self._is_over(board) and life.ends + self._slack + MINUTE < self._now < life.free:
            self._world.judge.differ(f"{board}: {call.process.name} moved somebody after the end")

    def _record(self, item: "Item") -> None:
        """Keep the end that a board's record names. It stays as it is."""
        record = decode_record(encode_item(item))
        if record.ends is None:
            return
        board, before = record.board, self._life(record.board)
        begun = before is None or before.begun != record.begun * 1000
        number = 1 if before is None else before.number + begun
        free = (record.renewed if record.deleted else record.ends) * 1000 + TAKEN
        generation = record.generation if begun or before is None else before.generation
        life = Life(number, record.begun * 1000, record.ends * 1000, free, record.deleted, generation)
        family = next(family for family in self._world.shape.families if family.name == board)
        if family.expires is None or life.ends - life.begun != family.expires // timedelta(microseconds=1):
            self._world.judge.differ(
                f"{board}: began at {life.begun} and ends at {life.ends}, not after {family.expires}"
            )
        if before is not None and begun and not before.deleted:
            if self._now < before.free - self._world.clocks_differ:
                self._world.judge.differ(f"{board} has begun again at {self._now}, and was taken until {before.free}")
            self._world.trap("a name is used again")
            self._world.judge.begins_again(board)
        if begun:
            self._lives.setdefault(board, []).append(life)
            self._expect(board, life)
        else:
            self._lives[board][-1] = life

    def delivered(self, batch: "Batch") -> None:
        """Look at a batch for a projector."""
        if any(not self.is_open(board_of(partition)) for partition, _ in batch.last):
            self._world.trap("projected after the end")

    # ---- what happens around an end

    def _expect(self, board: str, life: Life) -> None:
        """Let much happen around the end of a board, then TTL take some of it, and then use the name again."""
        if life.number > WATCHED:
            return
        clock, rng = self._world.clock, self._rng

        def at(when: int, do: Callable[..., None], *arguments: Any) -> None:
            """Do something then, if the board has not been deleted by then."""

            def do_it() -> None:
                now = self._life(board)
                if now is not None and now.begun == life.begun and not now.deleted:
                    do(*arguments)

            clock.at(when, do_it)

        self._around_the_end(board, life, at)
        self._after_the_end(board, life, at)
        at(life.free - 1500, self._burst, 30)
        for after in (rng.randint(0, 2 * SECOND), rng.randint(0, 10 * SECOND), rng.randint(0, 2 * DAY)):
            clock.at(life.free + after, self._delete_some)
        clock.at(life.free + rng.randint(10, 30) * MINUTE, self._world.comparison.compare, 20)

    def _around_the_end(self, board: str, life: Life, at: Callable[..., None]) -> None:
        rng, end, chore = self._rng, life.ends, self._world.people.chore
        at(end - rng.randint(25, 55) * MINUTE, self._burst, 20)
        at(end - rng.randint(2, 12) * MINUTE, self._world.comparison.compare)
        at(end - rng.randint(1, 3) * SECOND, self._burst, 30 // life.number)
        at(end - 1000, self._read_before, board)
        if rng.random() < 0.3:
            # The poller of the stream is paused: changes from before the end come after it.
            at(end, setattr, self._world.poller, "paused_until", end + rng.randint(MINUTE, 3 * HOUR))
        at(end, self._world.trap, "a board ends")
        if rng.random() < 0.6:
            task = rng.choice(["rebuild", "rebuild", "delete"])
            at(end - rng.randint(0, 10 * MINUTE), chore, task, {"board": board, "begin": True}, lambda _: None)
        if rng.random() < 0.5:
            at(end - rng.randint(0, 2 * MINUTE), self._world.people.audit, board)
        for before in (rng.randint(0, 2 * DAY), rng.randint(0, HOUR), rng.randint(0, MINUTE)):
            at(end - before, self._settle, board)

    def _after_the_end(self, board: str, life: Life, at: Callable[..., None]) -> None:
        rng, end = self._rng, life.ends
        for after in (0, rng.randint(0, MINUTE), rng.randint(0, HOUR), rng.randint(0, 89 * DAY)):
            at(end + after, self._read_after, board)
        at(life.free - 1000, self._read_after, board)
        for _ in range(6):
            at(end + rng.choice([rng.randint(0, HOUR), rng.randint(0, 27 * DAY)]), self._post_again, board)
        at(end + DAY + 2 * HOUR, self._check_expiries, board, life)
        for latest in (2 * DAY, 10 * DAY, 89 * DAY):
            at(end + rng.randint(DAY, latest), self._delete_some)

    def _burst(self, events: int) -> None:
        self._world.script.burst(self._now, events)

    def _post_again(self, board: str) -> None:
        """Post an event again that named the board, whether it counted or not."""
        sent = [
            one for one in self._world.bodies.values() if one.good and any(name == board for name, _ in one.updates)
        ]
        if sent:
            one = self._rng.choice(sent)
            if one.id in self._world.judge.accepted:
                self._world.trap("known after the end")
            self._world.people.post(one)

    def _delete_some(self) -> None:
        """Let TTL delete some of what has expired, and leave the rest."""
        share = self._rng.choice([0, 0.1, 0.3, 0.9])
        before = len(self._world.store.items("Scores"))
        self._world.people.expire(lambda: self._rng.random() < share)
        if len(self._world.store.items("Scores")) < before:
            self._world.trap("TTL takes some items of a board")

    def _check_expiries(self, board: str, life: Life) -> None:
        """Check that TTL will delete each item of a board that has ended: what it kept would be there for ever."""
        for table in ("Scores", "Rankings"):
            for item in self._world.store.items(table):
                latest = item["t"] * 1000 + 61 * DAY if "x" in item and table == "Scores" else life.ends + DAY
                if item["pk"].startswith(f"{board}#") and item.get("e", latest) * SECOND > latest:
                    self._world.judge.differ(
                        f"{item['pk']} {item.get('sk', '')} expires at {item.get('e')}, after {latest}"
                    )

    # ---- settlements

    def _settle(self, board: str) -> None:
        """Settle the latest day that is final, while the board ends or before."""
        family = next(family for family in self._world.shape.families if family.name == board)
        if not family.settle:
            return
        results = self._world.parked.results

        def seen(answer: dict[str, Any]) -> None:
            for told in answer["rankings"]:
                if told["settled"]:
                    self._world.trap("a period is settled")
                    self._compare_settled(told, expected)
                    self._sealed |= {key: body for key, body in results.items() if key.startswith(told["prefix"])}

        expected = self._settled_lines(board)
        payload = {"board": board, "window": "day", "metric": "points", "empty": True}
        self._world.people.chore("settle", payload, lambda _: None, seen, deaths=20)

    def _compare_settled(self, told: Mapping[str, Any], before: Mapping[str, Any]) -> None:
        """Compare a settled day with the model, if nobody was hidden or removed meanwhile."""
        now, period = self._settled_lines(told["board"]), str(told["period"])
        got = [
            (line["rank"], line["member"], line["score"])
            for line in lines_in(self._world.parked.results, told["prefix"])
        ]
        is_first = not any(key.startswith(told["prefix"]) for key in self._sealed)
        if is_first and now.get(period) == before.get(period) != got:
            self._world.judge.differ(f"{told['prefix']}: expected {now.get(period)}, got {got}")

    def _settled_lines(self, board: str) -> dict[str, Any]:
        """Return the lines of each day before today that can be read, by its name."""
        model, now = self._world.judge.models[board], EPOCH + timedelta(microseconds=self._now)
        days: list[datetime] = list(
            takewhile(lambda on: now - on < timedelta(days=9), model.calendar.earlier("day", now))
        )
        return {
            str(model.calendar.named("day", on)): [
                (line.rank, line.member, line.score) for line in model.listing("points", "day", on).lines()
            ]
            for on in days
        }

    def check_settled(self) -> None:
        """Check that what was settled has stayed."""
        for key, body in self._sealed.items():
            if self._world.parked.results.get(key) != body:
                self._world.judge.differ(f"{key} was settled, and has changed or is gone")

    # ---- reads

    def compare(self) -> None:
        """Compare the list of boards with those that are there. Keep a cursor of each list."""
        if not self.happen:
            return
        stack = self._world.comparison.reader()
        self._compare_boards(stack)
        for board in self._lives:
            if self.is_open(board):
                _, page = stack.get(f"/boards/{board}/points/all", limit=1)
                if page.get("next"):
                    self._cursors[board] = page["next"]
            elif (life := self._life(board)) is not None and self._now >= life.free:
                answer = stack.get(f"/boards/{board}/points/all")
                if (answer[0], answer[1].get("total")) != (200, 0):
                    self._world.judge.differ(f"{board} is free at {self._now}, and a read answers {answer}")

    def _compare_boards(self, stack: Stack) -> None:
        listed = [one["board"] for one in stack.get("/boards")[1]["boards"]]
        records = {item["sk"]: item for item in self._world.store.items("Scores") if item["pk"] == BOARDS}
        there = sorted(
            name
            for name, item in records.items()
            if "x" not in item and not item.get("f", "").startswith(f"{DELETE}/") and self.is_open(name)
        )
        if listed != there:
            self._world.judge.differ(f"GET /boards: expected {there}, got {listed}, at {self._now}")

    def _read_before(self, board: str) -> None:
        status, answer = self._world.comparison.reader().get(f"/boards/{board}")
        if status != 200 and answer.get("type") != "urn:standings:being-deleted":
            self._world.judge.differ(f"{board} ends in a millisecond, and a read answers {status} {answer}")

    def _read_after(self, board: str) -> None:
        """Check that each read answers that the board has expired, and that the list of boards leaves it out."""
        stack, rng = self._world.comparison.reader(), self._rng
        self._compare_boards(stack)
        family = next(family for family in self._world.shape.families if family.name == board)
        metric, window = rng.choice(sorted(family.ranked))
        ranking, member = f"/boards/{board}/{metric}/{window}", rng.choice(self._world.script.members)
        answers = {
            "board": stack.get(f"/boards/{board}"),
            "member": stack.get(f"/boards/{board}/member", id=member),
            "list": stack.get(ranking),
            "next page": stack.get(f"/boards/{board}/points/all", limit=1, cursor=self._cursors.get(board)),
            "rank": stack.get(f"{ranking}/rank", member=member),
            "score": stack.get(f"{ranking}/rank", score=1),
            "ranks": stack.post(f"{ranking}/ranks", {"members": [member]}),
            "percentile": stack.get(f"{ranking}/percentile", p=50),
            "distribution": stack.get(f"{ranking}/distribution"),
        }
        for name, (status, answer) in answers.items():
            if (status, answer.get("type")) != EXPIRED:
                self._world.judge.differ(f"{board} has ended, and {name} answers {status} {orjson.dumps(answer)!r}")


def _has_expired(item: "Item", now: int) -> bool:
    """Whether an item of Scores, which is not that of a removed member, has expired by an instant."""
    return "e" in item and "x" not in item and bool(item["e"] * SECOND <= now)
