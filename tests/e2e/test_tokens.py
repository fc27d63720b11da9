"""A deployed stack with JWTs instead of IAM signatures: which token may call which route, and for whom it writes.

API Gateway checks tokens by the issuer, the audience and the scopes that the template gives it, and so does the
embedded AWS. It checks no IAM signatures; `tests/template/test_parameters.py` shows that routes require them by
default, and which scope each route asks for.
"""

import base64
import json
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import pytest

from demo.embedded.stack import Deployment
from tests.support.aws.examples import deploy
from tests.support.aws.tokens import MEMBER, SCOPES, Call, Issuer, ask

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("tokens")]

BOARD: Final = "demo-jwt"
EVENT: Final = {"id": "by-token", "board": BOARD, "member": MEMBER, "metrics": {"points": 1}}
READ: Final = Call("GET", "/boards", None, "standings/read", HTTPStatus.OK)
POST: Final = Call("POST", "/events", EVENT, "standings/write", HTTPStatus.ACCEPTED)
REMOVE: Final = Call("DELETE", "/members?id=nobody", None, "standings/admin", HTTPStatus.NO_CONTENT)


@pytest.mark.parametrize("call", [READ, POST, REMOVE], ids=lambda call: call.method)
def test_only_whoever_has_the_scope_in_a_token_may_call(guarded: Deployment, issuer: Issuer, call: Call) -> None:
    for scope in (call.scope, " ".join(SCOPES)):
        status, answer = ask(guarded, call, issuer.token(scope=scope))
        assert status == call.status, (scope, answer)
    others = " ".join(scope for scope in SCOPES if scope != call.scope)
    status, answer = ask(guarded, call, issuer.token(scope=others))
    assert (status, answer) == (HTTPStatus.FORBIDDEN, {"message": "Forbidden"})
    for token in (None, issuer.token(aud="another-audience"), issuer.token(iss="https://issuer.example")):
        status, answer = ask(guarded, call, token)
        assert (status, answer) == (HTTPStatus.UNAUTHORIZED, {"message": "Unauthorized"})


def test_a_token_writes_for_its_own_member_and_an_administrators_for_all(guarded: Deployment, issuer: Issuer) -> None:
    """`tests/functions/http/test_own_member.py` has all that may be posted, and by whom."""

    def send(method: str, path: str, body: Any = None, **claims: Any) -> tuple[int, str]:
        token = issuer.token(**{"scope": "standings/read standings/write", **claims})
        status, answer = ask(guarded, Call(method, path, body, "", 0), token)
        return status, answer.get("type", "")

    refused = (HTTPStatus.FORBIDDEN, "urn:standings:not-your-member")
    assert send("POST", "/events", [EVENT, {**EVENT, "id": "2", "member": "u2"}]) == refused
    for sub in ("u2", None, "", [MEMBER]):
        assert send("POST", "/events", EVENT, sub=sub, member=MEMBER) == refused, sub
    assert send("POST", "/events", EVENT)[0] == HTTPStatus.ACCEPTED
    assert send("PUT", f"/members?id={MEMBER}", {"name": "Ada"})[0] == HTTPStatus.OK
    assert send("PUT", "/members?id=u2", {"name": "Eve"}) == refused
    assert send("GET", "/members?id=u2")[0] == HTTPStatus.NOT_FOUND
    scope = "standings/write standings/admin"
    assert send("PUT", "/members?id=u2", {"country": "DE"}, scope=scope)[0] == HTTPStatus.OK
    assert send("DELETE", "/members?id=u2", scope=scope)[0] == HTTPStatus.NO_CONTENT


@pytest.fixture
def pool(guarded: Deployment) -> Iterator[Mapping[str, str]]:
    """The outputs of `examples/tokens`. Meanwhile the API takes the tokens of its pool alone."""
    outputs = deploy(guarded, "tokens", DomainPrefix="my-game", AppUrl="https://game.example/")
    api, gateway = guarded.outputs["ApiId"], guarded.client("apigatewayv2")
    (authorizer,) = gateway.get_authorizers(ApiId=api)["Items"]

    def accept(configuration: dict[str, Any]) -> None:
        gateway.update_authorizer(ApiId=api, AuthorizerId=authorizer["AuthorizerId"], JwtConfiguration=configuration)

    accept({"Issuer": outputs["JwtIssuer"], "Audience": outputs["JwtAudience"].split(",")})
    yield outputs
    accept(authorizer["JwtConfiguration"])


def test_a_token_of_the_example_pool_does_itspart(guarded: Deployment, pool: Mapping[str, str], issuer: Issuer) -> None:
    client = guarded.client("cognito-idp").describe_user_pool_client(
        UserPoolId=pool["JwtIssuer"].rpartition("/")[2], ClientId=pool["ServerClientId"]
    )["UserPoolClient"]
    secret = base64.b64encode(f"{client['ClientId']}:{client['ClientSecret']}".encode()).decode()
    # Few clients can resolve the pool's own host name; every client can use the embedded AWS's address.
    address = guarded.endpoint + urllib.parse.urlsplit(pool["TokenUrl"]).path
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))

    def token(**asked: str) -> str:
        form = urllib.parse.urlencode({"grant_type": "client_credentials", **asked}).encode()
        request = urllib.request.Request(address, form, {"Authorization": f"Basic {secret}"})  # noqa: S310 - loopback
        with opener.open(request, timeout=30) as response:
            return str(json.load(response)["access_token"])

    def may(token: str) -> list[bool]:
        return [ask(guarded, call, token)[0] == call.status for call in (READ, POST, REMOVE)]

    assert may(token()) == [True, True, True]
    assert may(token(scope="standings/read")) == [True, False, False]
    assert ask(guarded, READ, issuer.token())[0] == HTTPStatus.UNAUTHORIZED
