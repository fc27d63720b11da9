"""Reads and writes what was last announced of each ranking. That is in Rankings, beside the ranking's tiers."""

import orjson

from standings.aws.dynamodb.calls import DynamoDBClient
from standings.aws.dynamodb.keys import top_key
from standings.aws.dynamodb.versioned_json import VersionedJson
from standings.domain.boards.definitions import Ranking
from standings.ports.announcements import AnnouncedTop, Standing


class DynamoAnnouncedTops:
    """The last announcements (`ports.announcements.AnnouncedTops`)."""

    def __init__(self, client: DynamoDBClient, rankings: str) -> None:
        self._items = VersionedJson(client, rankings)

    def read(self, ranking: Ranking) -> AnnouncedTop | None:
        content = self._items.read(_key(ranking))
        if content is None:
            return None
        top = [Standing(member, value) for member, value in content["top"]]
        unsent = content["unsent"]
        if isinstance(unsent, str):  # as version 0.2 wrote it down
            unsent = orjson.loads(unsent)
        return AnnouncedTop(content["version"], content["seq"], content["at"], top, unsent)

    def put(self, ranking: Ranking, announced: AnnouncedTop) -> bool:
        content = {
            "version": announced.version,
            "seq": announced.seq,
            "at": announced.announced_at_ms,
            "top": [(standing.member, standing.sort_value) for standing in announced.top],
            "unsent": announced.unsent,
        }
        # A season that can no longer be read may be again, once boards.toml names the next one.
        return self._items.put(_key(ranking), content, ranking.kept_until)


def _key(ranking: Ranking) -> str:
    return top_key(ranking._replace(generation=0).key)
