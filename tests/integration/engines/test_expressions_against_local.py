"""Conditions and updates: the engine answers as DynamoDB Local does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.dynamodb.comparison import assert_same
from tests.support.dynamodb.engine import Engine
from tests.support.dynamodb.things import key, numbers, texts

Request = tuple[str, dict[str, Any]]


def _update(expression: str | None, values: dict[str, Any] | None = None, **more: Any) -> Request:
    request: dict[str, Any] = {"TableName": "Things", "Key": key("a"), "ReturnValues": "ALL_NEW", **more}
    if expression is not None:
        request["UpdateExpression"] = expression
    if values is not None:
        request["ExpressionAttributeValues"] = values
    return "update_item", request


def _if(condition: str, values: dict[str, Any] | None = None, **more: Any) -> Request:
    return _update("REMOVE nothing", values, ConditionExpression=condition, **more)


EXPRESSIONS: list[Request] = [
    # conditions
    *(
        _if(text, numbers(v=1, w=2))
        for text in (
            "n = :v AND NOT n = :w",
            "n < :w AND n >= :v",
            "NOT (n <> :v) AND n < :w",
            "gone = :v OR gone < :w",
            "NOT gone = :v AND :w > :v",
            "gone <> :v AND n < :w",
            "n BETWEEN :v AND :w",
            "NOT gone BETWEEN :v AND :w",
            "n IN (:w, :v)",
            "gone IN (:w, :v)",
            "(n = :v) and (attribute_exists(pk) or n > :w)",
            "n = :v OR n = :w AND attribute_exists(gone)",
            "size(t) > :w AND size(by) > :v",
            "size(tags) = :w AND size(gone) < :v",
            "size(li) = :w AND size(ma) > :v",
            "t < :w OR f = :v",
            "n BETWEEN :w AND :v",
            "((n = :v)) AND n < :w",
            "attribute_exists(by) AND n < :w AND n >= :v",
            "attribute_exists(gone) AND n < :w OR n > :v",
            "attribute_not_exists(gone) OR n <= :v AND n > :w",
            "attribute_not_exists(n) OR n <= :v AND n < :w",
            "attribute_not_exists(n) OR n <= :v AND n > :w",
            "n = :v AND",
            "n == :v AND n < :w",
            "n = n AND :v < :w",
            "n = :v AND (n < :w",
            "ATTRIBUTE_EXISTS(n) AND :v < :w",
            "attribute_exists(:v) AND :v < :w",
            "li[0] = :v AND :v < :w",
            "li[7] = :v AND :v < :w",
            "ma.inner = :v AND :v < :w",
            "begins_with(t, :v) AND :v < :w",
            "nothing(n, :v) AND :v < :w",
            "n > :v AND status = :w",
            " OR ".join(["n = :v"] * 200),
            "n = :unknown",
        )
    ),
    *(
        _if(text, texts(a="te", b="S"))
        for text in (
            "begins_with(t, :a) AND attribute_type(t, :b)",
            "contains(t, :a) AND contains(tags, :b)",
            "attribute_type(gone, :b) OR begins_with(n, :a)",
            "t > :a AND t < :b",
            "t BETWEEN :b AND :a",
        )
    ),
    *(
        _if(text, {":b": {"B": b"\x01"}})
        for text in ("by < :b", "attribute_not_exists(by) OR by <= :b", "by > :b", "gone < :b OR n < :b")
    ),
    _if("f < :f", {":f": {"BOOL": True}}),
    _if("f = :f AND by = :by", {":f": {"BOOL": False}, ":by": {"B": b"\x00\xff"}}),
    _if("d = :d", numbers(d="1.5000")),
    _if("#n = :n", numbers(n=1), ExpressionAttributeNames={"#n": "n"}),
    _if("#n = :n", numbers(n=1)),
    _if("n = :n", numbers(n=1), ExpressionAttributeNames={"#n": "n"}),
    _if("n = :n", numbers(n=1, m=2)),
    _if("n = :n", numbers(n=2), ReturnValuesOnConditionCheckFailure="ALL_OLD"),
    _if("attribute_exists(pk)", Key=key("none"), ReturnValuesOnConditionCheckFailure="ALL_OLD"),
    _if("attribute_exists(n)", {}),
    # updates
    *(
        _update(text, numbers(v=5))
        for text in (
            "SET n = :v",
            "SET n = n + :v",
            "SET n = n - :v",
            "SET n = :v - n, d = d + :v",
            "SET n = n + d REMOVE d ADD c :v",
            "SET n = if_not_exists(n, :v), m = if_not_exists(m, :v)",
            "SET m = if_not_exists(m, :v) + :v",
            "SET m = if_not_exists(m, if_not_exists(n, :v))",
            "set m = (n + :v) remove n",
            "SET m = n, n = :v",
            "SET m = ma, k = li, j = :v",
            "SET m = gone, n = :v",
            "SET n = gone + :v",
            "SET n = t + :v",
            "SET n = n + n + :v",
            "SET n = :v,",
            "SET n :v",
            "SET n = :v SET m = :v",
            "SET n = :v, n = :v",
            "SET n = :v REMOVE n",
            "SET pk = :v",
            "SET status = :v",
            "SET _a = :v",
            "ADD n :v, m :v",
            "ADD d :v",
            "ADD t :v",
            "ADD tags :v",
            "ADD n = :v",
            "ADD n n",
            "DELETE n :v",
            "REMOVE n, gone ADD m :v",
            "REMOVE n ADD :v n",
            "UNSET n = :v",
            "",
            "SET n = if_not_exists(n, m) + :v",
            "SET n = nothing(n, :v)",
            "SET n = :v" + " " * 4100,
        )
    ),
    *(_update("SET n = :v", {":v": value}) for value in ({"S": "text"}, {"N": "12e-2"}, {"NULL": True})),
    *(
        _update(text, {":v": {"N": number}})
        for text in ("SET c = :v", "ADD d :v")
        for number in (
            *("0", "-0", "00012", "1e3", "-1.50", "0.1", "1E-130", "9.9e125", "1e126", "1e-131"),
            *("9" * 38, "9" * 39, "0.1" + "0" * 50, "1" + "0" * 60, "abc", "", " 1", "1_0", "NaN", "1e", ".5", "5."),
        )
    ),
    _update("ADD n :v", texts(v="text")),
    _update("ADD tags :v", {":v": {"SS": ["y", "z"]}}),
    _update("DELETE tags :v", {":v": {"SS": ["y", "z"]}}),
    _update("DELETE tags :v", {":v": {"SS": ["y", "x"]}}),
    _update("DELETE gone :v", {":v": {"SS": ["y", "x"]}}),
    _update("ADD tags :v", {":v": {"NS": ["1"]}}),
    _update("SET li = list_append(li, :v)", {":v": {"L": [{"N": "3"}]}}),
    _update("SET li = list_append(:v, t)", {":v": {"L": [{"N": "3"}]}}),
    *(
        _update(text, {":v": {"L": [{"N": "3"}, {"B": b"\x01"}]}})
        for text in (
            "SET li = list_append(:v, li)",
            "SET li = list_append(li, list_append(:v, :v))",
            "SET li = list_append(if_not_exists(li, :v), :v), k = list_append(if_not_exists(k, :v), :v)",
            "SET li = list_append(gone, :v)",
            "SET k = list_append(list_append(:v, :v), :v)",
            "SET k = if_not_exists(k, list_append(:v, :v))",
            "SET k = list_append(li, :v) REMOVE li[0]",
            "SET li = list_append(li, :v) REMOVE li[0]",
        )
    ),
    *(
        _update(text)
        for text in (
            "REMOVE li[0]",
            "REMOVE li[0], li[1]",
            "REMOVE li[1], li[0]",
            "REMOVE li[1], li[7], n",
            "REMOVE li[7]",
            "REMOVE li[0], li[0]",
            "REMOVE li[0], li",
            "REMOVE li, li[0]",
            "REMOVE li[0], li[1], li[2], li[3]",
            "REMOVE t[0]",
            "REMOVE gone[0]",
            "REMOVE gone[0], n",
            "REMOVE tags[0]",
            "REMOVE li[x]",
        )
    ),
    _update("REMOVE li[0] ADD n :v", numbers(v=5)),
    _update("REMOVE li[1] SET n = :v", numbers(v=5), ConditionExpression="attribute_exists(li[1]) AND n < :v"),
    _update("REMOVE #l[0]", ExpressionAttributeNames={"#l": "li"}),
    _update("REMOVE li[0]", Key=key("none")),
    *(_update("REMOVE li[1] SET n = :v", numbers(v=7), ReturnValues=values) for values in ("NONE", "ALL_OLD")),
    *(_update("SET t = :v ADD n :n, m :n", {**texts(v="other"), **numbers(n=2)}, Key=key(pk)) for pk in ("a", "none")),
    _update("REMOVE n", Key=key("none")),
    _update(None, Key=key("none")),
    _update("ADD n :v", numbers(v=0), Key=key("none")),
    *(
        _update("SET n = :v, m = :v REMOVE t", numbers(v=7), ReturnValues=values)
        for values in ("NONE", "ALL_OLD", "ALL_NEW", "UPDATED_OLD", "UPDATED_NEW")
    ),
    _update("SET r = :r, s = :s", texts(r="R", s="S")),
    _update("SET r = :r", numbers(r=1)),
    _update("SET r = :r", texts(r="")),
    _update("SET r = :r", texts(r="r" * 2049)),
    _update("SET r = :r, s = :s", texts(r="r" * 2048, s="s" * 1025)),
    _update("SET y = :y", texts(y="1234"), Key=key("full"), ReturnValues="NONE"),
    _update("SET y = :y", texts(y="12345"), Key=key("full"), ReturnValues="NONE"),
    _update(
        "ADD " + ", ".join(f"#a{i}q :v" for i in range(200)),
        numbers(v=1),
        ExpressionAttributeNames={f"#a{i}q": f"a{i}q" for i in range(200)},
    ),
]


@pytest.mark.parametrize("request_", EXPRESSIONS, ids=lambda request: f"{request[0]}-{str(request[1])[:80]}")
def test_one_request_has_the_same_answer_and_effect(pair: tuple[Engine, Any], request_: Request) -> None:
    method, arguments = request_

    assert_same(*pair, method, **arguments)
