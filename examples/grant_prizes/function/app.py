"""Grants a prize for each event `Prize Won`, once, however often the event is delivered.

One transaction writes a receipt for the event's id and adds to what the member owns. If there is a receipt, nothing is
added. Receipts have to be kept for as long as a settlement may be repeated: here for ever.
"""

import os
from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

# Named, since the SDK's defaults differ from release to release. After an error Lambda delivers the event again.
_ATTEMPTS = Config(retries={"mode": "standard", "total_max_attempts": 5})
_TABLE = os.environ["GRANTS_TABLE"]
_dynamodb = boto3.client("dynamodb", config=_ATTEMPTS)


def handler(event: dict[str, Any], _: Any) -> None:
    """Grant the prize that an event tells of. An error is raised: then Lambda delivers the event again."""
    prize = event["detail"]
    receipt = {"pk": {"S": f"receipt#{prize['id']}"}, "member": {"S": prize["member"]}, "prize": {"S": prize["prize"]}}
    try:
        _dynamodb.transact_write_items(
            TransactItems=[
                {"Put": {"TableName": _TABLE, "Item": receipt, "ConditionExpression": "attribute_not_exists(pk)"}},
                {
                    "Update": {
                        "TableName": _TABLE,
                        "Key": {"pk": {"S": f"member#{prize['member']}"}},
                        "UpdateExpression": "ADD #prize :one",
                        "ExpressionAttributeNames": {"#prize": prize["prize"]},
                        "ExpressionAttributeValues": {":one": {"N": "1"}},
                    }
                },
            ]
        )
    except ClientError as error:
        reasons = [reason.get("Code") for reason in error.response.get("CancellationReasons", [])]
        if reasons[:1] != ["ConditionalCheckFailed"]:
            raise
