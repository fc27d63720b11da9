"""What the project expects of queries, batches and items: on the engine, on DynamoDB Local and on moto."""

from __future__ import annotations

from typing import Any

from tests.support.dynamodb.comparison import refusal, stored
from tests.support.dynamodb.things import entry_update, texts

Client = Any
Tables = dict[str, str]


def _key(pk: str, sk: str = "member") -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def _page(client: Client, table: str, **more: Any) -> tuple[list[str], dict[str, Any] | None]:
    answer = client.query(
        **{
            "TableName": table,
            "IndexName": "places",
            "KeyConditionExpression": "r = :r",
            "ExpressionAttributeValues": texts(r="R"),
            **more,
        }
    )
    return [item["s"]["S"] for item in answer["Items"]], answer.get("LastEvaluatedKey")


def test_an_index_is_sparse_and_in_the_order_of_bytes(client: Client, rankings: str) -> None:
    places = ["a", "Z", "é", "z", "\U0001f600", "￿", "10", "2", "~"]
    for number, place in enumerate(places):
        client.update_item(**entry_update(rankings, f"m{number}", place, 1))
    client.put_item(TableName=rankings, Item={"pk": {"S": "unplaced"}, "r": {"S": "R"}})

    assert _page(client, rankings)[0] == sorted(places, key=str.encode)
    assert _page(client, rankings, ScanIndexForward=False)[0] == sorted(places, key=str.encode, reverse=True)


def test_an_index_returns_projected_attributes_only(client: Client, rankings: str) -> None:
    client.update_item(**entry_update(rankings, "m", "1", 7))

    answer = client.query(
        TableName=rankings,
        IndexName="places",
        KeyConditionExpression="r = :r",
        ExpressionAttributeValues=texts(r="R"),
    )

    assert answer["Items"] == [{"pk": {"S": "m"}, "r": {"S": "R"}, "s": {"S": "1"}, "t": {"N": "7"}}]


def test_an_entry_moves_in_its_index_and_leaves_it(client: Client, rankings: str) -> None:
    for version, place in enumerate(["1", "5", "3"], start=1):
        client.update_item(**entry_update(rankings, "m", place, version))
        assert _page(client, rankings)[0] == [place]

    client.update_item(TableName=rankings, Key={"pk": {"S": "m"}}, UpdateExpression="REMOVE r, s")

    assert _page(client, rankings) == ([], None)


def test_pages_follow_each_other_in_both_directions(client: Client, rankings: str) -> None:
    for number in range(7):
        client.update_item(**entry_update(rankings, f"m{number}", f"{number}", 1))
    for forward, order in ((True, list("0123456")), (False, list("6543210"))):
        names: list[str] = []
        start: dict[str, Any] = {}
        while True:
            places, last = _page(client, rankings, Limit=3, ScanIndexForward=forward, **start)
            names += places
            if last is None:
                break
            assert set(last) == {"pk", "r", "s"}
            start = {"ExclusiveStartKey": last}

        assert names == order


def test_a_range_of_an_index(client: Client, rankings: str) -> None:
    for number in range(6):
        client.update_item(**entry_update(rankings, f"m{number}", f"{number}", 1))

    def between(condition: str, **values: str) -> list[str]:
        return _page(
            client,
            rankings,
            KeyConditionExpression=f"r = :r AND {condition}",
            ExpressionAttributeValues=texts(r="R", **values),
        )[0]

    assert between("s > :s", s="3") == ["4", "5"]
    assert between("s <= :s", s="1") == ["0", "1"]
    assert between("s BETWEEN :a AND :b", a="2", b="3") == ["2", "3"]
    assert between("begins_with(s, :s)", s="4") == ["4"]


def test_an_index_is_not_read_consistently(client: Client, rankings: str) -> None:
    error = refusal(lambda: _page(client, rankings, ConsistentRead=True))

    assert error.response["Error"]["Code"] == "ValidationException"


def test_a_page_holds_no_more_than_a_megabyte(client: Client, scores: str) -> None:
    for number in range(12):
        client.put_item(TableName=scores, Item={**_key("b#00", f"{number:02d}"), "x": {"S": "x" * 100_000}})
    query = {
        "TableName": scores,
        "KeyConditionExpression": "pk = :p",
        "ExpressionAttributeValues": texts(p="b#00"),
        "Select": "COUNT",
    }

    first = client.query(**query)
    second = client.query(**query, ExclusiveStartKey=first["LastEvaluatedKey"])

    assert first["Count"] < 12
    assert first["Count"] + second["Count"] == 12


def test_a_scan_in_segments_returns_every_item_once(client: Client, scores: str) -> None:
    for number in range(40):
        client.put_item(TableName=scores, Item=_key(f"b#{number % 13}", str(number)))
    names: list[str] = []
    for segment in range(3):
        start: dict[str, Any] = {}
        while True:
            page = client.scan(TableName=scores, Segment=segment, TotalSegments=3, Limit=4, **start)
            names += [item["sk"]["S"] for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                break
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    assert sorted(names, key=int) == [str(number) for number in range(40)]


def test_a_batch_returns_the_items_that_exist(client: Client, scores: str) -> None:
    for sk in ("a", "b"):
        client.put_item(TableName=scores, Item=_key("p", sk))
    keys = [_key("p", sk) for sk in ("a", "missing", "b")]

    answer = client.batch_get_item(RequestItems={scores: {"Keys": keys, "ConsistentRead": True}})

    assert sorted(item["sk"]["S"] for item in answer["Responses"][scores]) == ["a", "b"]
    assert answer["UnprocessedKeys"] == {}


def test_a_batch_reads_at_most_100_items(client: Client, scores: str) -> None:
    keys = [_key("p", str(number)) for number in range(101)]

    error = refusal(lambda: client.batch_get_item(RequestItems={scores: {"Keys": keys}}))

    assert error.response["Error"]["Code"] == "ValidationException"


def test_numbers_keep_38_digits(client: Client, scores: str) -> None:
    exact = "-1234567890123456789012345678901234567.8"
    client.put_item(TableName=scores, Item={**_key("p"), "x": {"N": exact}})

    assert stored(client, scores, _key("p")) == {**_key("p"), "x": {"N": exact}}


def test_items_are_copies(client: Client, scores: str) -> None:
    item = {**_key("p"), "x": {"S": "before"}, "l": {"L": [{"S": "one"}]}}
    client.put_item(TableName=scores, Item=item)
    item["x"]["S"] = "after"
    item["l"]["L"].append({"S": "two"})
    read = stored(client, scores, _key("p"))
    assert read is not None
    read["l"]["L"].clear()

    assert stored(client, scores, _key("p")) == {**_key("p"), "x": {"S": "before"}, "l": {"L": [{"S": "one"}]}}
