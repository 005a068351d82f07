"""What a command line can be wrong in."""


class UsageError(Exception):
    """What is wrong with the command line, in one line."""
