"""Runs the handler of a function, of any build, in a process of its own, and prints what it took.

`python driver.py EVENTS ANSWERS` in a function's folder, with the layer and the SDK on the path. `EVENTS` is a file
with a list of invocations, `ANSWERS` one with what DynamoDB answers to each request of a read: `{}` answers every
request as empty tables do. Each line of the input names a range of invocations, such as `0 5`. The output is the
microseconds of processor that they took, and at the end the most memory in kilobytes.

With `AWS_ENDPOINT_URL` requests go there: `python driver.py ANSWERS` serves them, and prints its address. Without it
they end below the client, at the pool of urllib3 that the clients of all builds use.
"""

import asyncio
import gc
import importlib
import json
import os
import sys
import time
from contextlib import redirect_stdout, suppress
from io import BytesIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from zlib import crc32


def run(events: list[Any], answers: dict[str, Any]) -> None:
    if "AWS_ENDPOINT_URL" not in os.environ:
        stub(answers)
    sys.path.insert(0, str(Path.cwd()))
    handler = importlib.import_module("app").handler
    context = SimpleNamespace(get_remaining_time_in_millis=lambda: 600_000, function_name="f", aws_request_id="r")
    gc.freeze()  # On Lambda a process holds one invocation, not all of them
    for line in sys.stdin:
        first, end = map(int, line.split())
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stdout(nowhere):
            began = time.process_time()
            for event in events[first:end]:
                handler(event, context)
            seconds = time.process_time() - began
        print(round(1e6 * seconds), flush=True)
    print(peak_kilobytes())


def peak_kilobytes() -> int:
    """The most memory of this process. `getrusage` would also count what its parent had when it began."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM:"))


def stub(answers: dict[str, Any]) -> None:
    """Answer every request of this process in place of the network."""
    import urllib3  # noqa: PLC0415 - the server needs none

    def urlopen(*_: Any, body: bytes, headers: Any, **__: Any) -> urllib3.HTTPResponse:
        target = {name.lower(): value for name, value in headers.items()}["x-amz-target"]
        content = answer(answers, target if isinstance(target, str) else target.decode(), body)
        return urllib3.HTTPResponse(BytesIO(content), _headers(content), 200, preload_content=False)

    pool: Any = urllib3.HTTPConnectionPool
    pool.urlopen = urlopen


async def serve(answers: dict[str, Any]) -> None:
    """Answer requests on loopback until this process is ended."""

    async def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
                given = dict(line.split(": ", 1) for line in lines[1:] if line)
                body = await reader.readexactly(int(given["content-length"]))
                content = answer(answers, given["x-amz-target"], body)
                known = {**_headers(content), "content-length": str(len(content))}
                head = "".join(f"{name}: {value}\r\n" for name, value in known.items())
                writer.write(f"HTTP/1.1 200 OK\r\n{head}\r\n".encode() + content)
                await writer.drain()

    server = await asyncio.start_server(connected, "127.0.0.1", 0)
    print(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
    await server.serve_forever()


def key_of(operation: str, body: str | bytes) -> str:
    """What a request asks for, in whichever order and case a client writes it: `getitem {"ConsistentRead": …}`."""
    return f"{operation.lower()} {json.dumps(json.loads(body), sort_keys=True)}"


def answer(answers: dict[str, Any], target: str, body: bytes) -> bytes:
    """The body that answers a request: the one that the file has; that of empty tables if it has none at all."""
    operation = target.rpartition(".")[2]
    if answers:
        return json.dumps(answers[key_of(operation, body)]).encode()
    return b'{"Responses":{}}' if operation.lower() == "batchgetitem" else b"{}"


def _headers(content: bytes) -> dict[str, str]:
    return {"x-amz-crc32": str(crc32(content)), "content-type": "application/x-amz-json-1.0"}


if __name__ == "__main__":
    *invocations, known = (json.loads(Path(name).read_text(encoding="utf-8")) for name in sys.argv[1:])
    if invocations:
        run(invocations[0], known)
    else:
        asyncio.run(serve(known))
