"""Who may call which route, by the template's parameters."""

import json
import re

from tests.template.expansion import Expanded, deployed, named, template
from tests.template.optional_weakenings import TOKENS
from tests.template.rules.watching import FUNCTIONS

READ, POST = "$default", "POST /events"
ADMIN = tuple(f"{method} {path}" for method in ("PUT", "DELETE") for path in ("/boards/{board}/member", "/members"))


def routes(stack: Expanded) -> dict[str, tuple[str, list[str] | None]]:
    return {
        route["RouteKey"]: (route["AuthorizationType"], route.get("AuthorizationScopes"))
        for _, route in stack.of("ApiGatewayV2::Route")
    }


def test_every_call_needs_a_signature() -> None:
    assert routes(deployed()) == dict.fromkeys((READ, POST, *ADMIN), ("AWS_IAM", None))
    assert not list(deployed().of("ApiGatewayV2::Authorizer"))


def test_tokens_take_the_place_of_signatures() -> None:
    stack = deployed(**TOKENS)

    assert routes(stack) == {
        READ: ("JWT", ["standings/read"]),
        POST: ("JWT", ["standings/write"]),
        **dict.fromkeys(ADMIN, ("JWT", ["standings/admin"])),
    }
    assert {named(route["AuthorizerId"]) for _, route in stack.of("ApiGatewayV2::Route")} == {"JwtAuthorizer"}
    assert stack.properties("JwtAuthorizer")["JwtConfiguration"] == {
        "Issuer": "https://issuer.example",
        "Audience": ["standings", "other"],
    }


def test_with_a_claim_tokens_that_may_post_reach_the_profile_of_their_member() -> None:
    """The function lets them write no other (`tests/functions/http/test_own_member.py`)."""
    without, stack = deployed(**TOKENS), deployed(**TOKENS, JwtMemberClaim="sub")

    own = {"PUT /members": ("JWT", ["standings/admin", "standings/write"])}
    assert routes(stack) == {**routes(without), **own}
    claims = [one.properties("CommandFunction")["Environment"]["Variables"] for one in (without, stack)]
    assert [variables["JWT_MEMBER_CLAIM"] for variables in claims] == ["", "sub"]


def test_the_description_of_the_api_names_the_scopes_that_routes_ask_for() -> None:
    description = json.loads((FUNCTIONS / "query" / "openapi.json").read_bytes())
    required = routes(deployed(**TOKENS))

    for path, operations in description["paths"].items():
        for method in operations.keys() & {"get", "post", "put", "delete"}:
            security = operations[method].get("security", description["security"])
            route = f"{method.upper()} {path}"
            expected = {"signature": [], "token": required.get(route, required[READ])[1]}
            assert {name: scopes for one in security for name, scopes in one.items()} == expected, route
    assert description["components"]["securitySchemes"].keys() == {"signature", "token"}


def test_reads_and_writes_are_opened_apart() -> None:
    assert routes(deployed(OpenReads="true")) == {
        READ: ("NONE", None),
        **dict.fromkeys((POST, *ADMIN), ("AWS_IAM", None)),
    }
    assert routes(deployed(OpenReads="true", **TOKENS))[READ] == ("NONE", None)
    assert routes(deployed(OpenReads="true", **TOKENS))[POST] == ("JWT", ["standings/write"])
    assert routes(deployed(OpenWrites="true")) == {
        READ: ("AWS_IAM", None),
        **dict.fromkeys((POST, *ADMIN), ("NONE", None)),
    }


def test_routes_are_throttled_lower_where_anyone_may_read() -> None:
    def limits(**parameters: str) -> list[int]:
        settings = deployed(**parameters).properties("ApiStage")["DefaultRouteSettings"]
        return [int(settings["ThrottlingRateLimit"]), int(settings["ThrottlingBurstLimit"])]

    assert limits() == [1000, 1000]
    assert limits(OpenReads="true") == [200, 200]
    assert limits(OpenReads="true", RequestsPerSecond="3000") == [3000, 200]
    assert limits(RequestBurst="50") == [1000, 50]


def test_pages_of_other_origins_may_call_where_they_are_named() -> None:
    assert "CorsConfiguration" not in deployed().properties("Api")
    stack = deployed(CorsOrigins="https://a.example,https://b.example")

    cors = stack.properties("Api")["CorsConfiguration"]
    assert cors["AllowOrigins"] == ["https://a.example", "https://b.example"]
    assert cors["AllowMethods"] == ["GET", "POST", "PUT", "DELETE"]
    assert cors["ExposeHeaders"] == ["etag"]
    assert "*" not in cors["AllowHeaders"]
    assert {"authorization", "content-type", "if-none-match", "x-amz-date"} <= set(cors["AllowHeaders"])
    # A preflight has no signature. Without a route of its own it would go to $default, which requires one.
    assert routes(stack) == {**routes(deployed()), "OPTIONS /{proxy+}": ("NONE", None)}


def test_pictures_come_from_hosts_that_are_named() -> None:
    def hosts(**parameters: str) -> str:
        return str(deployed(**parameters).properties("QueryFunction")["Environment"]["Variables"]["PICTURE_ORIGINS"])

    allowed = re.compile(template()["Parameters"]["PictureOrigins"]["AllowedPattern"])
    assert hosts() == ""
    assert hosts(PictureOrigins="a.example,b.example") == "a.example,b.example"
    assert all(map(allowed.match, ("", "a.example", "a.example,b.example:8443")))
    # Each of these would allow more than pictures of one host, or end the directive.
    refused = (
        "*",
        "*.example",
        "a.example b.example",
        "a.example;script-src *",
        "https://a.example",
        "'self'",
        "data:",
    )
    assert not any(map(allowed.match, refused))


def test_pages_of_origins_that_are_named_may_show_the_live_page_in_a_frame() -> None:
    def origins(**parameters: str) -> str:
        return str(deployed(**parameters).properties("QueryFunction")["Environment"]["Variables"]["EMBED_ORIGINS"])

    assert origins() == ""
    assert origins(EmbedOrigins="https://a.example,https://b.example") == "https://a.example,https://b.example"


def test_answers_are_kept_for_as_long_as_it_is_asked_for() -> None:
    def max_age(**parameters: str) -> str:
        return str(deployed(**parameters).properties("QueryFunction")["Environment"]["Variables"]["READS_MAX_AGE"])

    assert max_age() == "0"
    assert max_age(ReadsMaxAge="30") == "30"
    pattern = template()["Parameters"]["ReadsMaxAge"]["AllowedPattern"]
    allowed = [str(seconds) for seconds in range(-1, 5_000) if re.search(pattern, str(seconds))]
    assert allowed == [str(seconds) for seconds in range(3_601)]
    assert not [given for given in ("", "1.5", "1e2", "05", "30s", " 30") if re.search(pattern, given)]
