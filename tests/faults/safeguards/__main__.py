"""Run `make safeguards`."""

import tests.conftest  # noqa: F401 - sets the environment variables before any module of the product is imported

from .search import main

if __name__ == "__main__":
    main()
