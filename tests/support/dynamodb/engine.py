"""An in-process DynamoDB that takes the place of a boto3 client.

``Engine`` has the methods of ``boto3.client("dynamodb")`` that the project uses, with the same
arguments, answers and errors. It keeps what DynamoDB promises and no more: a batch, for one, is
answered in another order than it was asked in.

Where DynamoDB Local and AWS's documentation disagree, the documentation is followed: an update
whose operand does not fit its item cancels a transaction with the reason ValidationError.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html
"""

from __future__ import annotations

from tests.support.dynamodb.api.read_api import ReadApi
from tests.support.dynamodb.api.table_api import TableApi
from tests.support.dynamodb.api.write_api import WriteApi

__all__ = ["Engine"]


class Engine(TableApi, ReadApi, WriteApi):
    """One account's tables, empty at first; safe to share between threads."""
