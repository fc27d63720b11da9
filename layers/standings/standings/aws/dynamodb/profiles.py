"""The table Profiles: reads and writes profiles, and finds them by the beginning of a name."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, NamedTuple

from botocore.exceptions import ClientError

from standings.aws.dynamodb import tables
from standings.aws.dynamodb.tables import DynamoDBClient, Item
from standings.aws.sdk_errors import error_code
from standings.domain.profiles import INDEXED_LENGTH, Changes, Field, Profile
from standings.runtime.clock import Clock
from standings.stores import StoreRefusedError, StoreUnavailableError

ATTRIBUTES: Final[dict[Field, str]] = {"name": "n", "picture": "i", "country": "c", "data": "d"}


class Match(NamedTuple):
    """A member whose name begins with a search text, with the sort key of its name."""

    key: str
    member: str
    profile: Profile


class Profiles:
    """The profiles of a stack: `Profiles(client, "standings-ProfilesTable-1A2B", clock).profile("u7")`.

    No error quotes what a profile holds. All methods raise StoreUnavailableError and StoreRefusedError.
    """

    def __init__(self, client: DynamoDBClient, table: str, clock: Clock) -> None:
        self._client = client
        self._table = table
        self._clock = clock

    def change(self, member: str, changes: Changes) -> Profile:
        """Set and remove fields, in one write. Returns the whole profile. A member without a profile gets one."""
        attributes: dict[str, str | None] = {ATTRIBUTES[field]: value for field, value in changes.items()}
        if "name" in changes:
            # The key of the index goes with the name, in the same write.
            partition, sort = tables.name_key(changes["name"], member)
            attributes |= {"p": partition, "s": sort}
        sets = [f"{name} = :{name}" for name, value in attributes.items() if value is not None]
        removes = [name for name, value in attributes.items() if value is None]
        expression = [f"SET {', '.join(sets)}"] if sets else []
        expression += [f"REMOVE {', '.join(removes)}"] if removes else []
        request: Any = {
            "TableName": self._table,
            "Key": tables.item_key(member),
            "UpdateExpression": " ".join(expression),
            "ReturnValues": "ALL_NEW",
        }
        if sets:
            values = {f":{name}": {"S": value} for name, value in attributes.items() if value is not None}
            request["ExpressionAttributeValues"] = values
        with self._silent_errors(), tables.store_errors():
            return _profile(self._client.update_item(**request)["Attributes"])

    def remove(self, member: str) -> bool:
        """Remove a profile. Returns whether there was one."""
        with self._silent_errors(), tables.store_errors():
            old = self._client.delete_item(TableName=self._table, Key=tables.item_key(member), ReturnValues="ALL_OLD")
        return "Attributes" in old

    def profile(self, member: str) -> Profile | None:
        """Read a profile, strongly consistently; None if the member has none."""
        with self._silent_errors():
            item = tables.get_item(self._client, self._table, tables.item_key(member), consistent=True)
        return None if item is None else _profile(item)

    def profiles(self, members: Sequence[str]) -> dict[str, Profile]:
        """Read profiles by member: `{"u7": Profile(…)}`, eventually consistently. A member without one is left out."""
        with self._silent_errors():
            items = tables.items_by_key(self._client, self._table, members, self._clock)
        return {member: _profile(item) for member, item in items.items()}

    def matches(self, beginning: str, after: Match | None, limit: int) -> list[Match]:
        r"""Up to `limit` profiles whose name's search form begins with `beginning`, in its order, that follow `after`.

        Only the first 64 characters of `beginning` are compared. Fewer than `limit` are the last: none follows.
        `matches("ad", None, 2)` is `[Match("adam\nu7", "u7", Profile("Ádám", …))]`.
        """
        indexed = beginning[:INDEXED_LENGTH]
        values = {":p": {"S": indexed[: tables.PREFIX_LENGTH]}, ":s": {"S": indexed}}
        options: dict[str, Any] = {"IndexName": tables.NAMES}
        if after is not None:
            options["ExclusiveStartKey"] = {"p": values[":p"], "s": {"S": after.key}, **tables.item_key(after.member)}
        with self._silent_errors():
            condition = "p = :p AND begins_with(s, :s)"
            items = tables.query_items(self._client, limit, self._table, condition, values, **options)
        return [Match(item["s"]["S"], item["pk"]["S"], _profile(item)) for item in items]

    @contextmanager
    def _silent_errors(self) -> Iterator[None]:
        """Replace the text of errors by the table and the code: the text of DynamoDB or the SDK may quote a name."""
        try:
            yield
        except StoreUnavailableError as error:
            raise StoreUnavailableError(f"{self._table}: {_code(error)}", error.wait) from None
        except StoreRefusedError as error:
            raise StoreRefusedError(f"{self._table}: {_code(error)}") from None


def _code(error: Exception) -> str:
    cause = error.__cause__
    if isinstance(cause, ClientError):
        return error_code(cause)
    return "throttled" if cause is None else type(cause).__name__


def _profile(item: Item) -> Profile:
    return Profile(*(item[name]["S"] if name in item else None for name in ATTRIBUTES.values()))
