"""Names of the demo's members follow from their ids alone, and the API takes them."""

from demo import people
from standings.domain.profiles import changes_of

MEMBERS = [f"member-{number}" for number in range(300)]
MADE = {member: people.profile(member) for member in MEMBERS}
NAMED = [profile for profile in MADE.values() if profile is not None]


def test_most_members_have_a_name_and_a_country_that_the_api_takes() -> None:
    assert 0.8 * len(MEMBERS) < len(NAMED) < len(MEMBERS)
    assert all(changes_of(profile) == profile for profile in NAMED)
    assert len({profile["name"] for profile in NAMED}) > len(NAMED) / 3


def test_a_member_has_the_same_name_each_time() -> None:
    assert {member: people.profile(member) for member in reversed(MEMBERS)} == MADE


def test_names_are_of_many_scripts() -> None:
    names = "".join(profile["name"] for profile in NAMED)

    assert all(any(first <= letter <= last for letter in names) for first, last in ("az", "αω", "ая", "اي", "一龥"))
