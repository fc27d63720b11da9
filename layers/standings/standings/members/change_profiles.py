"""Changes and removes profiles. Boards and rankings hold no copy, so nothing else is written."""

from typing import Any

from standings.domain.boards.names import check_member
from standings.domain.profiles.profile import changes_of
from standings.ports.profiles import Profiles
from standings.runtime.retry import READ_TIMEOUT_S, Clock, retrying


class ProfileAdmin:
    """Changes profiles; each change is one write. Raises RequestError."""

    def __init__(self, profiles: Profiles, clock: Clock) -> None:
        self._profiles = retrying(profiles, lambda: clock.backoff_for(READ_TIMEOUT_S))

    def put(self, member: str, document: Any) -> dict[str, Any]:
        """Set the fields that a document has, remove those that are null there, and return the profile."""
        check_member("id", member)
        return self._profiles.change(member, changes_of(document)).fields()

    def remove(self, member: str) -> None:
        """Remove a member's profile, if it has one."""
        check_member("id", member)
        self._profiles.remove(member)
