"""The client for asyncio: the calls of the other client, each awaited; and the backend of docs/reference/client.md."""

import asyncio
import inspect
import re
import sys
import threading
from collections.abc import Awaitable, Callable
from typing import Any, Final
from unittest import mock

import orjson
import pytest

from standings.client import NotFound, PostError, aio
from standings.client import posts as sync_posts
from standings.client import standings as sync
from standings.client.standings import connect
from tests.functions.client.conftest import Connect
from tests.support.aws.fakes import INVALID
from tests.support.aws.stack import Stack, count
from tests.support.documents.pages import PROJECT

BOARDS: Final = """
[boards."*"]
metrics.points = { aggregate = "sum", windows = ["all"] }
[boards."runs-*"]
metrics.km = { aggregate = "sum", precision = 1, windows = ["all"] }
"""
TWINS: Final = [(sync.Standings, aio.Standings), (sync.Board, aio.Board), (sync_posts.Batch, aio.Batch)]
FASTAPI: Final = PROJECT / ".local" / "tools" / "fastapi"


def public(kind: type) -> dict[str, Callable[..., Any]]:
    return {name: call for name, call in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}


@pytest.mark.parametrize(("one", "other"), TWINS)
def test_every_call_has_its_twin_with_the_same_parameters_and_documentation(one: type, other: type) -> None:
    calls = public(one)
    assert {*calls} == {*public(other)} - {"close"}
    for name, call in calls.items():
        twin = public(other)[name]
        mine, its = (inspect.signature(each).parameters for each in (call, twin))
        assert [*mine] == [*its], name
        assert [(each.kind, each.default) for each in mine.values()] == [(e.kind, e.default) for e in its.values()], (
            name
        )
        assert twin.__doc__
        requests_nothing = name in ("board", "batch")
        assert (inspect.iscoroutinefunction(twin) or inspect.isasyncgenfunction(twin)) is not requests_nothing, name
    assert inspect.signature(aio.connect) == inspect.signature(connect)


def test_calls_are_those_of_the_other_client_and_the_loop_goes_on(stack: Stack, connected: Connect) -> None:
    send, answered = stack.activity.send_message_batch, threading.Event()

    async def use() -> None:
        loop, asked = asyncio.get_running_loop(), asyncio.Event()

        def hold(**given: Any) -> Any:
            loop.call_soon_threadsafe(asked.set)
            assert answered.wait(60)
            return send(**given)

        async with aio.Standings(connected()) as standings:
            board = standings.board("b")
            with mock.patch.object(stack.activity, "send_message_batch", hold):
                posting = asyncio.create_task(standings.post("b", "u1", id="1", points=3))
                # The post waits for the queue, on its thread; meanwhile this reads.
                await asked.wait()
                assert await standings.event("1") is None
                assert not posting.done()
                answered.set()
                assert await posting == "1"
            async with standings.batch() as batch:
                for number in range(25):
                    await batch.post("b", f"m{number:02}", points=number + 10)
            count(stack)
            assert (await board.rank("u1", window="all"))["rank"] == 26
            whole = [entry["member"] async for page in board.pages(10) for entry in page["entries"]]
            assert whole == [*(f"m{number:02}" for number in range(24, -1, -1)), "u1"]
            assert whole == [entry["member"] for page in connected().board("b").pages(7) for entry in page["entries"]]
            with pytest.raises(NotFound, match="nobody"):
                await board.rank("nobody")
            with pytest.raises(PostError) as raised:  # noqa: PT012 - the end of the batch raises it
                stack.activity.refusal = lambda _: INVALID
                async with standings.batch() as batch:
                    await batch.post("b", "u1", id="never", points=3)
            assert [one.event["id"] for one in raised.value.unsent] == ["never"]

    before = {*threading.enumerate()}
    asyncio.run(use())
    assert {*threading.enumerate()} <= before


async def asked(app: Any, method: str, path: str, body: Any = None) -> tuple[int, Any]:
    """Send a request to an application as a server does, by ASGI."""
    content, sent = orjson.dumps(body) if body is not None else b"", list[dict[str, Any]]()

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": content, "more_body": False}

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    about = {"path": path, "raw_path": path.encode(), "query_string": b"", "headers": headers, "root_path": ""}
    await app({"type": "http", "http_version": "1.1", "method": method, "scheme": "http", **about}, receive, send)
    return sent[0]["status"], orjson.loads(b"".join(message.get("body", b"") for message in sent[1:]))


async def while_it_serves(app: Any, use: Callable[[], Awaitable[None]]) -> None:
    """Start an application as a server does, by ASGI, and shut it down in the end."""
    asks, answers = asyncio.Queue[dict[str, Any]](), asyncio.Queue[dict[str, Any]]()
    serving = asyncio.create_task(app({"type": "lifespan", "state": {}}, asks.get, answers.put))
    for phase in ("startup", "shutdown"):
        await asks.put({"type": f"lifespan.{phase}"})
        assert (await answers.get())["type"] == f"lifespan.{phase}.complete"
        if phase == "startup":
            await use()
    await serving


def test_the_backend_of_the_page(stack: Stack, connected: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    packages = [*FASTAPI.glob("lib/python3.*/site-packages")]
    if not packages:
        pytest.skip("FastAPI is missing: make setup")
    monkeypatch.setattr(sys, "path", [*sys.path, str(packages[0])])
    page = (PROJECT / "docs" / "reference" / "client.md").read_text(encoding="utf-8")
    found = re.search(r"^```python\n(# app\.py.*?)^```$", page, re.MULTILINE | re.DOTALL)
    assert found is not None
    program: dict[str, Any] = {"__name__": "app"}
    opened = list[Any]()

    def open_one(*named: Any, **given: Any) -> aio.Standings:
        opened.append((named, given))
        return aio.Standings(connected())

    monkeypatch.setattr(aio, "connect", open_one)
    exec(found[1], program)  # noqa: S102 - the page's own program
    app = program["app"]

    async def use() -> None:
        run = {"id": "r1", "member": "u/1", "km": 3.5}
        assert await asked(app, "POST", "/runs", run) == (202, {"id": "r1"})
        day = [{"id": f"d{number}", "member": f"m{number}", "km": number} for number in range(12)]
        assert await asked(app, "POST", "/days", day) == (202, {"ids": [one["id"] for one in day]})
        count(stack)
        status, rank = await asked(app, "GET", "/ranks/u/1")
        assert (status, rank["rank"], rank["score"], rank["total"]) == (200, 9, 3.5, 13)
        status, problem = await asked(app, "POST", "/runs", {**run, "km": "far"})
        assert (status, problem["type"]) == (400, "urn:standings:bad-body")
        status, problem = await asked(app, "GET", "/ranks/nobody")
        assert (status, problem["type"]) == (404, "urn:standings:no-such-member")

    asyncio.run(while_it_serves(app, use))
    assert opened == [(("standings",), {"boards": "boards.toml"})]
