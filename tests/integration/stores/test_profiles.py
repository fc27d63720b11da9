"""Profiles keep their contract on the engine, on DynamoDB Local and on moto."""

from standings.aws.dynamodb.profiles.profiles import DynamoProfiles
from standings.domain.profiles.profile import Profile
from standings.domain.profiles.searching import search_form


def test_fields_are_set_and_removed_one_by_one(profiles: DynamoProfiles) -> None:
    picture = "https://a.example/1"

    assert profiles.profile("u1") is None
    assert profiles.change("u1", {"name": "Ada", "data": "{}"}) == Profile("Ada", data="{}")
    assert profiles.change("u1", {"picture": picture, "data": None}) == Profile("Ada", picture)
    assert profiles.change("u1", {"country": None}) == Profile("Ada", picture)
    assert profiles.change("u2", {"name": None}) == Profile()
    assert profiles.profile("u1") == Profile("Ada", picture)
    assert profiles.profiles(["u1", "u2", "u3"]) == {"u1": Profile("Ada", picture), "u2": Profile()}
    for _ in range(2):
        profiles.remove("u1")
    assert profiles.profile("u1") is None


def test_names_are_found_in_order_and_read_on_from_a_match(profiles: DynamoProfiles) -> None:
    names = {"u1": "Ádám", "u2": "ada", "u3": "Ada B", "u4": "Bob", "u5": "a", "u6": "ADA", "u7": "\u0301"}
    for member, name in names.items():
        profiles.change(member, {"name": name})
    found = profiles.matches(search_form("AD"), None, 10)

    assert [one.member for one in found] == ["u2", "u6", "u3", "u1"]
    assert [one.profile.name for one in found] == ["ada", "ADA", "Ada B", "Ádám"]
    assert profiles.matches("ad", None, 2) == found[:2]
    assert profiles.matches("ad", found[1], 2) == found[2:]
    assert profiles.matches("ad", found[3], 2) == []
    assert profiles.matches("ada b", None, 2) == found[2:3]
    profiles.change("u6", {"name": "Bo"})
    profiles.change("u2", {"name": None})
    profiles.remove("u3")
    assert [one.member for one in profiles.matches("ad", None, 10)] == ["u1"]
    assert [one.member for one in profiles.matches("bo", None, 10)] == ["u6", "u4"]


def test_more_than_a_hundred_profiles_are_read(profiles: DynamoProfiles) -> None:
    members = [f"u{number}" for number in range(101)]
    for member in members:
        profiles.change(member, {"name": member})

    assert profiles.profiles(members) == {member: Profile(member) for member in members}
