"""Reads parked records from the failure bucket."""

import json
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from standings.ports.scores import MemberKey, ParkedMember

if TYPE_CHECKING:
    from standings.aws.s3.failure_bucket import FailureBucket, StoredObject

PROJECTOR_PREFIX: Final = "parked/"  # Where the projector parks records, one in each object
LAMBDA_PREFIX: Final = "aws/lambda/"  # Where Lambda puts the batches that it gave up
PAGE: Final = 1_000

Decode = Callable[[Any], ParkedMember | None]
"""The member that a record names; None for an item of no member. KeyError, TypeError or ValueError for bad records."""


@dataclass(slots=True)
class ParkedObject:
    """The records of an object: the members that they name, and the problems of those that name none."""

    reason: str = ""
    records: int = 0
    members: dict[MemberKey, ParkedMember] = field(default_factory=dict)
    problems: list[str] = field(default_factory=list)


def stored_objects(objects: "FailureBucket", keys: Collection[str] | None, after: str) -> "Iterator[StoredObject]":
    """The parked objects with these keys (None: all) that follow a key, in order."""
    for prefix in (LAMBDA_PREFIX, PROJECTOR_PREFIX):
        last: str | None = max(after, prefix)
        while last is not None and last.startswith(prefix):
            page = objects.listed(prefix, last, PAGE)
            yield from (stored for stored in page if keys is None or stored.key in keys)
            last = page[-1].key if len(page) >= PAGE else None


def read_parked(
    stored: "StoredObject", content: bytes, decode: Decode, report: Callable[[Exception], None]
) -> ParkedObject:
    """The records of an object. `report` is called with each unexpected error of `decode`."""
    parked = ParkedObject()
    try:
        parked.reason, records = _records(stored.key, content)
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        parked.problems.append(f"not a parked record: {error!r}")
        return parked
    parked.records = len(records)
    for record in records:
        try:
            named = decode(record)
        except (KeyError, TypeError, ValueError) as error:
            parked.problems.append(f"not a change of a member's item: {error!r}")
            continue
        except Exception as error:  # noqa: BLE001 - a bug that one record meets must not stop the others
            parked.problems.append(f"cannot be read: {error!r}")
            report(error)
            continue
        if named is not None:
            key = (named.board, named.member)
            made = stored.at if named.made is None else min(named.made, stored.at)
            parked.members[key] = _merged(parked.members.get(key), named._replace(made=made))
    return parked


def _records(key: str, content: bytes) -> tuple[str, list[Any]]:
    """The reason and the records of an object; ValueError, LookupError or TypeError if it holds none.

    https://docs.aws.amazon.com/lambda/latest/dg/services-dynamodb-errors.html
    """
    document = json.loads(content)
    if key.startswith(PROJECTOR_PREFIX):
        return str(document["reason"]), [document["record"]]
    payload = document["payload"]
    if isinstance(payload, str):
        payload = json.loads(payload)
    records = payload["Records"]
    if not isinstance(records, list):
        raise TypeError(f"expected Records to be a list, got {records!r}")
    context = document.get("requestContext")
    condition = context.get("condition") if isinstance(context, dict) else None
    return f"given up by Lambda: {condition}", records


def _merged(one: ParkedMember | None, other: ParkedMember) -> ParkedMember:
    if one is None:
        return other
    images = [image for image in (one.gone, other.gone) if image is not None]
    gone = max(images, key=lambda image: image.version, default=None)
    return other._replace(gone=gone, made=max(one.made or 0, other.made or 0))
