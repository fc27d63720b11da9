"""Profiles of members."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from standings.domain.profiles.profile import Changes, Profile

PROFILE_TTL_S = 55
"""Seconds for which a process caches a profile. With the delay of an eventually consistent read, a change shows
everywhere within a minute."""


class Match(NamedTuple):
    """A member whose name has a beginning, with the key of its place in the order of names."""

    key: str
    member: str
    profile: Profile


class Profiles(Protocol):
    """All profiles. No error of theirs quotes what a profile holds."""

    def change(self, member: str, changes: Changes) -> Profile:
        """Set and remove fields, in one write; returns the whole profile. A member without one gets one."""

    def remove(self, member: str) -> bool:
        """Remove a profile; whether there was one."""

    def profile(self, member: str) -> Profile | None:
        """Read a profile, strongly consistently; None if the member has none."""

    def profiles(self, members: Sequence[str]) -> dict[str, Profile]:
        """Read profiles, eventually consistently. A member without one is left out."""

    def matches(self, beginning: str, after: Match | None, limit: int) -> list[Match]:
        """Find names by the beginning of their search form, in its order. Fewer than `limit`: the last ones."""
