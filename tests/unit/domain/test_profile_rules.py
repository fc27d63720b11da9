"""What a profile may hold, that a refusal never shows what it refuses, and how names are searched for."""

import json
import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standings.domain.errors import InvalidBodyError
from standings.domain.profiles import changes_of, search_form

ACCEPTED: list[tuple[dict[str, Any], dict[str, str | None]]] = [
    ({"name": "Ada"}, {"name": "Ada"}),
    ({"name": "  Ada\n"}, {"name": "Ada"}),
    ({"name": "A\u0301da\u0301m"}, {"name": "Ádám"}),
    ({"name": "e\u0301" * 64}, {"name": "é" * 64}),
    ({"name": "用户"}, {"name": "用户"}),
    ({"name": "<script>alert(1)</script>"}, {"name": "<script>alert(1)</script>"}),
    ({"name": "א\u200fב"}, {"name": "א\u200fב"}),
    ({"name": "\u0390" * 64}, {"name": "\u0390" * 64}),
    ({"name": " " * 500 + "\u03b9\u0308\u0301" * 64}, {"name": "\u0390" * 64}),
    ({"name": "हिन्दी"}, {"name": "हिन्दी"}),
    ({"name": None}, {"name": None}),
    ({"picture": "https://pictures.example"}, {"picture": "https://pictures.example"}),
    ({"picture": "https://192.0.2.1:8443/a.png?s=2#x"}, {"picture": "https://192.0.2.1:8443/a.png?s=2#x"}),
    ({"picture": "https://a.example/" + "x" * 494}, {"picture": "https://a.example/" + "x" * 494}),
    ({"country": "DE", "picture": None}, {"country": "DE", "picture": None}),
    ({"data": {}}, {"data": "{}"}),
    ({"data": {"a": [1.5, "ä"]}}, {"data": '{"a":[1.5,"ä"]}'}),
    ({"data": {"x": "y" * 1016}}, {"data": '{"x":"' + "y" * 1016 + '"}'}),
]

REFUSED: list[tuple[Any, str]] = [
    (None, 'expected an object such as {"name": "Ada"}, got null'),
    ([], "expected an object"),
    ("secret", "got text"),
    ({}, "expected at least one of name, picture, country, data"),
    ({"nickname": "secret"}, "nickname: no such field; there are name, picture, country, data"),
    ({"a\n" + "b" * 500: 1}, "a\\n" + "b" * 38 + ": no such field"),
    *(
        ({"name": name}, f"name: expected 1 to 64 characters, got {length}")
        for name, length in (("", 0), (" \t", 0), ("secret" * 11, 66), ("x" * 65, 65), ("e\u0301" * 65, 65))
    ),
    ({"name": "\u0301"}, "name: expected a letter before the mark U+0301"),
    ({"name": "  \u0489secret"}, "name: expected a letter before the mark U+0489"),
    ({"name": "\u20e3secret"}, "name: expected a letter before the mark U+20E3"),
    ({"name": 7}, "name: expected text or null, got a number"),
    ({"name": True}, "name: expected text or null, got true or false"),
    ({"name": ["secret"]}, "name: expected text or null, got a list"),
    ({"name": "sec\x00ret"}, "name: expected no control or bidirectional-override characters, got U+0000"),
    *(({"name": f"sec{mark}ret"}, f"got U+{ord(mark):04X}") for mark in "\x85\u2028\u2066"),
    ({"name": "\u202esecret"}, "got U+202E"),
    ({"picture": "http://secret.example/a.png"}, "picture: expected an address such as https://"),
    *(
        ({"picture": address}, "picture: expected an address")
        for address in (
            *("", "https://", "https://-secret/", " https://secret.example/", "HTTPS://secret.example/"),
            *("//secret.example/a.png", "javascript:secret()", "data:image/png;base64,secret"),
            *("https://secret@a.example/", "https://user:secret@a.example/", "https://secret.example:port/"),
            *("https://secret.example\\a", "https://secret.example\n", "https://secret.example/a b"),
            *("https://secret.example/\u202e", 'https://secret.example/"><script>'),
        )
    ),
    ({"picture": "https://a.example/" + "x" * 495}, "picture: expected at most 512 characters, got 513"),
    ({"picture": 1.5}, "picture: expected text or null, got a number"),
    ({"country": "de"}, "country: expected two capital letters such as DE"),
    ({"country": "DEU"}, "country: expected two capital letters"),
    ({"country": "D\n"}, "country: expected two capital letters"),
    ({"country": {}}, "country: expected text or null, got an object"),
    ({"data": ["secret"]}, "data: expected an object, got a list"),
    ({"data": "secret"}, "data: expected an object, got text"),
    ({"data": {"x": "y" * 1017}}, "data: expected at most 1024 bytes as JSON without spaces, got 1025"),
    ({"data": {"x": json.loads("[" * 400 + "]" * 400)}}, "data: expected fewer levels of nesting"),
]


@pytest.mark.parametrize(("document", "changes"), ACCEPTED, ids=range(len(ACCEPTED)))
def test_what_is_accepted(document: dict[str, Any], changes: dict[str, str | None]) -> None:
    assert changes_of(document) == changes


@pytest.mark.parametrize(("document", "detail"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_refused_and_why(document: Any, detail: str) -> None:
    with pytest.raises(InvalidBodyError) as refused:
        changes_of(document)

    assert detail in str(refused.value)
    assert "secret" not in str(refused.value)


def test_a_long_name_is_refused_before_it_is_composed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Composing a million marks takes hours."""
    with monkeypatch.context() as patched:
        patched.setattr(unicodedata, "normalize", pytest.fail)
        with pytest.raises(InvalidBodyError, match="got 1000001"):
            changes_of({"name": "e" + "\u0301\u0316" * 500_000})


# ---- the search form of names: equal for what people take for equal, and a beginning stays a beginning


ALPHABET = st.one_of(
    st.characters(codec="utf-8"), st.sampled_from("ÁáßẞİıΣςσŉǰﬁ①㋿ﷺ가각ガパ\u0301\u0323\u0345\u1fb3\u1e9b\u0f73 ")
)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        *(("AD", "Ádám"), ("ádám", "ADAM"), ("stras", "Straße"), ("ma\N{LATIN SMALL LETTER SHARP S}", "MASSE")),
        *(
            ("用户", "用户一"),
            ("ガ", "ガンダム"),
            ("ΟΔΥΣ", "οδυσσεύς"),
            ("οδυς", "ΟΔΥΣΣΕΥΣ"),
            ("김", "김연아"),
            ("기", "김연아"),
        ),
        *(("שלום", "שָׁלוֹם"), ("ли", "ЛИЗА"), ("\uff21\uff24", "ada"), ("ad ", "Ada"), ("łodz", "Łódź")),
    ],
)
def test_what_is_typed_finds_a_name(typed: str, name: str) -> None:
    assert search_form(name).startswith(search_form(typed))


@pytest.mark.parametrize(("typed", "name"), [("da", "Ada"), ("adb", "Ada"), ("ada l", "Ada"), ("lodz", "Łódź")])
def test_what_is_no_beginning_finds_nothing(typed: str, name: str) -> None:
    assert not search_form(name).startswith(search_form(typed))


@given(st.text(ALPHABET, max_size=64), st.integers(0, 64))
def test_every_beginning_of_a_name_finds_it(text: str, length: int) -> None:
    try:
        (name,) = changes_of({"name": text}).values()
    except InvalidBodyError:
        return
    assert name is not None

    assert search_form(name).startswith(search_form(name[:length]))
    assert search_form(search_form(name)) == search_form(name)
