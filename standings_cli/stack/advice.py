"""What to do about an error of AWS's clients, which say only what went wrong."""

from typing import Final

_LOCAL: Final = "--local speaks to the stack that `make serve` has started"
_LOG_IN: Final = f"log in to AWS, or name a profile with --profile; {_LOCAL}"
_BY_CLASS: Final = {
    "NoRegionError": f"name one with --region, or a profile that has one with --profile; {_LOCAL}",
    "NoCredentialsError": _LOG_IN,
    "PartialCredentialsError": _LOG_IN,
    "CredentialRetrievalError": _LOG_IN,
    "TokenRetrievalError": _LOG_IN,
    "SSOTokenLoadError": _LOG_IN,
    "UnauthorizedSSOTokenError": _LOG_IN,
    "ProfileNotFound": "name a profile of your AWS configuration with --profile",
}
_BY_CODE: Final = {
    "ExpiredToken": _LOG_IN,
    "ExpiredTokenException": _LOG_IN,
    "InvalidClientTokenId": _LOG_IN,
    "UnrecognizedClientException": _LOG_IN,
    "ValidationError": f"check --stack and --region; {_LOCAL}",
    "ResourceNotFoundException": "check --stack and --region, or deploy the stack again",
    "AWS.SimpleQueueService.NonExistentQueue": "check --queue-url and --region",
}
_DENIED: Final = "these credentials may not do that: name others with --profile"
_OTHERWISE: Final = "check the network, --region and --endpoint-url, then run the same command again"


def advice(error: Exception) -> str:
    """Return what to do about an error of AWS's clients."""
    names = [each.__name__ for each in type(error).__mro__]
    by_class = next((_BY_CLASS[name] for name in names if name in _BY_CLASS), None)
    if by_class is not None:
        return by_class
    response = getattr(error, "response", None)
    code = str(response["Error"].get("Code", "")) if isinstance(response, dict) else ""
    return _BY_CODE.get(code) or (_DENIED if "AccessDenied" in code else _OTHERWISE)
