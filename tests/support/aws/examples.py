"""Deploys an example beside the deployed stack."""

import subprocess
from typing import Final

from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]

from demo.embedded import stack
from demo.embedded.stack import PROJECT, Deployment

_TIMEOUT_S: Final = 120


def deploy(deployment: Deployment, example: str, **parameters: str) -> dict[str, str]:
    """Deploy the template of an example as a stack of the same name, and return its outputs.

    Its parameters are outputs of the deployed stack, by their names, the runtime, and what is given. A layer has
    another version after each change of `boards.toml`, so the outputs are those of now.
    """
    folder = PROJECT / "examples" / example
    known = dict(one.split("=") for one in stack.target()) | outputs_of(deployment, "standings")
    asked = yaml_parse((folder / "template.yaml").read_text(encoding="utf-8"))["Parameters"]
    given = {name: known[name] for name in asked if name in known} | parameters
    command = [str(stack._sam()), "deploy", "--stack-name", example.replace("_", "-")]
    command += ["--template-file", "template.yaml", "--region", "us-east-1", "--capabilities", "CAPABILITY_IAM"]
    command += ["--resolve-s3", "--no-progressbar", "--no-confirm-changeset", "--parameter-overrides"]
    command += [f"{name}={value}" for name, value in given.items()]
    environment = stack._environment(deployment.log.parent) | {"AWS_ENDPOINT_URL": deployment.endpoint}
    subprocess.run(command, env=environment, cwd=folder, check=True, timeout=_TIMEOUT_S)
    return outputs_of(deployment, example.replace("_", "-"))


def outputs_of(deployment: Deployment, name: str) -> dict[str, str]:
    """The outputs of a stack."""
    (found,) = deployment.client("cloudformation").describe_stacks(StackName=name)["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}
