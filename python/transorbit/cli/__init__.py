"""The `transorbit` command: `main.py` starts it, `app.py` lists its commands, which have a file each."""
