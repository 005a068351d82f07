"""The `transorbit` command: `main.py` starts it, `app.py` lists its commands, which have a file each.

The docstring of a command is its help.
"""
