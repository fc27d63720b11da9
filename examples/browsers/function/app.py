"""Publishes each `Top Changed` to the channel of its board, of an AppSync Event API.

Browsers subscribe to `/tops/BOARD`. They show the `top` of the event with the highest `seq`, and ignore the others.
"""

import json
import os
import re
import urllib.request
from typing import Any

import boto3
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest

_URL = os.environ["PUBLISH_URL"]
_session = boto3.Session()


def handler(event: dict[str, Any], _: Any) -> None:
    """Publish an event. An error is raised: then Lambda tries again."""
    detail = event["detail"]
    # A channel's name has letters, digits and hyphens, at most 50.
    channel = re.sub("[^A-Za-z0-9-]", "-", detail["board"])[:50].strip("-")
    body = json.dumps({"channel": f"/tops/{channel}", "events": [json.dumps(detail)]}).encode()
    request = AWSRequest("POST", _URL, {"content-type": "application/json"}, body)
    SigV4Auth(_session.get_credentials(), "appsync", _session.region_name).add_auth(request)
    signed = urllib.request.Request(_URL, body, dict(request.headers))  # noqa: S310 - the URL is the template's
    with urllib.request.urlopen(signed, timeout=10) as answer:  # noqa: S310
        refused = json.load(answer).get("failed")
    if refused:
        raise RuntimeError(f"AppSync refused the event: {refused}")
