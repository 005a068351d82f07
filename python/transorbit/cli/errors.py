"""Errors of a command line."""


class UsageError(Exception):
    """An error in the command line, in one line."""
