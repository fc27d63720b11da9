"""The command line of a deployed stack: `python -m cli --help`."""
