"""Lambda's side of the pipeline: its pollers, what they poll, and what a handler is given."""

from __future__ import annotations

from .context import Context, Killed
from .local_stream import LocalStream
from .sqs import Message, Queue, SqsPoller
from .stream_poller import StreamPoller

__all__ = ["Context", "Killed", "LocalStream", "Message", "Queue", "SqsPoller", "StreamPoller"]
