"""Names of the demo's members follow from their ids alone, and the API takes them."""

from demo import people
from standings.domain.profiles import changes_of

MEMBERS = [f"member-{number}" for number in range(300)]


def test_most_members_have_a_name_and_a_country_that_the_api_takes() -> None:
    made = [profile for member in MEMBERS if (profile := people.profile(member)) is not None]

    assert 0.8 * len(MEMBERS) < len(made) < len(MEMBERS)
    assert all(changes_of(profile) == profile for profile in made)
    assert len({profile["name"] for profile in made}) > len(made) / 3


def test_a_member_has_the_same_name_each_time() -> None:
    forwards = {member: people.profile(member) for member in MEMBERS}

    assert {member: people.profile(member) for member in reversed(MEMBERS)} == forwards


def test_names_are_of_many_scripts() -> None:
    names = "".join(profile["name"] for member in MEMBERS if (profile := people.profile(member)) is not None)

    assert all(any(first <= letter <= last for letter in names) for first, last in ("az", "αω", "ая", "اي", "一龥"))
