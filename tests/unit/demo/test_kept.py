"""What is kept between two runs of `make serve` comes back as it was, or the error says what to do."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import pytest

from demo import kept

ITEMS: Final[dict[str, list[dict[str, Any]]]] = {
    "PROFILES_TABLE": [{"pk": {"S": "用户"}, "data": {"M": {"base64": {"S": "no bytes"}}}}],
    "RECEIPTS_TABLE": [{"pk": {"S": "one"}, "d": {"B": b"\x00\xff"}, "t": {"N": "1795256100000"}}],
    "RANKINGS_TABLE": [{"pk": {"S": str(number)}} for number in range(60)],
    "SCORES_TABLE": [],
}


class Tables:
    """A DynamoDB that takes at most ten items of a batch, and knows tables by lower-case names."""

    def __init__(self, items: dict[str, list[dict[str, Any]]]) -> None:
        self.items = {name.lower(): list(found) for name, found in items.items()}
        self.takes = 10

    def client(self, service: str) -> Any:
        assert service == "dynamodb"
        return self

    def environments(self) -> dict[str, dict[str, str]]:
        return {"MaintenanceFunction": {name: name.lower() for name in ITEMS}}

    def get_paginator(self, operation: str) -> Any:
        assert operation == "scan"
        return SimpleNamespace(paginate=lambda TableName: [{"Items": [item]} for item in self.items[TableName]])  # noqa: N803

    def batch_write_item(self, RequestItems: dict[str, list[Any]]) -> Any:  # noqa: N803
        ((name, requests),) = RequestItems.items()
        assert len(requests) <= 25
        self.items[name] += [one["PutRequest"]["Item"] for one in requests[: self.takes]]
        left = requests[self.takes :]
        return {"UnprocessedItems": {name: left} if left else {}}


def test_items_come_back_as_they_were(tmp_path: Path) -> None:
    before, after, file = Tables(ITEMS), Tables({name: [] for name in ITEMS}), tmp_path / "kept.json"
    assert kept.save(before, file) == 62  # type: ignore[arg-type]
    items = kept.load(file)
    assert items == ITEMS
    assert kept.restore(after, items) == 62  # type: ignore[arg-type]
    assert {name: sorted(map(str, found)) for name, found in after.items.items()} == {
        name: sorted(map(str, found)) for name, found in before.items.items()
    }


def test_a_table_that_takes_nothing_is_an_error() -> None:
    after = Tables({name: [] for name in ITEMS})
    after.takes = 0
    with pytest.raises(kept.KeptDataError, match="did not take 1 items in 10 tries"):
        kept.restore(after, ITEMS)  # type: ignore[arg-type]


def test_without_a_file_nothing_was_kept_and_a_broken_one_is_named(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    assert kept.load(file) is None
    file.write_text('{"half', encoding="utf-8")
    with pytest.raises(kept.KeptDataError, match=r"kept\.json: expected .+ delete the file to begin without"):
        kept.load(file)
