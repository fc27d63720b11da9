"""`make safeguards`: takes away each safeguard, and writes down which schedules notice."""

import argparse
from concurrent.futures import ProcessPoolExecutor, as_completed

import tests.conftest  # noqa: F401 - the environment that tests have, before anything of the functions is loaded
from benchmarks.harness.results_file import SIZES, Output

from . import SAFEGUARDS
from . import __doc__ as description
from .search import COMMAND, MOST, read, searched, write


def main() -> None:
    """Search for all safeguards, or for those named."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=description)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--most", type=int, help="schedules that are tried until one notices (30)")
    parser.add_argument("--size", choices=SIZES, default=SIZES[0], help="small writes below .local/bench only")
    given = parser.parse_args()
    out = Output(small=given.size == "small")
    most = given.most or MOST[given.size]
    found = read(out) if given.names else {}
    with ProcessPoolExecutor() as pool:
        searches = {
            pool.submit(searched, each.name, most): each.name
            for each in SAFEGUARDS
            if not given.names or each.name in given.names
        }
        for search in as_completed(searches):
            found[searches[search]] = search.result()
            print(searches[search], search.result(), flush=True)
    write(found, out)


if __name__ == "__main__":
    main()
