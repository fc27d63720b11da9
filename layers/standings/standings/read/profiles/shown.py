"""Profiles: one by itself, and those of all members in another answer."""

from collections.abc import Iterator
from typing import Any

from standings.domain.boards.names import check_member
from standings.domain.errors import not_found
from standings.domain.profiles.profile import Profile
from standings.ports.profiles import PROFILE_TTL_S, Profiles
from standings.read.reader import Request
from standings.runtime.retry import Clock, retrying
from standings.runtime.ttl_cache import TtlCache

_NONE = Profile()  # Stands for a member without a profile: the cache holds no None


class People:
    """The profiles of a stack. Requests share a cache, which only `show` reads."""

    def __init__(self, store: Profiles, clock: Clock) -> None:
        self._store = store
        self._cache: TtlCache[str, Profile] = TtlCache(clock, PROFILE_TTL_S)

    def profiles(self, request: Request) -> Profiles:
        """The store, which retries each read until the request's deadline."""
        return retrying(self._store, request.backoff)

    def profile(self, request: Request, member: str) -> dict[str, Any]:
        """A member's profile, as it is now; NotFoundError if there is none."""
        check_member("id", member)
        profile = self.profiles(request).profile(member)
        if profile is None:
            raise not_found("no-such-member", "No such member", f"{member!r} has no profile")
        return profile.fields()

    def show(self, request: Request, answer: dict[str, Any]) -> dict[str, Any]:
        """The answer, in which each object that names a `member` also has its `profile`, or None."""
        shown = list(_members(answer))
        known = self._known(request, list(dict.fromkeys(one["member"] for one in shown)))
        for one in shown:
            profile = known[one["member"]]
            one["profile"] = None if profile is _NONE else profile.fields()
        return answer

    def _known(self, request: Request, members: list[str]) -> dict[str, Profile]:
        known = {member: profile for member in members if (profile := self._cache.get(member)) is not None}
        unknown = [member for member in members if member not in known]
        if unknown:
            read_at = self._cache.instant()
            found = self.profiles(request).profiles(unknown)
            for member in unknown:
                known[member] = found.get(member, _NONE)
                self._cache.put(member, known[member], read_at)
        return known


def _members(answer: Any) -> Iterator[dict[str, Any]]:
    """The objects in an answer that name a member, at any depth."""
    if isinstance(answer, dict):
        if "member" in answer:
            yield answer
        for value in answer.values():
            yield from _members(value)
    elif isinstance(answer, list):
        for value in answer:
            yield from _members(value)
