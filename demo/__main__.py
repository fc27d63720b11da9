"""`python -m demo` is `make demo`."""

import sys

from demo.demo import main

sys.exit(main(sys.argv[1:]))
