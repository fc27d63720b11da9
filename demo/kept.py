"""Keeps what is in the tables of a stack, from one `make serve --keep` to the next."""

import json
from base64 import b64decode, b64encode
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

from demo.embedded.stack import Deployment

_TABLES: Final = ("PROFILES_TABLE", "RECEIPTS_TABLE", "RANKINGS_TABLE", "SCORES_TABLE")
"""As the functions' variables name them, in the order in which they are filled. Each item of Scores then comes to the
projector, which finds its entries in Rankings."""
_BATCH: Final = 25  # DynamoDB's limit
_AT_ONCE: Final = 4
_TRIES: Final = 10

Items = Mapping[str, list[dict[str, Any]]]


class KeptDataError(Exception):
    """What was kept cannot be read or put back. The message says why, and what to do."""


def save(deployment: Deployment, file: Path) -> int:
    """Write all items of the tables to a file. Return their number."""
    dynamodb = deployment.client("dynamodb")
    items = {
        table: [item for page in dynamodb.get_paginator("scan").paginate(TableName=name) for item in page["Items"]]
        for table, name in _names(deployment).items()
    }
    draft = file.with_suffix(".new")
    draft.write_text(json.dumps(items, default=_text_of_bytes), encoding="utf-8")
    draft.replace(file)
    return sum(map(len, items.values()))


def load(file: Path) -> Items | None:
    """Return the items of a file that `save` has written, by table; None if there is no file."""
    try:
        items: Items = json.loads(file.read_text(encoding="utf-8"), object_hook=_bytes_of_text)
    except FileNotFoundError:
        return None
    except ValueError as error:
        raise KeptDataError(
            f"{file}: expected what `make serve` keeps, got something else ({error}): delete the file to begin without"
        ) from error
    return items


def restore(deployment: Deployment, items: Items) -> int:
    """Put items into the tables of a new stack. Return their number."""
    dynamodb, names = deployment.client("dynamodb"), _names(deployment)

    def put(name: str, batch: list[dict[str, Any]]) -> int:
        left = {name: [{"PutRequest": {"Item": item}} for item in batch]}
        for _ in range(_TRIES):
            if not (left := dynamodb.batch_write_item(RequestItems=left)["UnprocessedItems"]):
                return len(batch)
        raise KeptDataError(f"{name} did not take {len(left[name])} items in {_TRIES} tries")

    count = 0
    for table in _TABLES:
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            count += sum(pool.map(lambda batch, name=names[table]: put(name, batch), _batches(items[table])))
    return count


def _names(deployment: Deployment) -> dict[str, str]:
    variables = deployment.environments()["MaintenanceFunction"]
    return {table: variables[table] for table in _TABLES}


def _batches(items: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    return (items[start : start + _BATCH] for start in range(0, len(items), _BATCH))


def _text_of_bytes(value: bytes) -> dict[str, str]:
    return {"base64": b64encode(value).decode()}


def _bytes_of_text(found: dict[str, Any]) -> Any:
    text = found.get("base64")
    return b64decode(text) if isinstance(text, str) else found
