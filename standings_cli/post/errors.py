"""The error of `standings post` for its input."""


class InputError(Exception):
    """A file, option or event that cannot be posted. The message says why."""
