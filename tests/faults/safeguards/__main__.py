"""`make safeguards`: disable each safeguard and record which schedules come out wrong."""

import argparse
from concurrent.futures import ProcessPoolExecutor, as_completed

import tests.conftest  # noqa: F401 - sets the environment variables before any module of the product is imported
from benchmarks.harness.results_file import SIZES, Output

from . import SAFEGUARDS
from . import __doc__ as description
from .search import COMMAND, MOST, read, searched, write


def main() -> None:
    """Search for schedules that notice each safeguard, or each one named."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=description)
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--most", type=int, help="give up on a safeguard after this many schedules (30)")
    parser.add_argument("--size", choices=SIZES, default=SIZES[0], help="small writes to .local/bench only")
    options = parser.parse_args()
    out = Output(small=options.size == "small")
    most = options.most or MOST[options.size]
    findings = read(out) if options.names else {}
    with ProcessPoolExecutor() as pool:
        searches = {
            pool.submit(searched, each.name, most): each.name
            for each in SAFEGUARDS
            if not options.names or each.name in options.names
        }
        for search in as_completed(searches):
            findings[searches[search]] = search.result()
            print(searches[search], search.result(), flush=True)
    write(findings, out)


if __name__ == "__main__":
    main()
