"""Makes the site hold what its pages link to outside docs/: README and its like, sources, results.

Pages link as they do in the repository, so that a link works there, on GitHub and on the site, whatever the address
of either.
"""

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mkdocs.structure.files import File, InclusionLevel

PAGES: Final = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "SECURITY.md": "security.md",
}
"""Pages of the repository, and where they stand on the site."""

_LINK: Final = re.compile(r"""(\]\(|(?:src|srcset|href)=["'])(?![a-z]+:|#)([^)"'#\s]+)""")
_MERMAID: Final = ".local/mermaid/node_modules/mermaid/dist/mermaid.min.js"


def on_files(files: Any, config: Any) -> None:
    """Add the repository's pages, and a page for each file or folder that a page links to."""
    repository = Path(config["config_file_path"]).parent
    for name, page in PAGES.items():
        files.append(File.generated(config, page, content=(repository / name).read_text(encoding="utf-8")))
    waiting = [page for page in files if page.is_documentation_page()]
    while waiting:
        page = waiting.pop()
        for target in linked(page.content_string, in_repository(page.src_uri), repository):
            uri = site_page(target, repository)
            if uri in files.src_uris:
                continue
            content = listing(repository / target) if (repository / target).is_dir() else source(repository / target)
            made = File.generated(config, uri, content=content, inclusion=InclusionLevel.NOT_IN_NAV)
            files.append(made)
            waiting += [made] if (repository / target).is_dir() else []
    if (repository / _MERMAID).exists():
        files.append(File.generated(config, "assets/mermaid.min.js", abs_src_path=str(repository / _MERMAID)))


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Make each link to a file of the repository one to its page."""
    repository = Path(config["config_file_path"]).parent
    uri = page.file.src_uri
    here = in_repository(uri)

    def to_page(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), match[2]))
        there = site_page(target, repository)
        if there not in files.src_uris:
            return match[0]
        html = match[1] != "](" and there.endswith(".md")
        there = f"{there.removesuffix('.md')}.html" if html else there
        return match[1] + posixpath.relpath(there, posixpath.dirname(uri) or ".")

    return _LINK.sub(to_page, markdown)


def on_page_content(html: str, page: Any, config: Any, files: Any) -> str:
    """Give a page with a diagram the program that draws it. Where npm could not install it, the text is shown."""
    del config
    if 'class="mermaid"' not in html:
        return html
    if "assets/mermaid.min.js" not in files.src_uris:
        return html.replace('<pre class="mermaid">', "<pre>")
    at = posixpath.relpath("assets/mermaid.min.js", posixpath.dirname(page.file.src_uri) or ".")
    return f'{html}\n<script src="{at}"></script>'


def linked(markdown: str, here: str, repository: Path) -> Iterator[str]:
    """Yield the files and folders of the repository that a page links to; `here` is the page's own path there."""
    for match in _LINK.finditer(markdown):
        target = posixpath.normpath(posixpath.join(posixpath.dirname(here), match[2]))
        if not target.startswith("..") and (repository / target).exists():
            yield target


def in_repository(uri: str) -> str:
    """Return the path in the repository of a page of the site."""
    origin = next((name for name, page in PAGES.items() if page == uri), None)
    if origin:
        return origin
    if uri.startswith("source/"):
        return uri.removeprefix("source/").removesuffix(".md")
    return f"docs/{uri}"


def site_page(path: str, repository: Path) -> str:
    """Return the page of the site that shows a file or folder of the repository."""
    if path in PAGES:
        return PAGES[path]
    if (repository / path).is_dir():
        path = f"{path}/index.md" if path.startswith("docs/") else f"{path}/index"
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"source/{path}.md"


def listing(folder: Path) -> str:
    """Return a page that links to what is in a folder; pages by their headings."""
    lines = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith((".", "_")):
            continue
        heading = path.read_text(encoding="utf-8").partition("\n")[0] if path.suffix == ".md" else ""
        lines.append(f"- [{heading.removeprefix('# ') or path.name}]({path.name})\n")
    return f"# {folder.name}\n\n{''.join(lines)}"


def source(path: Path) -> str:
    """Return a page that shows a file. The site's search leaves it out: one looks for words of the pages."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        text = f"{path.stat().st_size} bytes that are no text"
    fence = "`" * (1 + max((len(ticks) for ticks in re.findall("`{3,}", text)), default=2))
    language = path.suffix.removeprefix(".") or "text"
    return f"---\nsearch: {{exclude: true}}\n---\n# {path.name}\n\n{fence} {{ .{language} }}\n{text}\n{fence}\n"
