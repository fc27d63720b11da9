"""Compiles a layer for the Python that will run it: `python compile_layer.py 3.13 LAYER`.

Only a Python of that version can write bytecode that the version loads, so this looks for one on the machine. The
bytecode never looks at its source, so that dates of files do not matter, and names the sources as Lambda has them.
"""

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

NAMED = "RUNTIME_PYTHON"  # The variable that names the interpreter, where none is found or another is wanted
ON_LAMBDA = "/opt/python"
_PATIENCE_S = 10
_DOWNLOAD_S = 180
_ASK = "import sys; print(sys.implementation.cache_tag, sys.version_info.releaselevel)"


class NoInterpreterError(Exception):
    """No Python of the version is here. The message says where it was looked for, and what to do."""


def main(arguments: list[str]) -> int:
    """Return 0 if every module of the layer is compiled, else 1. Of a successful build, sam prints standard output."""
    version, layer = arguments
    try:
        interpreter = find(version, os.environ)
    except NoInterpreterError as error:
        print(error, file=sys.stderr)
        return 1
    command = [interpreter, "-I", "-m", "compileall", "-q", "-j", "0", "--invalidation-mode", "unchecked-hash"]
    status = subprocess.run([*command, "-s", layer, "-p", ON_LAMBDA, layer], check=False).returncode
    if status:
        print(f"{interpreter} could not compile the layer; what it says is above", file=sys.stderr)
        return 1
    print(f"the layer is compiled for Python {version}, by {interpreter}")
    return 0


def find(version: str, environment: Mapping[str, str]) -> str:
    """Return the path of a Python of this version, such as "3.13"; NoInterpreterError if there is none."""
    if named := environment.get(NAMED):
        if _fits(named, version):
            return named
        raise NoInterpreterError(f"{NAMED}: expected a Python {version}, which runs the functions, got {named}")
    for path in _candidates(version, environment):
        if _fits(path, version):
            return path
    raise NoInterpreterError(
        f"only Python {version}, which runs the functions, can compile the layer. Expected one as PYTHON, as"
        f" python{version} on the PATH, or among the versions of pyenv or uv; got none. Install one (`pyenv install"
        f" {version}`, `uv python install {version}`, or a package of your system), name one"
        f" ({NAMED}=/path/to/python{version}), or run the functions on a Python that is here: give sam build and sam"
        " deploy another PythonRuntime, as in `--parameter-overrides PythonRuntime=python"
        f"{sys.version_info[0]}.{sys.version_info[1]}`"
    )


def _candidates(version: str, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the paths where a Python of this version may be. The last may be downloaded first, if uv is here."""
    program = f"python{version}"
    yield sys.executable
    for folder in environment.get("PATH", "").split(os.pathsep):
        if (path := Path(folder or ".", program)).is_file():
            yield str(path)
    # pyenv's own programs on the PATH start only those versions that are chosen for the folder.
    pyenv = Path(environment.get("PYENV_ROOT") or Path(environment.get("HOME", "/"), ".pyenv"))
    yield from map(str, sorted(pyenv.glob(f"versions/{version}*/bin/{program}"), reverse=True))
    yield from _of_uv(version)


def _of_uv(version: str) -> Iterator[str]:
    """Yield uv's Python of this version. If uv has none and its settings allow it, it installs one, by its digest."""
    find_it = ["uv", "python", "find", "--managed-python", version]
    try:
        if not (found := _output(find_it)):
            print(f"no Python {version} is here to compile the layer: uv tries to install one", flush=True)
            _output(["uv", "python", "install", "--no-bin", version], timeout=_DOWNLOAD_S)
            found = _output(find_it)
    except FileNotFoundError:
        return
    if found:
        yield found


def _fits(path: str, version: str) -> bool:
    """Whether this is a released CPython of the version."""
    try:
        return _output([path, "-I", "-S", "-c", _ASK]) == f"cpython-{version.replace('.', '')} final"
    except OSError:
        return False


def _output(command: list[str], timeout: float = _PATIENCE_S) -> str:
    """Return what a command prints, "" if it fails or takes too long."""
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout, check=False)
    except subprocess.TimeoutExpired:
        return ""
    return "" if done.returncode else done.stdout.decode().strip()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
