"""The user pool of `examples/tokens` gives tokens that a deployed stack takes, each for what its scopes say."""

import base64
import json
import urllib.parse
import urllib.request
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any, Final

import pytest

from demo.embedded.stack import PROJECT, Deployment
from tests.support.aws.tokens import Call, ask

pytestmark = [pytest.mark.e2e, pytest.mark.thorough, pytest.mark.xdist_group("tokens")]

TEMPLATE: Final = PROJECT / "examples" / "tokens" / "template.yaml"
PARAMETERS: Final = {"DomainPrefix": "my-game", "AppUrl": "https://game.example/"}
BOARD: Final = "demo-cognito"
EVENT: Final = {"id": "by-cognito", "board": BOARD, "member": "anyone", "metrics": {"points": 1}}
READ: Final = Call("GET", f"/boards/{BOARD}/points/all", None, "standings/read", HTTPStatus.OK)
POST: Final = Call("POST", "/events", EVENT, "standings/write", HTTPStatus.ACCEPTED)
REMOVE: Final = Call("DELETE", "/members?id=nobody", None, "standings/admin", HTTPStatus.NO_CONTENT)


@pytest.fixture(scope="module")
def pool(deployment: Deployment) -> Iterator[Mapping[str, str]]:
    """The outputs of the example. Meanwhile the API takes the tokens of its pool alone."""
    stacks, gateway = deployment.client("cloudformation"), deployment.client("apigatewayv2")
    parameters = [{"ParameterKey": name, "ParameterValue": value} for name, value in PARAMETERS.items()]
    stacks.create_stack(StackName="pool", TemplateBody=TEMPLATE.read_text(encoding="utf-8"), Parameters=parameters)
    stacks.get_waiter("stack_create_complete").wait(StackName="pool", WaiterConfig={"Delay": 1, "MaxAttempts": 60})
    (stack,) = stacks.describe_stacks(StackName="pool")["Stacks"]
    outputs = {out["OutputKey"]: out["OutputValue"] for out in stack["Outputs"]}
    api = deployment.outputs["ApiId"]
    (authorizer,) = gateway.get_authorizers(ApiId=api)["Items"]

    def accept(configuration: dict[str, Any]) -> None:
        gateway.update_authorizer(ApiId=api, AuthorizerId=authorizer["AuthorizerId"], JwtConfiguration=configuration)

    accept({"Issuer": outputs["JwtIssuer"], "Audience": outputs["JwtAudience"].split(",")})
    yield outputs
    accept(authorizer["JwtConfiguration"])


def token_of_a_server(deployment: Deployment, pool: Mapping[str, str], **asked: str) -> str:
    client = deployment.client("cognito-idp").describe_user_pool_client(
        UserPoolId=pool["JwtIssuer"].rpartition("/")[2], ClientId=pool["ServerClientId"]
    )["UserPoolClient"]
    secret = base64.b64encode(f"{client['ClientId']}:{client['ClientSecret']}".encode()).decode()
    # Few clients can resolve the pool's own host name; every client can use the embedded AWS's address.
    address = deployment.endpoint + urllib.parse.urlsplit(pool["TokenUrl"]).path
    form = urllib.parse.urlencode({"grant_type": "client_credentials", **asked}).encode()
    request = urllib.request.Request(address, form, {"Authorization": f"Basic {secret}"})  # noqa: S310 - on loopback
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(request, timeout=30) as response:
        return str(json.load(response)["access_token"])


def test_a_server_may_do_everything(deployment: Deployment, pool: Mapping[str, str]) -> None:
    token = token_of_a_server(deployment, pool)

    assert [ask(deployment, call, token)[0] for call in (READ, POST, REMOVE)] == [
        call.status for call in (READ, POST, REMOVE)
    ]


def test_a_token_may_do_what_was_asked_for_it(deployment: Deployment, pool: Mapping[str, str]) -> None:
    token = token_of_a_server(deployment, pool, scope="standings/read")

    assert [ask(deployment, call, token)[0] for call in (READ, POST, REMOVE)] == [
        HTTPStatus.OK,
        HTTPStatus.FORBIDDEN,
        HTTPStatus.FORBIDDEN,
    ]


def test_tokens_of_another_issuer_are_not_taken(deployment: Deployment, pool: Mapping[str, str], issuer: Any) -> None:
    del pool

    assert ask(deployment, READ, issuer.token())[0] == HTTPStatus.UNAUTHORIZED
