#!/usr/bin/env bash
# moto counts a transaction twice that is sent twice with one token, and its stream has records that AWS does not write.
#
# Matters to: whoever tests retries, or readers of a stream, on moto. A lost answer is sent again with the same token, and
# AWS applies it once; here an `ADD` counts twice. Another transaction with that token is an error on AWS, and taken here.
# Versions: PyPI moto 5.2.5, boto3 1.44.8.
# Seen: n is 2 after an `ADD` of 1 with one token, sent twice. A transaction that adds to two new items has four records,
# an item that is put again unchanged has another one.
# Source: https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html (ClientRequestToken);
# https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Streams.html (no record if nothing changes)
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
python3 -m venv env
env/bin/pip install --quiet --disable-pip-version-check "moto[dynamodb]==5.2.5" boto3==1.44.8
AWS_ACCESS_KEY_ID=testing AWS_SECRET_ACCESS_KEY=testing env/bin/python - <<'PYTHON' | tee seen
import boto3
from botocore.config import Config
from moto import mock_aws


def add(name, amount=1):
    update = {"TableName": "things", "Key": {"id": {"S": name}}, "UpdateExpression": "ADD n :a"}
    return {"Update": {**update, "ExpressionAttributeValues": {":a": {"N": str(amount)}}}}


with mock_aws():
    client = boto3.client("dynamodb", region_name="us-east-1")
    # moto does not know the addresses that have an account in them.
    plain = Config(account_id_endpoint_mode="disabled")
    streams = boto3.client("dynamodbstreams", region_name="us-east-1", config=plain)
    table = client.create_table(
        TableName="things",
        KeySchema=[{"AttributeName": "id", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "id", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )["TableDescription"]

    def records():
        arn = table["LatestStreamArn"]
        (shard,) = streams.describe_stream(StreamArn=arn)["StreamDescription"]["Shards"]
        about = {"StreamArn": arn, "ShardId": shard["ShardId"], "ShardIteratorType": "TRIM_HORIZON"}
        return len(streams.get_records(ShardIterator=streams.get_shard_iterator(**about)["ShardIterator"])["Records"])

    client.transact_write_items(TransactItems=[add("a"), add("b")])
    print("records of a transaction of two new items:", records())
    before = records()
    for _ in range(2):
        client.put_item(TableName="things", Item={"id": {"S": "c"}, "n": {"N": "1"}})
    print("records of a put and of the same put again:", records() - before)
    for _ in range(2):
        client.transact_write_items(TransactItems=[add("d")], ClientRequestToken="token-1")
    print("n:", client.get_item(TableName="things", Key={"id": {"S": "d"}})["Item"]["n"]["N"])
    client.transact_write_items(TransactItems=[add("d", 5)], ClientRequestToken="token-1")
    print("another transaction with the token: taken")
PYTHON
diff seen - <<'EXPECTED' || { echo "it is no longer as it was found" >&2; exit 1; }
records of a transaction of two new items: 4
records of a put and of the same put again: 2
n: 2
another transaction with the token: taken
EXPECTED
echo "as it was found"
