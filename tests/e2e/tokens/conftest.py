"""A deployed stack that takes tokens. A token without `standings/admin` writes for the member that its `sub` names."""

from collections.abc import Iterator
from typing import Final

import pytest

from demo.embedded.stack import Deployment, deployed
from tests.support.aws.embedded_tools import skip_without_tools
from tests.support.aws.tokens import AUDIENCE, Issuer, published

ORIGIN: Final = "https://pages.example"


@pytest.fixture(scope="session")
def issuer() -> Iterator[Issuer]:
    made = Issuer()
    with published(made):
        yield made


@pytest.fixture(scope="session")
def deployment(issuer: Issuer) -> Iterator[Deployment]:
    skip_without_tools()
    parameters = {
        "JwtIssuer": issuer.address,
        "JwtAudience": f"another,{AUDIENCE}",
        "JwtMemberClaim": "sub",
        "OpenReads": "false",
        "OpenWrites": "false",
        "CorsOrigins": ORIGIN,
    }
    with deployed(print, parameters) as stack:
        yield stack
