"""Places sort as the numbers and names that they are made of."""

from hypothesis import example, given
from hypothesis import strategies as st

from standings.domain.boards import MAX_UNITS
from standings.domain.scoring import Place, decode_sort_key, sort_key
from standings.domain.tiers import FANOUT, depth, path, sort_value_at

numbers = st.integers(-MAX_UNITS, MAX_UNITS) | st.integers(-300, 300)
members = st.text(min_size=1, max_size=40).map(lambda text: text.encode("utf-8", "ignore").decode() or "m")


@given(st.lists(st.tuples(numbers, st.none() | numbers, members), min_size=2, max_size=30), st.booleans())
@example([*((number, None, "a") for number in (-1, 0, -128, 127, 128)), (-129, None, "b")], False)
def test_sort_keys_order_by_number_then_if_dated_by_instant_then_by_bytes_of_the_member(
    triples: list[tuple[int, int | None, str]], dated: bool
) -> None:
    listed = [(number, (since or 0) if dated else None, member) for number, since, member in triples]
    expected = sorted(listed, key=lambda one: (one[0], one[1] or 0, one[2].encode()))

    assert expected == sorted(listed, key=lambda one: sort_key(Place(one[0], one[1]), one[2]).encode())


@given(numbers, st.none() | numbers, members)
def test_a_sort_key_tells_what_it_was_made_of(number: int, since: int | None, member: str) -> None:
    place = Place(number, since)

    assert (place, member) == decode_sort_key(sort_key(place, member), ties_by_instant=since is not None)


@given(st.lists(numbers, min_size=2, max_size=30))
def test_paths_order_as_numbers_do_and_lead_back(listed: list[int]) -> None:
    assert sorted(listed) == sorted(listed, key=path)
    for number in listed:
        full_path = path(number)
        assert number == sort_value_at(full_path)
        assert len(full_path) == 1 + depth(full_path[0])
        assert all(0 <= digit < FANOUT for digit in full_path)


def test_the_largest_sort_key_fits_dynamodb() -> None:
    assert len(sort_key(Place(-MAX_UNITS, -MAX_UNITS), "x" * 256).encode()) <= 1024
