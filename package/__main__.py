"""Writes a packaged template without SAM's transform, for CloudFormation, the CDK and Terraform: `make package`.

SAM's transform makes the event source mappings, and the template's alarms name them. The CDK's `CfnInclude` runs no
transform, so it refuses a template that names what only a transform makes. Here SAM's own translator runs first, as
CloudFormation would run it. Parameters, conditions and rules stay, and each resource has the logical id that
`sam deploy` gives it.

It runs in the environment of the SAM CLI, which brings the translator.
"""

import json
import sys
from pathlib import Path
from typing import Any

import boto3
from samtranslator.parser.parser import Parser  # type: ignore[import-untyped]
from samtranslator.translator.translator import Translator  # type: ignore[import-untyped]
from samtranslator.yaml_helper import yaml_parse  # type: ignore[import-untyped]


def expanded(template: dict[str, Any]) -> dict[str, Any]:
    """Return what SAM's transform makes of a template. The template names its code by addresses in S3.

    Parameters keep their names and are still chosen at the deployment. Raises samtranslator's
    `InvalidDocumentException` if the code is in folders of this machine: `sam package` has not run.
    """
    # The translator looks at the region where it adds policies of AWS. The template has none of them.
    session = boto3.Session(region_name="us-east-1")
    made: dict[str, Any] = Translator({}, Parser(), boto_session=session).translate(template, {})
    return made


if __name__ == "__main__":
    source, target = map(Path, sys.argv[1:])
    text = json.dumps(expanded(yaml_parse(source.read_text(encoding="utf-8"))), indent=1)
    target.write_text(f"{text}\n", encoding="utf-8")
