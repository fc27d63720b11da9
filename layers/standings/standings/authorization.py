"""Who may post, read and change what: the member and the scopes of a caller's token.

`event` is a request in API Gateway's payload format 2.0. The gateway has verified its token, and that the token has the
scope of the call. A caller without a token, of an open API or signed with AWS IAM, may do everything.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from standings.calls import ADMIN, READ
from standings.domain.errors import NotYourMemberError


def own_member(event: Mapping[str, Any], claim: str) -> str | None:
    """The member that a token may write for alone, by a claim ("" for none), or None. NotYourMemberError without it."""
    if not claim:
        return None
    claims = _claims(event) or {}
    if ADMIN in _scopes(claims):
        return None
    if not claims.get(claim):
        raise NotYourMemberError(f"the token has no claim {claim}, which says for which member its bearer may write")
    return str(claims[claim])


def is_admin(event: Mapping[str, Any]) -> bool:
    """Whether the caller may see and change every member: it has no token, or one with `standings/admin`."""
    claims = _claims(event)
    return claims is None or ADMIN in _scopes(claims)


def check_reads(event: Mapping[str, Any]) -> None:
    """Raise NotYourMemberError for a token without `standings/read`, where an answer to a write has ranks."""
    claims = _claims(event)
    if claims is not None and READ not in _scopes(claims):
        raise NotYourMemberError(f"wait: the token lacks the scope {READ}, which the ranks need: post without wait")


def check_admin(event: Mapping[str, Any]) -> None:
    """Raise NotYourMemberError for a token without `standings/admin`. Its route requires the scope too."""
    if not is_admin(event):
        raise NotYourMemberError(f"the token lacks the scope {ADMIN}, which this call needs")


def check_profile(event: Mapping[str, Any], claim: str, member: str) -> None:
    """Raise NotYourMemberError unless the caller is an administrator, or `member` is the one that its token is for."""
    own = own_member(event, claim)
    if own is None:
        check_admin(event)
    elif own != member:
        raise NotYourMemberError("id: the token is for another member")


def check_posts(values: Sequence[Any], own: str) -> None:
    """Raise NotYourMemberError if an event (None: unreadable), or an update of it, names another member than `own`."""
    for number, value in enumerate(values):
        updates = value.get("updates") if isinstance(value, dict) else None
        shares = [value, *(updates if isinstance(updates, list) else ())]
        named = [share["member"] for share in shares if isinstance(share, dict) and "member" in share]
        if value is None or any(member != own for member in named):
            detail = f"event {number}: expected the member that the token is for alone, so no event was posted"
            raise NotYourMemberError(detail)


def check_no_corrections(values: Sequence[Any]) -> None:
    """Raise NotYourMemberError if one of the parsed events of a body corrects another one, or takes it back."""
    for number, value in enumerate(values):
        if isinstance(value, dict) and value.keys() & {"correct", "retract"}:
            detail = f"event {number}: a correction needs the scope {ADMIN}, so no event was posted"
            raise NotYourMemberError(detail)


def _claims(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The claims of the caller's token; None if the caller has none."""
    token: Mapping[str, Any] | None = (event["requestContext"].get("authorizer") or {}).get("jwt")
    return None if token is None else token.get("claims") or {}


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """The scopes of a token. The gateway writes a list as text in brackets."""
    return [scope for name in ("scope", "scp") for scope in str(claims.get(name, "")).strip("[]").split()]
