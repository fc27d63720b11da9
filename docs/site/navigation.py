"""Lets mkdocs.yml name a folder where it may name a page: the pages of the folder stand there, by their names."""

from pathlib import Path
from typing import Any


def on_config(config: Any) -> None:
    """Replace each folder in the navigation by its pages."""
    config["nav"] = expanded(config["nav"], Path(config["docs_dir"]))


def expanded(entries: list[Any], docs: Path) -> list[Any]:
    """Return a navigation with pages in the place of folders. A heading without pages is left out."""
    pages: list[Any] = []
    for entry in entries:
        if isinstance(entry, dict):
            [(title, inner)] = entry.items()
            below = expanded(inner, docs) if isinstance(inner, list) else inner
            pages += [{title: below}] if below else []
        elif entry.endswith("/"):
            pages += sorted(path.relative_to(docs).as_posix() for path in (docs / entry).glob("*.md"))
        else:
            pages += [entry]
    return pages
