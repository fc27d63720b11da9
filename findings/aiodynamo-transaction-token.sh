#!/usr/bin/env bash
# aiodynamo sends a failed transaction again without a token, so an ADD may count twice; three other clients send one.
#
# Matters to: whoever counts with transactions from asyncio. DynamoDB may have done a transaction whose answer was an
# error. The token tells it that the second request is the same. aiodynamo takes `request_token`, and invents none if it
# is missing.
# Versions: PyPI aiodynamo 26.4 with httpx 0.28.1, aioboto3 15.5.0 with its boto3 1.40.61, pynamodb 6.1.0.
# Seen: a server answers the first request of a transaction with 500. All four send it again, aiodynamo without a token.
# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
# (ClientRequestToken)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check aiodynamo==26.4 httpx==0.28.1 aioboto3==15.5.0 boto3==1.40.61 pynamodb==6.1.0
export AWS_ACCESS_KEY_ID=none AWS_SECRET_ACCESS_KEY=none AWS_DEFAULT_REGION=us-east-1
env/bin/python - <<'PYTHON' | tee seen
import asyncio
import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import aioboto3
import boto3
import httpx
from aiodynamo.client import URL, Client
from aiodynamo.credentials import Key, StaticCredentials
from aiodynamo.expressions import F
from aiodynamo.http.httpx import HTTPX
from aiodynamo.operations import Update
from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.connection import Connection
from pynamodb.models import Model
from pynamodb.transactions import TransactWrite

tokens = []


class Dynamo(BaseHTTPRequestHandler):
    """Answers the first transaction with an error of the server, and everything else with success."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        failed = False
        if self.headers["X-Amz-Target"].endswith(".TransactWriteItems"):
            tokens.append(request.get("ClientRequestToken"))
            failed = len(tokens) == 1
        error = {"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "again"}
        answer = json.dumps(error if failed else {}).encode()
        self.send_response(500 if failed else 200)
        self.send_header("Content-Type", "application/x-amz-json-1.0")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Dynamo)
threading.Thread(target=server.serve_forever, daemon=True).start()
url = f"http://127.0.0.1:{server.server_address[1]}"
add = {
    "TableName": "things",
    "Key": {"id": {"S": "a"}},
    "UpdateExpression": "ADD n :n",
    "ExpressionAttributeValues": {":n": {"N": "1"}},
}


def show(name):
    kind = "no token" if tokens == [None] * len(tokens) else "one token" if len(set(tokens)) == 1 else "several tokens"
    print(f"{name}: {len(tokens)} requests, {kind}")
    tokens.clear()


class Thing(Model):
    class Meta:
        table_name = "things"
        host = url

    id = UnicodeAttribute(hash_key=True)
    n = NumberAttribute(null=True)


async def asynchronous():
    async with aioboto3.Session().client("dynamodb", endpoint_url=url) as client:
        await client.transact_write_items(TransactItems=[{"Update": add}])
    show("aioboto3")
    async with httpx.AsyncClient() as http:
        client = Client(HTTPX(http), StaticCredentials(Key("none", "none")), "us-east-1", URL(url))
        await client.transact_write_items([Update(table="things", key={"id": "a"}, expression=F("n").add(1))])
    show("aiodynamo")


boto3.client("dynamodb", endpoint_url=url).transact_write_items(TransactItems=[{"Update": add}])
show("boto3")
with TransactWrite(connection=Connection(host=url)) as transaction:
    transaction.update(Thing("a"), actions=[Thing.n.add(1)])
show("pynamodb")
asyncio.run(asynchronous())
server.shutdown()
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
boto3: 2 requests, one token
pynamodb: 2 requests, one token
aioboto3: 2 requests, one token
aiodynamo: 2 requests, no token
EXPECTED
echo "as it was found"
