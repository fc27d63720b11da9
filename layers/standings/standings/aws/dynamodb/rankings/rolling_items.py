"""The items of a rolling window: rows, list items and logs, as they are stored."""

import re
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any, Final

import orjson

from standings.aws.dynamodb.calls import Item
from standings.aws.dynamodb.keys import entry_key, index_key, shard_of
from standings.domain.boards.definitions import generation_code
from standings.domain.rolling.blocks import Block, list_key
from standings.domain.rolling.count_log import Log, LogEntry, decode_entry
from standings.domain.rolling.rolling_rankings import RollingRankings
from standings.domain.rolling.steps import Step, Steps
from standings.domain.scoring.sort_order import Place, sort_key
from standings.domain.windows.calendar import DAY, SECOND
from standings.ports.errors import StoreRefusedError
from standings.ports.rolling import ListItem, RollingRow, RowChange

EXPIRY_MARGIN: Final = 3 * DAY  # How long items stay after the last read: longer than a stream record can be late
MAX_STEP: Final = 100_000  # Periods of a step: more than any that can be stored
ROW_LIFETIME: Final = 60 * DAY  # Of a row without steps: longer than a change can be replayed


def encode_steps(steps: Steps) -> str:
    """Steps as text: the first complete period, then for each step its range, sort value, and instant if it has one.

    A range is given from where the last one ended.
    """
    numbers: list[list[int]] = []
    last = steps.low
    for first, until, place in steps.steps:
        since = () if place.since is None else (place.since,)
        numbers.append([first - last, until - first, place.sort_value, *since])
        last = until
    return orjson.dumps([steps.low, *numbers]).decode()


def decode_steps(text: str) -> Steps:
    """The steps in a text. Raises ValueError for any other text."""
    numbers = orjson.loads(text)
    if type(numbers) is not list or not numbers or type(numbers[0]) is not int or not all(map(_is_step, numbers[1:])):
        raise ValueError(f"expected steps, got {text[:80]!r}")
    low, *ranges = numbers
    steps: list[Step] = []
    last = low
    for gap, length, *place in ranges:
        first = last + gap
        last = first + length
        steps.append(Step(first, last, Place(*place)))
    return Steps(low, tuple(steps))


def _is_step(numbers: Any) -> bool:
    """Whether these are a gap, a length, a sort value, and an instant if there is one."""
    is_list = type(numbers) is list and len(numbers) in {3, 4}
    return is_list and set(map(type, numbers)) == {int} and 0 < numbers[1] <= MAX_STEP


def row_of(item: Item) -> RollingRow | str:
    """The row that an item holds, or why it cannot be read."""
    try:
        return RollingRow(int(item["v"]["N"]), decode_steps(item["p"]["S"]))
    except (ArithmeticError, LookupError, TypeError, ValueError) as error:
        return f"the row {item['pk']['S']!r} is damaged ({error!r}): rebuild its board"


def row_item(rankings: RollingRankings, change: RowChange) -> dict[str, Any]:
    """A row as an item. It stays until none of its steps can be read, and no older change can be replayed."""
    steps = change.row.steps
    until = max((rankings.readable_until(step.until - 1) for step in steps.steps[-1:]), default=0)
    expiry = max(until + EXPIRY_MARGIN, change.written_at_ms + ROW_LIFETIME)
    return {
        "pk": {"S": entry_key(rankings.key, change.member)},
        "v": {"N": str(change.row.version)},
        "t": {"N": str(change.written_at_ms)},
        "p": {"S": encode_steps(steps)},
        "e": {"N": str(expiry // SECOND)},
    }


def list_item(rankings: RollingRankings, item: ListItem) -> dict[str, Any]:
    """A list item. One without a place keeps its version, so that no older change can bring the place back."""
    block_list = list_key(rankings, item.block)
    stored: dict[str, Any] = {
        "pk": {"S": entry_key(block_list, item.member)},
        "v": {"N": str(item.version)},
        "t": {"N": str(item.written_at_ms)},
        "e": {"N": str((rankings.readable_until(item.block.until - 1) + EXPIRY_MARGIN) // SECOND)},
    }
    if item.place is not None:
        stored["r"] = {"S": index_key(block_list, shard_of(item.member, rankings.metric.shards))}
        stored["s"] = {"S": sort_key(item.place, item.member)}
    return stored


def listed_member(rankings: RollingRankings, key: str) -> tuple[Block, str] | None:
    """The block and the member that the key of a list item names; None if it is the key of another item."""
    named = _item_keys(rankings).fullmatch(key)
    return None if named is None else (Block(int(named[1]), int(named[2] or 1)), named[3])


@lru_cache(maxsize=1024)
def _item_keys(rankings: RollingRankings) -> re.Pattern[str]:
    window = re.escape(f"{rankings.board}#{rankings.metric.ranking_code(rankings.window)}")
    return re.compile(rf"{window}([0-9]+)(?:x([0-9]+))?{generation_code(rankings.generation)}#(.*)", re.DOTALL)


def log_of(item: Item) -> Log:
    """The log that an item holds; StoreRefusedError if it is damaged."""
    try:
        return Log(int(item["b"]["N"]), tuple(map(_entry, item["l"]["L"])))
    except (LookupError, TypeError, ValueError) as error:
        why = f"the log {item['pk']['S']!r} is damaged ({error!r}): rebuild its board"
        raise StoreRefusedError(why) from error


def _entry(value: Mapping[str, Any]) -> LogEntry:
    return decode_entry(value["S"])


def log_bytes(item: Item) -> int:
    """The bytes of a log's entries."""
    return int(item["z"]["N"])


def log_count(first: Item) -> int:
    """The number of logs that log 0 names."""
    return int(first["c"]["N"]) if "c" in first else 1


def lates_ever(first: Item) -> set[int]:
    """How long after its end a period could be read, in milliseconds: every value that log 0 names."""
    return {int(late) for late in first["w"]["NS"]} if "w" in first else set()


def positions(node: Item) -> dict[int, int]:
    """A node's position in each log that it has taken entries from."""
    return {int(name[1:]): int(value["N"]) for name, value in node.items() if name[0] == "p" and name[1:].isdigit()}


def ahead_of(logs: Mapping[int, Log], node: Item) -> tuple[int, int] | None:
    """A log's number, and a position of a node there that is beyond its end; None if there is none.

    A log that was not read counts as behind.
    """
    beyond = (
        (number, position)
        for number, position in positions(node).items()
        if number not in logs or position > logs[number].end
    )
    return next(beyond, None)


def positions_known(nodes: Iterable[Item], logs: Mapping[int, Log]) -> bool:
    """Whether no node is ahead of the logs as they were read."""
    return all(ahead_of(logs, node) is None for node in nodes)
