"""Reads the pages of Query and Scan.

https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Query.Pagination.html
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from tests.support.dynamodb.api.core import asks_for_units
from tests.support.dynamodb.api.errors import Invalid
from tests.support.dynamodb.expressions.conditions import Junction, Node
from tests.support.dynamodb.expressions.key_conditions import key_condition
from tests.support.dynamodb.storage.sizes import read_units
from tests.support.dynamodb.storage.table import Index, Ordered, Place, Table
from tests.support.dynamodb.storage.values import Item, Value, decode_item, encode_item

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tests.support.dynamodb.expressions.evaluation import Holds, Values
    from tests.support.dynamodb.expressions.requests import Expressions

PAGE_BYTES: Final = 1024 * 1024


def _has_more(rows: Iterator[Any]) -> bool:
    """Whether there is another row. This consumes the row."""
    return next(rows, None) is not None


@dataclass(slots=True)
class Page:
    """The rows that one call reads. It ends after ``limit`` rows, or when the rows exceed 1 MB together.

    After ``limit`` rows there always is a next page, which may be empty.
    """

    limit: int | None
    items: list[Item] = field(default_factory=list)
    scanned: int = 0
    last: Item | None = None
    size: int = 0

    def fill(
        self,
        rows: Ordered,
        places: Iterator[tuple[Value, Place]],
        keep: Holds | None,
        values: Values,
    ) -> None:
        for value, place in places:
            stored = rows.row(value, place)
            item = stored.item
            self.scanned += 1
            self.size += stored.size
            if keep is None or keep(item, values):
                self.items.append(item)
            if self.scanned == self.limit or (self.size > PAGE_BYTES and _has_more(places)):
                self.last = item
                return


def _start(request: Mapping[str, Any], table: Table, rows: Ordered) -> Item | None:
    wire = request.get("ExclusiveStartKey")
    if not wire:
        return None
    start = decode_item(wire)
    if start.keys() != {*table.key.names, *rows.key.names}:
        raise Invalid("The provided starting key is invalid")
    return start


def query_rows(
    request: Mapping[str, Any], table: Table, rows: Ordered, expressions: Expressions
) -> Iterator[tuple[Value, Place]]:
    """Yield the rows that a Query reads, in its order, as (hash value, place)."""
    if expressions.key_node is None:
        raise Invalid("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.")
    condition = key_condition(expressions.key_node, rows, expressions.values)
    forward = request.get("ScanIndexForward", True)
    partition = rows.partition(condition.value)
    low, high = condition.stretch(partition)
    start = _start(request, table, rows)
    if start is not None:
        place = rows.place_of(start)
        bottom, top = condition.bounds
        if (
            start[rows.key.hash] != condition.value
            or (bottom is not None and place < bottom)
            or (top is not None and not place < top)
        ):
            raise Invalid("The provided starting key does not match the range key predicate")
        if forward:
            low = max(low, partition.bisect_right(place))
        else:
            high = min(high, partition.bisect_left(place))
    for place in partition.islice(low, high, reverse=not forward):
        yield condition.value, place


def scan_rows(request: Mapping[str, Any], table: Table, rows: Ordered, _: Expressions) -> Iterator[tuple[Value, Place]]:
    """Yield the rows that a Scan reads, always in the same order, as (hash value, place)."""
    segment, segments = request.get("Segment", 0), request.get("TotalSegments", 1)
    if segment >= segments:
        raise Invalid("The Segment parameter is zero-based and must be less than TotalSegments")
    start = _start(request, table, rows)
    after = None if start is None else start[rows.key.hash]
    for spread, value in rows.scan_order(after):
        if spread[0] * segments >> 8 != segment:
            continue
        partition = rows.partition(value)
        low = 0
        if start is not None and value == after:
            low = partition.bisect_right(rows.place_of(start))
        for place in partition.islice(low):
            yield value, place


def _shown(request: Mapping[str, Any], rows: Ordered, expressions: Expressions) -> Any:
    """Return the attributes to answer, or None for all. Reject attributes that an index does not contain."""
    projected = rows.schema.projected if isinstance(rows, Index) else None
    select = request.get("Select")
    if select == "COUNT" and expressions.projection is not None:
        raise Invalid("Cannot specify the ProjectionExpression when choosing to get only the Count")
    if select == "ALL_ATTRIBUTES" and projected is not None:
        raise Invalid(
            "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not "
            f"supported for global secondary index {request['IndexName']} because its projection "
            "type is not ALL"
        )
    if expressions.projection is not None and projected is not None:
        outside = [name for name in expressions.projection if name not in projected]
        if outside:
            raise Invalid(
                "One or more parameter values were invalid: Global secondary index "
                f"{request['IndexName']} does not project {outside}"
            )
    return expressions.projection


def _names(node: Node | None) -> set[str]:
    if node is None:
        return set()
    if isinstance(node, Junction):
        return {name for part in node.parts for name in _names(part)}
    return {str(operand.path[0]) for operand in node.operands if operand.path}


def read_page(kind: Any, request: Mapping[str, Any], table: Table, expressions: Expressions) -> dict[str, Any]:
    """Answer a Query or Scan. ``kind`` is ``query_rows`` or ``scan_rows``."""
    rows: Ordered = table
    if "IndexName" in request:
        if request["IndexName"] not in table.indexes:
            raise Invalid(f"The table does not have the specified index: {request['IndexName']}")
        if request.get("ConsistentRead"):
            raise Invalid("Consistent reads are not supported on global secondary indexes")
        index = table.indexes[request["IndexName"]]
        index.bring_in()
        rows = index
    if request.get("Limit", 1) < 1:
        raise Invalid("Limit must be greater than or equal to 1")
    shown = _shown(request, rows, expressions)
    keys = set(rows.key.names) & _names(expressions.filter_node)
    if keys and kind is query_rows:
        raise Invalid(
            f"Filter Expression can only contain non-primary key attributes: Primary key attribute: {min(keys)}"
        )
    keep, values = expressions.filter, expressions.values
    page = Page(request.get("Limit"))
    page.fill(rows, kind(request, table, rows, expressions), keep, values)
    answer: dict[str, Any] = {"Count": len(page.items), "ScannedCount": page.scanned}
    if request.get("Select") != "COUNT":
        answer["Items"] = [
            encode_item(item if shown is None else {n: item[n] for n in shown if n in item}) for item in page.items
        ]
    if asks_for_units(request):
        units = read_units(page.size, consistent=request.get("ConsistentRead", False))
        answer["ConsumedCapacity"] = {"TableName": request["TableName"], "CapacityUnits": units}
    if page.last is not None:
        names = {**dict.fromkeys(table.key.names), **dict.fromkeys(rows.key.names)}
        answer["LastEvaluatedKey"] = encode_item({name: page.last[name] for name in names})
    return answer
