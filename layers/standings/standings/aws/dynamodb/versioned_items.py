"""Items that are replaced as a whole, each over the version that was read (optimistic concurrency)."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import orjson

from standings.aws.dynamodb.tables import DynamoDBClient, get_item, item_key, put_version, top_key
from standings.domain.boards import Ranking
from standings.domain.coverage import ENDED_KEPT
from standings.domain.scoring import SortValues


class Standing(NamedTuple):
    """A member of a top, with its sort values: `Standing("u123", (-300,))`."""

    member: str
    values: SortValues


class AnnouncedTop(NamedTuple):
    """What was last announced of a ranking. `unsent` is the event without its `top`, until EventBridge took it."""

    version: int
    seq: int
    announced_at_ms: int
    top: Sequence[Standing]
    unsent: Mapping[str, Any] | None


class _VersionedJson:
    """The items of a table that hold one JSON object each, with a version."""

    def __init__(self, client: DynamoDBClient, table: str) -> None:
        self._client = client
        self._table = table

    def _content(self, key: str) -> dict[str, Any] | None:
        """An item's object with its `version`, read strongly consistently; None if there is no item."""
        item = get_item(self._client, self._table, item_key(key), consistent=True)
        return None if item is None else {**orjson.loads(item["d"]["S"]), "version": int(item["v"]["N"])}

    def _put(self, key: str, content: dict[str, Any], expires_at: int | None = None) -> bool:
        """Replace the item of the version before; False if there is another one. `expires_at` is in milliseconds."""
        version = content["version"]
        stored = {name: value for name, value in content.items() if name != "version"}
        item = {**item_key(key), "v": {"N": str(version)}, "d": {"S": orjson.dumps(stored).decode()}}
        if expires_at is not None:
            item["e"] = {"N": str(-(-expires_at // 1000))}
        return put_version(self._client, self._table, item, version - 1 if version > 1 else None)


class AnnouncedTops(_VersionedJson):
    """The last announcements by ranking, in Rankings next to its tiers. Methods may raise StoreUnavailableError."""

    def read(self, ranking: Ranking, now: int = 0) -> AnnouncedTop | None:
        """Read what was last announced, strongly consistently; None before the first announcement.

        What has expired by `now` (ms) was of an earlier board of that name, which has ended: its top is empty.
        """
        content = self._content(_key(ranking))
        if content is None:
            return None
        if ranking.board_ends is not None and now >= content.get("until", now + 1):
            return AnnouncedTop(content["version"], content["seq"], content["at"], (), None)
        top = [Standing(member, tuple(values)) for member, *values in content["top"]]
        unsent = content["unsent"]
        if isinstance(unsent, str):  # as version 0.2 wrote it
            unsent = orjson.loads(unsent)
        return AnnouncedTop(content["version"], content["seq"], content["at"], top, unsent)

    def put(self, ranking: Ranking, announced: AnnouncedTop) -> bool:
        """Write an announcement over the version before. False if there is another version."""
        content = {
            "version": announced.version,
            "seq": announced.seq,
            "at": announced.announced_at_ms,
            "top": [(standing.member, *standing.values) for standing in announced.top],
            "unsent": announced.unsent,
        }
        # A season that can no longer be read may be again, once boards.toml names the next one.
        until = ranking.kept_until
        if ranking.board_ends is not None:
            ends = ranking.board_ends
            content["until"] = until = (ends if until is None else min(until, ends)) + ENDED_KEPT
        return self._put(_key(ranking), content, until)


def _key(ranking: Ranking) -> str:
    return top_key(ranking._replace(generation=0).key)


class TurnRecord(_VersionedJson):
    """The one record of a schedule: where its turn over all boards is. Methods may raise StoreUnavailableError.

    It is in Rankings: without it, a turn begins again.
    """

    def __init__(self, client: DynamoDBClient, table: str, key: str) -> None:
        super().__init__(client, table)
        self._key = key

    def read(self) -> dict[str, Any]:
        """Read the record, strongly consistently: `{"version": 3, "board": "b", …}`; empty before the first run."""
        return self._content(self._key) or {}

    def put(self, content: dict[str, Any]) -> bool:
        """Replace the record of the version before. False if there is another version."""
        return self._put(self._key, content)
