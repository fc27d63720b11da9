"""Looks at the bucket of `make package` before anything is built: `python -m package.bucket NAME`."""

import sys
from http import HTTPStatus
from typing import Any, Final

import boto3
from botocore.exceptions import BotoCoreError, ClientError

_REGION: Final = "x-amz-bucket-region"


def problem_of(name: str) -> str | None:
    """Return why code cannot go into the bucket, with what to do: `there is no bucket mine: …`; None if it can."""
    region = boto3.Session().region_name
    if not region:
        return f"which region is the bucket in? AWS_DEFAULT_REGION=eu-central-1 make package BUCKET={name}"
    answer: Any
    try:
        answer = boto3.client("s3").head_bucket(Bucket=name)["ResponseMetadata"]
    except ClientError as error:
        answer = error.response["ResponseMetadata"]
    except BotoCoreError as error:
        return f"bucket {name}: {error}"
    status, place = answer["HTTPStatusCode"], answer.get("HTTPHeaders", {}).get(_REGION, region)
    if place != region:
        return f"bucket {name} is in {place}, not in {region}: AWS_DEFAULT_REGION={place} make package BUCKET={name}"
    problems: dict[int, str | None] = {
        HTTPStatus.OK: None,
        HTTPStatus.NOT_FOUND: f"there is no bucket {name}: make it with `aws s3 mb s3://{name} --region {region}`",
        HTTPStatus.FORBIDDEN: f"these credentials may not use bucket {name}, or it is another account's",
    }
    return problems.get(status, f"bucket {name}: S3 answered {status}")


if __name__ == "__main__":
    sys.exit(problem_of(sys.argv[1]))
