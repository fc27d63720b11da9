"""A stack that announces tops, in which each call can fail, die, or let something else happen first.

The sorted index shows old states at random, until `catch_up`. The stream and the queue of looks deliver at least once.
"""

import random
from collections.abc import Callable, Sequence
from typing import Any

import orjson
from botocore.exceptions import ClientError

from standings.announce.announcer import Announcer, merged
from standings.aws.dynamodb.announced_tops import DynamoAnnouncedTops
from standings.aws.dynamodb.rankings.rankings import DynamoRankings
from standings.aws.dynamodb.rankings.top_reads import DynamoTopReads
from standings.aws.dynamodb.scores.board_records import DynamoBoards
from standings.aws.eventbridge.event_bus import EventBus
from standings.aws.sqs.look_queue import LookQueue, decode_look
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.members.member_item import Image
from standings.domain.members.moves import Change
from standings.domain.scoring.ties import tie_key_of_event
from standings.ports.announcements import Look, RankingName
from standings.ports.errors import StoreUnavailableError
from standings.project.announced_rankings import AnnouncedRankings
from standings.project.projector import Projector, Record
from standings.runtime.retry import Clock
from tests.support.builders.catalogs import catalog
from tests.support.builders.checks import rows
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.tables import create_tables

START = 1_795_256_100_000
STATES = 6  # The index shows one of so many last states
FULL = 10  # Messages that one call of the announcer gets at most


class Died(BaseException):
    """The function ends at this call."""


class _Calls:
    """A client of which each call goes through the stack first."""

    def __init__(self, client: Any, before: Callable[[str], None], after: Callable[[str], None]) -> None:
        self._client, self._before, self._after = client, before, after

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(**request: Any) -> Any:
            self._before(name)
            answer = getattr(self._client, name)(**request)
            self._after(name)
            return answer

        return call


class AnnouncingStack:
    """A board `b` with the metric `points`, its projector and its announcer."""

    def __init__(self, engine: Any, seed: int, *, top: int, ties: str = "member", shards: int = 1) -> None:
        self.rng = random.Random(seed)
        self.boards = parse_boards(
            f'[boards."*"]\nshards = {shards}\nannounce.all = {{ top = {top} }}\n'
            f'metrics.points = {{ aggregate = "sum", ties = "{ties}", windows = ["all"] }}\n'
        )
        self.length = top
        self.engine = engine
        self.now = START
        self.trouble = 0.0
        self.events: list[dict[str, Any]] = []
        self.looks: list[tuple[int, str]] = []
        self.stream: list[Record] = []
        self.images: dict[str, Image] = {}
        self._states: list[list[dict[str, Any]]] = []
        self._nested = False
        self._clock = Clock(lambda: self.now, lambda: self.now / 1000, self._sleep, self.rng.random)
        dynamodb: Any = _Calls(self, self._before, self._after)
        self.rankings = DynamoRankings(dynamodb, "Rankings", self._clock)
        self._records = DynamoBoards(dynamodb, "Scores", self._clock)
        self._announcer = Announcer(
            self.boards,
            self._records,
            DynamoAnnouncedTops(dynamodb, "Rankings"),
            DynamoTopReads(dynamodb, "Rankings", self._clock),
            EventBus(lambda: _Calls(self, self._before, self._after)),
            self._clock,
            "test",
        )
        sqs: Any = _Calls(self, self._before, self._after)
        self._queue = LookQueue(lambda: sqs, "looks")
        self._catalog = catalog(self.boards, engine, self._clock)
        self._catalog.register(["b"])

    # ---- what the clients do

    def __getattr__(self, name: str) -> Any:
        return getattr(self.engine, name)

    def query(self, **request: Any) -> Any:
        return self._some_state().query(**request)

    def get_item(self, **request: Any) -> Any:
        return (self.engine if request.get("ConsistentRead") else self._some_state()).get_item(**request)

    def batch_get_item(self, **request: Any) -> Any:
        (keys,) = request["RequestItems"].values()
        return (self.engine if keys.get("ConsistentRead") else self._some_state()).batch_get_item(**request)

    def _some_state(self) -> Any:
        """What an eventually consistent read may see."""
        state = self.rng.choice([*self._states, None]) if self.trouble else None
        return self.engine if state is None else _engine_of(state)

    def transact_write_items(self, **request: Any) -> Any:
        self._remember()
        return self.engine.transact_write_items(**request)

    def put_item(self, **request: Any) -> Any:
        self._remember()
        return self.engine.put_item(**request)

    def _remember(self) -> None:
        if self.trouble:
            self._states = [*self._states, rows(self.engine, "Rankings")][-STATES:]

    def put_events(self, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803
        (entry,) = Entries
        if self.rng.random() < self.trouble:
            return {"FailedEntryCount": 1, "Entries": [{"ErrorCode": "ThrottlingException", "ErrorMessage": "slow"}]}
        assert (entry["Source"], entry["DetailType"]) == ("standings", "Top Changed")
        self.events.append(orjson.loads(entry["Detail"]))
        return {"FailedEntryCount": 0, "Entries": [{"EventId": "e"}]}

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> Any:  # noqa: N803
        assert QueueUrl == "looks"
        failed = [entry for entry in Entries if self.rng.random() < self.trouble]
        for entry in Entries:
            if entry not in failed:
                assert 0 <= entry["DelaySeconds"] <= 900
                self.looks.append((self.now + entry["DelaySeconds"] * 1000, entry["MessageBody"]))
        return {"Failed": [{"Id": entry["Id"], "Code": "InternalError"} for entry in failed]}

    def _before(self, name: str) -> None:
        self._perhaps(name)

    def _after(self, name: str) -> None:
        self._perhaps(name)

    def _perhaps(self, name: str) -> None:
        if self._nested or self.rng.random() >= self.trouble:
            return
        what = self.rng.randrange(5)
        if what == 0:
            raise Died(name)
        if what == 1:
            raise ClientError({"Error": {"Code": "InternalServerError", "Message": "failed by the test"}}, name)
        self._nested = True
        try:
            if what == 4 and self.images:
                self.change(self.rng.choice(sorted(self.images)), self.rng.randrange(5))
                self.run_projector()
                self.now += 2_000
            self.run_projector() if what == 3 else self.run_announcer()
        finally:
            self._nested = False

    def _sleep(self, seconds: float) -> None:
        self.now += int(seconds * 1000) + 1

    # ---- what happens

    def change(self, member: str, points: int | None, *, hidden: bool = False) -> None:
        """Give a member a score, as the writer would."""
        old = self.images.get(member)
        metric = self.boards.families[0].metrics["points"]
        values = {} if points is None else {metric.total(): points}
        tie_keys = {metric.total(): tie_key_of_event(metric, self.now, "e")} if values and metric.has_tie_keys else {}
        image = Image("b", member, old.version + 1 if old else 1, self.now, 0, hidden, values, tie_keys)
        self.images[member] = image
        self.stream.append(Record(str(image.version), Change(old, image)))

    def run_projector(self) -> None:
        """Apply some records from the beginning of the stream. They stay there if anything fails."""
        batch = self.stream[: self.rng.randint(1, 8)]
        rankings = AnnouncedRankings(self.rankings, self.boards)
        projector = Projector(self._catalog, rankings, self._clock)
        try:
            result = projector.project(batch, _no_parking, self.now / 1000 + 5)
            rankings.tell(self._queue)
        except (Died, StoreUnavailableError):
            return
        if result.failed is None and self.stream[: len(batch)] == batch:
            del self.stream[: len(batch)]

    def run_announcer(self) -> None:
        """Look at what messages that are due name. They stay on the queue if anything fails."""
        due = [message for message in self.looks if message[0] <= self.now]
        batch = self.rng.sample(due, min(len(due), FULL))
        try:
            tries: dict[RankingName, list[int]] = {}
            for look in (decode_look(body) for _, body in batch):
                tries.setdefault(look.name, []).append(look.tries)
            nexts = [self._announcer.look(Look(name, merged(of_name))) for name, of_name in tries.items()]
            again = [next_look for next_look in nexts if next_look is not None]
            self._queue.ask(again)
        except (Died, StoreUnavailableError):
            return
        for message in batch:
            if message in self.looks:
                self.looks.remove(message)

    def catch_up(self) -> None:
        """Let the index catch up, and everything that waits be done, without any trouble."""
        self.trouble = 0.0
        while self.stream:
            self.run_projector()
        while self.looks:
            self.now = max(self.now, min(due for due, _ in self.looks))
            self.run_announcer()

    def list(self) -> list[tuple[int, str, int]]:
        """The top as sorting says: rank, member, score."""
        metric = self.boards.families[0].metrics["points"]
        shown = [image for image in self.images.values() if image.values and not image.hidden]
        by_instant = metric.ties_by_instant
        shown.sort(key=lambda image: (-image.values[metric.total()], by_instant and image.written_at_ms, image.member))
        scores = [image.values[metric.total()] for image in shown]
        return [(1 + scores.index(score), image.member, score) for image, score in zip(shown, scores, strict=True)][
            : self.length
        ]


def _engine_of(items: Sequence[dict[str, Any]]) -> Any:
    """An engine with these items of Rankings."""
    engine = Engine()
    create_tables(engine)
    for item in items:
        engine.put_item(TableName="Rankings", Item=item)
    return engine


def look_at(board: str, *, tries: int = 0) -> Look:
    """A look at `all` of a board."""
    return Look(RankingName(board, "points", "all", 0), tries)


def _no_parking(sequence: str, reason: str, bug: Exception | None) -> None:
    raise AssertionError(f"{sequence}: {reason}") from bug
