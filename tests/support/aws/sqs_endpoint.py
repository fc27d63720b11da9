"""Serves a queue over HTTP with the protocol of SQS, so that other processes can send to it."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.support.aws.fakes.queues import check_batch
from tests.support.awslambda.pollers import Queue


@dataclass
class Endpoint:
    """A queue and its address.

    `taken` is called for each request after its messages are on the queue and before the answer is sent. It gets the
    number of the request, from 1. If it returns False, the request gets no answer.
    """

    queue: Queue
    taken: Callable[[int], bool] = lambda _: True
    url: str = ""
    requests: int = 0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @property
    def queue_url(self) -> str:
        return f"{self.url}/000000000000/activity"

    def send_message_batch(self, QueueUrl: str, Entries: list[dict[str, Any]]) -> dict[str, Any] | None:  # noqa: N803
        assert QueueUrl == self.queue_url
        check_batch(Entries)
        with self._lock:
            self.requests += 1
            number = self.requests
            ids = [self.queue.send(entry["MessageBody"], entry.get("MessageAttributes")) for entry in Entries]
        successful = [
            {"Id": entry["Id"], "MessageId": message_id, "MD5OfMessageBody": ""}
            for entry, message_id in zip(Entries, ids, strict=True)
        ]
        return {"Successful": successful} if self.taken(number) else None


@contextmanager
def listening(queue: Queue) -> Iterator[Endpoint]:
    endpoint = Endpoint(queue)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            assert self.headers["X-Amz-Target"] == "AmazonSQS.SendMessageBatch"
            answer = endpoint.send_message_batch(**json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.close_connection = answer is None
            if answer is not None:
                content = json.dumps(answer).encode()
                # The test may have killed the sending process.
                with suppress(ConnectionError):
                    self.send_response(200)
                    self.send_header("Content-Type", "application/x-amz-json-1.0")
                    self.send_header("Content-Length", str(len(content)))
                    self.end_headers()
                    self.wfile.write(content)

        def log_message(self, *_: Any) -> None:
            """Do not log requests."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        endpoint.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield endpoint
        finally:
            server.shutdown()
            thread.join()
