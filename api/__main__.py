"""Writes `functions/query/openapi.json`, and the types of the answers for the client: `make openapi`."""

import json
import re
from collections.abc import Iterator, Mapping
from inspect import cleandoc
from pathlib import Path
from typing import Any, Final

from api import answer_types
from api.calls import ARGUMENTS, EXAMPLES, IN_PATH, OPERATIONS, TEXTS, Operation
from api.schemas import SCHEMAS, Schema, flag, schema_of, text, whole
from standings.calls import CALLS, Argument, Call
from standings_cli import VERSION

Part = dict[str, Any]

FILE: Final = Path(__file__).parents[1] / "functions" / "query" / "openapi.json"
WIDTH: Final = 1000
"""Characters of a line. A longer value has a line for each of its parts."""

_ABOUT: Final = """
    Events go in, ranks come out. A board counts one or more metrics for its members; each metric is ranked in windows
    of time (`all`, `day`, `last-7-days` …). A **ranking** is one metric of one board in one period of one window:
    `/boards/{board}/{metric}/{window}`, by default the current period.

    Ranks are exact at any size. They follow the events within seconds: `as_of` is the time of the latest event that an
    answer is known to contain.

    **Who may call.** By default every request must be signed for AWS IAM (Signature Version 4, service `execute-api`).
    A stack can accept JSON Web Tokens instead, with the scope `standings/read` for reads, `standings/write` for events
    and `standings/admin` for members, profiles and tasks. It can also open reads, or writes, to everyone. The gateway
    itself rejects calls without permission (401, 403), bodies that are too large (413) and too many requests (429). Its
    answers do not have the format below.

    **Problems.** All other errors are `application/problem+json` (RFC 9457). `type` is the kind of problem and does not
    change. `detail` is for people and says what to do.

    **Arguments.** Each may be given once. An unknown argument is rejected with 400. Where arguments exclude one
    another, the call says so.

    Every read has an `ETag`. With `If-None-Match` it answers 304 without a body if nothing has changed. `Cache-Control`
    says whether an answer may be kept: `no-cache`, or some seconds for reads of rankings where anyone may read and the
    stack allows it.
"""
_TAGS: Final = {
    "Lists": "Rankings from the top, from a position, or around a member.",
    "Members": "Ranks of members and groups; registering, hiding and removing members.",
    "Profiles": """What people see of a member: name, picture, country, and data of your own. All boards share it, and
        whoever may read may read it.""",
    "Numbers": "A ranking as a whole: percentiles and the distribution of scores.",
    "Boards": "The boards and their definitions.",
    "Events": "Events to count.",
    "Tasks": "What administrators do beside the other calls.",
    "Description": "The stack, and this document.",
}
_SIGNED: Final = """
    AWS Signature Version 4 for the service `execute-api`, by a caller with the permission `execute-api:Invoke`. Every
    AWS SDK can sign, and so can `curl --aws-sigv4 aws:amz:REGION:execute-api --user KEY:SECRET`. Not needed if the
    stack is open.
"""
_BEARER: Final = """
    If the stack has an issuer and an audience, a call needs a JSON Web Token (RS256) of that issuer, for that audience
    and with the scope of the call, instead of a signature. Not needed if the stack is open.
"""
_RESPONSES: Final = {
    "BadRequest": """The request is invalid: `bad-argument` (`detail` begins with the argument's name), `bad-body`, or
        `too-far` (too deep in the list to be counted, or a list of too many shards: read nearer to the top, ask for
        less at once, or use `method=competition`).""",
    "Unauthorized": "From the gateway: a token is needed, and there is none or an invalid one.",
    "Forbidden": "From the gateway: no signature, a wrong one, or no permission.",
    "NotYourMember": """From the gateway as for other calls; or the token is for another member, and nothing was
        written.""",
    "NotFound": """Not found. `type` says what is missing: `no-such-path`, `no-such-event` (nothing is known of it),
        `no-such-board` (not a valid name, or no family matches it), `no-such-metric`, `no-such-window`,
        `no-such-member`, `not-ranked` (a member, but not in this period, or hidden), `period-gone` (no longer kept),
        `no-season-yet` (the first season has not begun), `not-built` (new in `boards.toml`: retry after the
        rebuild).""",
    "MethodNotAllowed": "The path does not have this method.",
    "TooLarge": "From the gateway: the body is too large.",
    "TooMany": "From the gateway: too many requests. Retry later.",
    "Unavailable": "The store does not answer now: retry later.",
}
_PROBLEMS: Final = {
    "BadRequest": (400, "bad-argument", "Bad argument", "limit: expected from 1 to 1000, got 0"),
    "NotYourMember": (
        *(403, "not-your-member", "Not your member"),
        "event 1: expected the member that the token is for alone, so no event was posted",
    ),
    "NotFound": (
        *(404, "no-such-metric", "No such metric"),
        "board 'berlin-2026' has no metric 'goals'; there are: points",
    ),
    "MethodNotAllowed": (405, "method-not-allowed", "Method not allowed", "/boards takes GET, not PATCH"),
    "Unavailable": (*(503, "unavailable", "Try again"), "the store does not answer just now: try again in 5 seconds"),
}
"""An example of each problem: status, kind, title, detail."""
_OF_FUNCTION: Final = ("/", "/openapi.json")
"""Answered from what the function brings, without the store."""
_OF_GATEWAY: Final = {
    "Unauthorized": "Unauthorized",
    "Forbidden": "Forbidden",
    "NotYourMember": "Forbidden",
    "TooLarge": "Request Entity Too Large",
    "TooMany": "Too Many Requests",
}
"""The messages of the gateway."""
_ALLOW: Final = text(pattern="^[A-Z]+(, [A-Z]+)*$")
_HEADERS: Final = {
    "MethodNotAllowed": {
        "Allow": {"description": "The methods of the path.", "required": True, "schema": _ALLOW, "example": "GET"}
    },
    "Unavailable": {"Retry-After": {"description": "Seconds to wait.", "schema": whole()}},
}


def document() -> Part:
    """The description, as an OpenAPI document. KeyError for a call or an argument without a text."""
    about = {"title": "Standings", "version": VERSION, "summary": "Exact, live leaderboards"}
    header = {"type": "apiKey", "in": "header", "name": "Authorization", "description": said(_SIGNED)}
    return {
        "openapi": "3.1.0",
        "info": {**about, "license": {"name": "MIT", "identifier": "MIT"}, "description": said(_ABOUT)},
        "servers": [{"url": "/"}],
        "security": _security("standings/read"),
        "tags": [{"name": name, "description": said(words)} for name, words in _TAGS.items()],
        "paths": _paths(),
        "components": {
            "securitySchemes": {
                "signature": {**header, "x-amazon-apigateway-authtype": "awsSigv4"},
                "token": {"type": "http", "scheme": "bearer", "bearerFormat": "JWT", "description": said(_BEARER)},
            },
            "parameters": {
                **{name.capitalize(): _in_path(name, words) for name, words in IN_PATH.items()},
                **{name.capitalize(): _in_query(name, words, _shared(name)) for name, words in ARGUMENTS.items()},
            },
            "responses": {name: _refusal(name, words) for name, words in _RESPONSES.items()},
            "schemas": SCHEMAS,
        },
    }


def said(words: str) -> str:
    """A text without the line breaks within its paragraphs."""
    return re.sub(r"(?<!\n)\n(?!\n|- )\s*", " ", cleandoc(words))


def _paths() -> dict[str, Part]:
    paths: dict[str, Part] = {}
    for name, call in CALLS.items():
        item = paths.setdefault(call.path.replace("<", "{").replace(">", "}"), {})
        if names := _names(call):
            item["parameters"] = [_ref("parameters", one.capitalize()) for one in names]
        item[call.method.lower()] = _operation(name, call, OPERATIONS[name])
    return paths


def _operation(name: str, call: Call, words: Operation) -> Part:
    description = said(words.text).partition("\n\n")[2]
    operation: Part = {"operationId": name, "tags": [words.tag], "summary": _summary(words), "description": description}
    operation["security"] = _security(call.scope)
    if call.arguments:
        operation["parameters"] = [
            _in_query(one, words.arguments[one], argument)
            if one in words.arguments
            else _ref("parameters", one.capitalize())
            for one, argument in call.arguments.items()
        ]
    if words.body:
        operation["requestBody"] = {"required": words.needs_body, "content": _json(words.body, words.sent)}
    refusals = {400: "BadRequest", 401: "Unauthorized", 403: "Forbidden", 405: "MethodNotAllowed", 429: "TooMany"}
    if "`not-your-member`" in description:
        refusals[403] = "NotYourMember"
    if "\n404: " in description:
        refusals[404] = "NotFound"
    if words.body:
        refusals[413] = "TooLarge"
    if call.path not in _OF_FUNCTION:
        refusals[503] = "Unavailable"
    responses = {str(status): _ref("responses", refusal) for status, refusal in sorted(refusals.items())}
    also = {str(status): {"description": about, "content": _json(*of)} for status, (about, *of) in words.also.items()}
    return {**operation, "responses": {**also, str(words.status): _success(call, words), **responses}}


def _success(call: Call, words: Operation) -> Part:
    response: Part = {"description": words.answer}
    if words.schema:
        response["content"] = _json(words.schema, words.example)
    if call.path == "/":
        response["content"]["text/html"] = {"schema": text()}
    if call.method in ("PUT", "DELETE"):
        response["links"] = dict(_links(call))
    return response


def _links(call: Call) -> Iterator[tuple[str, Part]]:
    """The calls that may follow: after PUT a GET or DELETE, after DELETE a GET that answers 404."""
    parameters = {name: f"$request.path.{name}" for name in _names(call)}
    parameters |= {name: f"$request.query.{name}" for name in call.arguments if name == "id"}
    for name, other in CALLS.items():
        if other.path == call.path and other.method in ("GET", "DELETE") and other != call:
            words = f"{_summary(OPERATIONS[name])}." if call.method == "PUT" else "Answers 404 from now on."
            yield other.method.lower(), {"operationId": name, "parameters": parameters, "description": words}


def _summary(words: Operation) -> str:
    return words.text.partition("\n")[0]


def _names(call: Call) -> list[str]:
    """The names in a call's path."""
    return re.findall("<([a-z]+)>", call.path)


def _shared(name: str) -> Argument:
    """An argument that several calls describe with the same text; ValueError if it differs between them."""
    (argument,) = {
        call.arguments[name]
        for each, call in CALLS.items()
        if name in call.arguments and name not in OPERATIONS[each].arguments
    }
    return argument


def _in_path(name: str, words: str) -> Part:
    parameter = {"name": name, "in": "path", "required": True, "description": said(words)}
    return {**parameter, "schema": schema_of(TEXTS[name]), "example": EXAMPLES[name]}


def _in_query(name: str, words: str, argument: Argument) -> Part:
    words = said(words).replace("{default}", str(argument.default))
    parameter: Part = {"name": name, "in": "query", "description": words}
    if argument.missing:
        parameter["required"] = True
    # No `default`: a client that is generated sends it with each call, and `radius` without `around` is refused.
    if argument.kind == "text":
        parameter["schema"] = schema_of(TEXTS[name])
    elif argument.kind == "flag":
        parameter["schema"] = flag()
    else:
        not_0 = {"not": {"const": 0}} if argument.least < 0 else {}
        parameter["schema"] = whole("", (argument.least, argument.most), **not_0)
    if argument.missing or name in ("name", "prefix"):
        parameter["example"] = EXAMPLES[name]
    return parameter


def _json(schema: str | Schema, example: Any) -> Part:
    """Content in JSON, with an example, or several: each with its name and title."""
    media: Part = {"schema": schema_of(schema)}
    if isinstance(example, tuple):
        titled = [(title.split(": ", 1), value) for value, title in example]
        media["examples"] = {name: {"summary": title, "value": value} for (name, title), value in titled}
    elif example is not None:
        media["example"] = example
    return {"application/json": media}


def _refusal(name: str, words: str) -> Part:
    """The error response of the gateway, of a function, or of either."""
    content = _json("GatewayMessage", {"message": _OF_GATEWAY[name]}) if name in _OF_GATEWAY else {}
    if name in _PROBLEMS:
        status, kind, title, detail = _PROBLEMS[name]
        example = {"type": f"urn:standings:{kind}", "title": title, "status": status, "detail": detail}
        content["application/problem+json"] = {"schema": schema_of(name), "example": example}
    headers = {"headers": _HEADERS[name]} if name in _HEADERS else {}
    return {"description": said(words), **headers, "content": content}


def _security(scope: str) -> list[Mapping[str, list[str]]]:
    """A signature, a token with a scope, or nothing, where the stack is open."""
    return [{"signature": []}, {"token": [scope]}, {}]


def _ref(kind: str, name: str) -> Part:
    return {"$ref": f"#/components/{kind}/{name}"}


def lines(node: Any, indent: str = "") -> str:
    """JSON in which a value that fits has one line, after its name."""
    line = json.dumps(node, ensure_ascii=False)
    if len(indent) + len(line) <= WIDTH or not isinstance(node, dict | list):
        return line
    more = indent + " "  # The function has a bound on its bytes
    if isinstance(node, list):
        parts = [lines(part, more) for part in node]
        return "[\n" + ",\n".join(more + part for part in parts) + f"\n{indent}]"
    named = [f"{json.dumps(name)}: {lines(part, more)}" for name, part in node.items()]
    return "{\n" + ",\n".join(more + part for part in named) + f"\n{indent}}}"


def text_of_file() -> str:
    """The text of `openapi.json`."""
    return lines(document()) + "\n"


if __name__ == "__main__":
    FILE.write_text(text_of_file(), encoding="utf-8")
    answer_types.FILE.write_text(answer_types.text_of_types(), encoding="utf-8")
