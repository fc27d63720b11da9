#!/usr/bin/env bash
# ministack saves how far a function has read a stream, and not the stream: after a restart it loses new records.
#
# Matters to: whoever keeps a local AWS from one day to the next. The new stream begins at 0, the position does not, so
# the function misses as many new records as it had read before. No error tells it, and the tables keep all their items.
# Versions: PyPI ministack 1.5.33, boto3 1.43.106; Python 3.11 or newer.
# Seen: three items, all three reach the function. After a restart with PERSIST_STATE=1, four items: the last one
# reaches it.
# Source: https://github.com/ministackorg/ministack (README: PERSIST_STATE)
set -euo pipefail
folder=$(mktemp -d)
server=""
cleanup() {
    [ -z "$server" ] || kill "$server" 2>/dev/null || true
    rm -rf "$folder"
}
trap cleanup EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check ministack==1.5.33 boto3==1.43.106
port=$(env/bin/python -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
mkdir temporary
start() {
    PERSIST_STATE=1 STATE_DIR="$folder/state" S3_DATA_DIR="$folder/s3" TMPDIR="$folder/temporary" IOT_MTLS_ENABLED=0 \
        SFTP_ENABLED=0 DOCKER_HOST="unix://$folder/no-docker" BIND_HOST=127.0.0.1 GATEWAY_PORT=$port \
        env/bin/ministack >>server.log 2>&1 &
    server=$!
}
stop() {
    kill "$server"
    wait "$server" || true
    server=""
}
cat >put.py <<'PYTHON'
import io
import sys
import time
import zipfile
from pathlib import Path

import boto3
from botocore.exceptions import BotoCoreError

port, *ids = sys.argv[1:]
read = Path("read").absolute()
CODE = f"""
def handler(event, context):
    with open({str(read)!r}, "a") as file:
        for record in event["Records"]:
            print(record["dynamodb"]["Keys"]["id"]["S"], file=file)
"""


def client(service):
    return boto3.client(
        service,
        endpoint_url=f"http://127.0.0.1:{port}",
        region_name="us-east-1",
        aws_access_key_id="none",
        aws_secret_access_key="none",
    )


dynamodb, functions = client("dynamodb"), client("lambda")
for _ in range(60):
    try:
        tables = dynamodb.list_tables()["TableNames"]
        break
    except BotoCoreError:
        time.sleep(1)
if not tables:
    stream = dynamodb.create_table(
        TableName="things",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )["TableDescription"]["LatestStreamArn"]
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("main.py", CODE)
    functions.create_function(
        FunctionName="reader",
        Runtime="python3.13",
        Role="arn:aws:iam::000000000000:role/reader",
        Handler="main.handler",
        Code={"ZipFile": archive.getvalue()},
    )
    functions.create_event_source_mapping(
        FunctionName="reader", EventSourceArn=stream, StartingPosition="TRIM_HORIZON", BatchSize=10
    )
for name in ids:
    dynamodb.put_item(TableName="things", Item={"id": {"S": name}})
deadline = time.monotonic() + 60
while ids[-1] not in (known := read.read_text().split() if read.exists() else []):
    if time.monotonic() > deadline:
        break
    time.sleep(0.2)
print(f"put {' '.join(ids)}; the function read {' '.join(name for name in ids if name in known)}")
PYTHON
start
env/bin/python put.py "$port" a1 a2 a3 | tee seen
stop
start
env/bin/python put.py "$port" b1 b2 b3 b4 | tee -a seen
stop
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
put a1 a2 a3; the function read a1 a2 a3
put b1 b2 b3 b4; the function read b4
EXPECTED
echo "as it was found"
