"""The command line of a stack: `standings --help`."""
