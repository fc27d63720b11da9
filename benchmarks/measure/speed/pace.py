"""How fast the code of one function is, on one core: a process of its own for each question.

`python -m benchmarks.measure.speed.pace pace writer store 200000 10 5` prints JSON: events (records) per second of
CPU time, through
the deployed handler, from the records that Lambda hands over. What is stubbed is the store (`store`: Scores and
Rankings that take everything at no cost) or the network (`botocore`: a client whose requests are built, signed and
answered by an empty 200). `profile writer store 200000 10` says where the time goes, `memory writer all` what a batch
takes.
"""

import cProfile
import importlib.util
import os
import pstats
import sys
import time
import tracemalloc
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from io import BytesIO
from pathlib import Path
from random import Random
from statistics import median
from types import ModuleType
from typing import Any, Final
from unittest import mock

import orjson
from botocore.awsrequest import AWSResponse
from botocore.session import get_session

from benchmarks.harness import population
from benchmarks.harness.results_file import REPOSITORY
from standings.aws.dynamodb.scores.member_items import encode_image
from standings.domain.boards.boards_toml import parse_boards
from standings.domain.boards.definitions import Family
from standings.domain.members.counting import Counted, additions
from standings.domain.members.member_item import Image
from standings.project.commit_moves import one_by_one
from standings.runtime.environment import BOARDS_FILE
from standings.wiring import building_blocks

BATCH: Final = 500
LARGEST: Final = 1_000
"""Messages and records that a batch has at most in `template.yaml`."""

ENVIRONMENT: Final = {
    "AWS_DEFAULT_REGION": "eu-central-1",
    "AWS_ACCESS_KEY_ID": "AKIAIOSFODNN7EXAMPLE",
    "AWS_SECRET_ACCESS_KEY": "none",
    "POWERTOOLS_METRICS_NAMESPACE": "Standings",
    "POWERTOOLS_SERVICE_NAME": "speed",
    "SCORES_TABLE": "Scores",
    "RECEIPTS_TABLE": "Receipts",
    "RANKINGS_TABLE": "Rankings",
    "ACTIVITY_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/000000000000/activity",
    "DEAD_LETTER_QUEUE_URL": "https://sqs.eu-central-1.amazonaws.com/000000000000/dead",
    "FAILURE_BUCKET": "failures",
}
"""What the functions are told."""

_OURS: Final = ("domain", "services", "dynamodb", "sqs", "runtime")
_MOST: Final = 8
_MEGABYTE: Final = 1_000_000


class Accepting:
    """The stores of both functions (`ports.scores`), at no cost: whatever is asked for is done at once."""

    def apply(self, *_: Any) -> list[Any]:
        return []

    def commit(self, *_: Any) -> list[Any]:
        return []

    def lanes(self, *_: Any) -> dict[Any, Any]:
        return {}

    def remove(self, *_: Any) -> list[Any]:
        return []

    def records(self, _: Any) -> dict[str, Any]:
        return {}

    def put(self, *_: Any) -> bool:
        return True


class _Raw(BytesIO):
    """A body as urllib3 gives it."""

    def stream(self, **_: Any) -> Iterator[bytes]:
        yield self.read()


@dataclass
class Transport:
    """Stands in for botocore's HTTP session: every request is answered by what DynamoDB says where nothing is."""

    transactions: list[bytes] = field(default_factory=list)

    def send(self, request: Any) -> AWSResponse:
        target = request.headers["X-Amz-Target"].decode()
        if target.endswith(".TransactWriteItems"):
            self.transactions.append(request.body)
        body = b'{"Responses":{}}' if target.endswith(".BatchGetItem") else b"{}"
        headers: Any = {"x-amz-crc32": str(zlib.crc32(body)), "content-type": "application/x-amz-json-1.0"}
        return AWSResponse(request.url, 200, headers, _Raw(body))


class Context:
    """What Lambda says of a run: there is time enough."""

    function_name = "speed"
    memory_limit_in_mb = 1024
    invoked_function_arn = "arn:aws:lambda:eu-central-1:000000000000:function:speed"
    aws_request_id = "00000000-0000-0000-0000-000000000000"

    def get_remaining_time_in_millis(self) -> int:
        return 600_000


def load(function: str, boards: str) -> ModuleType:
    """A function's program, as Lambda starts it, over a `boards.toml` of that text."""
    spec = importlib.util.spec_from_file_location(function, REPOSITORY / "functions" / function / "app.py")
    if spec is None or spec.loader is None:
        raise LookupError(function)
    app = importlib.util.module_from_spec(spec)
    with mock.patch.object(building_blocks, "boards", return_value=parse_boards(boards)):
        spec.loader.exec_module(app)
    return app


def without_store(app: ModuleType) -> None:
    """Put a store of no cost below a function."""
    if hasattr(app, "_writer"):
        app._writer.scores = app._writer.registry.records = Accepting()  # noqa: SLF001 - as deployed, but for this
    else:
        app._projector.registry.records = Accepting()  # noqa: SLF001
        app._projector.rankings.rankings = app._projector.rankings.trees = Accepting()  # noqa: SLF001


def without_network(app: ModuleType, transport: Transport) -> None:
    """Put a network of no cost below a function."""
    store = app._writer.scores if hasattr(app, "_writer") else app._projector.rankings.rankings  # noqa: SLF001
    store._client._endpoint.http_session = transport  # noqa: SLF001


def batches(function: str, boards: str, members: int, size: int, count: int) -> list[dict[str, Any]]:
    """Batches of different members of a board with log-normal scores, as Lambda hands them over."""
    rng = Random(1)
    scores = population.lognormal(rng, members)
    names = list(scores)
    family = parse_boards(boards).family(population.BOARD)
    if family is None:
        raise LookupError(population.BOARD)
    now = building_blocks.now()
    made = []
    for batch in range(count):
        chosen = enumerate(rng.sample(names, size), batch * size)
        if function == "writer":
            records = [_message(number, name, rng.randint(1, 100), now) for number, name in chosen]
        else:
            records = [_record(number, name, scores[name], rng.randint(1, 100), family, now) for number, name in chosen]
        made.append({"Records": records})
    return made


def _message(number: int, name: str, points: int, now: int) -> dict[str, Any]:
    at = datetime.fromtimestamp(now / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    said = {
        "id": f"0197f2c4-{number:012}",
        "board": population.BOARD,
        "member": name,
        "at": at,
        "metrics": {"points": points},
    }
    return {
        "messageId": f"059f36b4-87a3-44ab-83d2-{number:012}",
        "receiptHandle": "A" * 300,
        "body": orjson.dumps(said).decode(),
        "attributes": {
            "ApproximateReceiveCount": "1",
            "SentTimestamp": str(now),
            "SenderId": "AIDAIENQZJOLO23YVJ4VO",
            "ApproximateFirstReceiveTimestamp": str(now),
        },
        "messageAttributes": {},
        "md5OfBody": "e4e68fb7bd0e697a0ae8f1bb342846b3",
        "eventSource": "aws:sqs",
        "eventSourceARN": "arn:aws:sqs:eu-central-1:000000000000:activity",
        "awsRegion": "eu-central-1",
    }


def _record(number: int, name: str, before: int, points: int, family: Family, now: int) -> dict[str, Any]:
    old, new = (
        Image(
            population.BOARD,
            name,
            now + version,
            now,
            score,
            hidden=False,
            values=additions(family, [Counted("", now, {"points": score})], now),
        )
        for version, score in ((1, before), (2, before + points))
    )
    item = encode_image(new)
    return {
        "eventID": "c4ca4238a0b923820dcc509a6f75849b",
        "eventName": "MODIFY",
        "eventVersion": "1.1",
        "eventSource": "aws:dynamodb",
        "awsRegion": "eu-central-1",
        "dynamodb": {
            "ApproximateCreationDateTime": now // 1000,
            "Keys": {"pk": item["pk"], "sk": item["sk"]},
            "NewImage": item,
            "OldImage": encode_image(old),
            "SequenceNumber": f"{number + 1:021}",
            "SizeBytes": 200,
            "StreamViewType": "NEW_AND_OLD_IMAGES",
        },
        "eventSourceARN": "arn:aws:dynamodb:eu-central-1:000000000000:table/Scores/stream/2026-11-21T00:00:00.000",
    }


def _run(app: ModuleType, given: list[dict[str, Any]]) -> None:
    for batch in given:
        answer = app.handler(batch, Context())
        if answer["batchItemFailures"]:
            raise AssertionError(answer)


def _seconds(do: Callable[[], None]) -> float:
    began = time.process_time()
    do()
    return time.process_time() - began


def pace(function: str, level: str, members: int, count: int, repeats: int) -> dict[str, Any]:
    """Records a second, and those of a loop that is measured in turns with it.

    At the store that loop reads and writes what a record says with orjson; through botocore it is a client with
    nothing of ours, that sends the same transactions. Every repeat has batches of its own. The best of them is when
    nobody else was in the way; the ratio is their median.
    """
    app = load(function, population.BOARDS)
    transport = Transport()
    plain: Any = get_session().create_client("dynamodb")
    plain._endpoint.http_session = Transport()  # noqa: SLF001
    if level == "store":
        without_store(app)
    else:
        without_network(app, transport)
    given = batches(function, population.BOARDS, members, BATCH, count * (repeats + 1))
    _run(app, given[:count])
    turns = []
    for number in range(1, repeats + 1):
        mine = given[number * count : (number + 1) * count]
        transport.transactions.clear()
        seconds = _seconds(partial(_run, app, mine))
        loop = _reading_and_writing(mine) if level == "store" else _sending(plain, transport.transactions)
        turns.append((seconds, _seconds(loop)))
    best, its = (min(column) for column in zip(*turns, strict=True))
    return {
        "function": function,
        "level": level,
        "records_per_second": round(BATCH * count / best),
        "loop_records_per_second": round(BATCH * count / its),
        "loops_per_record": round(median(one / other for one, other in turns), 2),
    }


def _reading_and_writing(given: list[dict[str, Any]]) -> Callable[[], None]:
    records = [record for batch in given for record in batch["Records"]]
    said = [orjson.dumps(record["dynamodb"]) if "dynamodb" in record else record["body"] for record in records]

    def loop() -> None:
        for one in said:
            orjson.dumps(orjson.loads(one))

    return loop


def _sending(client: Any, transactions: list[bytes]) -> Callable[[], None]:
    asked = [_asked(body) for body in transactions]

    def loop() -> None:
        for one in asked:
            client.transact_write_items(TransactItems=one)

    return loop


def _asked(body: bytes) -> list[Any]:
    """The actions of a transaction as they were handed to botocore."""
    actions: list[Any] = orjson.loads(body)["TransactItems"]
    for action in actions:
        digest = action.get("Put", {}).get("Item", {}).get("d")
        if digest is not None:
            digest["B"] = b64decode(digest["B"])
    return actions


def profile(function: str, level: str, members: int, count: int) -> dict[str, Any]:
    """Shares of the time by package, and the functions of ours that take most of it.

    What is built into Python counts for whoever calls it. A profiler weighs many small calls more than a clock does.
    """
    app = load(function, population.BOARDS)
    if level == "store":
        without_store(app)
    else:
        without_network(app, Transport())
    if function == "projector":
        app._projector.run_parallel = one_by_one  # noqa: SLF001 - a profiler sees one thread
    given = batches(function, population.BOARDS, members, BATCH, 2 * count)
    _run(app, given[:count])
    profiler = cProfile.Profile()
    profiler.runcall(_run, app, given[count:])
    shares: dict[str, float] = {}
    ours: dict[str, float] = {}
    for key, (_, _, own, _, callers) in pstats.Stats(profiler).stats.items():  # type: ignore[attr-defined]
        for (file, _, name), seconds in _payers(key, own, callers):
            package = _package(file, name)
            shares[package] = shares.get(package, 0.0) + seconds
            if package in _OURS:
                there = f"{package}.{Path(file).stem}.{name}"
                ours[there] = ours.get(there, 0.0) + seconds
    whole = sum(shares.values())
    most = sorted(ours, key=lambda name: -ours[name])[:_MOST]
    return {
        "function": function,
        "level": level,
        "shares": {name: round(shares[name] / whole, 3) for name in sorted(shares, key=lambda name: -shares[name])},
        "most": {name: round(ours[name] / whole, 3) for name in most},
    }


def _payers(key: tuple[str, int, str], own: float, callers: Mapping[Any, Any]) -> Iterator[tuple[Any, float]]:
    """Whom a function's own time is put down to, by file, line and name."""
    if key[0] != "~" or "orjson" in key[2] or not callers:
        yield key, own
        return
    for caller, (_, _, seconds, _) in callers.items():
        yield caller, seconds


def _package(file: str, name: str) -> str:
    if "orjson" in name:
        return "orjson"
    parts = Path(file).parts
    if "standings" in parts and parts[-2] in _OURS:
        return parts[-2]
    if "functions" in parts:
        return "runtime"
    if "site-packages" in parts:
        found = parts[parts.index("site-packages") + 1]
        return "botocore" if found in {"jmespath", "urllib3", "dateutil"} else found
    return "Python's library" if "benchmarks" not in parts else "stub"


def memory(function: str, boards: str) -> dict[str, Any]:
    """What the largest batch takes, from the event to the last request: megabytes at its peak."""
    app = load(function, boards)
    without_network(app, Transport())
    first, second = (orjson.dumps(one) for one in batches(function, boards, 10_000, LARGEST, 2))
    _run(app, [orjson.loads(first)])
    tracemalloc.start()
    _run(app, [orjson.loads(second)])
    _, peak = tracemalloc.get_traced_memory()
    return {
        "function": function,
        "records": LARGEST,
        "event_megabytes": round(len(second) / _MEGABYTE, 2),
        "peak_megabytes": round(peak / _MEGABYTE, 1),
    }


def main(arguments: list[str]) -> int:
    """Answer one question, on one core."""
    what, function, *rest = arguments
    os.environ.update(ENVIRONMENT)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
        if what == "pace":
            answer = pace(function, rest[0], *map(int, rest[1:]))
        elif what == "profile":
            answer = profile(function, rest[0], *map(int, rest[1:]))
        else:
            answer = memory(
                function, population.BOARDS if rest[0] == "all" else BOARDS_FILE.read_text(encoding="utf-8")
            )
    print(orjson.dumps(answer).decode())
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
