"""Checks each link of the built site: inside ones have a target, outside ones have the form of an address."""

import logging
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urljoin, urlsplit

_LOG: Final = logging.getLogger("mkdocs.hooks.links")
_OUTSIDE: Final = re.compile(r"https://[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?(/[^\s<>\"]*)?([?#][^\s<>\"]*)?")
_LOADED: Final = {"script": "src", "img": "src", "source": "srcset", "link": "href", "iframe": "src", "video": "src"}
"""Attributes whose address a browser loads by itself."""


def on_post_build(config: Any) -> None:
    """Report what is wrong; mkdocs fails then, since it is strict."""
    for problem in problems(Path(config["site_dir"])):
        _LOG.warning(problem)


class _Page(HTMLParser):
    """The anchors of a page, and its addresses: each with whether a browser loads it by itself."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.addresses: list[tuple[str, bool]] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name in {"id", "name"} and value:
                self.anchors.add(value)
            elif name in {"href", "src", "srcset"} and value is not None:
                self.addresses.append((value, _LOADED.get(tag) == name))


def problems(site: Path) -> Iterator[str]:
    """Yield what is wrong with the links of the pages in a folder, as sentences."""
    pages = {path: _Page(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    told: set[str] = set()
    for path, page in pages.items():
        name = path.relative_to(site).as_posix()
        # The page for unknown addresses can stand at any of them, so its links begin at the root.
        if name == "404.html":
            continue
        for address, loaded in page.addresses:
            wrong = _wrong(address, path, pages, loaded=loaded)
            # The navigation has the same link on each page.
            target = urljoin(name, address)
            if wrong and target not in told:
                told.add(target)
                yield f"{name}: {address!r} {wrong}"


def _wrong(address: str, path: Path, pages: dict[Path, _Page], *, loaded: bool) -> str | None:
    """Return what is wrong with an address on the page at a path, or None."""
    parts = urlsplit(address)
    if parts.scheme == "data":
        return None
    if parts.scheme or parts.netloc:
        if loaded:
            return "is loaded from another host; the site must hold all that its pages show"
        return None if _OUTSIDE.fullmatch(address) else "is not an address; write https://host/path without spaces"
    target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
    if target.is_dir():
        target /= "index.html"
    if not target.is_file():
        return "has no target on the site"
    if parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
        return "has no such heading as its target"
    return None
