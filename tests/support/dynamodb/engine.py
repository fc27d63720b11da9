"""A DynamoDB in the test process, used in place of a boto3 client.

``Engine`` has the methods of ``boto3.client("dynamodb")`` that the project uses, with the same
arguments, answers and errors. It guarantees only what DynamoDB guarantees: for example, it answers a
batch in another order than the request.

Where DynamoDB Local and the documentation of AWS disagree, the engine follows the documentation. For
example, an update whose operand does not fit its item cancels a transaction with the reason ValidationError.
https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html

``transact_write_items`` writes all items at once. ``begin`` decides a transaction and lets a test write its items one
by one.
"""

from __future__ import annotations

from tests.support.dynamodb.api.read_api import ReadApi
from tests.support.dynamodb.api.table_api import TableApi
from tests.support.dynamodb.api.transaction_api import TransactionApi
from tests.support.dynamodb.api.write_api import WriteApi

__all__ = ["Engine"]


class Engine(TableApi, ReadApi, WriteApi, TransactionApi):
    """The tables of one account. It starts without tables. Threads may share it."""
