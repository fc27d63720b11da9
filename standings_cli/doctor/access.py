"""A check of who may read and write over HTTP."""

from collections.abc import Iterator
from http import HTTPStatus

from standings_cli.doctor.deployed import Deployed
from standings_cli.doctor.finding import Finding, failed_on_aws, note, ok

_REFUSED = frozenset({HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN})


def signatures(deployed: Deployed) -> Iterator[Finding]:
    """The API refuses a request without a signature or a token, unless the parameters open it."""
    unsigned = deployed.connection.unsigned
    # A post of nothing is answered 400 where it is let in, and nothing is written.
    reads, writes = unsigned("GET", "boards"), unsigned("POST", "events")
    for about, status, parameter in (("reads", reads, "OpenReads"), ("writes", writes, "OpenWrites")):
        if status in _REFUSED:
            yield ok(f"unsigned {about}", f"refused with {status}")
        elif deployed.parameter(parameter) == "true":
            yield note(f"unsigned {about}", f"open to anyone: {parameter} is true")
        else:
            detail = f"expected 401 or 403, got {status}: deploy again with {parameter}=false"
            yield failed_on_aws(deployed, f"unsigned {about}", detail)
