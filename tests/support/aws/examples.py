"""Deploys an example beside the deployed stack."""

import subprocess
from typing import Final

from demo.embedded import stack
from demo.embedded.stack import PROJECT, Deployment

_TIMEOUT_S: Final = 120


def deploy(deployment: Deployment, example: str, **parameters: str) -> dict[str, str]:
    """Deploy the template of an example, with its parameters, as a stack of the same name. Returns its outputs."""
    functions = deployment.client("lambda")
    runtime = functions.get_function_configuration(FunctionName=deployment.outputs["WriterFunctionName"])["Runtime"]
    command = [str(stack._sam()), "deploy", "--stack-name", example.replace("_", "-")]
    command += ["--template-file", "template.yaml", "--region", "us-east-1", "--capabilities", "CAPABILITY_IAM"]
    command += ["--resolve-s3", "--no-progressbar", "--no-confirm-changeset", "--parameter-overrides"]
    command += [f"{name}={value}" for name, value in {"PythonRuntime": runtime, **parameters}.items()]
    environment = stack._environment(deployment.log.parent) | {"AWS_ENDPOINT_URL": deployment.endpoint}
    folder = PROJECT / "examples" / example
    subprocess.run(command, env=environment, cwd=folder, check=True, timeout=_TIMEOUT_S)
    (found,) = deployment.client("cloudformation").describe_stacks(StackName=example.replace("_", "-"))["Stacks"]
    return {output["OutputKey"]: output["OutputValue"] for output in found["Outputs"]}
