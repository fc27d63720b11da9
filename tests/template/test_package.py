"""The packaged template says the same as template.yaml, and the snippets of the page for CDK and Terraform fit it."""

import json
import os
import re
import shutil
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

import hcl2
import pytest
from botocore.exceptions import ClientError
from samtranslator.model.exceptions import InvalidDocumentException  # type: ignore[import-untyped]

from package.__main__ import expanded
from package.bucket import problem_of
from package.unbuilt import addressed, write
from tests.support.aws.embedded_tools import skip_without_tools
from tests.support.cli.signing import answering
from tests.support.programs import ended
from tests.template import expansion

PROJECT: Final = Path(__file__).parents[2]
PAGE: Final = (PROJECT / "docs" / "how-to" / "cdk-and-terraform.md").read_text(encoding="utf-8")
CDK: Final = PROJECT / ".local" / "aws-cdk-lib" / "node_modules"
REFERENCE: Final = re.compile(r"\b(data\.)?(aws_\w+)\.(\w+)\.")
MOST_IN_A_CALL: Final = 51_200
MOST_IN_A_BUCKET: Final = 1_000_000
"""https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/cloudformation-limits.html: bytes of a template"""


def snippet(language: str) -> str:
    (found,) = re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


@pytest.fixture(scope="module")
def packaged() -> dict[str, Any]:
    """What `make package` makes of the template."""
    return expanded(addressed(expansion.template()))


SAFE: Final = {**expansion.TOKENS, "KmsKeyArn": expansion.KEY, "TableCapacity": "provisioned"}
WHOLE: Final = {"Announcements": "true", "Settlements": "true", "SettleSchedule": "rate(1 hour)", "LogLevel": "DEBUG"}
OTHER: Final = {"Architecture": "x86_64", "EndpointUrl": "http://a:1", "Tracing": "Active", "FunctionMemory": "512"}
ADDRESS: Final = {"FunctionUrl": "open", "OpenReads": "true", "QueryReservedConcurrency": "50"}


@pytest.mark.parametrize(
    "parameters", [{}, {**SAFE, "PythonRuntime": "python3.14", "FunctionUrl": "iam"}, {**WHOLE, **OTHER, **ADDRESS}]
)
def test_it_deploys_what_sam_deploys(packaged: dict[str, Any], parameters: dict[str, str]) -> None:
    assert expansion.expanded(packaged, parameters) == expansion.deployed(**parameters)


def test_it_has_no_transform_and_goes_through_a_bucket_and_no_folder_is_taken(
    packaged: dict[str, Any],
) -> None:
    with pytest.raises(InvalidDocumentException):
        expanded(deepcopy(expansion.template()))
    assert "Transform" not in packaged
    assert not [one["Type"] for one in packaged["Resources"].values() if "::Serverless::" in one["Type"]]
    assert MOST_IN_A_CALL < len(json.dumps(packaged, indent=1)) < MOST_IN_A_BUCKET


IMPATIENT: Final = """
Transform: AWS::Serverless-2016-10-31
Globals: {Function: {Runtime: python3.13, CodeUri: function, Timeout: 60}}
Resources:
  Work: {Type: AWS::SQS::Queue, Properties: {VisibilityTimeout: 59}}
  Worker:
    Type: AWS::Serverless::Function
    Properties:
      Handler: app.handler
      Events: {Work: {Type: SQS, Properties: {Queue: !GetAtt Work.Arn}}}
"""


def test_the_check_finds_a_queue_that_waits_for_less_than_its_function_takes(tmp_path: Path) -> None:
    (tmp_path / "template.yaml").write_text(IMPATIENT, encoding="utf-8")
    planned = ended(["make", "--dry-run", "check"], cwd=PROJECT).stdout.splitlines()
    (expands, *_), (lints, *_) = ([one for one in planned if word in one] for word in ("package.unbuilt", "expanded/*"))
    every = {"template.yaml", *(str(one.relative_to(PROJECT)) for one in PROJECT.glob("examples/*/template.yaml"))}
    assert every < {*expands.split()}

    write(tmp_path / "expanded", [tmp_path / "template.yaml"])
    (made,) = (tmp_path / "expanded").iterdir()
    assert "E3505" in ended([lints.split()[0], "--", str(made)], cwd=PROJECT).stdout


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["--dry-run"], "which bucket of yours? make package BUCKET=name"),
        (["BUCKET=mine"], "AWS_DEFAULT_REGION=eu-central-1 make package BUCKET=mine"),
    ],
    ids=["bucket", "region"],
)
def test_what_is_not_given_is_asked_for(given: list[str], said: str, tmp_path: Path) -> None:
    skip_without_tools()
    environment = {name: value for name, value in os.environ.items() if not name.startswith("AWS_")}
    done = ended(["make", "package", *given], cwd=PROJECT, env={**environment, "HOME": str(tmp_path)})
    assert (done.returncode, said in done.stderr) == (2, True)


@pytest.mark.parametrize(
    ("status", "place", "said"),
    [
        (404, None, "there is no bucket mine: make it with `aws s3 mb s3://mine --region eu-central-1`"),
        (403, "eu-central-1", "these credentials may not use bucket mine, or it is another account's"),
        (301, "us-east-1", "bucket mine is in us-east-1, not in eu-central-1: AWS_DEFAULT_REGION=us-east-1 make"),
        (500, None, "bucket mine: S3 answered 500"),
        (200, "eu-central-1", None),
    ],
)
def test_what_is_wrong_with_a_bucket_is_said(
    monkeypatch: pytest.MonkeyPatch, status: int, place: str | None, said: str | None
) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    answer = {"HTTPStatusCode": status, "HTTPHeaders": {"x-amz-bucket-region": place} if place else {}}

    def head_bucket(Bucket: str) -> Any:  # noqa: N803
        assert Bucket == "mine"
        if status >= 300:
            raise ClientError({"Error": {"Code": str(status)}, "ResponseMetadata": answer}, "HeadBucket")  # type: ignore[typeddict-item]
        return {"ResponseMetadata": answer}

    monkeypatch.setattr("boto3.client", lambda _: SimpleNamespace(head_bucket=head_bucket))
    assert (problem_of("mine") or "").startswith(said or "")
    assert (problem_of("mine") is None) == (said is None)


def test_the_bucket_is_looked_at_before_anything_is_built() -> None:
    skip_without_tools()
    keys = {"AWS_ACCESS_KEY_ID": "a", "AWS_SECRET_ACCESS_KEY": "b", "AWS_DEFAULT_REGION": "eu-central-1"}
    with answering((404, "")) as server:
        environment = {**os.environ, **keys, "AWS_ENDPOINT_URL": server.address, "NO_PROXY": "127.0.0.1"}
        done = ended(["make", "--no-print-directory", "package", "BUCKET=mine"], cwd=PROJECT, env=environment)
    assert (done.returncode, done.stdout) == (2, "")
    assert "there is no bucket mine: " in done.stderr


@pytest.mark.thorough
def test_the_cdk_includes_it_as_the_page_says(packaged: dict[str, Any], tmp_path: Path) -> None:
    """`cdk synth` runs a program like this, and prints the template."""
    if not CDK.exists():
        pytest.skip("aws-cdk-lib is missing: make setup, with npm")
    (tmp_path / "dist").mkdir()
    (tmp_path / "dist" / "template.json").write_text(json.dumps(packaged), encoding="utf-8")
    (tmp_path / "node_modules").symlink_to(CDK)
    (tmp_path / "app.mjs").write_text(snippet("ts"), encoding="utf-8")
    environment = {"PATH": str(Path(shutil.which("node") or "").parent), "CDK_OUTDIR": "out"}
    done = ended(["node", "app.mjs"], cwd=tmp_path, env=environment)
    said = set(re.findall(r"^([A-Z]{2,}) ", done.stderr, re.MULTILINE))
    assert (done.returncode, said) == (0, {"WARNING"}), done.stderr
    assert set(re.findall(r"CloudFormation-Validate::(\w+)", done.stderr)) <= {*re.findall(r"`([A-Z]\d{4})`", PAGE)}
    made = json.loads((tmp_path / "out" / "standings.template.json").read_text(encoding="utf-8"))

    assert made["Resources"].keys() - {"CDKMetadata"} == packaged["Resources"].keys()
    assert packaged["Parameters"].keys() - made["Parameters"].keys() == {"OpenReads", "RequestsPerSecond"}
    assert made["Conditions"]["ReadsAreOpen"] == {"Fn::Equals": ["true", "true"]}
    assert made["Outputs"]["QueueForProducers"]["Value"] == {"Ref": "ActivityQueue"}
    assert packaged["Outputs"].keys() <= made["Outputs"].keys()
    assert packaged["Rules"].keys() <= made["Rules"].keys()


def test_terraform_names_what_there_is(packaged: dict[str, Any]) -> None:
    """Terraform itself would need its provider, so a parser reads the snippet."""
    text = snippet("hcl")
    blocks = {
        (kind if kind == "data" else "", *(label.strip('"') for label in (type_, name))): body
        for kind in ("data", "resource")
        for block in hcl2.loads(text)[kind]
        for type_, named in block.items()
        for name, body in named.items()
    }
    stack = blocks["", "aws_cloudformation_stack", "standings"]
    named = {("data" if data else "", type_, name) for data, type_, name in REFERENCE.findall(text)}
    outputs = re.findall(r'outputs\["(\w+)"\]', text)

    assert named == blocks.keys()
    assert stack["parameters"].keys() == {"OpenReads", "RequestsPerSecond"} < packaged["Parameters"].keys()
    assert outputs
    assert packaged["Outputs"].keys() >= set(outputs)
    assert stack["capabilities"] == ['"CAPABILITY_IAM"']
    assert "template_body" not in stack
    assert text.count('"dist/template.json"') == 2
