"""A queue on this machine that answers each SendMessageBatch after 20 ms: `python -m benchmarks.measure.slow_queue`.

It prints its port, and takes everything until it is ended.
"""

import asyncio
import json
from asyncio import IncompleteReadError, StreamReader, StreamWriter
from typing import Final

ANSWER_S: Final = 0.02
_LENGTH: Final = b"content-length:"


async def main() -> None:
    server = await asyncio.start_server(_answer, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def _answer(reader: StreamReader, writer: StreamWriter) -> None:
    try:
        while True:
            head = (await reader.readuntil(b"\r\n\r\n")).lower().split(b"\r\n")
            length = next(line.removeprefix(_LENGTH) for line in head if line.startswith(_LENGTH))
            entries = json.loads(await reader.readexactly(int(length)))["Entries"]
            await asyncio.sleep(ANSWER_S)
            taken = [{"Id": entry["Id"], "MessageId": entry["Id"], "MD5OfMessageBody": ""} for entry in entries]
            content = json.dumps({"Successful": taken, "Failed": []}).encode()
            form = b"HTTP/1.1 200 OK\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: %d\r\n\r\n%b"
            writer.write(form % (len(content), content))
            await writer.drain()
    except (IncompleteReadError, ConnectionError):
        writer.close()


if __name__ == "__main__":
    asyncio.run(main())
