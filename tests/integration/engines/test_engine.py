"""What the project takes DynamoDB for, on the engine, on DynamoDB Local and on moto."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from botocore.exceptions import ClientError

from tests.integration.engines.comparison import numbers, texts
from tests.support.dynamodb.engine import Engine

if TYPE_CHECKING:
    from collections.abc import Callable

Client = Any
Tables = dict[str, str]


@pytest.fixture
def scores(tables: Tables) -> str:
    return tables["ScoresTable"]


@pytest.fixture
def rankings(tables: Tables) -> str:
    return tables["RankingsTable"]


def _key(pk: str, sk: str = "member") -> dict[str, Any]:
    return {"pk": {"S": pk}, "sk": {"S": sk}}


def _item(client: Client, table: str, key: dict[str, Any]) -> dict[str, Any] | None:
    found: dict[str, Any] | None = client.get_item(TableName=table, Key=key, ConsistentRead=True).get("Item")
    return found


def _refusal(call: Callable[[], Any]) -> ClientError:
    with pytest.raises(ClientError) as refused:
        call()
    return refused.value


def _codes(error: ClientError) -> list[str]:
    return [reason["Code"] for reason in error.response["CancellationReasons"]]


def _is_moto(client: Client) -> bool:
    return not isinstance(client, Engine) and "amazonaws.com" in client.meta.endpoint_url


def _entry(table: str, pk: str, place: str, version: int, **more: Any) -> dict[str, Any]:
    return {
        "TableName": table,
        "Key": {"pk": {"S": pk}},
        "UpdateExpression": "SET r = :r, s = :s, v = :v, t = :v",
        "ConditionExpression": "attribute_not_exists(pk) OR v < :v",
        "ExpressionAttributeValues": {**texts(r="R", s=place), **numbers(v=version)},
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        **more,
    }


def test_a_transaction_is_applied_whole(client: Client, scores: str, tables: Tables) -> None:
    receipt = {"TableName": tables["ReceiptsTable"], "Item": {"pk": {"S": "e1"}, "d": {"B": b"\x01"}}}
    client.transact_write_items(
        TransactItems=[
            {"Put": {**receipt, "ConditionExpression": "attribute_not_exists(pk)"}},
            {
                "Update": {
                    "TableName": scores,
                    "Key": _key("b#00"),
                    "UpdateExpression": "SET t = :t ADD v :one, a7Q :x",
                    "ExpressionAttributeValues": numbers(t=1_700_000_000_000, one=1, x="2.5"),
                }
            },
        ]
    )

    assert _item(client, tables["ReceiptsTable"], {"pk": {"S": "e1"}}) == receipt["Item"]
    assert _item(client, scores, _key("b#00")) == {
        **_key("b#00"),
        "t": {"N": "1700000000000"},
        "v": {"N": "1"},
        "a7Q": {"N": "2.5"},
    }


def test_a_failed_condition_cancels_all_and_gives_the_row(client: Client, rankings: str) -> None:
    client.transact_write_items(TransactItems=[{"Update": _entry(rankings, "m1", "1", 5)}])

    error = _refusal(
        lambda: client.transact_write_items(
            TransactItems=[
                {"Update": _entry(rankings, "m0", "0", 1)},
                {"Update": _entry(rankings, "m1", "9", 5)},
                {"Update": _entry(rankings, "m2", "2", 1)},
            ]
        )
    )

    assert error.response["Error"]["Code"] == "TransactionCanceledException"
    assert _codes(error) == ["None", "ConditionalCheckFailed", "None"]
    reasons = error.response["CancellationReasons"]
    assert reasons[1]["Item"] == {
        "pk": {"S": "m1"},
        "r": {"S": "R"},
        "s": {"S": "1"},
        "v": {"N": "5"},
        "t": {"N": "5"},
    }
    assert "Item" not in reasons[0]
    assert _item(client, rankings, {"pk": {"S": "m0"}}) is None


def test_a_row_comes_back_only_where_it_was_asked_for(client: Client, rankings: str) -> None:
    client.put_item(TableName=rankings, Item={"pk": {"S": "m"}})
    put = {"TableName": rankings, "Item": {"pk": {"S": "m"}}, "ConditionExpression": "attribute_not_exists(pk)"}

    error = _refusal(lambda: client.transact_write_items(TransactItems=[{"Put": put}]))

    assert _codes(error) == ["ConditionalCheckFailed"]
    assert "Item" not in error.response["CancellationReasons"][0]


def test_an_absent_row_comes_back_as_none(client: Client, rankings: str) -> None:
    check = {
        "TableName": rankings,
        "Key": {"pk": {"S": "m"}},
        "ConditionExpression": "attribute_exists(pk)",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }

    error = _refusal(lambda: client.transact_write_items(TransactItems=[{"ConditionCheck": check}]))

    assert not error.response["CancellationReasons"][0].get("Item")


def test_a_single_failed_condition_gives_the_row(client: Client, rankings: str) -> None:
    client.put_item(TableName=rankings, Item={"pk": {"S": "m"}, "v": {"N": "3"}})

    error = _refusal(
        lambda: client.put_item(
            TableName=rankings,
            Item={"pk": {"S": "m"}},
            ConditionExpression="v < :v",
            ExpressionAttributeValues=numbers(v=3),
            ReturnValuesOnConditionCheckFailure="ALL_OLD",
        )
    )

    assert error.response["Error"]["Code"] == "ConditionalCheckFailedException"
    response: dict[str, Any] = {**error.response}
    assert response["Item"] == {"pk": {"S": "m"}, "v": {"N": "3"}}
    assert isinstance(error, client.exceptions.ConditionalCheckFailedException)


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("attribute_not_exists(x)", True),
        ("x = :v", False),
        ("x <> :v", True),
        ("x < :v", False),
        ("NOT x < :v", True),
        ("NOT x BETWEEN :v AND :v", True),
        ("x IN (:v)", False),
        ("v = :v AND NOT (x = :v OR v <> :v)", True),
        ("attribute_not_exists(pk) OR v <= :v", True),
    ],
)
def test_conditions_on_what_is_missing(client: Client, rankings: str, condition: str, holds: bool) -> None:
    client.put_item(TableName=rankings, Item={"pk": {"S": "m"}, "v": {"N": "3"}})
    values = {"ExpressionAttributeValues": numbers(v=3)} if ":v" in condition else {}

    def check() -> None:
        client.update_item(
            TableName=rankings,
            Key={"pk": {"S": "m"}},
            UpdateExpression="REMOVE w",
            ConditionExpression=condition,
            **values,
        )

    if holds:
        check()
    else:
        assert _refusal(check).response["Error"]["Code"] == "ConditionalCheckFailedException"


def _plain(count: int) -> list[dict[str, Any]]:
    return [{"Put": {"TableName": "Rankings", "Item": {"pk": {"S": f"m{i}"}}}} for i in range(count)]


@pytest.mark.parametrize(
    "actions",
    [
        pytest.param(_plain(101), id="more than 100"),
        pytest.param(_plain(1) * 2, id="one item twice"),
        pytest.param([{"Put": {"TableName": "Rankings", "Item": {"pk": {"S": ""}}}}], id="empty key"),
        pytest.param(
            [{"Put": {"TableName": "Rankings", "Item": {"pk": {"S": "m"}, "x": {"S": "x" * 409_600}}}}],
            id="too large",
        ),
        pytest.param(
            [
                {
                    "Update": {
                        "TableName": "Rankings",
                        "Key": {"pk": {"S": "m"}},
                        "UpdateExpression": "SET v = :v",
                        "ExpressionAttributeValues": numbers(v=1, unused=1),
                    }
                }
            ],
            id="unused value",
        ),
        pytest.param(
            [
                {
                    "Update": {
                        "TableName": "Rankings",
                        "Key": {"pk": {"S": "m"}},
                        "UpdateExpression": "SET v = :v, w = :missing",
                        "ExpressionAttributeValues": numbers(v=1),
                    }
                }
            ],
            id="missing value",
        ),
    ],
)
@pytest.mark.usefixtures("tables")
def test_a_transaction_that_can_never_succeed_is_invalid(
    client: Client, actions: list[dict[str, Any]], request: pytest.FixtureRequest
) -> None:
    if _is_moto(client) and "unused" in request.node.name:
        pytest.xfail("moto lets unused values of a transaction pass")
    error = _refusal(lambda: client.transact_write_items(TransactItems=actions))

    assert error.response["Error"]["Code"] == "ValidationException"
    assert _item(client, "Rankings", {"pk": {"S": "m0"}}) is None


def test_adding_to_what_is_no_number_is_invalid(client: Client, rankings: str) -> None:
    client.put_item(TableName=rankings, Item={"pk": {"S": "m"}, "v": {"S": "text"}})

    error = _refusal(
        lambda: client.update_item(
            TableName=rankings,
            Key={"pk": {"S": "m"}},
            UpdateExpression="ADD v :v",
            ExpressionAttributeValues=numbers(v=1),
        )
    )

    assert error.response["Error"]["Code"] == "ValidationException"


def test_the_same_token_counts_once(client: Client, rankings: str) -> None:
    if _is_moto(client):
        pytest.xfail("moto ignores ClientRequestToken")
    add = {
        "TableName": rankings,
        "Key": {"pk": {"S": "m"}},
        "UpdateExpression": "ADD v :v",
        "ExpressionAttributeValues": numbers(v=1),
    }
    other = {**add, "ExpressionAttributeValues": numbers(v=2)}

    for _ in range(3):
        client.transact_write_items(TransactItems=[{"Update": add}], ClientRequestToken="one")
    client.transact_write_items(TransactItems=[{"Update": add}], ClientRequestToken="two")
    error = _refusal(lambda: client.transact_write_items(TransactItems=[{"Update": other}], ClientRequestToken="one"))

    assert error.response["Error"]["Code"] == "IdempotentParameterMismatchException"
    assert _item(client, rankings, {"pk": {"S": "m"}}) == {"pk": {"S": "m"}, "v": {"N": "2"}}


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
        client.update_item(**_entry(rankings, f"m{number}", place, 1))
    client.put_item(TableName=rankings, Item={"pk": {"S": "unplaced"}, "r": {"S": "R"}})

    assert _page(client, rankings)[0] == sorted(places, key=str.encode)
    assert _page(client, rankings, ScanIndexForward=False)[0] == sorted(places, key=str.encode, reverse=True)


def test_an_index_shows_what_is_projected_and_nothing_else(client: Client, rankings: str) -> None:
    client.update_item(**_entry(rankings, "m", "1", 7))

    answer = client.query(
        TableName=rankings,
        IndexName="places",
        KeyConditionExpression="r = :r",
        ExpressionAttributeValues=texts(r="R"),
    )

    assert answer["Items"] == [{"pk": {"S": "m"}, "r": {"S": "R"}, "s": {"S": "1"}, "t": {"N": "7"}}]


def test_an_entry_moves_in_its_index_and_leaves_it(client: Client, rankings: str) -> None:
    for version, place in enumerate(["1", "5", "3"], start=1):
        client.update_item(**_entry(rankings, "m", place, version))
        assert _page(client, rankings)[0] == [place]

    client.update_item(TableName=rankings, Key={"pk": {"S": "m"}}, UpdateExpression="REMOVE r, s")

    assert _page(client, rankings) == ([], None)


def test_pages_follow_each_other_in_both_directions(client: Client, rankings: str) -> None:
    for number in range(7):
        client.update_item(**_entry(rankings, f"m{number}", f"{number}", 1))
    for forward, order in ((True, list("0123456")), (False, list("6543210"))):
        found: list[str] = []
        start: dict[str, Any] = {}
        while True:
            places, last = _page(client, rankings, Limit=3, ScanIndexForward=forward, **start)
            found += places
            if last is None:
                break
            assert set(last) == {"pk", "r", "s"}
            start = {"ExclusiveStartKey": last}

        assert found == order


def test_a_range_of_an_index(client: Client, rankings: str) -> None:
    for number in range(6):
        client.update_item(**_entry(rankings, f"m{number}", f"{number}", 1))

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
    error = _refusal(lambda: _page(client, rankings, ConsistentRead=True))

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


def test_a_scan_in_segments_meets_every_item_once(client: Client, scores: str) -> None:
    for number in range(40):
        client.put_item(TableName=scores, Item=_key(f"b#{number % 13}", str(number)))
    found: list[str] = []
    for segment in range(3):
        start: dict[str, Any] = {}
        while True:
            page = client.scan(TableName=scores, Segment=segment, TotalSegments=3, Limit=4, **start)
            found += [item["sk"]["S"] for item in page["Items"]]
            if "LastEvaluatedKey" not in page:
                break
            start = {"ExclusiveStartKey": page["LastEvaluatedKey"]}

    assert sorted(found, key=int) == [str(number) for number in range(40)]


def test_a_batch_reads_what_there_is(client: Client, scores: str) -> None:
    for sk in ("a", "b"):
        client.put_item(TableName=scores, Item=_key("p", sk))
    keys = [_key("p", sk) for sk in ("a", "missing", "b")]

    answer = client.batch_get_item(RequestItems={scores: {"Keys": keys, "ConsistentRead": True}})

    assert sorted(item["sk"]["S"] for item in answer["Responses"][scores]) == ["a", "b"]
    assert answer["UnprocessedKeys"] == {}


def test_a_batch_reads_no_more_than_a_hundred(client: Client, scores: str) -> None:
    keys = [_key("p", str(number)) for number in range(101)]

    error = _refusal(lambda: client.batch_get_item(RequestItems={scores: {"Keys": keys}}))

    assert error.response["Error"]["Code"] == "ValidationException"


def test_numbers_keep_38_digits(client: Client, scores: str) -> None:
    exact = "-1234567890123456789012345678901234567.8"
    client.put_item(TableName=scores, Item={**_key("p"), "x": {"N": exact}})

    assert _item(client, scores, _key("p")) == {**_key("p"), "x": {"N": exact}}


def test_what_is_read_is_nobody_elses(client: Client, scores: str) -> None:
    given = {**_key("p"), "x": {"S": "before"}, "l": {"L": [{"S": "one"}]}}
    client.put_item(TableName=scores, Item=given)
    given["x"]["S"] = "after"
    given["l"]["L"].append({"S": "two"})
    read = _item(client, scores, _key("p"))
    assert read is not None
    read["l"]["L"].clear()

    assert _item(client, scores, _key("p")) == {**_key("p"), "x": {"S": "before"}, "l": {"L": [{"S": "one"}]}}
