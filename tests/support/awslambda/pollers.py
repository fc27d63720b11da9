"""Gathers the pollers, their sources and the context, so that tests import them from one module."""

from __future__ import annotations

from tests.support.awslambda.context import Context, Killed
from tests.support.awslambda.queue import Message, Queue, SqsPoller
from tests.support.awslambda.stream_poller import StreamPoller
from tests.support.dynamodb.local_stream import LocalStream

__all__ = ["Context", "Killed", "LocalStream", "Message", "Queue", "SqsPoller", "StreamPoller"]
