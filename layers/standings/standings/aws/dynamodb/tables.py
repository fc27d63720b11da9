"""The tables: a legend of all keys and attributes, the requests to DynamoDB, and the keys.

The requests raise the errors of `stores`. Where a function of a key takes a `ranking`, that is the ranking's own key.

| what               | table    | pk                                 | sk     | index `places`: r          | s        |
|--------------------|----------|------------------------------------|--------|----------------------------|----------|
| a member's item    | Scores   | board # slot                       | member |                            |          |
| a board's record   | Scores   | #boards, of a deleted one #deleted | board  |                            |          |
| an event's receipt | Receipts | event id                           |        |                            |          |
| a member's entry   | Rankings | board # ranking code # member      |        | board # ranking code/shard | sort key |
| a tier tree's node | Rankings | board # ranking code / path + lane |        |                            |          |
| a rolling row      | Rankings | board # window code # member       |        |                            |          |
| a list item        | Rankings | board # block code # member        |        | board # block code/shard   | sort key |
| a log              | Rankings | board # window code / log + number |        |                            |          |
| an announced top   | Rankings | board # ranking code / top         |        |                            |          |
| the audits' turn   | Rankings | #audit                             |        |                            |          |
| settlements        | Rankings | #settle                            |        |                            |          |
| a profile          | Profiles | member                             |        |                            |          |

The index `boards` of Scores has the keys alone, the other way round: its hash is `sk`, its range is `pk`. So it lists
the boards of a member. The partitions of boards' records begin with `#`, which sorts before the name of any board.

The index `names` of Profiles has `p`, the first two characters of a name's search form, and `s`, the search form, a
line break and the member. A name whose search form is shorter is not in it.

A rolling window has one row for each member, an item for each block of periods in which a member has one place, and
logs. Its window code is a ranking's code without the period. Its block code is the code of the block's first ranking,
with the block's length behind the period unless that is 1, as in `20776x4`.

A ranking's code ends with `~` and the number of its generation, except in the first generation. It holds no `#` or
`/`, and neither does the name of a board, so no two keys are equal. Lane 0, log 0 and shard 0 have no number in a key:
more of them leave existing keys as they are.

Names count in an item's size, so attributes have short ones. Times are in milliseconds since 1970, except `e`.

| item            | attribute       | type | meaning                                                                 |
|-----------------|-----------------|------|-------------------------------------------------------------------------|
| member's item   | v               | N    | version: 1 more at every write; a new item starts at the clock          |
|                 | t               | N    | clock of the writer that wrote it last; never decreases                 |
|                 | g               | N    | sum of the amounts' absolute values: no accumulator can exceed it       |
|                 | h               | BOOL | hidden; absent if not                                                   |
|                 | x               | BOOL | removed; absent if not                                                  |
|                 | y               | N    | stamp of the latest removal, even if the member is back; absent: none   |
|                 | u               | N    | stamp of the latest merge into another member, even if it is back       |
|                 | a code of 3     | N    | accumulator of a metric's total                                         |
|                 | code unit index | N    | accumulator of a bucket, season or calendar period: `b1bd20778`         |
|                 | l bucket        | N    | late events of a bucket, for rolling windows alone: `lb1bd20778`        |
|                 | l bucket f …    | N    | the same, from a period on: `lb1bd20778f20780`                          |
|                 | m accumulator   | S    | tie key of that accumulator (`domain.scoring`); `…=`: all amounts are 0 |
|                 | n accumulator   | S    | note of the event that the accumulator's value came with, as JSON       |
|                 | w accumulator   | S    | companions of the accumulator's value: a code, and their units in `[]`  |
|                 | k accumulator   | S    | `at` and id of the latest number that was set; absent: none was         |
| board's record  | v               | N    | version: 1 more at every write                                          |
|                 | t               | N    | when the board's first event was applied                                |
|                 | d               | S    | the rest of the record, as JSON; with `ends`, when the board ends       |
|                 | x               | BOOL | deleted; absent if not                                                  |
|                 | f               | S    | fencing token of the job and its phase; absent without a job            |
| receipt         | d               | B    | digest of the event; absent if it was refused                           |
|                 | w               | S    | why the event was refused                                               |
|                 | t               | N    | when it was refused; if it counted, the stamp of its members' items     |
|                 | s               | BOOL | a number that it sets was older than the one there; absent if not       |
|                 | c               | S    | what it counted and where (`domain.corrections`), or why that is absent |
|                 | b, u            | S, N | id of the latest correction, and when that counted; absent: none did    |
|                 | f               | N    | of a corrected event: its first `t`                                     |
|                 | n               | B    | of a corrected event: digest of what counts now; absent: taken back     |
|                 | o               | S    | of a correction: the event that it corrects                             |
| entry           | v               | N    | version of the member's item that it follows                            |
|                 | t               | N    | `t` of that version                                                     |
|                 | r, s            | S    | key of the index; absent without a score                                |
| rolling row     | v, t            | N    | as an entry's                                                           |
|                 | p               | S    | the member's steps: first complete period, then the steps               |
| list item       | v, t            | N    | as an entry's                                                           |
|                 | r, s            | S    | key of the index; absent without a place in the block                   |
| log             | b               | N    | position of the first entry                                             |
|                 | l               | L    | the entries: changes of counts, as text                                 |
|                 | z               | N    | bytes of the entries                                                    |
| log 0           | c               | N    | logs of the window; absent: 1                                           |
|                 | d               | N    | first period whose lists a purge has not looked at; absent: all         |
|                 | n               | NS   | every number of shards that the lists ever had                          |
|                 | w               | NS   | how long a period could be read after its end: every value there was    |
| node            | v               | N    | version: 1 more at every write; a new node starts at the clock          |
|                 | t               | N    | the latest `t` that it counts                                           |
|                 | q0 … zv         | N    | members below child 0 … 127; one lane alone may be below 0              |
|                 | p0, p1 …        | N    | in a rolling window: position in each log                               |
| root, in lane 0 | l               | N    | lanes of the tree; absent: 1                                            |
|                 | n               | NS   | every number of shards that the ranking ever had; absent: 1             |
| announced top   | v               | N    | version: 1 more at every write                                          |
|                 | d               | S    | the last announcement of the ranking, as JSON                           |
| audits' turn    | v               | N    | version: 1 more at every write                                          |
|                 | d               | S    | where the turn is and what it found, as JSON                            |
| settlements     | v               | N    | version: 1 more at every write                                          |
|                 | d               | S    | whose call is at work and where the schedule is, as JSON                |
| profile         | n, i, c         | S    | name, picture, country                                                  |
|                 | d               | S    | the data, a JSON object                                                 |
|                 | p, s            | S    | key of the index; absent without a name to search for                   |
| all but         | e               | N    | when DynamoDB may delete the item, in seconds since 1970; absent: never |
| profiles        |                 |      | An item that ends with its board counts as none from then on.           |
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias
from zlib import crc32

from botocore.exceptions import BotoCoreError, ClientError, ParamValidationError

from standings.aws.sdk_errors import error_code
from standings.domain.profiles import INDEXED_LENGTH, MIN_SEARCH_LENGTH, search_form
from standings.domain.tiers import FANOUT, Path
from standings.runtime.clock import Backoff, Clock
from standings.stores import SLOTS, CancelReason, Lane, StoreRefusedError, StoreUnavailableError

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import client as stubs


DynamoDBClient: TypeAlias = "stubs.DynamoDBClient"
Item = Mapping[str, Mapping[str, Any]]  # An item with DynamoDB's type descriptors, as in `{"pk": {"S": "x"}}`
ReadKeys = Callable[[Collection[str]], dict[str, Item]]  # Reads items of a table without sort keys, by key
IN_PROGRESS_WAIT: Final = 5.0  # Seconds. Another call with the same token is still at work.
MAX_KEYS: Final = 100
UNPROCESSED_TIMEOUT_S: Final = 1.0  # Seconds for which `batch_get` repeats the keys that DynamoDB left unprocessed

# https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
_REASONS: Final = {
    "ConditionalCheckFailed": CancelReason.CONDITION,
    "TransactionConflict": CancelReason.BUSY,
    "ProvisionedThroughputExceeded": CancelReason.BUSY,
    "ThrottlingError": CancelReason.BUSY,
    "ValidationError": CancelReason.INVALID,
    "ItemCollectionSizeLimitExceeded": CancelReason.INVALID,
}


class Cancellation(NamedTuple):
    """Why the action at `position` cancelled its transaction. `item` is the stored item, if DynamoDB returned it."""

    position: int
    reason: CancelReason
    item: Item | None
    message: str


@contextmanager
def store_errors() -> Iterator[None]:
    """Raise StoreRefusedError for an invalid request, StoreUnavailableError for all other errors of the SDK."""
    try:
        yield
    except (ClientError, BotoCoreError) as error:
        code = error_code(error) if isinstance(error, ClientError) else ""
        if code in {"ValidationException", "SerializationException"} or isinstance(error, ParamValidationError):
            raise StoreRefusedError(str(error)) from error
        # An earlier try of this transaction, whose answer was lost, still runs.
        wait = IN_PROGRESS_WAIT if code == "TransactionInProgressException" else 0.0
        raise StoreUnavailableError(str(error), wait) from error


def conditional(table: str, condition: str, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The part of an action that names its table and condition, such as `attribute_not_exists(pk)`.

    If the condition fails, DynamoDB returns the stored item.
    """
    action = {"TableName": table, "ConditionExpression": condition, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}
    return {**action, "ExpressionAttributeValues": values} if values else action


def numbers(**values: int) -> dict[str, dict[str, str]]:
    """Numbers of an expression, by the names that they have there: `numbers(c=2)` is `{":c": {"N": "2"}}`."""
    return {f":{name}": {"N": str(number)} for name, number in values.items()}


def update(table: str, key: str, expression: str, condition: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """An update on a condition, for `transact` and `update_if`: `update(…, "SET c = :c", "c < :c", numbers(c=2))`."""
    return {**conditional(table, condition, values), "Key": item_key(key), "UpdateExpression": expression}


def transaction_bytes(actions: Iterable[Mapping[str, Any]]) -> int:
    """The bytes of the requests of a transaction, or some more."""
    return sum(_bytes(part) for action in actions for request in action.values() for part in request.values())


def _bytes(value: Any) -> int:
    if isinstance(value, Mapping):
        return sum(len(name.encode()) + _bytes(of) for name, of in value.items())
    return len(value.encode()) if isinstance(value, str) else len(value) if isinstance(value, bytes) else 1


def transact(client: DynamoDBClient, actions: Sequence[Any]) -> list[Cancellation]:
    """Do all actions or none. Returns what cancelled them; an empty list if they are done."""
    with store_errors():
        try:
            client.transact_write_items(TransactItems=actions)
        except ClientError as error:
            if error_code(error) != "TransactionCanceledException":
                raise
            return _cancellations(error)
    return []


def _cancellations(error: ClientError) -> list[Cancellation]:
    reasons: Sequence[Mapping[str, Any]] = error.response.get("CancellationReasons", [])
    given = [(index, reason) for index, reason in enumerate(reasons) if reason.get("Code", "None") != "None"]
    if not given or any(reason["Code"] not in _REASONS for _, reason in given):
        raise StoreUnavailableError(str(error)) from error
    return [
        Cancellation(index, _REASONS[why["Code"]], why.get("Item"), f"{why['Code']}: {why.get('Message', '')}")
        for index, why in given
    ]


def get_item(client: DynamoDBClient, table: str, key: Item, *, consistent: bool = False) -> Item | None:
    """One item, or None. The read is eventually consistent by default."""
    with store_errors():
        return client.get_item(TableName=table, Key=key, ConsistentRead=consistent).get("Item")


def batch_get(
    client: DynamoDBClient, table: str, keys: Sequence[Item], clock: Clock, *, consistent: bool = False
) -> list[Item]:
    """The items that exist under some keys, in any order. The reads are eventually consistent by default.

    DynamoDB may leave keys unprocessed. They alone are read again, after a wait. Raises StoreUnavailableError if a
    request returns nothing, or if keys are left `UNPROCESSED_TIMEOUT_S` after the first ones were.
    """
    backoff: Backoff | None = None
    items: list[Item] = []
    for start in range(0, len(keys), MAX_KEYS):
        pending: Sequence[Item] = list(keys[start : start + MAX_KEYS])
        while pending:
            request: Any = {"Keys": pending, "ConsistentRead": True} if consistent else {"Keys": pending}
            with store_errors():
                answer = client.batch_get_item(RequestItems={table: request})
            items.extend(answer["Responses"].get(table, []))
            left = (answer.get("UnprocessedKeys") or {}).get(table, {"Keys": []})["Keys"]
            if left:
                backoff = backoff or clock.backoff_for(UNPROCESSED_TIMEOUT_S)
                if len(left) >= len(pending) or not backoff.wait():
                    raise StoreUnavailableError(f"{table} did not return {len(left)} of {len(keys)} items: throttled")
            pending = left
    return items


def items_by_key(
    client: DynamoDBClient, table: str, keys: Iterable[str], clock: Clock, *, consistent: bool = False
) -> dict[str, Item]:
    """The items of a table without sort keys, by key: `{"berlin-2026#G0Pa#u123": {"pk": {"S": …}, …}}`.

    A key without an item is left out. Reads as `batch_get` does.
    """
    items = batch_get(client, table, [item_key(key) for key in keys], clock, consistent=consistent)
    return {item["pk"]["S"]: item for item in items}


def query(
    client: DynamoDBClient, limit: int, table: str, condition: str, values: Mapping[str, Any], **options: Any
) -> Iterator[Any]:
    """The answers of a query by key, with up to `limit` items in all. DynamoDB ends an answer at 1 MB."""
    page = {"TableName": table, "KeyConditionExpression": condition, "ExpressionAttributeValues": values, **options}
    while limit > 0:
        with store_errors():
            answer = client.query(**page, Limit=limit)
        yield answer
        if "LastEvaluatedKey" not in answer:
            return
        page["ExclusiveStartKey"] = answer["LastEvaluatedKey"]
        limit -= answer["Count"]


def query_items(client: DynamoDBClient, limit: int, *request: Any, **options: Any) -> list[Item]:
    """Up to `limit` items of a `query`."""
    return [item for answer in query(client, limit, *request, **options) for item in answer["Items"]]


def on_places(table: str, partition: str, condition: str = "", **keys: str) -> dict[str, Any]:
    """The arguments of `query` for a partition of the sorted index: `on_places(…, " AND s > :key", key="MvIu1")`."""
    values = {f":{name}": {"S": key} for name, key in {"r": partition, **keys}.items()}
    return {"table": table, "condition": f"r = :r{condition}", "values": values, "IndexName": PLACES}


def placed_items(
    client: DynamoDBClient, table: str, partition: str, beyond: str, before: str | None, limit: int
) -> list[Item]:
    """Up to `limit` items of a partition of the sorted index, between two sort keys (`before` None: to the end)."""
    request = on_places(table, partition, " AND s > :s", s=beyond)
    if before is not None:
        # BETWEEN includes both ends, which are dropped below.
        request = on_places(table, partition, " AND s BETWEEN :s AND :e", s=beyond, e=before)
        limit += 2
    return [item for item in query_items(client, limit, **request) if item["s"]["S"] not in {beyond, before}]


def put_if(
    client: DynamoDBClient, table: str, item: Item, condition: str, values: Mapping[str, Any] | None = None
) -> bool:
    """Put an item on a condition. Returns False if the condition does not hold."""
    given = {"ExpressionAttributeValues": values} if values else {}
    is_put, _ = _write_if(client.put_item, TableName=table, Item=item, ConditionExpression=condition, **given)
    return is_put


def put_version(client: DynamoDBClient, table: str, item: Item, seen: int | None) -> bool:
    """Put an item over its version `seen` (None: no item). Returns False if there is another version."""
    if seen is None:
        return put_if(client, table, item, "attribute_not_exists(pk)")
    return put_if(client, table, item, "v = :v", numbers(v=seen))


def update_if(client: DynamoDBClient, request: Mapping[str, Any]) -> tuple[bool, Item | None]:
    """Update an item on a condition: `(True, None)`. Otherwise False, with the stored item if there is one."""
    return _write_if(client.update_item, **request)


def _write_if(write: Callable[..., object], **request: Any) -> tuple[bool, Item | None]:
    with store_errors():
        try:
            write(**request)
        except ClientError as error:
            if error_code(error) != "ConditionalCheckFailedException":
                raise
            stored: Any = error.response
            return False, stored.get("Item")
    return True, None


def batch_delete(client: DynamoDBClient, table: str, keys: Sequence[str]) -> None:
    """Delete up to 25 items, by partition key. Raises StoreUnavailableError if DynamoDB leaves some unprocessed."""
    requests: Any = [{"DeleteRequest": {"Key": item_key(key)}} for key in keys]
    with store_errors():
        answer = client.batch_write_item(RequestItems={table: requests})
    if left := (answer.get("UnprocessedItems") or {}).get(table):
        raise StoreUnavailableError(f"{table} left {len(left)} items: throttled")


BOARDS: Final = "#boards"
DELETED_BOARDS: Final = "#deleted"
AUDIT: Final = "#audit"
SETTLE: Final = "#settle"
PLACES: Final = "places"
MEMBER_BOARDS: Final = "boards"
NAMES: Final = "names"
PREFIX_LENGTH: Final = MIN_SEARCH_LENGTH  # Characters that a partition of the index `names` stands for
TIE_KEY_PREFIX: Final = "m"
NOTE_PREFIX: Final = "n"
SET_KEY_PREFIX: Final = "k"
COMPANIONS_PREFIX: Final = "w"
MEMBER_FIELDS: Final = frozenset(
    {"pk", "sk", "v", "t", "g", "h", "x", "y", "u", "e"}
)  # All but accumulators, and the texts beside them
# The attributes that count the members below a child, and the children that they count. DynamoDB reserves none of them.
COUNTERS: Final = [first + second for first in "qxyz" for second in "0123456789abcdefghijklmnopqrstuv"]
DIGITS: Final = dict(zip(COUNTERS, range(FANOUT), strict=True))


def item_key(key: str) -> dict[str, dict[str, str]]:
    """The key of an item in a table without sort keys, for requests: `{"pk": {"S": "berlin-2026#i4q7d/log"}}`."""
    return {"pk": {"S": key}}


def slot_key(board: str, slot: int) -> str:
    """The partition of Scores that holds one slot of a board's members: `berlin-2026#50`."""
    return f"{board}#{slot:02d}"


def member_key(board: str, member: str) -> tuple[str, str]:
    """The partition key and sort key of a member's item: `("berlin-2026#50", "u123")`."""
    return slot_key(board, crc32(member.encode()) % SLOTS), member


def member_item_key(board: str, member: str) -> dict[str, dict[str, str]]:
    """The key of a member's item, for requests: `{"pk": {"S": "berlin-2026#50"}, "sk": {"S": "u123"}}`."""
    partition, sort = member_key(board, member)
    return {"pk": {"S": partition}, "sk": {"S": sort}}


def board_of(partition: str) -> str:
    """The board in the partition key of a member's item: `berlin-2026` in `berlin-2026#50`."""
    return partition.rsplit("#", 1)[0]


def entry_key(ranking: str, member: str) -> str:
    """The key of a member's entry in a ranking: `berlin-2026#G0Pa#u123`."""
    return f"{ranking}#{member}"


def index_key(ranking: str, shard: int) -> str:
    """The partition of the sorted index with one shard of a ranking's entries: `berlin-2026#G0Pa/1`."""
    return f"{ranking}/{shard}" if shard else ranking


def shard_of(member: str, shards: int) -> int:
    """The shard of a member's entries."""
    return crc32(member.encode()) % shards if shards > 1 else 0


def node_key(ranking: str, path: Path, lane: int = 0) -> str:
    """The key of one lane of a node, two hexadecimal digits for each step from the root: `berlin-2026#G0Pa/3e7d+1`."""
    return f"{ranking}/{bytes(path).hex()}" + (f"+{lane}" if lane else "")


def log_key(window: str, number: int) -> str:
    """The key of a rolling window's log, `berlin-2026#i4q7d/log`. A node's key has no such letters."""
    return f"{window}/log" + (f"+{number}" if number else "")


def top_key(ranking: str) -> str:
    """The key of what was last announced of a ranking: `berlin-2026#G0Pa/top`. The ranking's key has no generation."""
    return f"{ranking}/top"


def name_key(name: str | None, member: str) -> tuple[str, str] | tuple[None, None]:
    r"""The partition key and sort key of a member's name in the index: `("ad", "adam\nu7")` for the name `Ádám`.

    None twice if the name is too short to be searched for, or missing.
    """
    form = "" if name is None else search_form(name)[:INDEXED_LENGTH]
    return (form[:PREFIX_LENGTH], f"{form}\n{member}") if len(form) >= PREFIX_LENGTH else (None, None)


def version_of(item: Item) -> int:
    """The version of an item; 0 if it has none."""
    return int(item["v"]["N"]) if "v" in item else 0


def lane_of(item: Item) -> Lane:
    """The lane of a node that an item holds. An item that only holds the number of lanes has no time."""
    counters = {digit: int(value["N"]) for name, value in item.items() if (digit := DIGITS.get(name)) is not None}
    written_at_ms = int(item["t"]["N"]) if "t" in item else None
    return Lane(counters, version_of(item), written_at_ms)


def lane_count(root: Item) -> int:
    """The number of lanes in the root's item of lane 0."""
    return int(root["l"]["N"]) if "l" in root else 1


def shards_ever(root: Item, *known: int) -> set[int]:
    """Every number of shards in the root's item of lane 0, and those that are known."""
    return {*known, *(int(shards) for shards in root["n"]["NS"])} if "n" in root else {1, *known}
