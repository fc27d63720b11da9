"""A deployed stack with JWTs instead of IAM signatures: which token may call which route.

The embedded AWS checks a token's signature, issuer, audience, times and scopes like API Gateway. It checks no IAM
signatures; `tests/template/test_parameters.py` shows that routes require them by default.
"""

import json
import time
from email.message import Message
from http import HTTPStatus
from typing import Final

import boto3
import pytest
from botocore.config import Config
from botocore.exceptions import ClientError

from demo.embedded.stack import Deployment
from tests.support.aws.tokens import AUDIENCE, HOUR, MEMBER, SCOPES, Call, Issuer, ask

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("tokens")]

ORIGIN: Final = "https://pages.example"
EVENT: Final = {"id": "by-token", "board": "demo-jwt", "member": MEMBER, "metrics": {"points": 1}}
CALLS: Final = [
    Call("GET", "/boards", None, "standings/read", HTTPStatus.OK),
    Call("GET", "/openapi.json", None, "standings/read", HTTPStatus.OK),
    Call("POST", "/boards/demo-jwt/points/all/ranks", {"members": [MEMBER]}, "standings/read", HTTPStatus.OK),
    Call("POST", "/events", EVENT, "standings/write", HTTPStatus.ACCEPTED),
    Call("PUT", f"/boards/demo-jwt/member?id={MEMBER}", {"hidden": True}, "standings/admin", HTTPStatus.OK),
    # The function answers that there is no such member, so the request reached it.
    Call("DELETE", "/boards/demo-jwt/member?id=nobody", None, "standings/admin", HTTPStatus.NOT_FOUND),
    Call("DELETE", "/members?id=nobody", None, "standings/admin", HTTPStatus.NO_CONTENT),
]

each_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: f"{call.method} {call.path.partition('?')[0]}")


@each_call
def test_whoever_has_the_scope_may_call(deployment: Deployment, issuer: Issuer, call: Call) -> None:
    for scope in (call.scope, " ".join(SCOPES), f"openid {call.scope}"):
        status, _, answer = ask(deployment, call, issuer.token(scope=scope))
        assert status == call.status, (scope, answer)


@each_call
def test_whoever_has_other_scopes_may_not(deployment: Deployment, issuer: Issuer, call: Call) -> None:
    others = [scope for scope in SCOPES if scope != call.scope]
    for scope in (*others, " ".join(others), "", "standings", f"{call.scope}s", call.scope.upper()):
        status, _, answer = ask(deployment, call, issuer.token(scope=scope))
        assert (status, answer) == (HTTPStatus.FORBIDDEN, {"message": "Forbidden"}), scope


@each_call
def test_whoever_has_no_token_or_no_good_one_may_not(deployment: Deployment, issuer: Issuer, call: Call) -> None:
    now = int(time.time())
    somebody_else = Issuer(issuer.address)
    good = issuer.token()
    text, _, signature = good.rpartition(".")
    more = issuer.token(sub="somebody else").rpartition(".")[0]
    tokens = {
        "none": None,
        "no token at all": "standings",
        "for another audience": issuer.token(aud="another-audience"),
        "for no audience": issuer.token(aud=None),
        "of another issuer": issuer.token(iss="https://issuer.example"),
        "expired": issuer.token(exp=now - 1),
        "not yet valid": issuer.token(nbf=now + HOUR),
        "signed with another key": somebody_else.token(),
        "of a key that nobody knows": issuer.token({"kid": "unknown"}),
        "not signed": f"{text}.",
        "without a signature, and saying so": issuer.token({"alg": "none"}).rpartition(".")[0] + ".",
        "changed after it was signed": f"{more}.{signature}",
    }

    assert ask(deployment, call, good)[0] == call.status
    for what, token in tokens.items():
        status, _, answer = ask(deployment, call, token)
        assert (status, answer) == (HTTPStatus.UNAUTHORIZED, {"message": "Unauthorized"}), what


def test_half_of_what_tokens_need_is_refused_before_deploying(deployment: Deployment, issuer: Issuer) -> None:
    formation = boto3.client(
        "cloudformation",
        endpoint_url=deployment.endpoint,
        region_name="us-east-1",
        aws_access_key_id="embedded",
        aws_secret_access_key="embedded",  # noqa: S106 - the embedded AWS takes any
        config=Config(proxies={}),
    )
    template = formation.get_template(StackName="standings", TemplateStage="Original")["TemplateBody"]
    body = template if isinstance(template, str) else json.dumps(template)
    claim = {"JwtMemberClaim": "sub"}
    refused = {
        "JwtIssuer is given without JwtAudience": {"JwtIssuer": issuer.address},
        "JwtAudience is given without JwtIssuer": {"JwtAudience": AUDIENCE},
        "JwtMemberClaim is given without JwtIssuer": claim,
        "JwtMemberClaim is given together with OpenWrites": {
            "JwtIssuer": issuer.address,
            "JwtAudience": AUDIENCE,
            "OpenWrites": "true",
            **claim,
        },
    }
    for message, parameters in refused.items():
        with pytest.raises(ClientError, match=message):
            formation.create_stack(
                StackName="half",
                TemplateBody=body,
                Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()],
                Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            )
    assert "half" not in [stack["StackName"] for stack in formation.describe_stacks()["Stacks"]]


def preflight(deployment: Deployment, origin: str) -> tuple[int, Message]:
    asked = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    status, headers, _ = ask(deployment, Call("OPTIONS", "/events", None, "", 0), None, **asked)
    return status, headers


@pytest.mark.xfail(
    raises=AssertionError,
    reason="ministack 1.5.33 keeps a template's CorsConfiguration under names that it does not look for",
)
def test_pages_of_the_origin_that_was_named_may_call(deployment: Deployment, issuer: Issuer) -> None:
    """`tests/template/test_parameters.py` checks the template's part of this."""
    status, headers = preflight(deployment, ORIGIN)
    assert (status, headers["Access-Control-Allow-Origin"]) == (HTTPStatus.NO_CONTENT, ORIGIN)
    assert {"GET", "POST", "PUT", "DELETE"} == set(headers["Access-Control-Allow-Methods"].split(","))
    _, headers, _ = ask(deployment, CALLS[0], issuer.token(), Origin=ORIGIN)
    assert headers["Access-Control-Allow-Origin"] == ORIGIN
    assert headers["Access-Control-Expose-Headers"] == "etag"


def test_pages_of_other_origins_may_not(deployment: Deployment) -> None:
    _, headers = preflight(deployment, "https://elsewhere.example")
    assert "Access-Control-Allow-Origin" not in headers
