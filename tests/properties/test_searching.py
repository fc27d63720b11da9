"""The search form of names: equal for what people take for equal, and a beginning stays a beginning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from standings.domain.errors import InvalidBodyError
from standings.domain.profiles.profile import changes_of
from standings.domain.profiles.searching import begins_with, search_form

ALPHABET = st.one_of(
    st.characters(codec="utf-8"),
    st.sampled_from("ÁáßẞİıΣςσŉǰﬁ①㋿ﷺ가각ガパ\u0301\u0323\u0345\u1fb3\u1e9b\u0f73 "),
)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("AD", "Ádám"),
        ("ádám", "ADAM"),
        ("stras", "Straße"),
        ("ma\N{LATIN SMALL LETTER SHARP S}", "MASSE"),
        ("用户", "用户一"),
        ("ガ", "ガンダム"),
        ("ΟΔΥΣ", "οδυσσεύς"),
        ("οδυς", "ΟΔΥΣΣΕΥΣ"),
        ("김", "김연아"),
        ("기", "김연아"),
        ("שלום", "שָׁלוֹם"),
        ("ли", "ЛИЗА"),
        ("\uff21\uff24", "ada"),
        ("ad ", "Ada"),
    ],
)
def test_what_is_typed_finds_a_name(typed: str, name: str) -> None:
    assert begins_with(name, search_form(typed))


@pytest.mark.parametrize(("typed", "name"), [("da", "Ada"), ("adb", "Ada"), ("ada l", "Ada")])
def test_what_is_no_beginning_finds_nothing(typed: str, name: str) -> None:
    assert not begins_with(name, search_form(typed))


@given(st.text(ALPHABET, max_size=64), st.integers(0, 64))
def test_every_beginning_of_a_name_finds_it(text: str, length: int) -> None:
    try:
        (name,) = changes_of({"name": text}).values()
    except InvalidBodyError:
        return
    assert name is not None

    assert begins_with(name, search_form(name[:length]))
    assert search_form(search_form(name)) == search_form(name)
