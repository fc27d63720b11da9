"""Who calls, as the token says that the gateway has checked."""

from collections.abc import Mapping
from typing import Any, Final

from standings.domain.errors import NotYourMemberError

ADMIN: Final = "standings/admin"


def own_member(event: Mapping[str, Any], claim: str) -> str | None:
    """The only member that a caller may write for; None if it may write for all.

    `event` is a request in API Gateway's payload format 2.0, `claim` the claim that names the member ("" for none).
    NotYourMemberError if the token has no such claim.
    """
    if not claim:
        return None
    claims = _claims(event) or {}
    if ADMIN in _scopes(claims):
        return None
    if not claims.get(claim):
        raise NotYourMemberError(f"the token has no claim {claim}, which says whose events its bearer may post")
    return str(claims[claim])


def check_admin(event: Mapping[str, Any]) -> None:
    """Raise NotYourMemberError for a token without `standings/admin`. Its route asks for it too."""
    claims = _claims(event)
    if claims is not None and ADMIN not in _scopes(claims):
        raise NotYourMemberError(f"the token lacks the scope {ADMIN}, which this call needs")


def _claims(event: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The claims of the caller's token; None if the caller has none."""
    token: Mapping[str, Any] | None = event["requestContext"].get("authorizer", {}).get("jwt")
    return None if token is None else token.get("claims", {})


def _scopes(claims: Mapping[str, Any]) -> list[str]:
    """The scopes of a token. The gateway writes a list as text in brackets."""
    return [scope for name in ("scope", "scp") for scope in str(claims.get(name, "")).strip("[]").split()]
