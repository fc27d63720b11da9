"""What `sam build` has made: whether it is still that of these sources, and a layer that leads to it."""

import os
import shutil
from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

_LAYER: Final = "StandingsLayer"
_MARK: Final = "made-of.txt"
_LINKED: Final = "LinkedLayer"
_CONTENT: Final = f"ContentUri: {_LAYER}\n"


def digest(sources: Iterable[Path], words: Iterable[str]) -> str:
    """Return a digest of files, of all files in folders, and of words: equal if `sam build` would make the same."""
    found = sha256()
    for path in sources:
        for file in sorted(_files(path)):
            content = file.read_bytes()
            found.update(f"{file.relative_to(path.parent).as_posix()}\n{len(content)}\n".encode())
            found.update(content)
    for word in words:
        found.update(f"{word}\n".encode())
    return found.hexdigest()


def made_of(build: Path) -> str | None:
    """Return the digest with which a build was marked; None if there is none."""
    try:
        return (build / _MARK).read_text(encoding="utf-8")
    except FileNotFoundError:
        return None


def mark(build: Path, made: str) -> None:
    """Mark a build with the digest of what it was made of. `sam build` takes the mark away when it begins."""
    (build / _MARK).write_text(made, encoding="utf-8")


def copy_build(source: Path, target: Path) -> None:
    """Copy a build. Both have the layer's many files by links, if they can: nobody changes one, but for `define`."""
    shutil.copytree(source, target, ignore=shutil.ignore_patterns(_LAYER, _MARK))
    shutil.copytree(source / _LAYER, target / _LAYER, copy_function=_link)


def link_layer(template: Path, runtime: str) -> None:
    """Let a built template deploy a layer of one file, which leads Python to the built layer.

    The embedded AWS unpacks the layer for each process of a function: 1,500 files to write before it starts, and to
    delete at the end. This way all processes share the built layer, such as for "python3.11".
    """
    text = template.read_text(encoding="utf-8")
    if text.count(_CONTENT) != 1:
        raise ValueError(f"{template}: expected {_CONTENT!r} once, got it {text.count(_CONTENT)} times")
    packages = template.parent / _LINKED / "python" / "lib" / runtime / "site-packages"
    packages.mkdir(parents=True)
    # Python runs a line that begins with `import`. A path alone would come after the emulator's own packages.
    line = f"import sys; sys.path.insert(0, {str(template.parent / _LAYER / 'python')!r})\n"
    (packages / "standings.pth").write_text(line, encoding="utf-8")
    template.write_text(text.replace(_CONTENT, f"ContentUri: {_LINKED}\n"), encoding="utf-8")


def boards_file(build: Path) -> Path:
    """Return the path of the built layer's `boards.toml`."""
    return build / _LAYER / "python" / "boards.toml"


def define(build: Path, boards: str) -> None:
    """Replace the built layer's `boards.toml`, but in no other build that has it by a link."""
    path = boards_file(build)
    draft = path.with_name(f"{path.name}.new")
    draft.write_text(boards, encoding="utf-8")
    draft.replace(path)


def _link(source: str, target: str) -> None:
    try:
        os.link(source, target)
    except OSError:  # not on every file system
        shutil.copy2(source, target)


def _files(path: Path) -> Iterator[Path]:
    if path.is_file():
        yield path
    else:
        yield from (file for file in path.rglob("*") if file.is_file() and "__pycache__" not in file.parts)
