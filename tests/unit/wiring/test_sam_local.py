"""What `sam local` needs, tested without Docker."""

from typing import Final

import pytest
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]

from demo import serve
from demo.embedded import emulator
from demo.embedded.stack import PROJECT

# `sam local start-api` takes routes from the first resource of these types. From a function it would take the events of
# functions, which have no routes (aws-sam-cli 1.170, lib/providers/api_provider.py).
DECIDING: Final = ("AWS::Serverless::", "AWS::ApiGateway", "AWS::Lambda::Permission")
IGNORED: Final = "AWS::Serverless::LayerVersion"


def test_routes_are_found_since_the_api_stands_ahead_of_the_functions() -> None:
    resources = yaml_parse((PROJECT / "template.yaml").read_text(encoding="utf-8"))["Resources"]
    types = [resource["Type"] for resource in resources.values()]

    deciding = [kind for kind in types if kind.startswith(DECIDING) and kind != IGNORED]
    assert deciding[0] == "AWS::ApiGatewayV2::Api"


def test_containers_are_told_an_address_that_they_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    variables = {
        "WriterFunction": {"AWS_ENDPOINT_URL": "http://127.0.0.1:4566", "QUEUE": "http://127.0.0.1:4566/0/q", "T": "t"}
    }
    desktop = {"AWS_ENDPOINT_URL": "http://host.docker.internal:4566", "QUEUE": "http://host.docker.internal:4566/0/q"}

    assert serve.for_containers(variables, "darwin") == {"WriterFunction": {**desktop, "T": "t"}}
    assert serve.for_containers(variables, "linux") == variables
    monkeypatch.setattr(emulator, "HOST", "172.17.0.1")
    bridged = {"WriterFunction": {"AWS_ENDPOINT_URL": "http://172.17.0.1:4566"}}
    assert serve.for_containers(bridged, "linux") == bridged
