"""The live page: one document, made of a folder's page.html with its styles and scripts.

One document needs one request, and its policy can name the hash of its one style and its one script.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Final

_STYLES: Final = re.compile(r'(?:<link rel="stylesheet" href="[a-z]+\.css">\n)+')
_SCRIPTS: Final = re.compile(r'(?:<script src="[a-z]+\.js"></script>\n)+')
_FILE: Final = re.compile(r'"([a-z]+\.(?:css|js))"')
_PICTURE_HOSTS: Final = '<meta name="picture-hosts" content="{}">'


def document(folder: Path, picture_hosts: Sequence[str] = ()) -> str:
    """The page as one document that may load pictures from the given hosts."""

    def joined(tags: re.Match[str]) -> str:
        return "".join((folder / name).read_text(encoding="utf-8") for name in _FILE.findall(tags[0]))

    page = (folder / "page.html").read_text(encoding="utf-8")
    page = _STYLES.sub(lambda tags: f"<style>\n{joined(tags)}</style>\n", page, count=1)
    page = _SCRIPTS.sub(lambda tags: f"<script>\n{joined(tags)}</script>\n", page, count=1)
    # The policy blocks other hosts too. With the list the page does not even ask them.
    return page.replace(_PICTURE_HOSTS.format(""), _PICTURE_HOSTS.format(" ".join(picture_hosts)))
