"""What `sam local` needs of the template, as far as it can be told without Docker."""

from typing import Final

from samtranslator.yaml_helper import yaml_parse

from demo.stack import PROJECT

# Of these types the first in the template decides where `sam local start-api` looks for routes (aws-sam-cli 1.170,
# lib/providers/api_provider.py): at a function it would look for events of functions, and find none.
DECIDING: Final = ("AWS::Serverless::", "AWS::ApiGateway", "AWS::Lambda::Permission")
NO_SIGN: Final = "AWS::Serverless::LayerVersion"


def test_routes_are_found_since_the_api_stands_ahead_of_the_functions() -> None:
    resources = yaml_parse((PROJECT / "template.yaml").read_text(encoding="utf-8"))["Resources"]
    types = [resource["Type"] for resource in resources.values()]

    deciding = [kind for kind in types if kind.startswith(DECIDING) and kind != NO_SIGN]
    assert deciding[0] == "AWS::ApiGatewayV2::Api"
