"""Whether modules were loaded from bytecode: without it, Python compiles them at every start."""

import sys
from importlib.util import MAGIC_NUMBER, cache_from_source
from pathlib import Path
from typing import Final

_HEADER_BYTES: Final = 16


def is_compiled(package: str) -> bool:
    """Whether each module of a package that this process has imported, such as "botocore", has bytecode that is valid.

    https://docs.python.org/3/reference/import.html#cached-bytecode-invalidation: the bytecode is of this Python, and
    has a hash of the source, or its date and size.
    """
    names = [name for name in sys.modules if name == package or name.startswith(f"{package}.")]
    files = [file for name in names if (file := getattr(sys.modules[name], "__file__", None)) and file.endswith(".py")]
    return all(_is_valid(Path(cache_from_source(file)), Path(file)) for file in files)


def _is_valid(bytecode: Path, source: Path) -> bool:
    try:
        with bytecode.open("rb") as content:
            header = content.read(_HEADER_BYTES)
        found = source.stat()
    except FileNotFoundError:
        return False
    magic, flags, rest = header[:4], int.from_bytes(header[4:8], "little"), header[8:]
    date_and_size = b"".join((int(part) & 0xFFFFFFFF).to_bytes(4, "little") for part in (found.st_mtime, found.st_size))
    return magic == MAGIC_NUMBER and (flags != 0 or rest == date_and_size)
