"""The query function answers HTTP reads. It cannot write."""

import os
from functools import lru_cache
from pathlib import Path
from typing import Final

from standings import http
from standings.read.dispatch import Answers, Tables
from standings.read.session import PRIVATE_LIMITS, PUBLIC_LIMITS
from standings.runtime.environment import required
from standings.wiring import building_blocks

_OPEN_READS: Final = os.environ.get("OPEN_READS") == "true"
# A shared cache must not keep answers that only some callers may read.
_api = http.Api(rankings_max_age=int(os.environ.get("READS_MAX_AGE", "0")) if _OPEN_READS else 0)
_tables = Tables(
    building_blocks.client("dynamodb"),
    building_blocks.real_clock(),
    rankings=required("RANKINGS_TABLE"),
    scores=required("SCORES_TABLE"),
    profiles=required("PROFILES_TABLE"),
)
_api.answer_from(
    Answers(
        building_blocks.boards(),
        _tables,
        PUBLIC_LIMITS if _OPEN_READS else PRIVATE_LIMITS,
        search_needs_board=_OPEN_READS and os.environ.get("OPEN_SEARCH") != "true",
    )
)
handler = _api.handle


@_api.route("getDescription")
@lru_cache(maxsize=1)
def openapi() -> http.Response:
    """The OpenAPI description of this API. It is read on first use: most instances of this function never need it."""
    content = Path(__file__).with_name("openapi.json").read_text(encoding="utf-8")
    return http.Response(status_code=200, content_type="application/json", body=content)


@lru_cache(maxsize=1)
def live_page_() -> http.Response:
    """The live page: one HTML document. Everything but members' pictures comes from this API."""
    hosts, frames = _listed("PICTURE_ORIGINS"), _listed("EMBED_ORIGINS")
    return http.html(http.document(Path(__file__).with_name("page"), hosts), hosts, frames)


def _listed(name: str) -> list[str]:
    """The values of an environment variable, such as `a.example,b.example`."""
    return [one for one in os.environ.get(name, "").split(",") if one]


@lru_cache(maxsize=1)
def admin_page() -> http.Response:
    """The admin's page: a document without data. What it reads and does goes by calls, and by the scopes of a token."""
    return http.html(http.document(Path(__file__).with_name("admin")))


if _OPEN_READS:
    _api.page("/", live_page_)
if os.environ.get("ADMIN_PAGE") == "true":
    _api.page(http.ADMIN_PAGE, admin_page)
