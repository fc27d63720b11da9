"""Corrupts logs of rolling windows."""

from typing import Any

from standings.aws.dynamodb.keys import log_key
from standings.domain.rolling.count_log import decode_entry, encode_entry
from standings.domain.rolling.rolling_rankings import RollingRankings
from tests.support.builders.audit.auditing import Audited

Item = dict[str, Any]


class LogCorruption:
    """Corrupts the log of a rolling window."""

    def __init__(self, audited: Audited, rankings: RollingRankings) -> None:
        self._engine = audited.engine
        self._rng = audited.rng
        self.key = log_key(rankings.key, 0)

    def corrupt(self, kind: str) -> None:
        item = self._engine.get_item(TableName="Rankings", Key={"pk": {"S": self.key}})["Item"]
        self._engine.put_item(TableName="Rankings", Item=getattr(self, f"_{kind}")(item))

    def _cut_short(self, item: Item) -> Item:
        return {**item, "l": {"L": item["l"]["L"][:-1]}}

    def _cut_in_front(self, item: Item) -> Item:
        return {**item, "l": {"L": item["l"]["L"][1:]}, "b": {"N": str(int(item["b"]["N"]) + 1)}}

    def _unreadable(self, item: Item) -> Item:
        texts = ["", "{}", "[1,2]", '[1,0,1,"a",2]', f"[1,0,1,null,{2**60}]"]
        return self._with(item, [*item["l"]["L"], {"S": self._rng.choice(texts)}])

    def _without_base(self, item: Item) -> Item:
        return {name: value for name, value in item.items() if name != "b"}

    def _no_list(self, item: Item) -> Item:
        return {**item, "l": {"S": "[]"}}

    def _twice(self, item: Item) -> Item:
        """An entry is there once more, and nothing else is wrong."""
        return self._with(item, [*item["l"]["L"], item["l"]["L"][0]])

    def _wrong(self, item: Item) -> Item:
        """An entry says something else, and nothing else is wrong."""
        texts = [text["S"] for text in item["l"]["L"]]
        at = self._rng.randrange(len(texts))
        entry = decode_entry(texts[at])
        last = max(entry.changes, key=lambda change: change.until)
        wrong = last._replace(new=(last.new or 0) + 1000)
        changes = [wrong if change == last else change for change in entry.changes]
        texts[at] = encode_entry(entry._replace(changes=changes))
        return self._with(item, [{"S": text} for text in texts])

    def _with(self, item: Item, entries: list[Any]) -> Item:
        return {**item, "l": {"L": entries}, "z": {"N": str(sum(len(entry["S"]) for entry in entries))}}
