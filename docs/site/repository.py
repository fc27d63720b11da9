"""Makes the site hold what its pages need from outside docs/: README and its like, sources, results, the API.

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
_SWAGGER: Final = ".local/swagger-ui/node_modules/swagger-ui-dist"
_VIEWER: Final = ("swagger-ui.css", "swagger-ui-bundle.js")
_DESCRIPTION: Final = "functions/query/openapi.json"
_SHOW: Final = """
const {dataset} = document.body, page = document.documentElement;
const dark = () => page.classList.toggle("dark-mode", dataset.mdColorScheme === "slate");
new MutationObserver(dark).observe(document.body, {attributeFilter: ["data-md-color-scheme"]});
dark();
SwaggerUIBundle({spec, dom_id: "#api-description", supportedSubmitMethods: [], validatorUrl: null});
"""
"""What shows the description `spec`, in the colours of the page. It sends no requests: a site has no stack."""


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
    if all((repository / _SWAGGER / name).exists() for name in _VIEWER):
        for name in _VIEWER:
            files.append(File.generated(config, f"assets/{name}", abs_src_path=str(repository / _SWAGGER / name)))
        # A page that is read from disk may not fetch a file, but may run a script.
        spec = (repository / _DESCRIPTION).read_text(encoding="utf-8")
        files.append(File.generated(config, "assets/openapi.js", content=f"const spec = {spec};{_SHOW}"))


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
    """Give a page with a diagram, or with the API's description, the program that shows it.

    Where npm could not install it, the text is shown.
    """
    del config
    to_assets = posixpath.relpath("assets", posixpath.dirname(page.file.src_uri) or ".")
    if 'id="api-description"' in html and "assets/openapi.js" in files.src_uris:
        style, *scripts = (f"{to_assets}/{name}" for name in (*_VIEWER, "openapi.js"))
        tags = "".join(f'<script src="{at}"></script>' for at in scripts)
        return f'<link rel="stylesheet" href="{style}">\n{html}\n{tags}'
    if 'class="mermaid"' not in html:
        return html
    if "assets/mermaid.min.js" not in files.src_uris:
        return html.replace('<pre class="mermaid">', "<pre>")
    return f'{html}\n<script src="{to_assets}/mermaid.min.js"></script>'


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
